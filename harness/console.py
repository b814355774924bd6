"""What the user types and sees: turns come in, labelled lines go out.

Every line says who speaks, as in the article: ``You:``, ``Assistant:``, ``tool-call:``, … All text that
comes from outside passes through ``printable``. Each line is flushed; where the reader has gone (``| head
-1``), BrokenPipeError is left to the command line. Imports little: it stands before the first line shown.
"""

import io
import itertools
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import click

from harness.messages import count_lines
from harness.printable import brief, one_line, printable
from harness.spinner import Spinner
from harness.terminal import is_terminal, typed_line, use_utf8, wants_color

__all__ = ["Console", "use_utf8", "wants_color"]

LEAVE_WITHIN = 2.0  # seconds: a second Ctrl+C within this time leaves

STYLES: dict[str, dict[str, Any]] = {
    "You:": {"fg": "green", "bold": True},
    "[Enter]": {"dim": True},
    "Assistant:": {"fg": "cyan", "bold": True},
    "tool-call:": {"fg": "magenta"},
    "tool-success:": {"fg": "blue"},
    "tool-error:": {"fg": "red"},
}


class Console:
    """The person at the other end, whether at a terminal, behind a pipe, or written down in a scenario.

    ``turns``: what the user says, given in advance and shown as if typed; without it, lines are read from
    standard input. ``answers``: the same for questions in mid-turn. ``step``: wait for Enter before each
    given turn. ``Console(out=io.StringIO(), turns=[...])`` writes a plain transcript, for tests.
    """

    def __init__(
        self,
        turns: Sequence[str] | None = None,
        *,
        answers: Sequence[str] = (),
        out: TextIO | None = None,
        color: bool | None = None,
        step: bool = False,
    ) -> None:
        self._typed = turns is None
        self._lines = iter(lambda: self._read_patiently("You:"), None) if turns is None else iter(turns)
        self._answers = iter(answers) if answers or turns is not None else None
        self._step = step and turns is not None
        self.out = sys.stdout if out is None else out
        if color is None and isinstance(self.out, io.StringIO):
            color = False  # a transcript in memory is compared: plain, even where FORCE_COLOR is set
        self._color_flag = color
        self._color = wants_color(color, self.out)
        self._interrupted_at = float("-inf")
        self._spinner = Spinner(self._write)

    # What the user says

    def turns(self) -> Iterator[str]:
        """The user's turns, one after another, blank ones skipped; it ends where the input ends.

        Raises KeyboardInterrupt at the second Ctrl+C within ``LEAVE_WITHIN``.
        """
        for number in itertools.count(1):
            label = f"<Turn {number}>"
            typed = self._typed and self._is_dialogue()
            if typed:
                self.heading(label)
            text = next((line for line in self._lines if line.strip()), None)
            if text is None or (self._step and self._read_patiently("[Enter]") is None):
                return
            if not typed:  # nobody has typed it onto the page
                self.heading(label)
                self._say("You:", text)
            yield text

    def ask(self, question: str) -> str | None:
        """Ask in mid-turn. None when nobody is there to answer: silence never means yes.

        In a scripted conversation the next of ``answers`` is taken; else it is typed, at a terminal only.
        Ctrl+D is None too; Ctrl+C raises KeyboardInterrupt.
        """
        self._line(printable(question))
        if self._answers is not None:
            answer = next(self._answers, None)
            if answer is not None:
                self._say("You:", answer)
            return answer
        if not is_terminal(sys.stdin):
            return None
        if not self._is_dialogue():  # the question went into a file: nobody may answer it unseen
            click.echo(printable(question), file=sys.stderr)
        with suppress(EOFError):
            return self._read("You:")
        return None

    def interrupted(self) -> None:
        """Say that Ctrl+C was caught in mid-turn: for a loop that keeps what it has and goes on.

        Raises KeyboardInterrupt at the second Ctrl+C within ``LEAVE_WITHIN``.
        """
        if is_terminal(self.out):
            self._write("\r")  # over the ^C that the terminal has echoed
        self._interrupt("interrupted; the turn so far is kept. Ctrl+C again to leave")

    # What the user sees

    def assistant(self, text: str) -> None:
        """What the model says to the user."""
        self._say("Assistant:", text)

    def step(self, number: int, most: int | None = None) -> None:
        """The model is asked once more within the turn, of at most ``most`` times."""
        self.heading(f"<Step {number}>" if most is None else f"<Step {number} of {most}>")

    def tool_call(self, name: str, arguments: Mapping[str, object]) -> None:
        """The call that is about to be run, long values cut."""
        self._say("tool-call:", f"{one_line(name)} {brief(arguments)}")

    def tool_success(self, name: str, result: str) -> None:
        """The call went well. The result is for the model; the user is told its length."""
        lines = count_lines(result)
        self._say("tool-success:", f"{one_line(name)} -> {lines} line{'' if lines == 1 else 's'}")

    def tool_error(self, name: str, reason: str) -> None:
        """The call was refused or failed. Further lines are set in: none of them can pose as a label."""
        reason = printable(reason).strip("\n").replace("\n", "\n  ")
        self._say("tool-error:", f"{one_line(name)} -> {reason}")

    def change(self, path: str, before: str, after: str) -> None:
        """An edit that somebody is asked to approve, as a diff."""
        from harness.changes import change_lines  # imports difflib, which few runs need

        for line in change_lines(path, before, after):
            style = {"+": {"fg": "green"}, "-": {"fg": "red"}}.get(line[0], {"dim": line[0] in "@\\"})
            self._line(self._styled(printable(line), **style))

    def heading(self, text: str) -> None:
        """What comes next: a turn, a step, a lesson."""
        self._line(self._styled(printable(text), bold=True))

    def note(self, text: str) -> None:
        """A word from the harness itself."""
        self._line(self._styled(printable(text), dim=True))

    def warn(self, text: str) -> None:
        """Something to look at, on standard error: it is no part of the transcript."""
        color = wants_color(self._color_flag, sys.stderr)
        text = click.style(printable(text), fg="yellow") if color else printable(text)
        with self._spinner.lock:
            self._spinner.erase()
            click.echo(text, file=sys.stderr, color=color)

    @contextmanager
    def thinking(self) -> Iterator[None]:
        """Show that the model is being waited for, at a terminal only."""
        if not (self._color and is_terminal(self.out)):
            yield
            return
        with self._spinner.spinning():
            yield

    # Reading

    def _is_dialogue(self) -> bool:
        """A terminal at both ends: what is typed appears where the transcript does."""
        return is_terminal(sys.stdin) and self.out is sys.stdout and is_terminal(self.out)

    def _read_patiently(self, label: str) -> str | None:
        """One line; None at the end of input. At a terminal the first Ctrl+C only clears the line."""
        while True:
            try:
                line = self._read(label, remember=True)
            except EOFError:
                return None
            except KeyboardInterrupt:
                if not is_terminal(sys.stdin):
                    raise
                self._interrupt("(Ctrl+C again to leave)")
            else:
                self._interrupted_at = float("-inf")  # the user has gone on
                return line

    def _read(self, label: str, *, remember: bool = False) -> str:
        """One line from standard input; raises EOFError at its end. Only a person is shown the label."""
        if self._is_dialogue():
            try:
                prompt = self._styled(label, **STYLES[label]) + " "
                return typed_line(prompt, color=self._color, remember=remember)
            except (EOFError, KeyboardInterrupt):
                self._write("\n")  # the cursor still stands behind the prompt
                raise
        if is_terminal(sys.stdin):  # the transcript goes into a file or a pipe
            click.echo(f"{label} ", file=sys.stderr, nl=False)
        line = "" if sys.stdin is None else sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n").removeprefix("\ufeff")  # PowerShell begins a pipe with a BOM

    def _interrupt(self, message: str) -> None:
        now = time.monotonic()
        if now - self._interrupted_at < LEAVE_WITHIN:
            raise KeyboardInterrupt
        self._interrupted_at = now
        self.note(message)

    # Writing

    def _say(self, label: str, text: str) -> None:
        text = printable(text).strip("\n")
        self._line(f"{self._styled(label, **STYLES[label])} {text}".rstrip(" "))

    def _line(self, text: str) -> None:
        with self._spinner.lock:
            self._spinner.erase()
            self._write(text + "\n")

    def _write(self, text: str) -> None:
        click.echo(text, file=self.out, nl=False, color=self._color)  # flushes

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self._color else text
