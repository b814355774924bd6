"""A program on a real terminal, for tests: what is typed into it, and all that it sends to the screen."""

import io
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect

ROOT = Path(__file__).parent.parent


class Screen(pexpect.spawn):
    """A program on a terminal."""

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, encoding="utf-8", timeout=10, **options)
        self.delaybeforesend = None
        self.logfile_read = io.StringIO()

    @property
    def sent(self) -> str:
        """All that the screen was sent so far."""
        return self.logfile_read.getvalue()

    def prompt(self) -> None:
        """Wait until the program is ready for a line."""
        self.expect(r"You:(\x1b\[0m)? ")

    def enter(self, text: str) -> None:
        self.send(text + "\r")

    def interrupt(self) -> None:
        """Press Ctrl+C at a prompt.

        Between showing it and listening there is a moment in which Python's readline keeps a Ctrl+C to
        itself until the next key; no person is that quick.
        """
        time.sleep(0.1)
        self.send("\x03")

    def end(self) -> int | None:
        """Wait for the end; return the exit code."""
        self.expect(pexpect.EOF)
        self.wait()
        return self.exitstatus


@contextmanager
def on_screen(*argv: str, size: tuple[int, int] = (24, 80), **env: str) -> Iterator[Screen]:
    """Run ``argv`` on a terminal of ``size`` (rows, columns), with ``env`` and little else around it."""
    base = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
        "INPUTRC": "/dev/null",
    }
    child = Screen(argv[0], list(argv[1:]), env={**base, **env}, dimensions=size)
    child.ptyproc.delayafterclose = child.ptyproc.delayafterterminate = 0.02
    try:
        yield child
    finally:
        child.close(force=True)
