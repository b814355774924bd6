"""The command line: one click group. Whatever is heavy is imported inside the command that needs it."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.commands import Commands
from harness.console import Console, use_utf8, wants_color
from harness.errors import EndOfDemonstrationError, HarnessError, NoModelError, SettingsError
from harness.lessons import COURSE, all_lessons, find_lesson, previous_lesson

if TYPE_CHECKING:
    from harness.scenario import Scenario
    from harness.tape import Tape

FIRST_WITH_SESSIONS = 12
CONTEXT = {"help_option_names": ["-h", "--help"]}


@click.group(cls=Commands, context_settings=CONTEXT)
@click.option("--color/--no-color", default=None, help="Colours; else NO_COLOR, FORCE_COLOR, the terminal.")
@click.version_option(package_name="agent-harness-workshop")
@click.pass_context
def harness(context: click.Context, color: bool | None) -> None:
    """Understand agent harnesses: small programs that grow from a chat loop into a coding agent.

    Start with: harness lesson 1
    """
    context.obj = color


@harness.command()
@click.argument("number", type=int)
@click.option("--workspace", type=click.Path(path_type=Path), help="The folder to work in, as it is.")
@click.option("--base-url", help="An OpenAI-compatible endpoint, such as http://localhost:11434/v1.")
@click.option("--model", help="The model's name at that endpoint.")
@click.option("--live/--replay", default=None, help="A model, or the tape; default: live with LLM_API_KEY.")
@click.option("--cassette", type=click.Path(path_type=Path), help="Play this tape, not the lesson's own.")
@click.option("--real", is_flag=True, help="Play the tape of a real model instead of the scripted one.")
@click.option("--step", is_flag=True, help="Wait for Enter before each turn of the tape.")
@click.option("--wire", is_flag=True, help="Show what each request adds to the array, and the raw reply.")
@click.option("--resume", is_flag=False, flag_value="", help="Go on with a session, the latest or by name.")
@click.pass_obj
def lesson(
    color: bool | None,
    number: int,
    workspace: Path | None,
    base_url: str | None,
    model: str | None,
    live: bool | None,
    cassette: Path | None,
    real: bool,
    step: bool,
    wire: bool,
    resume: str | None,
) -> None:
    """Run lesson NUMBER: its tape, or with a key or --live a real model."""
    chosen = find_lesson(number)
    if real:
        if live or cassette:
            raise SettingsError("--real plays a tape of its own; leave --live and --cassette out")
        from workshop.real_tapes import real_lesson

        chosen, live = real_lesson(number), False
    console = Console(color=color)
    console.heading(f"Lesson {chosen.number}: {chosen.title}")

    from harness import runner
    from harness.settings import live_by_default, load_settings

    if live is None:
        live = cassette is None and (base_url is not None or live_by_default(dotenv=COURSE / ".env"))
    if live:
        if resume is not None and chosen.number < FIRST_WITH_SESSIONS:
            raise SettingsError(
                f"lesson {chosen.number} keeps no session; from lesson {FIRST_WITH_SESSIONS} on"
            )
        if cassette is not None or step:
            raise SettingsError("--cassette and --step are for playing a tape; leave --live out")
        settings = load_settings(base_url, model, dotenv=COURSE / ".env")
        console.note(f"{settings.model} at {settings.base_url}; Ctrl+D leaves")
        session = chosen_session(resume, console)
        runner.live(chosen, console, settings, session=session, workspace=workspace, wire=wire)
    else:
        if base_url is not None or model is not None or resume is not None:
            raise SettingsError(
                "--base-url, --model and --resume are for a live model (--live), not for a tape"
            )

        def introduce(scenario: "Scenario", tape: "Tape") -> None:
            console.note(scenario.shows)
            console.note(f"(a tape, no network; the model on it: {tape.model}, {tape.when})")

        def screen(scenario: "Scenario") -> Console:
            return Console(scenario.turns, answers=scenario.answers, color=color, step=step)

        try:
            runner.play(chosen, screen, introduce=introduce, tape=cassette, workspace=workspace, wire=wire)
        except EndOfDemonstrationError as end:  # some real models would go on for ever
            console.note(str(end))


@harness.command()
@click.option(
    "--workspace", type=click.Path(path_type=Path), default=".", help="The folder; default: this one."
)
@click.option("--base-url", help="An OpenAI-compatible endpoint.")
@click.option("--model", help="The model's name at that endpoint.")
@click.option("--budget", type=click.IntRange(min=500), help="Tokens that the conversation may take.")
@click.option("--wire", is_flag=True, help="Show what each request adds to the array, and the raw reply.")
@click.option("--resume", is_flag=False, flag_value="", help="Go on with a session, the latest or by name.")
@click.pass_obj
def chat(
    color: bool | None,
    workspace: Path,
    base_url: str | None,
    model: str | None,
    budget: int | None,
    wire: bool,
    resume: str | None,
) -> None:
    """Talk to a model about your own project: the last working agent, on this folder."""
    from harness import runner
    from harness.chat import AGENT, FIRST_STEPS
    from harness.settings import load_settings

    console = Console(color=color)
    try:
        settings = load_settings(base_url, model, dotenv=COURSE / ".env")
    except NoModelError:
        raise NoModelError(FIRST_STEPS) from None
    console.note(f"{settings.model} at {settings.base_url}, on {workspace.resolve()}; Ctrl+D leaves")
    given = {} if budget is None else {"budget": budget}
    session = chosen_session(resume, console)
    runner.live(
        find_lesson(AGENT), console, settings, session=session, workspace=workspace, wire=wire, **given
    )


def chosen_session(resume: str | None, console: Console) -> Path:
    """The file of a new session, or of the one to go on with."""
    from harness.session import find_session, new_session_path, sessions_folder

    folder = sessions_folder()
    if resume is None:
        return new_session_path(folder)
    path = find_session(folder, resume)
    console.note(f"going on with session {path.stem}")
    return path


@harness.command()
def sessions() -> None:
    """The sessions of live runs, the oldest first: name, number of messages, how it began."""
    from harness.printable import one_line
    from harness.session import all_sessions, sessions_folder

    folder = sessions_folder()
    for one in all_sessions(folder):
        click.echo(f"{one.path.stem}  {one.messages:4}  {one_line(one.first, 80)}")
    click.echo(f"(in {folder}; to go on with one: harness chat --resume NAME)")


@harness.command("list")
def list_() -> None:
    """The lessons, and what each adds."""
    for one in all_lessons():
        click.echo(f"{one.number:3}  {one.title:20} {one.adds}")


@harness.command()
@click.argument("number", type=int, required=False)
@click.option("--against", type=int, help="The lesson to compare with; default: the one before.")
@click.option("--stat", is_flag=True, help="One line a lesson instead of the lines themselves.")
@click.pass_obj
def diff(color: bool | None, number: int | None, against: int | None, stat: bool) -> None:
    """The lines by which lesson NUMBER differs from the one before: its patch."""
    from workshop import diff as differ

    if stat:
        lines = differ.stat([find_lesson(number)] if number else all_lessons())
    elif number is None:
        raise click.UsageError("which lesson? harness diff 3, or harness diff --stat")
    else:
        newer = find_lesson(number)
        older = find_lesson(against) if against is not None else previous_lesson(newer)
        lines = differ.diff(older, newer, color=wants_color(color, sys.stdout))
    click.echo("\n".join(lines), color=True)


@harness.command()
@click.argument("number", type=int)
@click.option("--base-url", help="An OpenAI-compatible endpoint.")
@click.option("--model", help="The model's name at that endpoint.")
@click.option("--to", "folder", type=click.Path(path_type=Path), default="recordings", show_default=True)
@click.pass_obj
def record(color: bool | None, number: int, base_url: str | None, model: str | None, folder: Path) -> None:
    """Record a tape of lesson NUMBER from your own model, into a folder of your own."""
    from datetime import date

    from harness import runner
    from harness.settings import load_settings

    chosen = find_lesson(number)
    settings = load_settings(base_url, model, dotenv=COURSE / ".env")
    tape = folder / f"lesson_{number:02}.yaml"

    def screen(scenario: "Scenario") -> Console:
        return Console(scenario.turns, answers=scenario.answers, color=color)

    runner.record(chosen, tape, settings, when=str(date.today()), console=screen)
    Console(color=color).note(f"written: {tape}. Play it: harness lesson {number} --cassette {tape}")


def run_script(file: str) -> None:
    """What ``python …/agent.py`` does: ``harness lesson N``; for a learner's file, ``harness try N``."""
    path = Path(file).resolve()
    numbers = [one.number for one in all_lessons() if one.agent_path == path]
    if numbers:
        main(["lesson", str(numbers[0]), *sys.argv[1:]])
    named = re.fullmatch(r"lesson_(\d+)", path.stem)
    main(["try", named[1] if named else path.name, *sys.argv[1:]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave: 0 done, 1 failed, 2 usage or settings, 130 interrupted."""
    use_utf8()
    try:
        code = harness.main(
            list(sys.argv[1:] if arguments is None else arguments), "harness", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except HarnessError as error:
        click.echo(f"harness: {error}", err=True)
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("", err=True)
        code = 130
    sys.exit(code)
