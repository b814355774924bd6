"""Two transcripts on one screen: they fit it, nothing is lost, and both sides say where they part."""

import re
import sys

import click
import pytest
from rich.cells import cell_len

from harness.lessons import find_lesson
from tests.screen import on_screen
from workshop.compare import Run, beside, run_on
from workshop.side_by_side import ENDED, GUTTER, LEAST, PARTED, ROOM, stacked, two_columns


def made(lines):
    return Run(find_lesson(2), lines=lines), Run(find_lesson(3), lines=lines)


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("width", [1, 20, 79, ROOM, 101, 160])
def test_no_line_is_wider_than_the_screen(width, color):
    texts = [
        "日本語" * 40,
        "👩‍💻🙂" * 30,
        "x" * 300,
        "a b " * 50,
        "\tindented\t" * 9,
        "",
        click.style("é" * 150, fg="red"),
    ]
    runs = made(texts)
    rows, parted = beside(texts, [*texts[:3], "other", *texts[4:]])
    draw = two_columns if width >= ROOM else stacked
    for line in draw(runs, rows, parted, width=width, color=color):
        assert cell_len(click.unstyle(line)) <= max(width, LEAST)
        assert ("\x1b" in line) <= color


def test_nothing_is_lost_by_wrapping():
    texts = ["日本語" * 40, "x" * 300, "[bold]no markup[/bold] :smile: \\[x]"]
    rows, parted = beside(texts, texts)
    drawn = stacked(made(texts), rows, parted, width=30, color=False)
    kept = "".join(line[GUTTER:] for line in drawn).replace(" ", "")
    for text in texts:
        assert kept.count(text.replace(" ", "")) == 2


def test_the_parting_is_marked_on_both_sides():
    left, right = made(["same", "one"])[0], Run(find_lesson(3), lines=["same", "two", "three"])
    rows, parted = beside(left.lines, right.lines)
    drawn = two_columns((left, right), rows, parted, width=ROOM, color=False)
    mark = next(line for line in drawn if PARTED in line)
    assert mark.count(f"▶ {PARTED}") == 2
    after = drawn[drawn.index(mark) + 1 :]
    assert re.fullmatch(r"│ one +│ two", after[0])
    assert re.fullmatch(r" +│ three", after[1])
    assert not any("│" in line for line in drawn[: drawn.index(mark)])


def test_the_side_that_ends_first_says_so():
    left, right = made(["same"])[0], Run(find_lesson(3), lines=["same", "more"])
    rows, parted = beside(left.lines, right.lines)
    drawn = stacked((left, right), rows, parted, width=80, color=False)
    assert drawn.index(f"▶ {ENDED}") < drawn.index(f"▶ {PARTED}") < drawn.index("│ more")


def test_the_console_s_colours_are_kept():
    lesson = find_lesson(3)
    runs = run_on(lesson, find_lesson(2)), run_on(lesson, lesson)
    rows, parted = beside(runs[0].lines, runs[1].lines)
    drawn = "\n".join(two_columns(runs, rows, parted, width=120, color=True))
    assert re.search(r"\x1b\[1;32mYou:\x1b\[0m", drawn)
    assert re.search(r"\x1b\[35mtool-call:\x1b\[0m", drawn)


def test_it_fits_the_terminal():
    program = "from harness import cli; cli.main()"
    for columns, count in ((140, 1), (70, 2)):
        with on_screen(
            sys.executable,
            "-c",
            program,
            "compare",
            "4",
            "--no-patch",
            size=(50, columns),
        ) as screen:
            assert screen.end() == 0
            lines = click.unstyle(screen.sent).splitlines()
            assert sum(PARTED in line for line in lines) == count
            assert max(cell_len(line) for line in lines[4:]) <= columns
            assert "\x1b[" in screen.sent
