"""The workbench: nothing of a learner's is ever lost, and every command says what to do next."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import click
import pytest
from click.testing import CliRunner

from harness.commands.bench import COMMANDS
from harness.errors import HarnessError, SettingsError
from harness.lessons import COURSE, all_lessons, find_lesson
from workshop.definitions import split_docstring
from workshop.progress import Progress
from workshop.tasks import SKELETON, hints, starting_text
from workshop.watch import look, watch
from workshop.workbench import Workbench

LESSONS = pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: f"{lesson.number}")


@pytest.fixture
def bench(tmp_path):
    return Workbench(tmp_path / "work bench é")


@pytest.fixture
def run(bench, monkeypatch):
    """The commands, in this process, on a workbench of their own."""
    monkeypatch.setattr("workshop.workbench.workbench_folder", lambda: bench.folder)
    group = click.Group(commands=list(COMMANDS))

    def invoke(*arguments):
        done = CliRunner().invoke(group, [str(argument) for argument in arguments])
        if isinstance(done.exception, HarnessError):  # as harness.cli.main does
            return done.exception.exit_code, f"{done.output}harness: {done.exception}\n"
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    return invoke


def solve(bench, number):
    bench.start(find_lesson(number))
    bench.path(find_lesson(number)).write_bytes(find_lesson(number).agent_path.read_bytes())


# ---- the tasks ----


@LESSONS
def test_a_task_stands_on_top_of_the_agent_before(lesson):
    top, body = split_docstring(starting_text(lesson))
    before = [other for other in all_lessons() if other.number == lesson.number - 1]
    assert body == (
        split_docstring(before[0].agent_path.read_text(encoding="utf-8"))[1] if before else SKELETON
    )
    assert len(top.splitlines()) <= 50
    for part in ("What breaks", "What must work", "and checked"):
        assert part in top
    assert "```" not in top
    assert "\n#" not in top


@LESSONS
def test_what_a_task_shows_is_what_a_run_shows(lesson):
    page = (lesson.folder / "README.md").read_text(encoding="utf-8")
    task = (lesson.folder / "task.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)^```", task, re.MULTILINE | re.DOTALL)
    assert len(shown.splitlines()) <= 9
    if lesson.number > 1:
        assert set(shown.splitlines()) <= set(page.splitlines())


@LESSONS
def test_three_hints(lesson):
    found = hints(lesson)
    assert len(found) == 3
    assert all(hint and not re.match(r"\d\.", hint) and "\n" not in hint for hint in found)


# ---- files ----


def test_starting_never_overwrites(bench, run):
    code, shown = run("start", 3)
    assert code == 0
    assert "lesson_03.py" in shown
    path = bench.path(find_lesson(3))
    path.write_text("mine")
    code, shown = run("start", 3)
    assert (code, shown.count("\n")) == (2, 1)
    assert "reset" in shown
    assert path.read_text() == "mine"


def test_resetting_keeps_every_backup(bench, run):
    lesson = find_lesson(3)
    bench.start(lesson)
    for text in ("first", "second"):
        bench.path(lesson).write_text(text)
        assert run("reset", 3)[0] == 0
    kept = {path.read_text() for path in bench.folder.glob("lesson_03.backup-*.py")}
    assert kept == {"first", "second"}
    assert bench.path(lesson).read_text(encoding="utf-8") == starting_text(lesson)


def test_a_reset_that_fails_leaves_the_file(bench, monkeypatch):
    lesson = find_lesson(3)
    bench.start(lesson)
    bench.path(lesson).write_text("mine")

    def full(*_, **__):
        raise HarnessError("disk full")

    monkeypatch.setattr(Workbench, "start", full)
    with pytest.raises(HarnessError, match="disk full"):
        bench.reset(lesson)
    assert bench.path(lesson).read_text() == "mine"


def test_from_mine_builds_on_the_learners_own(bench, run):
    code, shown = run("start", 3, "--from-mine")
    assert code == 2
    assert "no work bench é/lesson_02.py yet" in shown
    bench.folder.mkdir()
    mine = bench.path(find_lesson(2))
    mine.write_text('"""Mine."""\n\nclass Agent:\n    mine = True\n')
    assert run("start", 3, "--from-mine")[0] == 0
    text = bench.path(find_lesson(3)).read_text(encoding="utf-8")
    assert text.startswith('"""Lesson 3: ')
    assert text.endswith('"""\n\nclass Agent:\n    mine = True\n')
    mine.write_text("class Agent\n")
    code, shown = run("reset", 3, "--from-mine")
    assert (code, shown.count("\n")) == (1, 1)
    assert "lesson_02.py line 1 is not Python" in shown
    assert bench.path(find_lesson(3)).read_text(encoding="utf-8") == text
    assert "before the first" in run("start", 1, "--from-mine")[1]


@pytest.mark.parametrize("command", ["check", "watch", "solve", "reset", "try"])
def test_without_a_file_it_is_said_how_to_begin(run, command):
    code, shown = run(command, 4)
    assert (code, shown.count("\n")) == (2, 1)
    assert re.search(r"begin with: (make start-4|python -m harness start 4)", shown)


