"""The files of one folder, held so that a model can read, list and edit them and reach nothing else.

Opened beneath the root by the system itself (``harness.beneath``), only regular files, never waiting, never
more than a bounded part; edited byte for byte (``harness.splice``) and in one step (``harness.atomic``). What
is refused comes with a reason that helps (``harness.path_faults``).
"""

import errno
import os
import posixpath
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path, PurePath

from harness import atomic, path_faults
from harness.beneath import NO_FOLLOW, READ, Beneath, Folder, Way, refusal
from harness.errors import SettingsError, ToolError
from harness.printable import one_line
from harness.splice import decode, splice, view

MAX_CHARS = 100_000  # of a file or a list of files that go to the model at once
MAX_LINES = 2_000  # of a file
MAX_ENTRIES = 1_000  # of a folder
MAX_EDITED_BYTES = 10_000_000  # an edit holds the whole file in memory, several times


@dataclass(frozen=True)
class Edit:
    """A change that has been worked out but not made: ``Workspace.apply`` makes it."""

    path: str
    line: int
    """Where the change begins, from 1."""
    old: bytes | None
    """What the file must still hold when the change is made; None: it must not exist."""
    new: bytes

    @property
    def before(self) -> str:
        """The text as it stands, as the model sees it."""
        return view(decode(self.old or b""))

    @property
    def after(self) -> str:
        """The text as it will be."""
        return view(decode(self.new))


