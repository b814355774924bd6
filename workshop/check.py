"""Checking a learner's file: every behaviour that its lesson must have, in a process that can be ended.

A file that loops, hangs or ends its program costs the behaviour that was being tried, and no more: the next
one is tried in a new process. What was too slow is said to be that, and never to be something else.
"""

import json
import os
import queue
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from harness.lessons import PACKAGE, Lesson
from harness.printable import one_line
from workshop.examine import Verdict
from workshop.tasks import behaviours_of

SECONDS = 5.0  # for one behaviour; the slowest takes a tenth of a second
LOAD_SECONDS = 20.0  # for loading the file; imports from a slow disk are not the learner's fault
GRACE = 3.0  # seconds until a child that should have ended itself is killed
MOST_STOPPED = 2  # behaviours; then the others would most likely take as long
PRINTED = 5  # lines of what the learner's program printed
POLL = 0.1  # seconds
LINE_BYTES = 1 << 16

Outdated = Callable[[], bool]


@dataclass
class Report:
    """What came of a check."""

    lesson: Lesson
    path: Path
    fault: Verdict | None = None
    """Why the file could not be tried at all; then there are no verdicts."""
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def held(self) -> int:
        """How many behaviours hold."""
        return sum(verdict.state == "holds" for verdict in self.verdicts)

    @property
    def total(self) -> int:
        """How many behaviours can be tried on this system, and the lesson must have."""
        possible = [verdict for verdict in self.verdicts if verdict.state != "impossible"]
        return len(possible) if self.verdicts else len(behaviours_of(self.lesson))

    @property
    def solved(self) -> bool:
        """Whether everything holds that can be tried."""
        return self.fault is None and 0 < self.held == self.total


def check(
    path: Path,
    lesson: Lesson,
    *,
    seconds: float = SECONDS,
    load_seconds: float = LOAD_SECONDS,
    outdated: Outdated = lambda: False,
) -> Report | None:
    """Check a learner's file against all that its lesson must do.

    Args:
        path: the file.
        lesson: which lesson it is to be.
        seconds: after which a behaviour is stopped.
        load_seconds: after which loading the file is.
        outdated: asked again and again; as soon as it is true the check is given up, and None returned.
    """
    report = Report(lesson, path)
    behaviours = behaviours_of(lesson)
    stopped = 0
    with tempfile.TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as scratch:
        while len(report.verdicts) < len(behaviours):
            if stopped == MOST_STOPPED:
                rest = behaviours[len(report.verdicts) :]
                report.verdicts += [Verdict(row.name, "untried") for row in rest]
                break
            child = _Child(path, lesson, len(report.verdicts), (seconds, load_seconds), scratch)
            for verdict in child.verdicts(outdated):
                report.verdicts.append(verdict)
                stopped += verdict.state == "stopped"
            if child.given_up:
                return None
            if not report.verdicts[-1].name:
                report.fault, report.verdicts = report.verdicts[-1], []
                break
    return report


