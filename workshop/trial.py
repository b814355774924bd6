"""A trial: one agent, one small conversation, and everything about it that can be seen from outside.

Only what a person or a model could see is looked at (the arrays that were sent, the transcript, the files),
so the same trials judge our lessons and an agent that somebody wrote from the task's text alone.
"""

import io
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.client import Reply
from harness.console import Console
from harness.errors import HarnessError, ModelError
from harness.lessons import make_agent
from harness.messages import Message
from harness.session import Session

Model = Callable[[Sequence[Message]], str]
NO_MORE = "That is all."
"""What a scripted model says where its script has ended."""


class UnmetError(AssertionError):
    """An expectation was not met; the text is a sentence about the agent's behaviour."""


def expect(condition: object, sentence: str) -> None:
    """Go on if the condition holds.

    Raises:
        UnmetError: it does not.
    """
    if not condition:
        raise UnmetError(sentence)


def in_turn(*replies: str) -> Model:
    """A model that gives these replies one after another.

    Still a pure function of the array: it counts the assistant's messages in it.
    """

    def model(messages: Sequence[Message]) -> str:
        said = sum(message.role == "assistant" for message in messages)
        return replies[said] if said < len(replies) else NO_MORE

    return model


@contextmanager
def alarm(seconds: float | None) -> Iterator[None]:
    """Interrupt what takes longer than this, wherever it waits; POSIX only, in the main thread.

    Raises:
        HarnessError: the time is over.
    """

    def ring(*_: object) -> None:
        raise HarnessError(f"stopped after {seconds} s")

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass
class Outcome:
    """What could be seen of a conversation."""

    arrays: list[list[Message]] = field(default_factory=list)
    """The array of every request, in order."""
    transcript: str = ""
    """What the console showed."""
    files: dict[str, str] = field(default_factory=dict)
    """Every file afterwards, by path: the workspace's as they are, what lies beside it behind ``../``."""
    error: HarnessError | None = None
    """What ended the conversation before its time."""

    @property
    def results(self) -> list[str]:
        """Every TOOL_RESULT that reached the model, in order."""
        last = self.arrays[-1] if self.arrays else []
        return [m.content for m in last if m.role == "user" and m.content.startswith("TOOL_RESULT")]

    def result(self, number: int) -> str:
        """The TOOL_RESULT with this number, from 0; an empty text where there is none."""
        return dict(enumerate(self.results)).get(number, "")

    @property
    def answers(self) -> list[str]:
        """What the transcript shows as said by the assistant; lines joined by newlines."""
        labels = r"You:|tool-\w+:|<Turn|<Step|Assistant:|\Z"
        return re.findall(rf"^Assistant: ((?:.|\n)*?)\n(?={labels})", self.transcript, re.MULTILINE)


class Trial:
    """Runs an agent class over conversations; each ``run`` has a fresh folder."""

    def __init__(self, agent_class: type[Any]) -> None:
        self.agent_class = agent_class

    def run(
        self,
        turns: Sequence[str],
        model: Model,
        *,
        files: Mapping[str, str] | None = None,
        beside: Mapping[str, str] | None = None,
        links: Mapping[str, str] | None = None,
        pipes: Sequence[str] = (),
        patience: float | None = None,
        session: Path | None = None,
        answers: Sequence[str] = ("yes",) * 20,
        most_steps: int = 200,
        **given: object,
    ) -> Outcome:
        """Let the agent take the turns with a model, in a workspace with these files.

        Args:
            turns: what the user says.
            model: from array to reply; may raise ModelError or KeyboardInterrupt, as a real wait may.
            files: the workspace; the default is one file, notes.txt.
            beside: files next to the workspace, outside it.
            links: symbolic links in the workspace, by name, to where they point.
            pipes: named pipes in the workspace, at which nobody writes.
            patience: seconds until the agent is interrupted by an alarm (POSIX), as one that hangs must be.
            session: the session's file, for an agent that keeps one; without it, a fresh one.
            answers: what the user answers when asked in mid-turn; without it, yes to everything.
            given: what else the agent is handed, where it asks for it.
            most_steps: after so many requests the agent is stopped, so that no trial runs for ever.
        """
        outcome = Outcome()
        screen = io.StringIO()

        class Client:
            """Stands where a ChatClient stands."""

            def complete(self, messages: Sequence[Message]) -> Reply:
                if len(outcome.arrays) >= most_steps:
                    raise ModelError(f"stopped after {most_steps} requests")
                outcome.arrays.append(list(messages))
                return Reply(model(messages), "stop")

        with tempfile.TemporaryDirectory(prefix="trial-") as name:
            folder = Path(name)
            workspace = folder / "workspace"
            workspace.mkdir()
            inside = {"notes.txt": "The code is 4711.\n"} if files is None else files
            for root, texts in ((workspace, inside), (folder, beside or {})):
                for path, text in texts.items():
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_bytes(text.encode())
            for pipe in pipes:
                os.mkfifo(workspace / pipe)
            for link, target in (links or {}).items():
                (workspace / link).symlink_to(target)
            console = Console(turns, answers=answers, out=screen)
            log = Session(session or folder / "session.jsonl")
            agent = make_agent(
                self.agent_class, client=Client(), console=console, workspace=workspace, session=log, **given
            )
            try:
                with alarm(patience):
                    agent.run()
            except HarnessError as error:
                outcome.error = error
            except KeyboardInterrupt:
                outcome.error = ModelError("interrupted")
            log.close()
            outcome.transcript = screen.getvalue()
            for file in filter(Path.is_file, folder.rglob("*")):
                within = file.is_relative_to(workspace)
                key = file.relative_to(workspace if within else folder).as_posix()
                outcome.files[key if within else f"../{key}"] = file.read_bytes().decode(errors="replace")
        return outcome