class Workspace:
    """The folder ``root``. Every method raises ToolError, and no other error, whatever it is given.

    Args:
        root: a folder; it may be reached by a link. It is held open until ``close``.
        way: how to open beneath it; by default the best that the system offers.

    Raises:
        SettingsError: ``root`` isn't a folder.
    """

    def __init__(self, root: Path, *, way: Way | None = None) -> None:
        try:
            self._beneath = Beneath(root, way)
            with self._beneath.folder("") as folder:
                atomic.sweep(folder)
        except OSError as error:
            raise SettingsError(f"The workspace {root} can't be opened: {error.strerror}.") from error

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        self._beneath.close()

    def read(self, path: str) -> str:
        """The text of a file, its beginning where it is long, with a last line that says so."""
        where = self._relative(path)
        with self._explained(where):
            path_faults.refuse_name(where)
            with _closing(self._beneath.open(where)) as fd:
                path_faults.refuse_name(self._beneath.real(fd, where))
                data, status = _take(fd, 4 * MAX_CHARS)
            return _bounded(data, max(status.st_size, len(data)))

    def list(self, path: str = ".") -> str:
        r"""What is in a folder, one entry a line and sorted; folders end in "/". "" is the root, too.

        Nothing is followed or opened. What can't be seen in a name is written out (``a\nb``).
        """
        where = self._relative(path) or "."
        with self._explained(where):
            with self._beneath.folder(where) as folder:
                entries = sorted(entry for entry in folder.entries() if not atomic.is_temporary(entry[0]))
            names = [one_line(name, 300) + "/" * is_folder for name, is_folder in entries]
            ends = accumulate(len(name) + 1 for name in names[:MAX_ENTRIES])
            shown = names[: sum(end <= MAX_CHARS for end in ends)]
            if len(shown) < len(names):
                shown.append(f"[list_files cut this: {len(shown):,} of {len(names):,} entries are shown.]")
            return "\n".join(shown) or "(an empty folder)"

    def edit(self, path: str, old_text: str, new_text: str) -> str:
        """Replace the one place where ``old_text`` stands; if it is empty, create the file."""
        return self.apply(self.plan_edit(path, old_text, new_text))

    def plan_edit(self, path: str, old_text: str, new_text: str) -> Edit:
        """The edit that ``edit`` would make: nothing is written, and what can be refused is refused here."""
        where = self._relative(path)
        _check("old_text", old_text)
        _check("new_text", new_text)
        with self._explained(where):
            if old_text == new_text:
                raise ToolError("old_text and new_text are the same, so there is nothing to change.")
            path_faults.refuse_name(where, writing=True)
            try:
                with self._target(where) as (folder, name):
                    old, _ = self._current(folder, name)
            except FileNotFoundError as error:
                if old_text:
                    why = path_faults.reason(self._beneath, where, error)
                    raise ToolError(f"{why} To create a file, send an empty old_text.") from error
                return Edit(PurePath(os.path.normpath(where)).as_posix(), 1, None, new_text.encode())
            if old_text:
                new, line = splice(old, old_text, new_text)
                return Edit(where, line, old, new)
            if decode(old):
                raise ToolError(
                    "it exists and is not empty, and an empty old_text only creates. "
                    "Read it, and send the part to replace as old_text."
                )
            return Edit(where, 1, old, old + new_text.encode())

    def apply(self, edit: Edit) -> str:
        """Make a planned edit, whole or not at all. A file that has changed since the plan is left alone."""
        creating = edit.old is None
        made = self._folders_made(os.path.dirname(edit.path) if creating else "")
        with self._explained(edit.path), made, self._target(edit.path) as (folder, name):
            status = None
            if not creating:
                now, status = self._current(folder, name)
                if now != edit.old:
                    raise ToolError("it has changed since this edit was planned. Read it again.")
            atomic.write(folder, name, edit.new, status)
        if creating:
            return f"Created {one_line(edit.path)}."
        return f"Edited {one_line(edit.path)} at line {edit.line}."

    def _relative(self, path: str) -> str:
        _check("path", path)
        if "\0" in path:
            raise ToolError("path holds a zero byte, which no file name can.")
        with self._explained(path):
            return self._beneath.relative(path)

    @contextmanager
    def _explained(self, path: str) -> Iterator[None]:
        """Whatever goes wrong inside, the model is told of which path, and what to do."""
        try:
            yield
        except ToolError as error:
            raise ToolError(f"{one_line(path, 100)}: {error}") from error
        except OSError as error:
            why = path_faults.reason(self._beneath, path, error)
            raise ToolError(f"{one_line(path, 100)}: {why}") from error

    @contextmanager
    def _target(self, path: str) -> Iterator[tuple[Folder, str]]:
        """The folder, held open, and the name of a file that may be written."""
        head, name = os.path.split(path)
        if name in ("", ".", ".."):
            raise refusal(errno.EISDIR)
        with self._beneath.folder(head) as folder:
            path_faults.refuse_name(os.path.join(self._beneath.real(folder.fd, head), name), writing=True)
            yield folder, name

    def _current(self, folder: Folder, name: str) -> tuple[bytes, os.stat_result]:
        """All of a file that is to be edited. Not through a link: replacing it would replace the link."""
        if stat.S_ISLNK(os.stat(folder.at(name), dir_fd=folder.fd, follow_symlinks=False).st_mode):
            raise refusal(errno.ELOOP)
        with _closing(os.open(folder.at(name), READ | NO_FOLLOW, dir_fd=folder.fd)) as fd:
            data, status = _take(fd, MAX_EDITED_BYTES + 1)
        if len(data) > MAX_EDITED_BYTES:
            raise ToolError(f"it has {status.st_size:,} bytes; edit_file takes {MAX_EDITED_BYTES:,} at most.")
        if not status.st_mode & 0o222:
            raise ToolError("it is marked as read-only, so it is not changed.")
        return data, status

    @contextmanager
    def _folders_made(self, path: str) -> Iterator[None]:
        """The folders of ``path`` that are missing are made, and go again if what follows fails."""
        made: deque[tuple[str, str]] = deque()
        try:
            outer = ""
            for name in PurePath(path).parts:
                with self._beneath.folder(outer) as folder, suppress(FileExistsError):
                    os.mkdir(folder.at(name), dir_fd=folder.fd)
                    made.appendleft((outer, name))
                outer = posixpath.join(outer, name)
            yield
        except BaseException:
            for outer, name in made:
                with suppress(OSError), self._beneath.folder(outer) as folder:
                    os.rmdir(folder.at(name), dir_fd=folder.fd)
            raise


@contextmanager
def _closing(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _take(fd: int, limit: int) -> tuple[bytes, os.stat_result]:
    """The first ``limit`` bytes of an open file and its status, if it is a regular file."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise refusal(errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.ENXIO)
    with open(fd, "rb", closefd=False) as file:
        return file.read(limit), status


def _bounded(data: bytes, size: int) -> str:
    """The text of ``data``, which begins a file of ``size`` bytes, cut to what a model is given at once."""
    text = view(decode(data, cut=size > len(data)))
    lines = text[:MAX_CHARS].split("\n", MAX_LINES)
    if size == len(data) and len(text) <= MAX_CHARS and lines[MAX_LINES:] in ([], [""]):
        return text
    shown = "\n".join(lines[:MAX_LINES])
    return (
        f"{shown}\n[read_file cut this: {len(shown):,} characters in {shown.count(chr(10)) + 1:,} lines are "
        f"shown, of a file of {size:,} bytes. "
        "The rest can't be shown; edit_file still finds what you know to be in it.]"
    )


def _check(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ToolError(f"{name} holds half of a surrogate pair. Send the character itself.") from None
