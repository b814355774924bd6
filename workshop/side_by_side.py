"""Two transcripts on one screen: in two columns where there is room, else one below the other."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from workshop.compare import Row, Run

if TYPE_CHECKING:  # heavy, and imported where a screen is drawn
    from rich.text import Text

ROOM = 100  # columns of the terminal: in less, two transcripts are read better one below the other
LEAST = 20  # columns: what is narrower than that, the terminal itself may wrap
GUTTER = 2  # columns before each transcript, for the marks
PARTED = "from here they differ"
ENDED = "here it ends, and the other goes on"

Side = Literal["left", "right"]


def two_columns(
    runs: tuple[Run, Run], rows: Sequence[Row], parted: int | None, *, width: int, color: bool
) -> list[str]:
    """Both runs, line beside line, in ``width`` columns of the terminal."""
    left = _cells(runs[0], rows, parted, "left")
    right = _cells(runs[1], rows, parted, "right")
    pairs = [(*one, "", *other) for one, other in zip(left, right, strict=True)]
    half = (width - 1) // 2 - GUTTER
    return _drawn(pairs, (GUTTER, half, 1, GUTTER, half), color)


def stacked(
    runs: tuple[Run, Run], rows: Sequence[Row], parted: int | None, *, width: int, color: bool
) -> list[str]:
    """One run, then the other, in ``width`` columns of the terminal."""
    widths = GUTTER, max(width, LEAST) - GUTTER
    left = [cells for cells in _cells(runs[0], rows, parted, "left") if cells[1] is not None]
    right = [cells for cells in _cells(runs[1], rows, parted, "right") if cells[1] is not None]
    return [*_drawn(left, widths, color), "", *_drawn(right, widths, color)]


def _cells(
    run: Run, rows: Sequence[Row], parted: int | None, side: Side
) -> list[tuple["Text | str", "Text | None"]]:
    """The lines of one side: what stands in the gutter, and the text; None where only the other has one."""
    from rich.text import Text

    # Assembled: a style of the whole cell would colour the blanks behind the text, too.
    title = (f"lesson {run.lesson.number}: {run.lesson.title}", "bold")
    notices = [(f"\n{notice}", "yellow") for notice in run.notices]
    cells: list[tuple[Text | str, Text | None]] = [("", Text.assemble(title, *notices))]
    for number, row in enumerate(rows):
        if number == parted:
            goes_on = any(getattr(other, side) is not None for other in rows[parted:])
            words = PARTED if goes_on else ENDED
            cells.append((Text.assemble(("▶", "bold yellow")), Text.assemble((words, "bold yellow"))))
        line: str | None = getattr(row, side)
        mark = Text.assemble(("│", "yellow")) if row.differs and line is not None else ""
        cells.append((mark, None if line is None else Text.from_ansi(line)))
    return cells


def _drawn(rows: Sequence[Sequence["Text | str | None"]], widths: Sequence[int], color: bool) -> list[str]:
    """A grid as lines of text: long ones wrapped, wide characters counted as what they take."""
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=0)
    for width in widths:
        table.add_column(width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out = io.StringIO()
    # All that rich would find out from the environment is given: what is shown depends on the caller alone.
    screen = Console(
        file=out,
        width=sum(widths),
        height=1,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        legacy_windows=False,
    )
    screen.print(table)
    return [line.rstrip() for line in out.getvalue().rstrip("\n").split("\n")]
