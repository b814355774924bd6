"""The matrix: every behaviour against every lesson, from a real run."""

from collections.abc import Iterator

import click

from harness.lessons import Lesson, all_lessons, load_agent
from workshop.behaviours import Behaviour, all_behaviours
from workshop.trial import Trial, UnmetError

Grid = dict[tuple[str, int], str | None]
"""By behaviour's name and lesson's number: None where it holds, else the sentence with which it failed."""


def run_behaviour(behaviour: Behaviour, lesson: Lesson) -> str | None:
    """Try one behaviour on one lesson; None if it holds, else why not."""
    try:
        behaviour.check(Trial(load_agent(lesson.agent_path)))
    except UnmetError as unmet:
        return str(unmet)
    return None


def run_matrix() -> Grid:
    """Try every behaviour on every lesson: a few hundred short conversations, a few seconds."""
    return {
        (behaviour.name, lesson.number): run_behaviour(behaviour, lesson)
        for behaviour in all_behaviours()
        for lesson in all_lessons()
    }


def grid_lines(grid: Grid, color: bool) -> Iterator[str]:
    """The grid for a terminal: a row a behaviour, a column a lesson."""
    numbers = [lesson.number for lesson in all_lessons()]
    width = max(len(behaviour.title) for behaviour in all_behaviours())
    yield " " * width + "".join(f"{number:3}" for number in numbers)
    for behaviour in all_behaviours():
        row = ""
        for number in numbers:
            holds = grid[behaviour.name, number] is None
            mark = "  +" if holds else "  ."
            row += click.style(mark, fg="green" if holds else "red") if color else mark
        yield f"{behaviour.title:{width}}{row}"


def markdown(grid: Grid) -> str:
    """The grid as a table for the README."""
    numbers = [lesson.number for lesson in all_lessons()]
    lines = ["| behaviour | " + " | ".join(map(str, numbers)) + " |", "|---|" + ":-:|" * len(numbers)]
    for behaviour in all_behaviours():
        marks = ["✔" if grid[behaviour.name, number] is None else "·" for number in numbers]
        lines.append(f"| {behaviour.title} | " + " | ".join(marks) + " |")
    return "\n".join(lines)
