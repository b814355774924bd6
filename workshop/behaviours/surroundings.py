"""Lessons 12 to 17: sessions, approval, the user as a tool, data as an answer, the context, and lies."""

import json
import tempfile
from pathlib import Path

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
