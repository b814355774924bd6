"""Lessons 10 and 11: bounds, and a workspace that holds."""

from collections.abc import Iterator, Sequence

from harness.errors import ModelError
from harness.messages import Message
from workshop.behaviours import behaviour, read
from workshop.trial import Model, Trial, expect, in_turn


def until_stop(model: Model) -> Model:
    """The same model, which answers with "Yes." as soon as the user has said "Stop."."""
    return lambda array: "Yes." if "Stop." in array[-1].content else model(array)


@behaviour(10, "the same call was run without end")
def stops_a_model_that_repeats_itself(trial: Trial) -> None:
    """Tells a model that repeats a call so, then stops it and gives the word back to the user."""
    seen = trial.run(["What is the code?", "Stop."], until_stop(lambda array: read("notes.txt")))
    expect(seen.error is None, "the same call was run without end")
    expect(any("same call" in r for r in seen.results), "the model was not told that it repeats itself")
    expect("stopped" in seen.transcript and seen.answers == ["Yes."], "the user could not go on")
    expect(3 < len(seen.arrays) <= 12, "the model was stopped too early or too late")


@behaviour(10, "faulty calls were answered without end")
def stops_a_model_that_gets_it_wrong(trial: Trial) -> None:
    """Corrects faulty calls and empty replies a few times, then stops."""
    for faulty in ('TOOL_CALL {"name": oops}', ""):
        seen = trial.run(["What is the code?", "Stop."], until_stop(in_turn(*[faulty] * 300)))
        expect(seen.error is None, "faulty calls were answered without end")
        expect(1 <= len(seen.results) <= 5, "the model was not corrected a few times")
        expect("stopped" in seen.transcript and seen.answers == ["Yes."], "the user could not go on")


@behaviour(10, "a turn went on without end")
def the_budget_is_visible(trial: Trial) -> None:
    """Ends a turn at its step budget, says so, and can go on."""
    files = {f"{n}.txt": f"{n}\n" for n in range(300)}

    seen = trial.run(["Read on.", "Stop."], until_stop(in_turn(*map(read, files))), files=files)
    expect(seen.error is None, "a turn went on without end")
    expect("stopped after" in seen.transcript and " of " in seen.transcript, "the budget was not shown")
    expect(seen.answers == ["Yes."], "the user could not go on")


@behaviour(10, "the conversation was lost when the server gave up")
def survives_what_ends_a_turn(trial: Trial) -> None:
    """Keeps the array valid when the server gives up or Ctrl+C is pressed; nothing said is lost."""
    for trouble in (ModelError("503 busy", retryable=True), KeyboardInterrupt()):
        troubles = iter([None, trouble])

        def model(array: Sequence[Message], troubles: Iterator[BaseException | None] = troubles) -> str:
            if trouble := next(troubles, None):
                raise trouble
            return read("notes.txt") if len(array) == 2 else "4711."

        seen = trial.run(["What is the code?", "And now?"], model)
        expect(seen.error is None, "the conversation was lost when the server gave up")
        roles = [message.role for message in seen.arrays[-1]]
        expect(roles == ["system", "user", "assistant", "user"], "the roles no longer take turns")
        last = seen.arrays[-1][-1].content
        expect("4711" in last and "And now?" in last, "something that was said is lost")
        expect(seen.answers == ["4711."], "the user could not go on")
