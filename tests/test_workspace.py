"""The held workspace: every row of the two tables, in each way of opening, and what no row can say."""

import errno
import inspect
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from harness import atomic, beneath
from harness.beneath import Beneath, Way, refusal
from harness.errors import SettingsError, ToolError
from harness.splice import splice, view
from harness.workspace import MAX_EDITED_BYTES, Workspace
from workshop import judge, world

EDITS = world.rows("edits.json")
ROWS = world.rows("paths.json") + EDITS
DEDICATED = {"crash", "race"}  # kinds that test_workspace_races.py is for
WAYS: list[Way] = ["resolve"] if os.name == "nt" else ["walk", "resolve"]
if sys.platform == "linux":
    WAYS.insert(0, "kernel")
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# What an error must speak of, by the row's code.
SPEAKS_OF = {
    "workspace_violation": "out of the workspace|symbolic link",
    "denied": "keys",
    "invalid_argument": "must be a string|surrogate",
    "not_a_regular_file": "regular file",
    "not_utf8": "text",
}


def connect(workspace: Workspace, said: list[str] | None = None) -> judge.Call:
    """The tools of ``workspace`` as rows call them; wrong keys are an error, as a registry makes them one."""
    tools: dict[str, Callable[..., str]] = {
        "read_file": workspace.read,
        "list_files": workspace.list,
        "edit_file": workspace.edit,
    }

    def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        try:
            inspect.signature(tools[tool]).bind(**arguments)
        except TypeError as error:
            return False, str(error)
        try:
            ok, text = True, tools[tool](**arguments)
        except ToolError as error:
            ok, text = False, str(error)
        if said is not None:
            said.append(text)
        return ok, text

    return call


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    chosen: Way = request.param
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "ROOT"
    root.mkdir()
    return root


@pytest.fixture
def workspace(root: Path, way: Way) -> Iterator[Workspace]:
    with Workspace(root, way=way) as workspace:
        yield workspace


def runs() -> Iterator[Any]:
    """The rows about paths in every way; those about text, and long folders, in the best."""
    for row in ROWS:
        once = row in EDITS or any("many" in step for step in row["setup"])
        for way in WAYS[:1] if once else WAYS:
            if row["kind"] not in DEDICATED and "fault" not in row:
                yield pytest.param(row, way, id=f"{way}-{row['id']}")


@pytest.mark.parametrize(("row", "way"), list(runs()))
def test_row(row: world.Row, way: Way, tmp_path: Path) -> None:
    if why := world.why_not_here(row):
        pytest.skip(why)
    try:
        built = world.build(row, tmp_path)
    except OSError as error:
        if sys.platform == "linux":
            raise
        pytest.skip(f"this system can't have such files: {error}")
    said: list[str] = []
    with Workspace(built.root, way=way) as workspace:
        assert judge.judge(row, built, connect(workspace, said)) == []
    if wording := SPEAKS_OF.get(row["expected"].get("code", "")):
        assert re.search(wording, said[0])


@posix
@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["os"] == "posix-nonroot"], ids=lambda row: row["id"]
)
def test_row_that_root_can_not_fail_is_run_as_nobody(row: world.Row) -> None:
    nobody = 65534 if os.geteuid() == 0 else None
    assert judge.judge_apart(row, lambda root: connect(Workspace(root)), uid=nobody) == []