class _Child:
    """One process that tries behaviours, until one of them takes too long."""

    def __init__(
        self, path: Path, lesson: Lesson, start: int, limits: tuple[float, float], scratch: str
    ) -> None:
        self.path = path
        self.load_seconds = limits[1]
        self.mark = secrets.token_hex(8)
        self.given_up = False
        self.stack = Path(scratch) / f"stack-{self.mark}"  # where the child stood when its time was over
        arguments = [path.absolute(), lesson.number, start, *limits, self.mark, self.stack]
        # -P: nothing that lies in the current folder is taken for a library.
        self.command = [sys.executable, "-P", "-m", "workshop.examine", *map(str, arguments)]
        # What a stopped process leaves in the folder for temporary files goes with the check.
        inherited = os.environ.get("PYTHONPATH")
        self.environment = {
            **os.environ,
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), scratch),
            "PYTHONPATH": os.pathsep.join(filter(None, (str(PACKAGE.parent), inherited))),
        }

    def verdicts(self, outdated: Outdated) -> Iterator[Verdict]:
        """Every verdict; the last one may be that the process was stopped, or that it ended by itself."""
        name, limit, began = "", self.load_seconds, time.monotonic()
        asked = began
        ended = killed = False
        printed: deque[bytes] = deque(maxlen=400)
        with _running(self.command, self.environment) as (process, lines):
            while not ended:
                now = time.monotonic()
                if now > asked + POLL:
                    asked, self.given_up = now, outdated()
                killed = now > began + limit + GRACE
                if self.given_up or killed:
                    break
                with suppress(queue.Empty):
                    line = lines.get(timeout=POLL)
                    if line is None:
                        break
                    record = self._record(line)
                    if record is None:
                        printed.append(line)
                    elif "begin" in record:
                        name, limit, began = record["begin"], record["seconds"], time.monotonic()
                        printed.clear()
                    elif "done" in record:
                        ended = True
                    else:
                        yield _with_printed(Verdict(**record), printed)
            if not (ended or self.given_up):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0 if killed else GRACE)
                late = killed or time.monotonic() - began > limit - POLL
                yield _with_printed(self._ended(name, limit, late, process.poll()), printed)

    def _record(self, line: bytes) -> dict[str, Any] | None:
        """What the child says, if this line is not what the learner's program printed."""
        mark, _, text = line.partition(b" ")
        return json.loads(text) if mark == self.mark.encode() else None

    def _ended(self, name: str, limit: float, late: bool, code: int | None) -> Verdict:
        """The verdict on the behaviour during which the process ended."""
        while_loading = "" if name else " while it was being loaded"
        stack = self.stack.read_text(encoding="ascii", errors="replace") if self.stack.exists() else ""
        if late or stack:
            place = self._place(stack)
            at = f", at {place}" if place else ""
            why = "it loops without end, or waits for what never comes"
            return Verdict(name, "stopped", f"stopped after {limit:g} s{while_loading}{at}: {why}")
        return Verdict(name, "fails", f"the program ended by itself{while_loading} (exit code {code})")

    def _place(self, stack: str) -> str:
        """Where in the learner's file the program stood: the innermost line that faulthandler names."""
        found = re.search(rf'  File ".*{re.escape(self.path.name)}", line (\d+) in ', stack)
        if not found:
            return ""
        number = int(found[1])
        with suppress(OSError, IndexError):
            line = self.path.read_bytes().decode("utf-8", "replace").splitlines()[number - 1].strip()
            return f"line {number} of {self.path.parent.name}/{self.path.name}, {one_line(line, 120)!r}"
        return f"line {number}"


@contextmanager
def _running(
    command: list[str], environment: dict[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], "queue.Queue[bytes | None]"]]:
    """A process, and the lines that it writes; None after the last. Killed when it is left."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl+C is for the parent, which then ends the child and its children
    )
    assert process.stdout
    lines: queue.Queue[bytes | None] = queue.Queue(100)  # a program that prints without end has to wait
    reader = threading.Thread(target=_forward, args=(process.stdout, lines), daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        with suppress(OSError):
            if sys.platform == "win32":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        patience = time.monotonic() + 1  # the reader ends when all was taken from it
        while reader.is_alive() and time.monotonic() < patience:
            with suppress(queue.Empty):
                lines.get(timeout=0.02)


def _forward(stream: IO[bytes], lines: "queue.Queue[bytes | None]") -> None:
    with stream, suppress(OSError, ValueError):
        for line in iter(lambda: stream.readline(LINE_BYTES), b""):
            lines.put(line)
    lines.put(None)


def _with_printed(verdict: Verdict, printed: "deque[bytes]") -> Verdict:
    lines = []
    for line in printed:
        if line.strip():
            lines.append(one_line(line[:500].decode("utf-8", "replace").rstrip("\r\n")))
    return replace(verdict, printed=tuple(lines[-PRINTED:]))
