"""The commands that look after the course: the matrix, carrying a fix on, tapes, pages and picture."""

import sys

import click

from harness.console import wants_color
from harness.errors import HarnessError


@click.command()
@click.pass_obj
def matrix(color: bool | None) -> None:
    """Behaviour by lesson, from a real run: what each lesson can do, and fails to do."""
    from workshop.matrix import grid_lines, run_matrix

    for line in grid_lines(run_matrix(), color=wants_color(color, sys.stdout)):
        click.echo(line, color=True)


@click.command()
@click.argument("number", type=int)
def carry(number: int) -> None:
    """Merge an uncommitted fix of lesson NUMBER's agent forward into every later lesson."""
    from workshop.carry import carry as carry_forward

    for line in carry_forward(number):
        click.echo(line)


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if anything is out of date.")
def pages(check: bool) -> None:
    """Write the generated parts of every page again: transcripts, tables, code from files."""
    from workshop.pages import refresh

    stale = refresh(check=check)
    for path in stale:
        click.echo(f"{'out of date' if check else 'written'}: {path}")
    if check and stale:
        raise HarnessError("run: make pages")


@click.command()
def picture() -> None:
    """Draw the README's picture again, from a run."""
    from workshop.picture import PICTURE, refresh_picture

    click.echo(f"{'written' if refresh_picture() else 'the same as before'}: {PICTURE}")


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; fail if a tape is out of date.")
def cassettes(check: bool) -> None:
    """Record every lesson's tape again from its scripted model."""
    from workshop.cassettes import record_all

    stale = record_all(check=check)
    for path in stale:
        click.echo(f"{'out of date' if check else 'written'}: {path}")
    if check and stale:
        raise HarnessError("run: make cassettes")


COMMANDS = (matrix, carry, pages, picture, cassettes)
