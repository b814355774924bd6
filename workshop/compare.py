"""Two agents on one scenario: what each shows, line beside line, and the first place where they part."""

import io
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest

import click

from harness.console import Console
from harness.errors import HarnessError, ScenarioError, SettingsError, TapeError
from harness.lessons import Lesson
from harness.printable import printable
from harness.runner import play
from harness.scenario import Scenario
from harness.tape import Tape

# As Console writes it in colour. No text of a model can pose as one: it can't hold an escape.
STEP = re.compile(r"\x1b\[1m<Step (\d+)")


@dataclass
class Run:
    """What an agent showed on a scenario."""

    lesson: Lesson
    about: list[str] = field(default_factory=list)
    """What the scenario shows, and who speaks on the tape."""
    lines: list[str] = field(default_factory=list)
    """Its transcript, in the console's colours."""
    notices: list[str] = field(default_factory=list)
    """What the harness had to say about the run: that it left the tape."""


@dataclass(frozen=True)
class Row:
    """A line of one transcript beside the line of the other that belongs to it, if one does."""

    left: str | None
    right: str | None
    differs: bool


class Screen(Console):
    """A console in memory; what goes to standard error elsewhere is kept beside the transcript."""

    def __init__(self, scenario: Scenario, out: io.StringIO, notices: list[str]) -> None:
        super().__init__(scenario.turns, answers=scenario.answers, out=out, color=True)
        self._notices = notices

    def warn(self, text: str) -> None:
        """Keep a notice."""
        self._notices.append(printable(text))


def run_on(scenario_of: Lesson, agent: Lesson, *, wire: bool = False) -> Run:
    """Let a lesson's agent play another lesson's tape. How a run ended is a part of what there was to see.

    Raises:
        SettingsError: the file holds no agent.
        ScenarioError: the scenario can't be read.
        TapeError: nor can the tape.
    """
    run, out = Run(agent), io.StringIO()

    def screen(scenario: Scenario) -> Screen:
        return Screen(scenario, out, run.notices)

    def introduce(scenario: Scenario, tape: Tape) -> None:
        who = f"(a tape, no network; the model on it: {tape.model}, {tape.when})"
        run.about = [scenario.shows, who]

    try:
        play(scenario_of, screen, introduce=introduce, agent=agent.agent_path, wire=wire)
    except (SettingsError, ScenarioError, TapeError):
        raise  # there was no run
    except HarnessError as error:
        out.write(click.style(printable(f"harness: {error}"), fg="red"))
    except Exception as error:  # a learner's agent may break in any way, and the comparison shows where
        out.write(click.style(printable(f"harness: the agent broke: {_fault(error, agent)}"), fg="red"))
    shown = out.getvalue().rstrip("\n")
    run.lines = shown.split("\n") if shown else []
    return run


def beside(left: Sequence[str], right: Sequence[str]) -> tuple[list[Row], int | None]:
    """Two transcripts as rows, and the number of the row from which on they differ; None if nowhere.

    That one agent counts its steps and the other does not, or not to the same end, is no difference.
    """
    rows: list[Row] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if _key(left[i]) == _key(right[j]):
            rows.append(Row(left[i], right[j], False))
            i, j = i + 1, j + 1
        elif STEP.match(right[j]):
            rows.append(Row(None, right[j], False))
            j += 1
        elif STEP.match(left[i]):
            rows.append(Row(left[i], None, False))
            i += 1
        else:
            break
    if i == len(left) and j == len(right):
        return rows, None
    while rows and None in (rows[-1].left, rows[-1].right):
        # A step that only one of them takes belongs to what follows it.
        row = rows.pop()
        i, j = i - (row.left is not None), j - (row.right is not None)
    return rows + _aligned(left[i:], right[j:]), len(rows)


def _aligned(left: Sequence[str], right: Sequence[str]) -> list[Row]:
    """What follows the first difference: lines that are the same again stand beside each other."""
    rows = []
    matcher = SequenceMatcher(None, [*map(_key, left)], [*map(_key, right)], autojunk=False)
    for kind, first, last, other_first, other_last in matcher.get_opcodes():
        for one, other in zip_longest(left[first:last], right[other_first:other_last]):
            rows.append(Row(one, other, kind != "equal"))
    return rows


def _key(line: str) -> str:
    """What makes two lines the same: ``<Step 3>`` and ``<Step 3 of 20>`` are."""
    step = STEP.match(line)
    return step[0] if step else line


def _fault(error: Exception, agent: Lesson) -> str:
    """An exception in one line: what, and where in the agent's file."""
    path = str(agent.agent_path)
    places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    place = getattr(error, "lineno", None) or (places[-1] if places else None)
    what = getattr(error, "msg", None) or " ".join(str(error).split())
    return f"{type(error).__name__}: {what}" + (f" ({agent.agent_path.name}, line {place})" if place else "")
