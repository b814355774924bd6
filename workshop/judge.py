"""The judge: what came of a tool's call in a world, beside what its row says must come of it.

Any agent's tools can be put through the rows: ``build`` a world, make a callable that runs a tool in
``world.root``, ``judge`` it. A tool that isn't held (it waits for a pipe, it reads /dev/zero) goes into a
child of its own: ``judge_apart``.

Words of ``expected``: ``result`` (ok | error | either), and those that ``_judge_answer`` and ``_judge_tree``
read; ``code`` and ``note`` are for people.
"""

import json
import os
import re
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from workshop.world import Row, World, build, contents, filled_in

Call = Callable[[str, dict[str, Any]], tuple[bool, str]]


def judge(row: Row, world: World, call: Call) -> list[str]:
    """Run the row's tool through ``call`` and say in what the outcome is not as expected.

    ``call(tool, arguments)`` returns whether the tool succeeded, and the text that the model would be given.
    It runs with the world's environment variables and the umask 022. Beyond the row's own words, this must
    hold for all: nothing outside the workspace changes; a tool that reads, and one that fails, change nothing
    in it either; the text can be sent as UTF-8.
    """
    outside = _snapshot(world.base, leave_out=world.base / "ROOT")
    inside = _snapshot(world.base / "ROOT")
    arguments = filled_in(row["arguments"], world.base)
    with mock.patch.dict(os.environ, world.env), _umask(0o022):
        start = time.monotonic()
        ok, text = call(row["tool"], arguments)
        seconds = time.monotonic() - start
    violations = _judge_answer(row["expected"], ok, text, seconds)
    violations += _judge_tree(row["expected"], world, ok)
    if _snapshot(world.base, leave_out=world.base / "ROOT") != outside:
        violations.append("something outside the workspace was changed")
    if (not ok or row["tool"] != "edit_file") and _snapshot(world.base / "ROOT") != inside:
        violations.append("something in the workspace was changed, by a tool that failed or only reads")
    return violations


def _judge_answer(expected: dict[str, Any], ok: bool, text: str, seconds: float) -> list[str]:
    """What is wrong with the tool's answer."""
    found = []
    if expected["result"] != "either" and (expected["result"] == "ok") != ok:
        found.append(f"expected {expected['result']}, got {'ok' if ok else 'error'}: {text[:200]!r}")
    if not _is_unicode(text):
        found.append("the text holds a lone surrogate")
    if (forbidden := expected.get("must_not_contain")) and forbidden in text:
        found.append(f"the text holds {forbidden!r}")
    if (forbidden := expected.get("must_not_match")) and re.search(forbidden, text):
        found.append(f"the text matches {forbidden!r}")
    found += [
        f"the text lacks {wanted!r}" for wanted in expected.get("must_contain", []) if wanted not in text
    ]
    if len(text) > expected.get("max_chars", 300_000):
        found.append(f"the text has {len(text)} characters")
    if seconds > expected.get("max_seconds", 5):
        found.append(f"it took {seconds:.1f} s")
    if ok:
        contents = expected.get("content_any", [])
        contents = contents + [expected[key] for key in ("content", "content_if_ok") if key in expected]
        if contents and text not in contents:
            found.append(f"the text is {text[:200]!r}, not {contents[0]!r}")
        if "lines" in expected and text.splitlines() != expected["lines"]:
            found.append(f"the lines are {text.splitlines()[:20]}, not {expected['lines']}")
    elif "hint" in expected and not any(word.lower() in text.lower() for word in expected["hint"]):
        found.append(f"the error hints at none of {expected['hint']}: {text[:300]!r}")
    return found


def _judge_tree(expected: dict[str, Any], world: World, ok: bool) -> list[str]:
    """What is wrong with the files afterwards: ``post`` if it succeeded or had to, the rest in any case."""
    found = []
    for post in expected.get("post", []) if ok or expected["result"] != "either" else []:
        path = world.path(post["path"])
        data = path.read_bytes() if path.is_file() else None
        if {"text", "b64", "repeat"} & post.keys() and data != contents(post):
            found.append(f"{post['path']} holds {data and data[:200]!r}, not {contents(post)[:200]!r}")
        mode = stat.S_IMODE(path.stat().st_mode) if data is not None and os.name == "posix" else None
        if "mode" in post and mode not in (None, int(post["mode"], 8)):
            found.append(f"{post['path']} has the mode {mode:o}, not {post['mode']}")
    found += [f"{name} is there" for name in expected.get("absent", []) if os.path.lexists(world.path(name))]
    found += [
        f"{name} is no link any more"
        for name in expected.get("still_symlink", [])
        if not world.path(name).is_symlink()
    ]
    found += [f"{name} is a folder" for name in expected.get("no_folder", []) if world.path(name).is_dir()]
    for name, entries in expected.get("only_entries", {}).items():
        if (names := sorted(os.listdir(world.path(name)))) != sorted(entries):
            found.append(f"{name} holds {names}, not {entries}")
    return found


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _snapshot(folder: Path, leave_out: Path | None = None) -> dict[str, tuple[int, bytes]]:
    """Every path below ``folder``, with its mode and, of a file or a link, what it holds (1 MB at most)."""
    found = {}
    for place, folders, files in os.walk(folder):
        if leave_out is not None and Path(place) == leave_out.parent:
            folders[:] = [name for name in folders if name != leave_out.name]
        for name in folders + files:
            path = os.path.join(place, name)
            status = os.lstat(path)
            held = b""
            if stat.S_ISLNK(status.st_mode):
                held = os.fsencode(os.readlink(path))
            elif stat.S_ISREG(status.st_mode) and status.st_size and os.access(path, os.R_OK):
                with open(path, "rb") as file:
                    held = file.read(1_000_000)
            found[path] = (status.st_mode, held)
    return found


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def judge_apart(
    row: Row, connect: Callable[[Path], Call], *, uid: int | None = None, seconds: float = 5
) -> list[str]:
    """Build and judge the row in a forked child (POSIX), as user ``uid``, with limits on time and memory.

    ``connect(root)`` gives the ``call`` for a workspace. A child that waits for ever or eats all memory is a
    violation like any other.
    """
    import resource  # both POSIX only
    import signal

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o777)  # for the other user
        reader, writer = os.pipe()
        with warnings.catch_warnings():  # Python 3.12 warns where there are threads, as a test runner's own
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default ends the child
                signal.setitimer(signal.ITIMER_REAL, seconds)
                resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000,) * 2)
                if uid is not None:
                    os.setgroups([])
                    os.setgid(uid)
                    os.setuid(uid)
                base = Path(folder, "world")
                base.mkdir()
                world = build(row, base)
                found = judge(row, world, connect(world.root))
            except BaseException as error:
                found = [f"it raised {type(error).__name__}: {error}"[:300]]
            os.write(writer, json.dumps(found).encode())
            os._exit(0)
        os.close(writer)
        with open(reader, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
    result: list[str] = json.loads(answer) if answer else [f"it did not answer within {seconds:g} s"]
    return result
