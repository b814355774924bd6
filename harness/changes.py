"""A change to a file, as a person reads it: a unified diff."""

import difflib
import io
from collections.abc import Iterator


def change_lines(path: str, before: str, after: str) -> Iterator[str]:
    """The lines of a unified diff, without line ends; a missing final newline is said.

    Args:
        path: the file's name, for the head.
        before: its text; empty for a file that is to be created.
        after: its text afterwards.
    """
    old, new = list(io.StringIO(before)), list(io.StringIO(after))  # at newlines only, and with them
    names = ("(new file)" if not before else path, path)
    for line in difflib.unified_diff(old, new, *names, n=2):
        yield line.rstrip("\r\n")
        if line[0] in "+- " and not line.endswith(("\n", "\r")) and line[:3] not in ("---", "+++"):
            yield "\\ no newline at the end of the file"
