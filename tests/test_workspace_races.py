"""The held workspace while other programs interfere: swaps, lost updates, full disks, kill -9, Ctrl+C.

What is tested here is what a check followed by an open, or a truncation followed by a write, gets wrong.
"""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from harness.beneath import Way, refusal
from harness.errors import ToolError
from harness.workspace import Workspace
from workshop import judge, world

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
WAYS: list[Way] = ["kernel", "walk"] if sys.platform == "linux" else ["walk"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with ``a/ok.txt``, and beside it ``outdir/ok.txt``, which nobody may see or change."""
    root = tmp_path / "ROOT"
    (root / "a").mkdir(parents=True)
    (root / "a/ok.txt").write_text("ok\n")
    (tmp_path / "outdir").mkdir()
    (tmp_path / "outdir/ok.txt").write_text("SECRET\n")
    return root


# --- Swaps: W36 ---

SWAP = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
def exchange(one, other):  # renameat2(RENAME_EXCHANGE): there is no moment without the name
    assert libc.renameat2(-100, one, -100, other, 2) == 0
    time.sleep(float(sys.argv[2]))
os.chdir(sys.argv[1])
os.symlink("../outdir", "link")
os.symlink("../../outdir/ok.txt", "a/link")
print("ready", flush=True)
while True:
    exchange(b"a", b"link")
    exchange(b"a", b"link")
    exchange(b"a/ok.txt", b"a/link")
    exchange(b"a/ok.txt", b"a/link")
"""


@contextmanager
def swapping(root: Path, pause: float = 0) -> Iterator[None]:
    """Meanwhile, a program of its own swaps ``a`` and ``a/ok.txt`` with links that lead outside, and back."""
    command = [sys.executable, "-c", SWAP, str(root), str(pause)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


def outcomes(attempt: Callable[[], str], times: int, seconds: float) -> tuple[list[str], int]:
    """What ``attempt`` returned, and how often it was refused, in this many tries or this time."""
    texts, refused = [], 0
    end = time.monotonic() + seconds
    for _ in range(times):
        try:
            texts.append(attempt())
        except (ToolError, OSError):
            refused += 1
        if time.monotonic() > end:
            break
    return texts, refused


@linux
def test_the_swaps_do_fool_a_check_that_is_followed_by_an_open(root: Path) -> None:
    """The control: the other tests would notice a leak."""

    def checked_read() -> str:
        path = (root / "a/ok.txt").resolve(strict=True)
        if not path.is_relative_to(root.resolve()):
            raise refusal(errno.EXDEV)
        return (root / "a/ok.txt").read_text()

    leaked = 0
    with swapping(root):
        for _ in range(20):
            leaked += outcomes(checked_read, 1000, 1)[0].count("SECRET\n")
            if leaked:
                break
    assert leaked


@linux
@pytest.mark.parametrize("way", WAYS)
def test_swaps_leak_nothing_in_twenty_thousand_reads(root: Path, way: Way) -> None:
    with Workspace(root, way=way) as workspace, swapping(root):
        texts, refused = outcomes(lambda: workspace.read("a/ok.txt"), 20_000, 20)
        lists, _ = outcomes(lambda: workspace.list("a"), 2_000, 5)
    assert set(texts) == {"ok\n"}
    assert refused
    assert not any("SECRET" in names for names in lists)


@linux
@pytest.mark.parametrize("way", WAYS)
def test_swaps_make_no_edit_land_outside(root: Path, way: Way) -> None:
    outside = root.parent / "outdir"
    numbers = count()
    done, refused = [0, 0, 0], 0
    with Workspace(root, way=way) as workspace, swapping(root, 0.0002):
        for kind, (path, old_text) in enumerate((("a/ok.txt", "ok"), ("a/{}.txt", ""), ("a/d/{}/n.txt", ""))):

            def edit(path: str = path, old_text: str = old_text) -> str:
                number = next(numbers)
                return workspace.edit(path.format(number), old_text, f"{number} ok")

            texts, errors = outcomes(edit, 400, 2)
            done[kind] += len(texts)
            refused += errors
    assert all(done), done
    assert refused
    assert os.listdir(outside) == ["ok.txt"]
    assert (outside / "ok.txt").read_text() == "SECRET\n"


# --- Lost updates: W35 ---


def test_an_edit_planned_on_an_older_text_is_not_made(root: Path) -> None:
    row = next(row for row in world.rows("paths.json") if row["id"] == "W35-concurrent-edit")
    with Workspace(root) as workspace:
        plan = workspace.plan_edit(*row["arguments"].values())
        (root / "a/ok.txt").write_text("ok, said another\n")
        with pytest.raises(ToolError, match="has changed"):
            workspace.apply(plan)
        assert (root / "a/ok.txt").read_text() == "ok, said another\n"
        (root / "a/ok.txt").unlink()
        with pytest.raises(ToolError, match="no such file"):
            workspace.apply(plan)
    assert os.listdir(root / "a") == []


def during(monkeypatch: pytest.MonkeyPatch, name: str, interfere: Callable[[], object]) -> None:
    """``interfere`` when the workspace next calls ``os.<name>``, just before the call."""
    real = getattr(os, name)

    def first_interfere(*args: object, **kwargs: object) -> object:
        monkeypatch.setattr(os, name, real)
        interfere()
        return real(*args, **kwargs)

    monkeypatch.setattr(os, name, first_interfere)


def test_a_change_while_the_new_text_is_written_is_not_overwritten(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = root / "a/ok.txt"

    def replace() -> None:
        (root / "other").write_text("ok?\n")
        (root / "other").replace(target)

    for change, text in ((lambda: target.write_text("ok!\n"), "ok!\n"), (replace, "ok?\n")):
        during(monkeypatch, "fsync", change)
        with Workspace(root) as workspace, pytest.raises(ToolError, match="changed by another program"):
            workspace.edit("a/ok.txt", "ok", "OK")
        assert target.read_text() == text
        assert os.listdir(root / "a") == ["ok.txt"]


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_overwritten(
    hard_links: bool, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hard_links:
        monkeypatch.setattr(os, "link", raising(errno.EPERM))
    during(monkeypatch, "fsync", lambda: (root / "a/n.txt").write_text("theirs"))
    with Workspace(root) as workspace:
        with pytest.raises(ToolError, match="exists already"):
            workspace.edit("a/n.txt", "", "ours")
        assert (root / "a/n.txt").read_text() == "theirs"
        workspace.edit("a/m.txt", "", "ours")
    assert (root / "a/m.txt").read_text() == "ours"
    assert sorted(os.listdir(root / "a")) == ["m.txt", "n.txt", "ok.txt"]


# --- Failures half way: W34 and 079 ---


def raising(code: int) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise refusal(code)

    return fail


@pytest.mark.parametrize(
    "row",
    [row for row in world.rows("paths.json") + world.rows("edits.json") if row["id"][:3] in ("W34", "079")],
    ids=lambda row: row["id"],
)
def test_a_write_that_fails_half_way_leaves_the_old_file(row: world.Row) -> None:
    """The disk is full after the first byte: a limit on the size of files gives the same from the system."""

    def connect(root: Path) -> judge.Call:
        import resource

        workspace = Workspace(root)

        def call(tool: str, arguments: dict[str, str]) -> tuple[bool, str]:
            assert tool == "edit_file"
            new_text = arguments["new_text"].replace("z*100000", "z" * 100_000)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
            try:
                return True, workspace.edit(arguments["path"], arguments["old_text"], new_text)
            except ToolError as error:
                return False, str(error)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

        return call

    expected = {**row["expected"], "hint": ["Nothing was changed"]}
    assert judge.judge_apart({**row, "expected": expected}, connect) == []


@pytest.mark.parametrize(
    ("call", "old_text"),
    [(call, "ok") for call in ("open", "fchmod", "fsync", "stat", "replace")]
    + [(call, "") for call in ("mkdir", "open", "fsync", "link")],
)
def test_an_interruption_at_any_step_leaves_the_old_file_and_nothing_else(
    call: str, old_text: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "a/ok.txt" if old_text else "new/folder/n.txt"

    def interrupt() -> None:
        raise KeyboardInterrupt

    with Workspace(root) as workspace:
        plan = workspace.plan_edit(path, old_text, "new")
        during(monkeypatch, call, interrupt)
        with pytest.raises(KeyboardInterrupt):
            workspace.apply(plan)
        assert (root / "a/ok.txt").read_text() == "ok\n"
        assert os.listdir(root) == ["a"]
        assert os.listdir(root / "a") == ["ok.txt"]
        workspace.apply(plan)
    assert (root / path).read_text() == ("new\n" if old_text else "new")


def test_new_text_is_not_open_to_others_before_it_has_its_mode(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a/ok.txt").chmod(0o600)
    modes = []

    def look() -> None:
        (temporary,) = (root / "a").glob(".harness-*")
        modes.append(temporary.stat().st_mode & 0o777)

    during(monkeypatch, "fchmod", look)
    with Workspace(root) as workspace:
        workspace.edit("a/ok.txt", "ok", "OK")
    assert modes == [0o600]


# --- kill -9: W33 ---

KILLS = """
import os, random, signal, sys, time
from pathlib import Path
from harness.workspace import Workspace

root, times = Path(sys.argv[1]), int(sys.argv[2])
file = root / "big.txt"
old, new = ("".join(f"{letter} {number}\\n" for number in range(2_000)) for letter in "AB")
file.write_text(old)
torn = edited = temporary = 0
for _ in range(times):
    before = file.read_text()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        texts = [before, new if before == old else old]
        with Workspace(root) as workspace:
            os.write(writer, b"!")
            while True:
                workspace.edit("big.txt", *texts)
                texts.reverse()
    os.read(reader, 1)
    time.sleep(random.uniform(0, 0.005))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    os.close(writer)
    after = file.read_text()
    torn += after not in (old, new)
    edited += after != before
    temporary += len(os.listdir(root)) - 2
print(torn, edited, temporary)
"""


def test_two_hundred_kills_tear_no_file_and_leave_nothing(root: Path) -> None:
    command = [sys.executable, "-c", KILLS, str(root), "200"]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, check=True, cwd=here, stdout=subprocess.PIPE, text=True)
    torn, edited, temporary = map(int, done.stdout.split())
    assert torn == 0
    assert edited  # the kills did come while files were being replaced,
    assert temporary  # and written
    with Workspace(root) as workspace:
        assert workspace.list() == "a/\nbig.txt"
    assert sorted(os.listdir(root)) == ["a", "big.txt"]
