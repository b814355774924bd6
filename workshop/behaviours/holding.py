"""Lessons 10 and 11: bounds, and a workspace that holds."""

import re
from collections.abc import Iterator, Sequence

from harness.errors import ModelError
from harness.messages import Message
from workshop.behaviours import behaviour, edit, read, said_at_the_end
from workshop.trial import Model, Trial, expect, in_turn

LIST_MANY = 'TOOL_CALL {"name":"list_files","arguments":{"path":"many"}}'


def until_stop(model: Model) -> Model:
    """The same model, which answers with "Yes." as soon as the user has said "Stop."."""
    return lambda array: "Yes." if "Stop." in array[-1].content else model(array)


@behaviour(10, "the same call was run without end")
def stops_a_model_that_repeats_itself(trial: Trial) -> None:
    """Tells a model that repeats a call so, then stops it and gives the word back to the user."""
    seen = trial.run(["What is the code?", "Stop."], until_stop(lambda array: read("notes.txt")))
    expect(seen.error is None, "the same call was run without end")
    expect(len(set(seen.results)) > 1, "the model was not told that it repeats itself")
    expect(said_at_the_end(seen), "the user was not told, by a note, that the turn was stopped")
    expect(seen.answers == ["Yes."], "the user could not go on")
    expect(3 < len(seen.arrays) <= 12, "the model was stopped too early or too late")


@behaviour(10, "faulty calls were answered without end")
def stops_a_model_that_gets_it_wrong(trial: Trial) -> None:
    """Corrects faulty calls and empty replies a few times, then stops."""
    for faulty in ('TOOL_CALL {"name": oops}', ""):
        seen = trial.run(["What is the code?", "Stop."], until_stop(in_turn(*[faulty] * 300)))
        expect(seen.error is None, "faulty calls were answered without end")
        expect(1 <= len(seen.results) <= 5, "the model was not corrected a few times")
        expect(said_at_the_end(seen), "the user was not told, by a note, that the turn was stopped")
        expect(seen.answers == ["Yes."], "the user could not go on")


@behaviour(10, "a turn went on without end")
def the_budget_is_visible(trial: Trial) -> None:
    """Ends a turn at its step budget, says so, and can go on."""
    files = {f"{n}.txt": f"{n}\n" for n in range(300)}

    seen = trial.run(["Read on.", "Stop."], until_stop(in_turn(*map(read, files))), files=files)
    expect(seen.error is None, "a turn went on without end")
    expect(re.search(r"<Step 1 of \d+>", seen.transcript), "the budget was not shown")
    expect(said_at_the_end(seen), "the user was not told, by a note, that the budget is used up")
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


@behaviour(11, "the agent waits for a pipe for ever")
def never_waits_for_a_file(trial: Trial) -> None:
    """Refuses what is no regular file, without waiting for it, and reads on."""
    call = read("pipe")
    seen = trial.run(["Read it."], in_turn(call, read("notes.txt"), "Done."), pipes=["pipe"], patience=0.4)
    expect(seen.error is None, "the agent waits for a pipe for ever")
    expect(seen.result(0).startswith("TOOL_RESULT ERROR"), "the model was not told that it is no file")
    expect("4711" in seen.result(1), "a regular file was not read")


@behaviour(11, "bytes that the edit did not name were changed")
def keeps_every_byte_it_does_not_name(trial: Trial) -> None:
    """Keeps line endings, a byte order mark and the end of the file in an edit."""
    before = "\ufeffone\r\ntwo\r\nthree"
    seen = trial.run(["Change it."], in_turn(edit("f.txt", "two", "2"), "Done."), files={"f.txt": before})
    expect(seen.files["f.txt"] == before.replace("two", "2"), "bytes that the edit did not name were changed")


@behaviour(11, "a file that holds keys was read")
def keeps_keys_to_itself(trial: Trial) -> None:
    """Reads files, and none that holds keys."""
    files = {".env": "KEY=sk-1\n", "notes.txt": "The code is 4711.\n"}
    seen = trial.run(["Read it."], in_turn(read(".env"), read("notes.txt"), "Done."), files=files)
    expect("KEY=" not in "".join(seen.results), "a file that holds keys was read")
    expect(len(seen.results) == 2 and "4711" in seen.result(1), "a file without keys was not read")


@behaviour(11, "a binary file went to the model as if it were text")
def says_what_is_left_out(trial: Trial) -> None:
    """Cuts a huge file and a huge folder and says so; refuses what is no text."""
    files = {"big.txt": "x" * 300_000, "bin.dat": "a\0b", **{f"many/{n}": "" for n in range(1100)}}
    calls = (read("bin.dat"), read("big.txt"), LIST_MANY, "Done.")
    seen = trial.run(["Read it."], in_turn(*calls), files=files, budget=10**6)
    expect("ERROR" in seen.result(0).split("\n")[0], "a binary file went to the model as if it were text")
    expect(
        len(seen.result(1)) < 200_000 and "300,000" in seen.result(1),
        "a huge file was not cut, or not said",
    )
    expect(
        len(seen.result(2)) < 300_000 and "1,100" in seen.result(2),
        "a huge folder was not cut, or not said",
    )
