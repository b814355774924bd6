"""Trying a learner's agent: each behaviour, and in words what it did instead.

``examine`` runs in the process that calls it. ``python -m workshop.examine`` is the child process in which
``workshop.check`` runs it, because a learner's file may loop, hang or end the program. What the child says is
one line of JSON each, behind a mark that the parent has made up; everything else on its standard output is
what the learner's program printed.
"""

import faulthandler
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from harness.errors import HarnessError
from harness.lessons import find_lesson
from harness.printable import one_line
from workshop import trial as trial_module
from workshop.behaviours import Behaviour
from workshop.evidence import WatchedTrial, evidence
from workshop.examinee import Examinee
from workshop.tasks import behaviours_of
from workshop.trial import UnmetError


@dataclass(frozen=True)
class Verdict:
    """What came of one behaviour."""

    name: str
    """The behaviour's; empty if the file could not even be loaded."""
    state: Literal["holds", "fails", "stopped", "impossible", "untried"]
    sentence: str = ""
    """What was expected and did not happen."""
    evidence: tuple[str, ...] = ()
    """What was sent and shown, a line each."""
    printed: tuple[str, ...] = ()
    """What the learner's program printed meanwhile: the last lines."""


def examine(examinee: Examinee, behaviours: Sequence[Behaviour]) -> Iterator[Verdict]:
    """Try behaviours one after another; each verdict as soon as it is there."""
    for behaviour in behaviours:
        trial = WatchedTrial(examinee.agent_class)
        try:
            behaviour.check(trial)
            yield Verdict(behaviour.name, "holds")
        except UnmetError as unmet:
            yield Verdict(behaviour.name, "fails", str(unmet), tuple(evidence(trial, examinee)))
        except BaseException as error:  # whatever a learner's program may raise, sys.exit included
            yield explained(error, behaviour, trial, examinee)


def explained(error: BaseException, behaviour: Behaviour, trial: WatchedTrial, examinee: Examinee) -> Verdict:
    """A verdict for an error that no expectation has put into words."""
    number = examinee.line_of(error)
    if number is not None:
        return Verdict(
            behaviour.name, "fails", examinee.told(error, number), tuple(evidence(trial, examinee))
        )
    files = {frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)}
    untold = isinstance(error, OSError | AttributeError | NotImplementedError)
    if untold and trial_module.__file__ in files and trial.outcome is None:
        # The trial itself could not be set up: no named pipes on Windows, no right to make links.
        return Verdict(behaviour.name, "impossible", f"this system can't try it: {one_line(str(error))}")
    if not trial.requests:
        sentence = "nothing was sent to the model"
    elif trial.outcome and not trial.outcome.results:
        sentence = "no TOOL_RESULT was sent to the model"
    elif isinstance(error, KeyError):
        sentence = f"there is no file {error} any more"
    else:
        sentence = behaviour.breaks or "it did not get as far as this"
    return Verdict(behaviour.name, "fails", sentence, tuple(evidence(trial, examinee)))


def main(path: str, number: str, start: str, seconds: str, load_seconds: str, mark: str, stack: str) -> None:
    """The child process: examine a lesson's behaviours from one on, and end at the first that takes too long.

    Two lines a behaviour: that it begins, and its verdict. What takes too long is ended by faulthandler's own
    thread, which also works while Python itself is stuck; where the program stood it writes into a file,
    ``stack``, since the program may be printing at that moment.
    """
    pipe = os.dup(1)  # the learner's program may close its own
    last_words = os.open(stack, os.O_WRONLY | os.O_CREAT)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)  # type: ignore[union-attr]

    def say(record: dict[str, Any]) -> None:
        data = f"\n{mark} {json.dumps(record)}\n".encode()
        while data:
            data = data[os.write(pipe, data) :]

    def begin(name: str, limit: float) -> None:
        say({"begin": name, "seconds": limit})
        faulthandler.dump_traceback_later(limit, exit=True, file=last_words)

    behaviours = behaviours_of(find_lesson(int(number)))[int(start) :]
    try:
        begin("", float(load_seconds))
        examinee = Examinee(Path(path))
    except UnmetError as unmet:
        say(asdict(Verdict("", "fails", str(unmet))))
    else:
        for behaviour in behaviours:
            begin(behaviour.name, float(seconds))
            for verdict in examine(examinee, [behaviour]):
                say(asdict(verdict))
    say({"done": True})
    os._exit(0)  # not waiting for threads that the learner's program has left behind


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except HarnessError as error:
        sys.exit(str(error))