@pytest.mark.parametrize("command", ["start", "check", "watch", "hint", "solve", "reset", "try"])
def test_there_is_no_lesson_99(run, command):
    assert run(command, 99)[0] == 2


def test_a_workbench_that_can_not_be_written(bench, run):
    bench.folder.write_text("a file where the folder should be")
    for command in ("start", "hint"):
        code, shown = run(command, 2)
        assert (code, shown.count("\n")) == (1, 1), shown


# ---- checking, and what is remembered ----


def test_check_shows_remembers_and_fails(bench, run):
    run("start", 2)
    code, shown = run("check", 2)
    assert code == 1
    assert "2 of 4 hold" in shown
    assert re.search(r" 2 tool call protocol +2 of 4 behaviours +- +\d{4}-", run("progress")[1])
    bench.path(find_lesson(2)).write_bytes(find_lesson(2).agent_path.read_bytes())
    code, shown = run("check", 2)
    assert code == 0
    assert "is solved" in shown
    assert re.search(r" 2 tool call protocol +solved ", run("progress")[1])
    run("reset", 2)
    assert re.search(r" 2 tool call protocol +started \(was solved\)", run("progress")[1])
    bench.path(find_lesson(2)).unlink()
    assert "solved, the file is gone" in run("progress")[1]


def test_a_result_is_shown_though_progress_can_not_be_kept(bench, run, monkeypatch):
    solve(bench, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    code, shown = run("check", 1)
    assert code == 0
    assert "is solved" in shown
    assert "progress is not kept" in shown
    assert [path.name for path in bench.folder.iterdir() if "tmp" in path.name] == []


def test_hints_come_one_by_one(run):
    assert "None was shown yet" in run("hint", 3, "--all")[1]
    for number in (1, 2, 3):
        assert run("hint", 3)[1] == f"hint {number} of 3: {hints(find_lesson(3))[number - 1]}\n"
    assert "All 3 were shown" in run("hint", 3)[1]
    assert run("hint", 3, "--all")[1].count("hint ") == 3
    assert run("hint", 4)[1].startswith("hint 1 of 3")
    assert re.search(r" 3 tolerant parser +- +3 ", run("progress")[1])


GOOD = {"hints": 2, "solved": "2026-01-01 12:00"}


@pytest.mark.parametrize(
    ("text", "survives"),
    [
        ('{"3": {"hints": 2, "solv', False),
        ("", False),
        ("[]", False),
        ("\0\xff", False),
        ("[" * 100_000, False),
        (json.dumps({"3": GOOD, "4": {"hints": "two"}}), True),
        (json.dumps({"3": GOOD, "4": {"hints": -1}}), True),
        (json.dumps({"3": GOOD, "x": {}}), True),
        (json.dumps({"3": GOOD, "4": None}), True),
    ],
)
def test_damaged_progress_is_kept_aside_and_said(bench, run, text, survives):
    bench.start(find_lesson(5))
    (bench.folder / "progress.json").write_bytes(text.encode())
    code, shown = run("progress")
    assert code == 0
    assert "progress.json was damaged" in shown
    (broken,) = bench.folder.glob("progress.broken-*.json")
    assert broken.read_bytes() == text.encode()
    assert re.search(" 5 inner loop +started", shown)  # the file is there, whatever else is lost
    code, shown = run("progress")
    assert "was damaged" not in shown
    assert bool(re.search(r" 3 tolerant parser +solved, the file is gone +2", shown)) == survives


def test_what_a_newer_version_has_written_is_no_damage(bench):
    bench.folder.mkdir()
    (bench.folder / "progress.json").write_text(json.dumps({"3": {**GOOD, "mood": "fine"}}))
    progress = Progress(bench.folder)
    assert (progress[3].hints, progress.complaint) == (2, "")


def test_two_commands_at_once_lose_nothing(bench):
    first, second = Progress(bench.folder), Progress(bench.folder)
    first.change(3, hints=1)
    second.change(4, hints=2)
    first.change(5, hints=3)
    assert [Progress(bench.folder)[number].hints for number in (3, 4, 5)] == [1, 2, 3]


# ---- our solution ----


def test_solve_shows_what_differs_below_the_task(bench, run):
    run("start", 3)
    shown = run("solve", 3)[1]
    assert "+def parse_reply(" in shown
    assert "What breaks" not in shown
    line = int(re.search(r"^@@ -(\d+)", shown, re.MULTILINE)[1])
    mine = bench.path(find_lesson(3)).read_text(encoding="utf-8").splitlines()
    assert f" {mine[line - 1]}" in shown.splitlines()
    bench.path(find_lesson(3)).write_text("class Agent(:\n")
    assert "-class Agent(:" in run("solve", 3)[1]
    bench.path(find_lesson(3)).write_bytes(find_lesson(3).agent_path.read_bytes())
    assert run("solve", 3)[1] == "Yours is the same as ours.\n"


# ---- seeing it play ----


def test_try_plays_the_learners_agent(bench, run):
    solve(bench, 3)
    assert "A kitchen timer for tea" in run("try", 3)[1]
    path = bench.path(find_lesson(3))
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("prose, call = parse_reply", "prose, call = parse_replies"), encoding="utf-8"
    )
    code, shown = run("try", 3)
    assert code == 1
    assert re.search(
        r"your agent raised NameError: .*'parse_replies'.* at line \d+ of work bench é/lesson_03.py", shown
    )
    path.write_text("class Agent(:\n")
    code, shown = run("try", 3)
    assert code == 1
    assert "is not Python yet" in shown
    assert not list(bench.folder.rglob("__pycache__"))


