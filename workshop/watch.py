"""Watching a file: a check at every save, by looking again and again.

Nothing is asked of the file system but to be read. What notifies of changes stays silent on network mounts,
in containers and on some editors' ways of saving; a look twice a second costs nothing and works on all.
"""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path

POLL = 0.5  # seconds between two looks
SETTLE = 0.1  # seconds in which a file that is being written must not change
GONE = 2.0  # seconds: editors that save by renaming let a file vanish for a moment

Look = tuple[int, int, bytes]


def look(path: Path) -> Look | None:
    """What tells one saving of a file from another; None while it is not there.

    The text itself is read, every time: the times of files come late, coarse or not at all on some mounts.
    """
    try:
        status = path.stat()
        data = path.read_bytes()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, hashlib.blake2b(data, digest_size=16).digest()


def watch(
    path: Path,
    on_save: Callable[[Callable[[], bool]], None],
    *,
    on_gone: Callable[[], None],
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Call ``on_save`` now and after every saving; only KeyboardInterrupt, or an error of its own, ends it.

    ``on_save`` is given a function that tells whether the file was saved once more meanwhile. What is saved
    while it runs is not missed: it is called again. ``on_gone`` is called once, where the file stays away.
    """
    seen: Look | None = None
    missed_since: float | None = None
    told = False
    while True:
        now = look(path)
        if now is None:
            missed_since = clock() if missed_since is None else missed_since
            if clock() - missed_since > GONE and not told:
                told = True
                on_gone()
        else:
            missed_since, told = None, False
            if now != seen:
                sleep(SETTLE)
                if look(path) != now:
                    continue  # still being written
                seen = now
                on_save(lambda now=now: look(path) not in (now, None))  # type: ignore[misc]
                continue
        sleep(POLL)