def test_every_row_is_run_by_some_test() -> None:
    left_over = {row["id"] for row in ROWS if row["kind"] in DEDICATED or "fault" in row}
    assert left_over == {
        "W33-kill9",
        "W34-enospc",
        "W35-concurrent-edit",
        "W36-symlink-swap-race",
        "079-write-fails-half-way",
    }
    assert len({row["id"] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("mistake", "caught"),
    [
        (lambda root, path: (root / path).read_text(), "P01-dotdot"),
        (lambda root, path: (root / path).resolve().read_text("latin-1"), "C01-binary"),
        (lambda root, path: "", "P04-absolute-inside"),
    ],
    ids=["no check", "binary as text", "says nothing"],
)
def test_the_judge_catches_tools_that_are_not_held(
    mistake: Callable[[Path, str], str], caught: str, tmp_path: Path
) -> None:
    row = next(row for row in ROWS if row["id"] == caught)
    built = world.build(row, tmp_path)
    assert judge.judge(row, built, lambda tool, arguments: (True, mistake(built.root, arguments["path"])))


@posix
def test_the_judge_survives_a_tool_that_waits_for_ever() -> None:
    row = next(row for row in ROWS if row["id"] == "P31-fifo")
    found = judge.judge_apart(
        row, lambda root: lambda tool, a: (True, (root / a["path"]).read_text()), seconds=0.3
    )
    assert found == ["it did not answer within 0.3 s"]


# --- How it is opened ---


@linux
def test_the_kernel_is_asked_where_it_can_be_and_the_walk_taken_where_it_can_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = Beneath(root)
    best.close()
    assert best.way in ("kernel", "walk")
    for code in (errno.ENOSYS, errno.EPERM):  # an old kernel, a container's filter

        def refuse(*_: object, code: int = code) -> int:
            raise refusal(code)

        monkeypatch.setattr(beneath, "_openat2", refuse)
        second = Beneath(root)
        second.close()
        assert second.way == "walk"


@linux
def test_links_that_stay_inside_are_followed_by_the_kernel_and_refused_by_the_walk(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real/f.txt").write_text("x\n")
    (root / "folder").symlink_to("real")
    (root / "f.txt").symlink_to("folder/f.txt")
    with Workspace(root, way="kernel") as workspace:
        assert workspace.read("f.txt") == workspace.read("folder/f.txt") == "x\n"
        assert workspace.list("folder") == "f.txt"
        workspace.edit("folder/f.txt", "x", "y")
        assert workspace.read("f.txt") == "y\n"
    with Workspace(root, way="walk") as workspace:
        for path in ("f.txt", "folder/f.txt"):
            with pytest.raises(ToolError, match="symbolic link"):
                workspace.read(path)


def test_a_closed_workspace_opens_nothing(root: Path, way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "resolve":
        pytest.skip("nothing is held open there")
    monkeypatch.chdir(root)
    (root / "f.txt").write_text("x")
    workspace = Workspace(root, way=way)
    workspace.close()
    workspace.close()
    with pytest.raises(ToolError):
        workspace.read("f.txt")


@posix
def test_the_folder_stays_held_when_its_path_comes_to_mean_another(root: Path) -> None:
    (root / "f.txt").write_text("mine")
    with Workspace(root, way="walk") as workspace:
        root.rename(root.with_name("moved"))
        root.mkdir()
        (root / "f.txt").write_text("other")
        assert workspace.read("f.txt") == "mine"


@pytest.mark.parametrize("what", ["missing", "file"])
def test_a_root_that_is_no_folder_is_an_error_of_the_settings(what: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(SettingsError, match=what):
        Workspace(tmp_path / what)


@linux
def test_no_descriptor_is_left_open(root: Path, way: Way) -> None:
    os.mkfifo(root / "pipe")
    (root / "b").write_bytes(b"\0")
    (root / "out").symlink_to("/")
    with Workspace(root, way=way) as workspace:
        before = os.listdir("/proc/self/fd")
        for path in ("pipe", "b", "out", "out/etc/passwd", "nope", "b/c", "..", "", ".", ".env", "x" * 300):
            with pytest.raises(ToolError):
                workspace.read(path)
            with pytest.raises(ToolError):
                workspace.edit(path, "a", "b")
        for path in ("pipe/n", "b/n", "out/n", "../n", "new/.env", "new/" + "x" * 300):
            with pytest.raises(ToolError):
                workspace.edit(path, "", "b")
        assert os.listdir("/proc/self/fd") == before


WITHOUT_POSIX = """
import os, sys
for name in "O_NOFOLLOW O_NONBLOCK O_DIRECTORY O_CLOEXEC O_NOCTTY fchmod fchown fwalk mkfifo".split():
    delattr(os, name)
os.supports_dir_fd = set()
sys.modules["fcntl"] = None
from pathlib import Path
from harness.errors import ToolError
from harness.workspace import Workspace
root = Path(sys.argv[1])
with Workspace(root) as workspace:
    assert workspace._beneath.way == "resolve"
    workspace.edit("new/n.txt", "", "a\\r\\nb\\n")
    workspace.edit("new/n.txt", "b", "c")
    assert workspace.read("new/n.txt") == "a\\nc\\n", workspace.read("new/n.txt")
    assert workspace.list() == "new/" and workspace.list("new") == "n.txt"
    os.symlink("new/n.txt", root / "link")
    for attempt, reason in (
        (lambda: workspace.read("../secret.txt"), "out of the workspace"),
        (lambda: workspace.read("new"), "folder"),
        (lambda: workspace.read("nope"), "no such file"),
        (lambda: workspace.edit("link", "c", "d"), "symbolic link"),
    ):
        try:
            raise SystemExit(attempt())
        except ToolError as error:
            assert reason in str(error), error
    assert (root / "link").is_symlink() and workspace.read("link") == "a\\nc\\n"
"""


@posix
def test_it_works_without_what_windows_lacks(root: Path) -> None:
    (root.parent / "secret.txt").write_text("SECRET")
    command = [sys.executable, "-W", "error", "-c", WITHOUT_POSIX, str(root)]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[1])


@given(path=st.text() | st.text("./\\~ a\0\ud800"), old=st.text(max_size=3), new=st.text(max_size=3))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_input_raises_anything_but_a_tool_error(path: str, old: str, new: str, tmp_path: Path) -> None:
    root = tmp_path / "ROOT"
    root.mkdir(exist_ok=True)
    with Workspace(root) as workspace:
        attempts: list[Callable[[], str]] = [
            lambda: workspace.read(path),
            lambda: workspace.list(path),
            lambda: workspace.edit(path, old, new),
        ]
        for attempt in attempts:
            try:
                said = attempt()
            except ToolError as error:
                said = str(error)
            said.encode()
    assert os.listdir(tmp_path) == ["ROOT"]


# --- What an edit does ---


@given(data=st.data(), bom=st.sampled_from([b"", b"\xef\xbb\xbf"]))
@settings(max_examples=300, deadline=None)
def test_an_edit_changes_only_its_span(data: st.DataObject, bom: bytes) -> None:
    text = st.text(st.sampled_from("ab\r\n\té\u0301\u2028😀") | st.characters(exclude_categories=["Cs"]))
    body = data.draw(text).replace("\0", "")
    seen = view(body.removeprefix("\ufeff"))
    start = data.draw(st.integers(0, len(seen)))
    old = seen[start : data.draw(st.integers(start, len(seen)))]
    new = data.draw(text)
    if not old or seen.find(old, seen.find(old) + 1) >= 0 or view(old) != old or view(new) == old:
        return  # nothing to replace, not unique, or the end of a span that began in mid-CRLF
    raw = bom + body.removeprefix("\ufeff").encode()
    after, line = splice(raw, old, new)
    before_span, after_span = seen[:start], seen[start + len(old) :]
    head = next(n for n in range(len(bom), len(raw) + 1) if _seen(raw[len(bom) : n]) == before_span)
    tail = next(n for n in range(len(raw) - len(bom), -1, -1) if _seen(raw[len(raw) - n :]) == after_span)
    assert after[:head] == raw[:head]
    assert after[len(after) - tail :] == raw[len(raw) - tail :]
    middle = after[head : len(after) - tail].decode()
    assert view(middle) == view(new)
    if "\r\n" not in body:
        assert middle == view(new)
    assert 1 <= line <= seen.count("\n") + 1


def _seen(raw: bytes) -> str | None:
    """The view of a part of a file; None if it begins or ends in mid-character."""
    try:
        return view(raw.decode())
    except UnicodeDecodeError:
        return None


@given(raw=st.binary(max_size=50), old=st.text(min_size=1, max_size=3), new=st.text(max_size=3))
@example(raw=b"a\xff", old="a", new="b")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_of_any_bytes_is_edited_right_or_not_at_all(
    raw: bytes, old: str, new: str, tmp_path: Path
) -> None:
    root = tmp_path / "ROOT"
    root.mkdir(exist_ok=True)
    (root / "f").write_bytes(raw)
    with Workspace(root) as workspace:
        try:
            workspace.edit("f", old, new)
        except ToolError:
            assert (root / "f").read_bytes() == raw
        else:
            assert raw.decode()
            assert (root / "f").read_bytes() != raw
    assert os.listdir(root) == ["f"]


def test_a_plan_shows_the_edit_and_writes_nothing(workspace: Workspace, root: Path) -> None:
    (root / "f.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    plan = workspace.plan_edit("f.txt", "b\n", "b\nc\n")
    assert (plan.before, plan.after, plan.line) == ("a\nb\n", "a\nb\nc\n", 3)
    creation = workspace.plan_edit("new/n.txt", "", "x\n")
    assert (creation.old, creation.before, creation.after) == (None, "", "x\n")
    assert (root / "f.txt").read_bytes() == b"\xef\xbb\xbfa\r\nb\r\n"
    assert os.listdir(root) == ["f.txt"]
    assert workspace.apply(plan) == "Edited f.txt at line 3."
    assert workspace.apply(creation) == "Created new/n.txt."
    assert (root / "f.txt").read_bytes() == b"\xef\xbb\xbfa\r\nb\r\nc\r\n"
    assert (root / "new/n.txt").read_bytes() == b"x\n"


@posix
def test_a_file_whose_owner_and_mode_are_not_ours_keeps_them(root: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make such a file")
    (root / "f.sh").write_text("a")
    os.chown(root / "f.sh", 1234, 1235)
    (root / "f.sh").chmod(0o4751)
    with Workspace(root) as workspace:
        workspace.edit("f.sh", "a", "b")
    status = (root / "f.sh").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 1235, 0o4751)


def test_a_file_too_long_to_edit_is_refused(workspace: Workspace, root: Path) -> None:
    (root / "f.txt").write_bytes(b"a" + b"b" * MAX_EDITED_BYTES)
    with pytest.raises(ToolError, match="10,000,001 bytes"):
        workspace.edit("f.txt", "a", "c")


# --- What killed writers left ---


@posix
def test_temporaries_of_dead_writers_go_and_of_living_ones_stay(root: Path, way: Way) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    (root / "a/b").mkdir(parents=True)
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "a/link").symlink_to("../../outside")
    dead = f".harness-{process.pid}-0123abcd.tmp"
    living = f".harness-{os.getpid()}-0123abcd.tmp"
    stale = f".harness-{os.getpid()}-89abcdef.tmp"
    alike = f".harness-{process.pid}-0123abcd.tmp.txt"
    for folder in (root, root / "a/b", outside):
        for name in (dead, living, stale, alike):
            (folder / name).write_text("half")
        os.utime(folder / stale, (0, 0))
    Workspace(root, way=way).close()
    assert sorted(os.listdir(root / "a/b")) == sorted([living, alike])
    assert sorted(os.listdir(root)) == sorted([living, alike, "a"])
    assert len(os.listdir(outside)) == 4


def test_only_our_own_names_are_temporary() -> None:
    assert atomic.is_temporary(".harness-12-0123abcd.tmp")
    for name in (
        ".harness-12-0123abcd.tmp\n",
        ".harness--0123abcd.tmp",
        "x.harness-1-0123abcd.tmp",
        ".harness.tmp",
    ):
        assert not atomic.is_temporary(name)
