"""How far a learner has come: ``workbench/progress.json``, one entry a lesson.

The file is replaced as a whole, so that a crash leaves the old one. One that can't be read is kept under
another name and said to be broken; what stands beside it in the workbench is never touched.
"""

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.errors import HarnessError

FILE = "progress.json"
COUNTS = ("held", "total", "hints")
TRIES = 5  # on Windows, a file that another program has open for a moment can't be replaced


@dataclass(frozen=True)
class Entry:
    """What is remembered of one lesson; an empty text where there is no such day."""

    started: str = ""
    checked: str = ""
    solved: str = ""
    """When every behaviour held for the first time. A later reset does not take that away."""
    held: int = 0
    """How many behaviours held at the last check, of ``total``."""
    total: int = 0
    hints: int = 0
    """How many hints were shown."""


def now() -> str:
    """The current minute, as it stands in the file."""
    return datetime.now().isoformat(" ", "minutes")


class Progress:
    """The entries of a workbench. ``complaint`` says what was wrong with the file, if anything was."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self.complaint = ""
        self.entries = self._read()

    def __getitem__(self, number: int) -> Entry:
        return self.entries.get(number, Entry())

    def change(self, number: int, **changes: Any) -> None:
        """Change the entry of a lesson, in the file as it stands now: another command may have written it.

        Raises:
            HarnessError: it can't be written.
        """
        self.entries = self._read()
        self.entries[number] = replace(self[number], **changes)
        self._write(self.entries)

    def _write(self, entries: dict[int, Entry]) -> None:
        text = json.dumps({str(key): asdict(entry) for key, entry in sorted(entries.items())}, indent=1)
        new = self.path.with_name(f"{FILE}.{os.getpid()}.tmp")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(text + "\n", encoding="utf-8")
            patiently(lambda: os.replace(new, self.path))
        except OSError as error:
            raise HarnessError(f"progress is not kept: {self.path}: {error.strerror}") from error
        finally:
            with suppress(OSError):  # after the rename it is gone
                new.unlink()

    def _read(self) -> dict[int, Entry]:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise HarnessError(f"progress can't be read: {self.path}: {error.strerror}") from error
        try:
            found = json.loads(raw)
            whole = isinstance(found, dict)
        except (ValueError, RecursionError):
            found, whole = {}, False
        entries = {int(key): _entry(value) for key, value in found.items() if key.isdigit()} if whole else {}
        good = {key: entry for key, entry in entries.items() if entry}
        if not whole or len(good) < len(found):
            self._set_aside()
            self._write(good)
        return good

    def _set_aside(self) -> None:
        """Keep a file that is not as we write it, under another name."""
        broken = free_name(self.path.with_name(f"progress.broken-{datetime.now():%Y%m%d-%H%M%S}.json"))
        try:
            patiently(lambda: os.replace(self.path, broken))
        except OSError as error:
            raise HarnessError(f"{self.path} is damaged, and can't be moved: {error.strerror}") from error
        self.complaint = f"{FILE} was damaged: it is kept as {broken.name}, and what could be read is used"


def free_name(path: Path) -> Path:
    """The same name, or with a number where it is taken: what is kept must overwrite nothing."""
    names = [path, *(path.with_stem(f"{path.stem}-{number}") for number in range(2, 100))]
    return next(name for name in names if not name.exists())


def patiently(act: Callable[[], None]) -> None:
    """Do it, or try again a moment later, where another program has the file open."""
    for _ in range(TRIES - 1):
        try:
            return act()
        except PermissionError:
            time.sleep(0.1)
    return act()


def _entry(value: object) -> Entry | None:
    """An entry out of the file; None if it is none, whatever somebody has written there."""
    if not isinstance(value, dict):
        return None
    given = {field.name: value[field.name] for field in fields(Entry) if field.name in value}
    good = all(type(given[name]) is type(getattr(Entry(), name)) for name in given)
    return Entry(**given) if good and min(given.get(name, 0) for name in COUNTS) >= 0 else None
