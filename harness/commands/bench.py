"""The learner's commands: write a lesson yourself, in the workbench, and have it checked."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.console import Console, wants_color
from harness.errors import HarnessError
from harness.lessons import find_lesson

if TYPE_CHECKING:
    from harness.scenario import Scenario
    from harness.tape import Tape
    from workshop.check import Report
    from workshop.progress import Progress
    from workshop.workbench import Workbench

FROM_MINE = click.option("--from-mine", is_flag=True, help="On your own file of the lesson before, not ours.")


@click.command()
@click.argument("number", type=int)
@FROM_MINE
def start(number: int, from_mine: bool) -> None:
    """Begin to write lesson NUMBER yourself: the task, on top of the agent of the lesson before."""
    from workshop.tasks import command
    from workshop.workbench import Workbench, shown

    path = Workbench().start(find_lesson(number), from_mine=from_mine)
    click.echo(f"written: {path}")
    click.echo(f"Open {shown(path)} in your editor: the task stands at its top. Then, as often as you like:")
    click.echo(f"    {command('check', number):30} what works, and what does not")
    click.echo(f"    {command('watch', number):30} the same at every save")
    click.echo(f"    {command('try', number):30} see your agent play the lesson's scenario")
    click.echo(f"    {command('hint', number):30} one of three hints")


@click.command()
@click.argument("number", type=int)
@click.pass_obj
def check(color: bool | None, number: int) -> None:
    """Check your lesson NUMBER: what works, what does not, and what was seen instead."""
    from workshop.workbench import Workbench, shown

    bench = Workbench()
    click.echo(f"Checking {shown(bench.existing(find_lesson(number)))}")
    report = checked(bench, number, color, outdated=lambda: False)
    if not (report and report.solved):
        click.get_current_context().exit(1)


def checked(
    bench: "Workbench", number: int, color: bool | None, *, outdated: Callable[[], bool]
) -> "Report | None":
    """Check, show and remember; None if the file was saved again meanwhile."""
    from workshop.check import check as run_check
    from workshop.check_report import report_lines
    from workshop.progress import Progress, now

    lesson = find_lesson(number)
    report = run_check(bench.path(lesson), lesson, outdated=outdated)
    if report is None:
        return None
    try:  # before it is shown: who has seen it may leave with Ctrl+C
        progress = Progress(bench.folder)
        complain(progress)
        entry = progress[number]
        solved = entry.solved or (now() if report.solved else "")
        started = entry.started or now()
        progress.change(
            number, started=started, checked=now(), solved=solved, held=report.held, total=report.total
        )
    except HarnessError as error:  # a full disk must not take the result away
        click.echo(f"harness: {error}", err=True)
    for line in report_lines(report, color=wants_color(color, sys.stdout)):
        click.echo(line, color=True)
    return report


@click.command()
@click.argument("number", type=int)
@click.pass_obj
def watch(color: bool | None, number: int) -> None:
    """Check your lesson NUMBER at every save, until Ctrl+C."""
    from datetime import datetime

    from workshop.watch import watch as watch_file
    from workshop.workbench import Workbench, shown

    bench = Workbench()
    path = bench.existing(find_lesson(number))
    click.echo(f"Watching {path}; Ctrl+C leaves.")

    def on_save(outdated: Callable[[], bool]) -> None:
        click.echo(f"\n---- {datetime.now():%H:%M:%S}  lesson {number}  ----")
        if checked(bench, number, color, outdated=outdated) is None:
            click.echo("saved again: this check was given up")

    watch_file(path, on_save, on_gone=lambda: click.echo(f"{shown(path)} is gone; waiting for it."))


@click.command()
@click.argument("number", type=int)
@click.option("--all", "again", is_flag=True, help="Show again those that were shown.")
def hint(number: int, again: bool) -> None:
    """The next of three hints for lesson NUMBER."""
    from workshop.progress import Progress
    from workshop.tasks import command, hints
    from workshop.workbench import Workbench

    bench, lesson = Workbench(), find_lesson(number)
    progress = Progress(bench.folder)
    complain(progress)
    count = len(hints(lesson))
    if again:
        for index, text in enumerate(hints(lesson)[: progress[number].hints], 1):
            click.echo(f"hint {index} of {count}: {text}")
        if not progress[number].hints:
            click.echo(f"None was shown yet. The first: {command('hint', number)}")
        return
    given = bench.hint(lesson)
    if given is None:
        click.echo(f"All {count} were shown. Again: {command('hint', number, '--all')}")
        click.echo(f"How we wrote it: {command('solve', number)}")
        return
    click.echo(f"hint {given[0]} of {count}: {given[1]}")


@click.command()
@click.argument("number", type=int)
@click.pass_obj
def solve(color: bool | None, number: int) -> None:
    """How our lesson NUMBER differs from yours: - yours, + ours."""
    from workshop.workbench import Workbench

    lines = Workbench().solution(find_lesson(number), color=wants_color(color, sys.stdout))
    click.echo("\n".join(lines or ["Yours is the same as ours."]), color=True)


@click.command()
@click.argument("number", type=int)
@FROM_MINE
def reset(number: int, from_mine: bool) -> None:
    """Start lesson NUMBER again; your file is kept as a backup."""
    from workshop.workbench import Workbench, shown

    bench, lesson = Workbench(), find_lesson(number)
    backup = bench.reset(lesson, from_mine=from_mine)
    click.echo(f"{shown(bench.path(lesson))} is as at the start; yours is kept as {shown(backup)}")


@click.command()
def progress() -> None:
    """Where you are: each lesson, what holds in yours, how many hints you took."""
    from workshop.progress import Progress
    from workshop.workbench import Workbench

    bench = Workbench()
    kept = Progress(bench.folder)
    complain(kept)
    click.echo(f"{'lesson':26} {'yours':30} {'hints':>5}  last checked")
    for row in bench.rows(kept):
        name = f"{row.lesson.number:2} {row.lesson.title}"
        click.echo(f"{name:26} {row.state:30} {row.hints or '-':>5}  {row.checked or '-'}")
    click.echo(f"(in {bench.folder})")


@click.command("try")
@click.argument("number", type=int)
@click.option("--step", is_flag=True, help="Wait for Enter before each turn.")
@click.option("--wire", is_flag=True, help="Show what each request adds to the array, and the raw reply.")
@click.pass_obj
def try_(color: bool | None, number: int, step: bool, wire: bool) -> None:
    """See your lesson NUMBER play the lesson's scenario, with the scripted model."""
    from workshop.workbench import Workbench

    lesson = find_lesson(number)
    path = Workbench().existing(lesson)
    console = Console(color=color)
    console.heading(f"Lesson {number}: {lesson.title}, yours")

    def introduce(scenario: "Scenario", tape: "Tape") -> None:
        console.note(scenario.shows)

    def screen(scenario: "Scenario") -> Console:
        return Console(scenario.turns, answers=scenario.answers, color=color, step=step)

    from harness import runner

    sys.dont_write_bytecode = True  # a cache beside the learner's file could be taken for a newer one
    with told_in_a_line(path):
        runner.play(lesson, screen, introduce=introduce, agent=path, wire=wire)


@contextmanager
def told_in_a_line(path: Path) -> Iterator[None]:
    """Run a learner's file; whatever it raises is told in one line, without our own frames.

    Raises:
        HarnessError: the file can't be run, or raised an error.
    """
    from workshop.examinee import Examinee
    from workshop.trial import UnmetError

    try:
        examinee = Examinee(path)
    except UnmetError as unmet:
        raise HarnessError(str(unmet)) from unmet
    try:
        yield
    except (HarnessError, BrokenPipeError):  # the latter: whoever was reading has left
        raise
    except Exception as error:
        number = examinee.line_of(error)
        if number is None:
            raise
        raise HarnessError(examinee.told(error, number)) from error


def complain(progress: "Progress") -> None:
    """Say what was wrong with the file of progress, if anything was."""
    if progress.complaint:
        click.echo(f"harness: {progress.complaint}", err=True)


COMMANDS = (start, check, watch, try_, hint, solve, reset, progress)
