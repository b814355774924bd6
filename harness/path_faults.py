"""What a model is told when a path is refused, by us or by the system: what is wrong, and what to do next."""

import difflib
import errno
import os
import posixpath
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress

from harness.beneath import Beneath
from harness.errors import ToolError
from harness.printable import one_line

_OUTSIDE = 'it leads out of the workspace. Use a path inside, relative to its top folder ".".'
_LINK = "it is, or passes, a symbolic link that isn't followed here."
_SPECIAL = "it is not a regular file but a pipe, a socket or a device, so it is not opened."
_DENIED = "the system does not permit that."
_REASONS = {
    errno.EXDEV: _OUTSIDE,
    errno.ELOOP: _LINK,
    errno.EMLINK: _LINK,  # how the BSDs say it
    errno.EISDIR: "it is a folder, not a file. Use list_files to see what is in it.",
    errno.ENOTDIR: "it, or a part of it, is not a folder. For a file, use read_file.",
    errno.ENXIO: _SPECIAL,
    errno.ENODEV: _SPECIAL,
    errno.EOPNOTSUPP: _SPECIAL,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ENAMETOOLONG: "the name is too long.",
    errno.EEXIST: "it exists already. Read it, and send the part to replace as old_text.",
}

# Files that hold keys, the harness's own among them: .env, .env.local, .envrc, whatever the case, because
# many file systems ignore it. Examples (.env.example) are made to be read.
_KEYS = re.compile(r"\.env(rc)?([^a-z0-9].*)?", re.DOTALL)
_NO_KEYS = re.compile(r"\.env[._-](example|sample|template|dist)")

# How a path that isn't there may differ from one that is.
_BLANKS = " \t\r\n'\"`"
_SLIPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("in Unicode form (composed or decomposed letters)", lambda name: unicodedata.normalize("NFC", name)),
    ("in upper and lower case", str.casefold),
    ("in blanks or quotes", lambda name: name.strip(_BLANKS)),
)
_COMPARED = 2_000  # names of a folder that are compared: difflib is slow


def refuse_name(path: str, *, writing: bool = False) -> None:
    """Refuse a path, relative to the root, for what it is called.

    Raises:
        ToolError: it names keys or, for writing, what git would run.
    """
    parts = re.split(r"[/\\]", path.casefold())
    if any(_KEYS.fullmatch(part) and not _NO_KEYS.fullmatch(part) for part in parts):
        raise ToolError(
            "such files hold keys, so they are closed to you. Ask the user for what you need of it."
        )
    if writing and any(part.rstrip(". ") == ".git" for part in parts):
        raise ToolError("git looks after what is in .git, and may run it, so it is not edited.")


def reason(beneath: Beneath, path: str, error: OSError) -> str:
    """Why ``path`` can't be used, and what could be instead."""
    if not path:
        return "the path is empty. Name a file."
    if isinstance(error, FileNotFoundError):
        return f"no such file or folder. {_nearest(beneath, path)}"
    text = _REASONS.get(error.errno or 0, f"{error.strerror or error}. Nothing was changed.")
    if text in (_OUTSIDE, _LINK):
        head, name = os.path.split(path)
        with suppress(OSError), beneath.folder(head) as folder:
            target = os.readlink(folder.at(name), dir_fd=folder.fd)
            text += f' It is a link to "{one_line(target)}".'
    return text


def _nearest(beneath: Beneath, path: str) -> str:
    """The name that was probably meant, looked for where the path ends to exist."""
    bare = path.strip(_BLANKS)
    parts = posixpath.normpath(bare).split("/") if bare else [path]
    for depth, part in enumerate(parts):
        head, rest = parts[:depth], parts[depth + 1 :]
        names: list[str] = []
        with suppress(OSError), beneath.folder("/".join(head)) as folder:
            names = [name for name, _ in folder.entries()]
        if part in names:
            continue
        for slip, form in _SLIPS:
            twins = [name for name in names if form(name) == form(part)]
            if len(twins) == 1:
                meant = "/".join([*head, twins[0], *rest])
                return f'There is "{one_line(meant)}", which differs only {slip}: send that.'
        near = difflib.get_close_matches(part, names[:_COMPARED], 3)
        if near:
            meant = ", ".join(f'"{one_line("/".join([*head, name]))}"' for name in near)
            return f"Did you mean {meant}?"
        return f'Use list_files on "{one_line("/".join(head) or ".")}" to see what is there.'
    if bare and bare != path:
        return f'There is "{one_line(bare)}": send it without the quotes or blanks around the path.'
    return "It is a symbolic link that leads nowhere."
