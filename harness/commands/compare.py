"""``harness compare``: two lessons' agents on one scenario, beside each other, then the patch."""

import shutil
import sys

import click

from harness.console import Console, wants_color
from harness.errors import SettingsError
from harness.lessons import find_lesson, previous_lesson


@click.command()
@click.argument("number", type=int)
@click.option("--against", type=int, help="The lesson to compare with; default: the one before.")
@click.option("--wire", is_flag=True, help="Show what went out and came back at each step, too.")
@click.option("--no-patch", is_flag=True, help="The two runs only.")
@click.pass_obj
def compare(color: bool | None, number: int, against: int | None, wire: bool, no_patch: bool) -> None:
    """Run lesson NUMBER and the one before on NUMBER's scenario, side by side; then the patch."""
    newer = find_lesson(number)
    older = previous_lesson(newer) if against is None else find_lesson(against)
    if older is None:
        raise SettingsError(
            f"no lesson comes before lesson {number}; name one: harness compare {number} --against 2"
        )
    console = Console([], color=color)
    console.heading(f"Lessons {older.number} and {number} on the scenario of lesson {number}")

    # Only now what is heavy: the first line stands already.
    from workshop.compare import beside, run_on
    from workshop.diff import diff
    from workshop.side_by_side import ROOM, stacked, two_columns

    runs = run_on(newer, older, wire=wire), run_on(newer, newer, wire=wire)
    console.note("\n".join([*runs[0].about, ""]))
    rows, parted = beside(runs[0].lines, runs[1].lines)
    width = shutil.get_terminal_size().columns  # COLUMNS, else the terminal, else 80
    # What goes over the wire are long lines: in half a screen nobody could read them.
    draw = two_columns if width >= ROOM and not wire else stacked
    colored = wants_color(color, sys.stdout)
    lines = draw(runs, rows, parted, width=width, color=colored)
    if parted is None:
        lines += ["", "Both show the same, from the first line to the last."]
    if not no_patch:
        lines += ["", *diff(older, newer, color=colored)]
    click.echo("\n".join(lines), color=colored)


COMMANDS = (compare,)