# ---- watching ----


class Stop(BaseException):
    """Ends a watch."""


def watched(path, *deeds):
    """What a watch does while, at its polls, these deeds happen to the file: a clock that needs no time."""
    now, seen, pending = [0.0], [], list(deeds)

    def sleep(seconds):
        now[0] += seconds
        if seconds >= 0.5:
            if not pending:
                raise Stop
            if (deed := pending.pop(0)) is not None:
                deed()

    def on_save(outdated):
        seen.append(path.read_text())
        if seen[-1] == "save while it runs":
            path.write_text("saved")
            assert outdated()
        assert outdated() == (seen[-1] == "save while it runs")

    with pytest.raises(Stop):
        watch(path, on_save, on_gone=lambda: seen.append("gone"), sleep=sleep, clock=lambda: now[0])
    return seen


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lesson_03.py"
    path.write_text("one")
    return path


def test_watch_checks_at_once_and_at_every_save(file):
    assert watched(file, None, lambda: file.write_text("two"), None, lambda: file.write_text("three")) == [
        "one",
        "two",
        "three",
    ]


def test_watch_sees_a_save_that_changes_neither_time_nor_size(file):
    """On some network mounts that is all that can be seen of one."""
    status = file.stat()

    def save():
        file.write_text("eno")
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert watched(file, save, None) == ["one", "eno"]


def test_watch_survives_editors_that_rename(file):
    def save():
        new = file.with_suffix(".new")
        new.write_text("two")
        os.replace(new, file)

    assert watched(file, file.unlink, lambda: file.write_text("three"), save, None) == ["one", "three", "two"]


def test_watch_says_when_the_file_stays_away_and_goes_on(file):
    away = [file.unlink, *[None] * 12, lambda: file.write_text("back"), None]
    assert watched(file, *away) == ["one", "gone", "back"]


def test_watch_misses_nothing_that_is_saved_while_it_checks(file):
    assert watched(file, lambda: file.write_text("save while it runs"), None) == [
        "one",
        "save while it runs",
        "saved",
    ]


def test_look_at_what_can_not_be_read(tmp_path):
    assert look(tmp_path) is None
    assert look(tmp_path / "nowhere") is None


PROGRAM = """
import sys, pathlib
import workshop.workbench as workbench
workbench.workbench_folder = lambda: pathlib.Path(sys.argv[1])
from harness import cli
from harness.commands.bench import COMMANDS
for command in COMMANDS:
    cli.harness.add_command(command)
cli.main(sys.argv[2:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends SIGINT to one process")
def test_watch_as_a_program_without_a_terminal(bench):
    """Saved during a check that hangs, or (on a slow machine) just before it: the new file is checked."""
    bench.start(find_lesson(1))
    path = bench.path(find_lesson(1))
    path.write_text("while True: pass\n")
    command = [sys.executable, "-c", PROGRAM, str(bench.folder), "watch", "1"]
    watching = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=COURSE
    )
    killer = threading.Timer(30, watching.kill)
    killer.start()
    shown = []
    try:
        for line in iter(watching.stdout.readline, b""):
            shown.append(line.decode())
            if "----" in shown[-1] and len(shown) == 3:
                time.sleep(0.8)
                path.write_bytes(find_lesson(1).agent_path.read_bytes())
            if "is solved" in shown[-1] and sum(line.startswith("----") for line in shown) == 2:
                watching.send_signal(signal.SIGINT)
        code = watching.wait()
    finally:
        killer.cancel()
        watching.kill()
        watching.communicate()
    text = "".join(shown)
    assert "Ctrl+C leaves" in shown[0]
    assert "Lesson 1 is solved" in text
    assert "stopped after" not in text
    assert "Traceback" not in text
    assert code == 130
    assert Progress(bench.folder)[1].solved


def test_a_watch_of_a_missing_lesson_is_an_error(bench):
    with pytest.raises(SettingsError):
        bench.existing(find_lesson(2))


def test_starting_the_commands_imports_nothing_heavy():
    heavy = ("vcr", "requests", "pydantic", "rich", "yaml", "workshop.behaviours", "subprocess", "difflib")
    code = f"import sys, harness.commands.bench\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=COURSE, check=True
    )
    assert done.stdout.strip() == "[]"
