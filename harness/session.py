"""Sessions: the array on disk, one message a line, appended as it happens.

A file that is only ever appended to costs the same at every step (rewriting the whole took 35 ms a step
elsewhere), and a crash can tear its last line only. JSON escapes newlines, so a line is a message whatever it
says.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from harness.errors import SessionError
from harness.messages import Message, joined

CLEARED = {"cleared": True}
ROLES = ("user", "assistant")  # the system prompt belongs to the program that runs, not to the session


def sessions_folder() -> Path:
    """Where sessions are kept: the user's own folder for such things, outside every workspace."""
    return Path(click.get_app_dir("agent-harness-workshop")) / "sessions"


def new_session_path(folder: Path, *, now: datetime | None = None) -> Path:
    """A file name that is not taken yet; the latest sorts last."""
    stem = (now or datetime.now()).strftime("%Y-%m-%d-%H%M%S")
    taken = {path.stem for path in folder.glob(f"{stem}*.jsonl")}
    names = (stem if number == 1 else f"{stem}-{number}" for number in range(1, len(taken) + 2))
    return folder / f"{next(name for name in names if name not in taken)}.jsonl"


class Session:
    """One session's file. It is made at the first message, readable by its owner only.

    Attributes:
        messages: what an earlier run left, without the system prompt; roles take turns.
        torn: whether the last line was cut off, as by a crash; it is dropped.

    Raises:
        SessionError: a line that is not the last can't be read; the text names it. Nothing is changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.messages: list[Message] = []
        self.torn = False
        self._whole = 0  # bytes, up to the end of the last line that is whole
        self._file: int | None = None
        if path.exists():
            self._read()

    def write(self, message: Message) -> None:
        """Append one message; it has left this process when the call returns.

        Raises:
            SessionError: the file can't be written.
        """
        self._append({"role": message.role, "content": message.content})

    def clear(self) -> None:
        """Forget what was said so far. The lines stay in the file, and the next run begins after them."""
        self._append(CLEARED)

    def close(self) -> None:
        """Close the file, if it was opened."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
                self._file = os.open(self.path, flags, 0o600)
                os.ftruncate(self._file, self._whole)  # a torn line must not run into the next one
            os.write(self._file, line)
        except OSError as error:
            raise SessionError(f"the session {self.path} can't be written: {error.strerror}") from error

    def _read(self) -> None:
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise SessionError(f"the session {self.path} can't be read: {error.strerror}") from error
        lines = raw.split(b"\n")
        tail = lines.pop()  # what follows the last newline: nothing, or a line that was torn
        self.torn = bool(tail.strip())
        self._whole = len(raw) - len(tail)
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            record = self._record(line, number)
            if record == CLEARED:
                self.messages.clear()
                continue
            message = Message(record["role"], record["content"])
            if self.messages and self.messages[-1].role == message.role:
                message = joined(self.messages.pop(), message)
            self.messages.append(message)

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        good = (
            isinstance(record, dict)
            and record.get("role") in ROLES
            and isinstance(record.get("content"), str)
        )
        if record != CLEARED and not good:
            raise SessionError(
                f"{self.path}, line {number} is no message; mend or remove that line, then resume"
            )
        assert isinstance(record, dict)
        return record


@dataclass(frozen=True)
class Summary:
    """A session in a list."""

    path: Path
    messages: int
    first: str
    """What the user said first."""


def all_sessions(folder: Path) -> Iterator[Summary]:
    """The sessions of a folder, the oldest first; one that can't be read is listed with the reason."""
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stem):
        try:
            found = Session(path).messages
            yield Summary(path, len(found), found[0].content if found else "")
        except SessionError as error:
            yield Summary(path, 0, str(error))


def find_session(folder: Path, name: str) -> Path:
    """The session of that name, or the latest for an empty one.

    Raises:
        SessionError: there is none; the text says how to list them.
    """
    names = {path.stem: path for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stem)}
    if not name and names:
        return list(names.values())[-1]
    if name not in names:
        raise SessionError(f"there is no session {name or 'yet'}; to list them: harness sessions")
    return names[name]
