"""Set up what an agent is handed, and let it run: on a tape, live, or to record a tape."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.client import ChatClient
from harness.clients import Bounded, Client, Heard, impatient_client
from harness.console import Console
from harness.errors import EndOfDemonstrationError, ModelError, SettingsError
from harness.lessons import SAMPLE, Lesson, load_agent, make_agent, previous_lesson
from harness.scenario import Scenario, load_scenario, workspace_copy
from harness.session import Session
from harness.settings import Settings
from harness.tape import Tape


@contextmanager
def chosen_workspace(scenario: Scenario, named: Path | None) -> Iterator[Path]:
    """The folder that the user named, as it is; or a throw-away copy of the scenario's.

    Raises:
        SettingsError: the named folder is not there.
    """
    if named is None:
        with workspace_copy(scenario, SAMPLE) as copy:
            yield copy
    elif named.is_dir():
        yield named
    else:
        raise SettingsError(f"--workspace: {named} is not a folder")


def play(
    lesson: Lesson,
    console: Callable[[Scenario], Console],
    *,
    introduce: Callable[[Scenario, Tape], None] = lambda scenario, tape: None,
    agent: Path | None = None,
    tape: Path | None = None,
    workspace: Path | None = None,
    wire: bool = False,
) -> None:
    """Play a lesson's tape: no key, no network, no server.

    Args:
        lesson: whose scenario and tape.
        console: makes the console, given the scenario with the user's turns.
        introduce: is told what is about to be played.
        agent: another agent's file to run on the same scenario, such as the lesson before.
        tape: another tape than the lesson's own.
        workspace: a folder to work in, instead of a copy of the scenario's.
        wire: show each request and reply.

    Raises:
        HarnessError: the tape, the scenario or the agent can't be read, or the workspace is not there.
    """
    from harness.replay import Player, playing

    scenario = load_scenario(lesson.scenario_path)
    nowhere = Settings(base_url="http://tape.invalid/v1", model="tape", api_key=None)
    with playing(tape or lesson.tape_path) as played, chosen_workspace(scenario, workspace) as folder:
        introduce(scenario, played)
        screen = console(scenario)
        # A wait that is on the tape was waited for when it was recorded.
        player = Player(impatient_client(nowhere), scenario.rules, notice=screen.warn)
        bounded = Bounded(player, scenario.stop_after)
        perform(scenario, agent or lesson.agent_path, bounded, console, folder, wire=wire)
        for name in scenario.show:
            screen.note(f"{name} now holds {(folder / name).read_bytes()!r}")


def live(
    lesson: Lesson,
    console: Console,
    settings: Settings,
    *,
    session: Path,
    workspace: Path | None = None,
    wire: bool = False,
    **given: Any,
) -> None:
    """Let the user talk to the endpoint of ``settings`` through a lesson's agent.

    Args:
        lesson: whose agent.
        console: where the user types.
        settings: the endpoint.
        session: the session's file, for an agent that keeps one; if it is there, it is resumed.
        workspace: a folder to work in, instead of a copy of the scenario's.
        wire: show each request and reply.
        given: what else the agent is handed, by name, where it asks for it.

    Raises:
        HarnessError: as ``play``; ModelError where the agent survives no failure, or nothing else came.
    """
    scenario = load_scenario(lesson.scenario_path)
    with chosen_workspace(scenario, workspace) as folder:
        client = ChatClient(settings, notice=console.warn, waiting=console.thinking)
        heard = Heard(client)
        try:
            run_agent(lesson.agent_path, heard, console, folder, session, wire=wire, **given)
        finally:
            client.close()
    if heard.failures and not heard.replies:
        raise ModelError("No request of this run got a reply.")


def record(
    lesson: Lesson,
    tape: Path,
    settings: Settings,
    *,
    when: str,
    console: Callable[[Scenario], Console],
    patient: bool = True,
) -> None:
    """Record a tape: the lesson before on this lesson's scenario, then the lesson itself.

    Args:
        lesson: whose scenario.
        tape: where it is written.
        settings: the endpoint.
        when: the day, as the tape is to say it.
        console: makes a console for each of the two runs.
        patient: wait between two tries, as a busy server asks for.

    Raises:
        HarnessError: the scenario can't be read, or the tape can't be written.
    """
    from harness.replay import recording

    scenario = load_scenario(lesson.scenario_path)
    secrets = [settings.api_key] if settings.api_key else []
    runs = [one for one in (previous_lesson(lesson), lesson) if one]
    with recording(tape, model=settings.model, when=when, secrets=secrets) as next_run:
        for one in runs:
            screen = console(scenario)
            screen.note(f"recording lesson {one.number} on the scenario of lesson {lesson.number}")
            if patient:
                client = ChatClient(settings, notice=screen.warn, waiting=screen.thinking)
            else:
                client = impatient_client(settings)
            with workspace_copy(scenario, SAMPLE) as folder:
                try:
                    bounded = Bounded(client, scenario.stop_after)
                    perform(scenario, one.agent_path, bounded, console, folder)
                except (ModelError, EndOfDemonstrationError) as error:
                    screen.note(str(error))  # some lessons are about just that, and it is on the tape now
                finally:
                    client.close()
            next_run()


def perform(
    scenario: Scenario,
    agent: Path,
    client: Client,
    console: Callable[[Scenario], Console],
    workspace: Path,
    *,
    wire: bool = False,
) -> None:
    """Let an agent play its part in a scenario: once, and where the scenario says so again, resumed."""
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        session = Path(folder) / "session.jsonl"
        run_agent(agent, client, console(scenario), workspace, session, wire=wire, **scenario.given)
        if scenario.again:
            second = console(replace(scenario, turns=scenario.again))
            second.note("The program has ended. It is started again, with --resume.")
            run_agent(agent, client, second, workspace, session, wire=wire, **scenario.given)


def run_agent(
    path: Path,
    client: Client,
    console: Console,
    workspace: Path,
    session: Path,
    *,
    wire: bool = False,
    **given: Any,
) -> None:
    """Make the agent of a file, hand it what it asks for, and let it take turns."""
    log = Session(session)
    if log.torn:
        console.note("The last line of the session was cut off, as by a crash; it is dropped.")
    try:
        made_of = load_agent(path)
        if wire:
            from harness.wire import Wire, show_readings

            client = Wire(client, console)
        agent = make_agent(made_of, client=client, console=console, workspace=workspace, session=log, **given)
        if wire:  # after the agent has read what a session left
            show_readings(made_of, console)
        agent.run()
    finally:
        log.close()
