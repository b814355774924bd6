"""Lessons 12 to 17: sessions, approval, the user as a tool, data as an answer, the context, and lies."""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.messages import Message
from workshop.behaviours import behaviour, edit, read
from workshop.trial import Trial, expect, in_turn


@behaviour(12, "after a restart nothing was remembered")
def remembers_after_a_restart(trial: Trial) -> None:
    """Remembers after a restart what was said before it, results and all."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        trial.run(
            ["My name is Ada.", "The code?"], in_turn("Hello.", read("notes.txt"), "4711."), session=path
        )
        seen = trial.run(["What is my name?"], lambda array: "Ada.", session=path)
    said = [message.content for message in seen.arrays[-1]]
    expect("My name is Ada." in said, "after a restart nothing was remembered")
    expect(
        any("4711" in text and text.startswith("TOOL_RESULT") for text in said), "a result was not remembered"
    )
    roles = [message.role for message in seen.arrays[-1][1:]]
    expect(roles == ["user", "assistant"] * 3 + ["user"], "after a restart the roles do not take turns")


@behaviour(12, "what was cleared was not forgotten")
def clears_a_session(trial: Trial) -> None:
    """Forgets on /clear, also for the next run, and goes on from there."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        turns = ["My name is Ada.", "/clear", "My name is Grace."]
        seen = trial.run(turns, in_turn("Hello.", "Hello."), session=path)
        expect("Ada" not in str(seen.arrays[-1]), "what was cleared was not forgotten")
        seen = trial.run(["What is my name?"], lambda array: "Grace.", session=path)
        expect("Ada" not in str(seen.arrays[-1]), "what was cleared came back in the next run")
        expect("Grace" in str(seen.arrays[-1]), "what was said after that was not remembered")


