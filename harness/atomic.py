"""Writing a file so that whoever looks sees all of the old text or all of the new, after a crash as well.

The text goes into a temporary file beside the target, onto the disk, and is then renamed over the target: a
rename is the one change of a file that nobody can see half done.
"""

import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

from harness.beneath import NO_FOLLOW, Folder, os_flag
from harness.errors import ToolError

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW | os_flag("O_CLOEXEC") | os_flag("O_BINARY")
_TEMPORARY = re.compile(r"\.harness-(\d{1,9})-[0-9a-f]{8}\.tmp")  # the number is its writer's process
_STALE_SECONDS = 3600  # a write takes milliseconds
_FOLDERS_SWEPT = 500  # starting must stay quick in a huge project


def is_temporary(name: str) -> bool:
    """Whether this is the name of a temporary file of ours."""
    return _TEMPORARY.fullmatch(name) is not None


def write(folder: Folder, name: str, data: bytes, replacing: os.stat_result | None) -> None:
    """Make ``data`` the contents of ``name`` in ``folder``.

    ``replacing`` is the status of the file as its old contents were read: it keeps its mode and, where the
    system lets us, its owner. None creates, and never overwrites. Since the file is a new one under the old
    name, other hard links to the old one keep the old text, and extended attributes are not carried over.

    Raises:
        ToolError: the file has changed since it was read.
        OSError: the system could not write, or (creating) the name is taken.
    After either, the old file is as it was and the temporary one is gone.
    """
    temporary = f".harness-{os.getpid()}-{os.urandom(4).hex()}.tmp"
    here = folder.fd
    try:
        # A new file has what the umask leaves of 0666. What replaces a closed one is closed from the start.
        fd = os.open(folder.at(temporary), _NEW, 0o666 if replacing is None else 0o600, dir_fd=here)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if replacing is not None and hasattr(os, "fchown"):
                _make_alike(fd, replacing)
            os.fsync(fd)
        if replacing is None:
            _put(folder, temporary, name)
        else:
            now = os.stat(folder.at(name), dir_fd=here, follow_symlinks=False)
            if _identity(now) != _identity(replacing):
                raise ToolError("it was changed by another program just now. Read it again, then edit.")
            os.replace(folder.at(temporary), folder.at(name), src_dir_fd=here, dst_dir_fd=here)
    finally:  # also on Ctrl+C; after a rename there is nothing left to remove
        with suppress(OSError):
            os.unlink(folder.at(temporary), dir_fd=here)
    if here is not None:
        with suppress(OSError):  # the edit is done; this asks that its name outlive a power cut, too
            os.fsync(here)


def _make_alike(fd: int, old: os.stat_result) -> None:
    """Give the open file the owner and the mode of ``old``."""
    mode = stat.S_IMODE(old.st_mode)
    try:
        os.fchown(fd, old.st_uid, old.st_gid)
    except PermissionError:  # only root may give a file away; then it can't run as its old owner either
        mode &= 0o777
    os.fchmod(fd, mode)


def _put(folder: Folder, temporary: str, name: str) -> None:
    """Give the temporary file its name, unless that is taken: a rename would overwrite, a link does not."""
    here = folder.fd
    try:
        os.link(folder.at(temporary), folder.at(name), src_dir_fd=here, dst_dir_fd=here)
    except (
        OSError
    ):  # no hard links here? Take the name with an empty file, if it is free, and rename over that
        os.close(os.open(folder.at(name), _NEW, 0o666, dir_fd=here))
        try:
            os.replace(folder.at(temporary), folder.at(name), src_dir_fd=here, dst_dir_fd=here)
        except BaseException:
            os.unlink(folder.at(name), dir_fd=here)
            raise


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_mode


def sweep(folder: Folder) -> None:
    """Remove the temporary files that killed processes left in ``folder`` and the folders below it.

    Links are not followed, folders that hold no sources are left out, and so is what lies behind the first
    500 folders. What stays behind does no harm: it is never listed.
    """
    walk: Iterator[Any] = os.walk(folder.prefix) if folder.fd is None else os.fwalk(dir_fd=folder.fd)
    for place, folders, files, *fd in islice(walk, _FOLDERS_SWEPT):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        here = Folder(fd[0]) if fd else Folder(None, os.path.join(place, ""))
        for name in filter(is_temporary, files):
            with suppress(OSError):
                if _is_stale(here, name):
                    os.unlink(here.at(name), dir_fd=here.fd)


def _is_stale(folder: Folder, name: str) -> bool:
    if os.name == "posix":  # on Windows, os.kill(pid, 0) is no question
        try:
            os.kill(int(name.split("-")[1]), 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass  # it lives, and belongs to somebody else
    status = os.stat(folder.at(name), dir_fd=folder.fd, follow_symlinks=False)
    return time.time() - status.st_mtime > _STALE_SECONDS
