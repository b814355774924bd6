"""The patch of a lesson: its agent beside the one before, as a unified diff or in numbers."""

import difflib
from collections.abc import Sequence

from harness.lessons import Lesson
from harness.printable import printable
from workshop.budgets import CHANGED_LINES_AIM, step_sizes
from workshop.definitions import read_text


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
    r"""A unified diff of two texts, empty if they are equal; in colour as workshop/paint.py has it.

    What is no visible character is written out (``\x1b``): a learner's own file is shown here as well.
    """
    before, after = printable(older).splitlines(), printable(newer).splitlines()
    lines = list(difflib.unified_diff(before, after, older_name, newer_name, lineterm=""))
    if not (color and lines):
        return lines
    from workshop.paint import painted  # knows Python's syntax, which takes a moment to import

    return list(painted(lines, after))


def _name(lesson: Lesson) -> str:
    return f"lesson {lesson.number}: {lesson.title}"