@behaviour(12, "a message was not in the file when its turn was over")
def survives_a_crash(trial: Trial) -> None:
    """Has every message in the file as it happens, and survives a torn last line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        trial.run(["My name is Ada.", "And?"], in_turn("Hello.", "Well?"), session=path)
        expect(path.is_file(), "a message was not in the file when its turn was over")
        lines = path.read_bytes().splitlines(keepends=True)
        expect(
            [json.loads(line)["role"] for line in lines] == ["user", "assistant"] * 2, "a line is no message"
        )
        path.write_bytes(b"".join(lines)[:-5])
        trial.run(["Still there?"], lambda array: "Yes.", session=path)
        seen = trial.run(["And now?"], lambda array: "Yes.", session=path)
        said = [message.content for message in seen.arrays[-1]]
        expect(
            "My name is Ada." in said and "Well?" not in said, "the torn line was not dropped, or more was"
        )
        expect("Yes." in said, "what was said after the crash was lost")


@behaviour(12, "after a crash a call was left without a result")
def answers_a_call_from_before_the_crash(trial: Trial) -> None:
    """Tells the model that a call whose result was lost in a crash may have been done in part."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        trial.run(["The code?"], in_turn(read("notes.txt"), "4711."), session=path)
        lines = path.read_bytes().splitlines(keepends=True) if path.is_file() else []
        path.write_bytes(b"".join(lines[:2]))  # the question and the call
        for _ in range(2):  # what was added is in the file, and is not added again
            seen = trial.run(["Still there?"], lambda array: "Yes.", session=path)
    errors = [result for result in seen.results if result.startswith("TOOL_RESULT ERROR")]
    expect(len(errors) == 1, "after a crash a call was left without a result")
    roles = [message.role for message in seen.arrays[-1][1:]]
    expect(roles == ["user", "assistant"] * (len(roles) // 2) + ["user"], "the roles do not take turns")


# ---- approval ----

CHANGE = (edit("notes.txt", "4711", "1"), edit("notes.txt", "code", "word"), "Done.")


@behaviour(13, "an edit was made without asking")
def asks_before_it_edits(trial: Trial) -> None:
    """Shows an edit and makes it only if the user says yes; a refusal reaches the model, with its reason."""
    seen = trial.run(["Change it."], in_turn(*CHANGE), answers=["no, keep the code", "yes"])
    expect("4711" in seen.files["notes.txt"], "an edit was made without asking")
    expect("keep the code" in seen.result(0), "the model was not told why its edit was refused")
    expect("-The code is 4711." in seen.transcript, "the user was not shown what would be changed")
    expect("The word is 4711." in seen.files["notes.txt"], "an edit that the user approved was not made")


@behaviour(13, "with nobody there to ask, an edit was made")
def silence_is_no_consent(trial: Trial) -> None:
    """Makes no edit where nobody is there to ask; asks once where the answer is always."""
    seen = trial.run(["Change it."], in_turn(*CHANGE), answers=[])
    expect("The code is 4711." in seen.files["notes.txt"], "with nobody there to ask, an edit was made")
    seen = trial.run(["Change it."], in_turn(*CHANGE), answers=["always"])
    expect("The word is 1." in seen.files["notes.txt"], "after always, it was asked again")


# ---- the user as a tool ----

QUESTION = 'TOOL_CALL {"name":"ask_user","arguments":{"question":"Which one?","options":["red","blue"]}}'


@behaviour(14, "the model could not ask the user")
def the_user_is_a_tool(trial: Trial) -> None:
    """Puts the model's question to the user in mid-turn; the answer, by number or text, is a result."""
    for answer, result in (("2", "blue"), ("green", "green")):
        seen = trial.run(["Paint it."], in_turn(QUESTION, "Done."), answers=[answer])
        told = [line.rstrip() for line in seen.result(0).split("\n")[1:]]
        expect(any(line.endswith(result) for line in told), "the model could not ask the user")
        expect(seen.result(0).startswith("TOOL_RESULT SUCCESS"), "an answer was not an ordinary result")
        numbered = re.search(r"\b1\W+red\s(?s:.*)\b2\W+blue\b", seen.transcript)
        expect(numbered, "the options were not shown with their numbers")
    seen = trial.run(["Paint it."], in_turn(QUESTION, "Done."), answers=[])
    expect(seen.result(0).startswith("TOOL_RESULT ERROR"), "silence was taken for an answer")


# ---- data as an answer ----


def report(arguments: str) -> str:
    """A call of report_answer, as a model writes it."""
    return f'TOOL_CALL {{"name":"report_answer","arguments":{arguments}}}'


DATA = re.compile(r'\{\s*"answer":\s*"4711",\s*"files":\s*\[\s*"notes.txt"\s*\]\s*\}')


@behaviour(15, "no data came out")
def answers_with_data(trial: Trial) -> None:
    """Gives data where a program asks for it; what does not fit the form goes back to the model."""
    wrong, right = report('{"answer":4711}'), report('{"answer":"4711","files":["notes.txt"]}')
    seen = trial.run(["/report What is the code?"], in_turn("It is 4711!", wrong, right, "Not this."))
    shown = "\n".join(line for line in seen.transcript.split("\n") if not line.startswith("tool-"))
    expect(DATA.search(shown), "no data came out")
    errors = [result for result in seen.results if result.startswith("TOOL_RESULT ERROR")]
    expect(len(errors) == 2, "an answer in prose, or of the wrong form, was let through")
    expect("files" in errors[1] and "answer" in errors[1], "the error did not say what does not fit")
    expect("Not this." not in seen.transcript, "the turn went on after the answer was given")


# ---- the context ----


def wants_summary(array: Sequence[Message]) -> bool:
    """Whether an array ends neither with a request of the user's nor with a file: then it wants a summary."""
    last = array[-1].content
    return not (
        re.search(r"^Read \d+\.txt$", last.split("\n")[-1])
        or re.match(r"TOOL_RESULT[^\n]*\n[\d ]+(?:\n|\Z)", last)
    )


def long_talk(array: Sequence[Message]) -> str:
    """A model that reads one file after the other, and sums up when it is asked to."""
    if wants_summary(array):
        return "SUMMARY: the code is 4711."
    last = array[-1].content
    return "I have." if last.startswith("TOOL_RESULT") else read(last.split()[-1])


@behaviour(16, "the array grew beyond its budget")
def keeps_to_its_budget(trial: Trial) -> None:
    """Has what is old summed up; keeps the system prompt, the request, and each call with its result."""
    files = {f"{number}.txt": f"{number} " * 700 for number in range(10, 22)}
    turns = [f"Read {name}" for name in files]
    seen = trial.run(turns, long_talk, files=files, budget=3000)
    largest = max(sum(len(message.content) for message in array) for array in seen.arrays)
    expect(largest < 5 * 3000 + 5000, "the array grew beyond its budget")
    expect("SUMMARY: the code is 4711." in str(seen.arrays[-1]), "what was summed up did not stay")
    requests = [array for array in seen.arrays if not wants_summary(array)]
    for array in requests:
        expect(array[0] == seen.arrays[0][0], "the system prompt was lost")
        roles = [message.role for message in array[1:]]
        expect(
            roles == ["user", "assistant"] * (len(roles) // 2) + ["user"], "a call was parted from its result"
        )
    said = "".join(message.content for message in requests[-1])
    expect(turns[-1] in said, "the request itself was summed up")


@behaviour(16, "what a step costs was not shown")
def shows_what_a_step_costs(trial: Trial) -> None:
    """Shows the tokens of each step, an estimate as one, and how much of them was sent before."""
    seen = trial.run(["The code?"], in_turn(read("notes.txt"), "4711."))
    costs = [line for line in seen.transcript.split("\n") if "token" in line]
    expect(len(costs) == 2, "what a step costs was not shown")
    expect(
        all(re.search("about|approx|estimate|~|≈", cost) for cost in costs),
        "an estimate was not shown as one",
    )
    shares = [int(share) for cost in costs for share in re.findall(r"(\d+) ?%", cost)]
    expect(shares[:1] == [0] and max(shares) > 0, "what was sent before was not shown in percent")


# ---- lies ----


@behaviour(17, "the tools told the truth")
def tells_the_lies_it_is_told_to(trial: Trial) -> None:
    """Lies to the model on request, and never to the disk; the truth comes back."""
    calls = (
        read("notes.txt"),
        "Aha.",
        read("notes.txt"),
        edit("notes.txt", "4711", "1"),
        "Done.",
        read("notes.txt"),
    )
    turns = ["/lie numbers", "Read it.", "/lie done", "Read and change it.", "/lie", "Read it."]
    seen = trial.run(turns, in_turn(*calls, "Done."))
    expect("9422" in seen.result(0), "the tools told the truth")
    expect("4711" in seen.result(1), "a lie was told that was not asked for")
    expect(seen.result(2).startswith("TOOL_RESULT SUCCESS"), "the edit that was not made was not reported")
    expect(
        seen.files["notes.txt"] == "The code is 4711.\n" and "4711" in seen.result(3), "the disk was lied to"
    )
