"""Opening what lies beneath one folder, and nothing else.

"Check the path, then open it" is two steps, and between them a folder can become a link that leads
elsewhere. Here the open is the check. There are three ways to do it, the best that the system has is taken:

kernel   ``openat2(2)`` with RESOLVE_BENEATH (Linux 5.6 and later). The kernel walks the path and refuses
         what leaves the root, whatever changes on the way. Symbolic links that stay inside are followed.
walk     The rest of POSIX. One component after the other, each relative to the folder opened before it and
         with O_NOFOLLOW, ``..`` taken away beforehand. A symbolic link is refused wherever it leads.
resolve  Windows. The path is resolved, compared and then opened, which is two steps again: it holds against
         any path a model can write, but not against another program that swaps folders at that moment.

After libpathrs (https://github.com/cyphar/libpathrs) and Go's os.Root.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Any, Literal

Way = Literal["kernel", "walk", "resolve"]


def os_flag(name: str) -> int:
    """An ``os.O_...`` constant, 0 where the system lacks it (Windows knows few of them)."""
    value: int = getattr(os, name, 0)
    return value


def refusal(code: int) -> OSError:
    """The error that the system would give with this errno."""
    return OSError(code, os.strerror(code))


_LONGEST = 4096  # characters of a path: Linux takes no more, and none of the ways shall take long over one
NO_FOLLOW = os_flag("O_NOFOLLOW")
# O_NONBLOCK: opening a named pipe that nobody writes to must not wait for ever.
READ = os.O_RDONLY | os_flag("O_NONBLOCK") | os_flag("O_NOCTTY") | os_flag("O_CLOEXEC") | os_flag("O_BINARY")
_FOLDER = os.O_RDONLY | os_flag("O_DIRECTORY") | os_flag("O_CLOEXEC")


@dataclass(frozen=True)
class Folder:
    """A folder held open.

    ``os.open(folder.at(name), ..., dir_fd=folder.fd)`` means its entry ``name``, wherever the folder has been
    moved to since, and whatever stands at its path now.
    """

    fd: int | None
    """None where the system can't hold a folder open; entries are then named by ``prefix``."""
    prefix: str = ""

    def at(self, name: str) -> str:
        """The path to give to a function of ``os`` together with ``dir_fd=self.fd``."""
        return self.prefix + name

    def entries(self) -> list[tuple[str, bool]]:
        """All that is in it, in no order: the name, and whether it is a folder. A link is none."""
        place: Any = self.prefix if self.fd is None else self.fd
        with os.scandir(place) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


class Beneath:
    """One root folder, and the opening of what is in it.

    Paths are relative to the root. Every method raises plain ``OSError``, and its errno EXDEV means that the
    path leads out of the root.
    """

    def __init__(self, root: Path, way: Way | None = None) -> None:
        self.root = Path(os.path.realpath(root))
        self._names = (Path(os.path.abspath(root)), self.root)  # as it was given, and as it is
        self._fd = os.open(root, _FOLDER) if os.open in os.supports_dir_fd else -1
        self.way: Way = way or _best_way(self._fd)

    def close(self) -> None:
        """Let go of the root; nothing can be opened any more."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def relative(self, path: str) -> str:
        """``path`` seen from the root: an absolute path into the root loses the root's own name."""
        if len(path) > _LONGEST:
            raise refusal(errno.ENAMETOOLONG)
        if not os.path.isabs(path):
            return path
        for name in self._names:
            if PurePath(path).is_relative_to(name):
                inner = PurePath(path).relative_to(name).as_posix()
                return inner + "/" if path.endswith("/") else inner
        raise refusal(errno.EXDEV)

    def open(self, path: str) -> int:
        """A descriptor to read the file at ``path``; the caller closes it."""
        if self.way == "kernel":
            return _openat2(self._fd, path, READ)
        inner = self._resolved(path) if self.way == "resolve" else _without_dots(path)
        head, name = os.path.split(inner)
        with self.folder(head) as folder:
            if folder.fd is None and os.path.isdir(folder.at(name or ".")):
                raise refusal(errno.EISDIR)  # Windows: "permission denied"
            return os.open(folder.at(name or "."), READ | NO_FOLLOW, dir_fd=folder.fd)

    @contextmanager
    def folder(self, path: str) -> Iterator[Folder]:
        """The folder at ``path`` ("" is the root), held open inside the ``with``."""
        if self.way == "resolve":
            place = self.root / self._resolved(path)
            if not place.is_dir():
                raise refusal(errno.ENOTDIR if place.exists() else errno.ENOENT)
            yield Folder(None, os.path.join(place, ""))
            return
        fd = _openat2(self._fd, path or ".", _FOLDER) if self.way == "kernel" else self._walk(path)
        try:
            yield Folder(fd)
        finally:
            os.close(fd)

    def real(self, fd: int | None, path: str) -> str:
        """What the open ``fd``, reached by ``path``, is really called, seen from the root.

        They differ only where links are followed, which is the kernel's way.
        """
        if self.way != "kernel":
            return self._resolved(path) if self.way == "resolve" else _without_dots(path)
        return os.path.relpath(_name_of(fd), _name_of(self._fd))

    def _walk(self, path: str) -> int:
        parts = _without_dots(path).split("/")
        fd = os.open(".", _FOLDER, dir_fd=self._fd)
        for part in filter(None, parts):
            try:
                inner = os.open(part, _FOLDER | NO_FOLLOW, dir_fd=fd)
            except NotADirectoryError:  # what Linux also says of a link
                if stat.S_ISLNK(os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode):
                    raise refusal(errno.ELOOP) from None
                raise
            finally:
                os.close(fd)
            fd = inner
        return fd

    def _resolved(self, path: str) -> str:
        real = Path(os.path.realpath(self.root / path))
        if not real.is_relative_to(self.root):
            raise refusal(errno.EXDEV)
        return "" if real == self.root else real.relative_to(self.root).as_posix()


def _without_dots(path: str) -> str:
    """``path`` with ``.`` and ``..`` taken away on paper, which is sound where no link is ever followed."""
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not kept:
                raise refusal(errno.EXDEV)
            kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return "/".join(kept)


# openat2(2), which neither Python nor the C library offers: its number (the same on every architecture but
# the old ones), and the two of its promises that are asked for.
_OPENAT2 = 437
_MACHINES = {"x86_64", "aarch64", "riscv64", "ppc64le", "s390x"}
_RESOLVE_NO_MAGICLINKS = 0x02  # nothing like /proc/self/root
_RESOLVE_BENEATH = 0x08


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return libc


def _openat2(folder: int, path: str, flags: int) -> int:
    how = _OpenHow(flags | os_flag("O_CLOEXEC"), 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    arguments = (
        ctypes.c_int(folder),
        ctypes.c_char_p(os.fsencode(path)),
        ctypes.byref(how),
    )
    code = 0
    for _ in range(1000):  # EAGAIN: something was renamed while the kernel resolved a "..", so ask again
        fd: int = _libc().syscall(ctypes.c_long(_OPENAT2), *arguments, ctypes.c_size_t(ctypes.sizeof(how)))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise refusal(code)


def _name_of(fd: int | None) -> str:
    return os.readlink(f"/proc/self/fd/{fd}")


def _best_way(root: int) -> Way:
    if root < 0:
        return "resolve"
    if sys.platform == "linux" and os.uname().machine in _MACHINES:
        with suppress(OSError):  # an old kernel, a container that forbids the call, no /proc
            fd = _openat2(root, ".", _FOLDER)
            try:
                _name_of(fd)
                return "kernel"
            finally:
                os.close(fd)
    return "walk"
