"""The patch of a lesson: its agent beside the one before, as a unified diff or in numbers."""

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from harness.lessons import Lesson
from harness.printable import printable
from workshop.budgets import CHANGED_LINES_AIM, step_sizes
from workshop.definitions import read_text

ALIKE = 0.5  # of two lines less alike than this, nearly every word would be marked


def diff(older: Lesson | None, newer: Lesson, *, color: bool = False) -> list[str]:
    """The lines by which the agents of two lessons differ; without ``older``, all of the newer one's.

    Raises:
        HarnessError: an agent can't be read.
    """
    names = _name(older) if older else "an empty file", _name(newer)
    lines = unified(read_text(older) if older else "", read_text(newer), *names, color=color)
    return lines or [f"{names[1]}: the same agent as {names[0]}"]


def stat(lessons: Sequence[Lesson]) -> list[str]:
    """A line for each lesson: how much it differs from the one before, counted as in workshop/budgets.py."""
    lines = []
    for size in step_sizes(lessons):
        added, removed = f"+{size.added}", f"-{size.removed}"
        mark = f"  (aim: {CHANGED_LINES_AIM})" if size.changed > CHANGED_LINES_AIM else ""
        name = f"lesson {size.lesson.number:<3} {size.lesson.slug:20}"
        lines.append(f"{name} {added:>4} {removed:>4}  {size.changed:3} changed{mark}")
    return lines


def unified(older: str, newer: str, older_name: str, newer_name: str, *, color: bool) -> list[str]:
    r"""A unified diff of two texts, empty if they are equal. In colour, changed words stand out.

    What is no visible character is written out (``\x1b``): a learner's own file is shown here as well.
    """
    before, after = printable(older).splitlines(), printable(newer).splitlines()
    lines = list(difflib.unified_diff(before, after, older_name, newer_name, lineterm=""))
    return list(_colored(lines)) if color else lines


def _name(lesson: Lesson) -> str:
    return f"lesson {lesson.number}: {lesson.title}"


def _colored(lines: list[str]) -> Iterator[str]:
    yield from (click.style(line, bold=True) for line in lines[:2])
    runs = [(sign, list(run)) for sign, run in groupby(lines[2:], key=lambda line: line[0])]
    for index, (sign, run) in enumerate(runs):
        if sign == "@":
            yield from (click.style(line, fg="cyan") for line in run)
        elif sign == " ":
            yield from run
        else:
            # Removed lines stand before the added ones. Where there are as many, they are pairs.
            neighbour = runs[index + 1 : index + 2] if sign == "-" else runs[index - 1 : index]
            others = [other[1:] for twin_sign, twin in neighbour if twin_sign in "+-" for other in twin]
            twins = others if len(others) == len(run) else [""] * len(run)
            yield from (_changed(line, twin) for line, twin in zip(run, twins, strict=True))


def _changed(line: str, twin: str) -> str:
    """An added or removed line in its colour; the words that its twin lacks are reversed."""
    color = "red" if line[0] == "-" else "green"
    words, others = (re.findall(r"\w+|\s+|.", text) for text in (line[1:], twin))
    matcher = difflib.SequenceMatcher(None, others, words, autojunk=False)
    if matcher.ratio() < ALIKE:
        return click.style(line, fg=color)
    text = click.style(line[0], fg=color)
    for kind, _, _, first, last in matcher.get_opcodes():
        if first < last:
            new = kind != "equal"
            text += click.style("".join(words[first:last]), fg=color, reverse=new or None)
    return text
