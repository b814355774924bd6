"""The commands that look after machine and course: doctor, matrix, carry, tapes, pages, picture."""

import sys
from pathlib import Path

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

    tell(refresh(check=check), check, "make pages")


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

    tell(record_all(check=check), check, "make cassettes")


@click.command()
@click.option("--live", is_flag=True, help="Also probe the endpoint: five prompts and a score.")
@click.option("--base-url", help="An OpenAI-compatible endpoint.")
@click.option("--model", help="The model's name at that endpoint.")
@click.pass_obj
def doctor(color: bool | None, live: bool, base_url: str | None, model: str | None) -> None:
    """Check this machine: Python, terminal, encoding, disk, tapes, settings; one line each."""
    from workshop.doctor import examine

    faults = 0
    for finding in examine(live=live, base_url=base_url, model=model, color=color):
        mark = click.style("ok  ", fg="green") if finding.remedy is None else click.style("FAIL", fg="red")
        faults += finding.remedy is not None
        click.echo(f"{mark} {finding.subject}", color=wants_color(color, sys.stdout))
        if finding.remedy:
            click.echo(f"     {finding.remedy}")
    if faults:
        raise HarnessError(f"{faults} of these want mending")


def tell(stale: list[Path], check: bool, remedy: str) -> None:
    """Name what was written again, or, with ``check``, what is out of date and how to mend it.

    Raises:
        HarnessError: with ``check``, if anything is out of date.
    """
    for path in stale:
        click.echo(f"{'out of date' if check else 'written'}: {path}")
    if check and stale:
        raise HarnessError(f"run: {remedy}")


COMMANDS = (doctor, matrix, carry, pages, picture, cassettes)
