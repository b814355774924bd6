"""A check in words: what works, what does not, and for what does not, what was sent and what was seen."""

from collections.abc import Iterator

import click

from workshop.behaviours import Behaviour
from workshop.check import Report
from workshop.examine import Verdict
from workshop.tasks import behaviours_of, command
from workshop.workbench import shown

MOST_EXPLAINED = 3  # failures with all that was seen; of the others, the sentence
MARKS = {
    "holds": ("ok  ", "green"),
    "fails": ("FAIL", "red"),
    "stopped": ("STOP", "red"),
    "impossible": ("skip", "yellow"),
    "untried": ("-   ", "yellow"),
}


def report_lines(report: Report, *, color: bool) -> Iterator[str]:
    """The lines that a learner reads after a check."""
    lesson = report.lesson
    if report.fault:
        yield _marked("FAIL", "red", report.fault.sentence, color)
        yield from (f"       it printed: {line}" for line in report.fault.printed)
        yield "Nothing was tried: the file has to be mended first."
        return
    rows = {row.name: row for row in behaviours_of(lesson)}
    told: list[str] = []
    for verdict in report.verdicts:
        row = rows[verdict.name]
        if verdict.state == "untried" or (verdict.state == "holds" and row.first < lesson.number):
            continue
        yield from _about(verdict, row, lesson.number, told, color)
    yield from _summary(report, rows, color)


def _about(verdict: Verdict, row: Behaviour, number: int, told: list[str], color: bool) -> Iterator[str]:
    mark, hue = MARKS[verdict.state]
    yield _marked(mark, hue, row.title, color)
    if verdict.state == "impossible":
        yield f"       {verdict.sentence}"
    if verdict.state not in ("fails", "stopped"):
        return
    if row.first < number:
        yield f"       You broke something that lesson {row.first} had."
    again = verdict.sentence in told
    yield f"       {verdict.sentence}{' (as above)' if again else ''}"
    if not again and len(told) < MOST_EXPLAINED:
        yield from (f"         {line}" for line in verdict.evidence)
        yield from (f"         it printed: {line}" for line in verdict.printed)
    told.append(verdict.sentence)


def _summary(report: Report, rows: dict[str, Behaviour], color: bool) -> Iterator[str]:
    number = report.lesson.number
    earlier = [verdict for verdict in report.verdicts if rows[verdict.name].first < number]
    held = sum(verdict.state == "holds" for verdict in earlier)
    if held == len(earlier) > 0:
        yield _marked("ok  ", "green", f"{held} of {held} that earlier lessons had still hold", color)
    elif held:
        yield f"     {held} of {len(earlier)} that earlier lessons had still hold"
    if untried := sum(verdict.state == "untried" for verdict in report.verdicts):
        yield f"-    {untried} not tried, since what takes too long would take too long again"
    where = shown(report.path)
    if not report.solved:
        stuck = f"Stuck? {command('hint', number)}"
        yield f"Lesson {number}: {report.held} of {report.total} hold in {where}. {stuck}"
        return
    yield f"Lesson {number} is solved: all {report.total} hold in {where}."
    yield f"Compare it with ours: {command('solve', number)}"


def _marked(mark: str, hue: str, text: str, color: bool) -> str:
    return f"{click.style(mark, fg=hue, bold=True) if color else mark} {text}"
