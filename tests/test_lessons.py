"""Every lesson: its tape, its page, its script; and that its scenario makes the lesson before fail."""

import re
import subprocess
import sys

import pytest
import yaml

from harness.lessons import COURSE, SAMPLE, all_lessons, find_lesson
from harness.scenario import load_scenario
from workshop.cassettes import record_scripted
from workshop.pages import transcript

LESSONS = pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: lesson.folder.name)

# What only the lesson can show on its own scenario, and what the lesson before shows instead.
PROOFS = {
    2: ("A kitchen timer for tea", "I can't see your files"),
    3: ("A kitchen timer for tea", "no TOOL_RESULT came back"),
    4: ("The steeping times are in data/teas.csv", "I have no tool to find out"),
    5: ("Sencha steeps for 90 seconds", "tool-success: list_files -> 5 lines"),
    6: ("does not let me out", "the tea money is behind the blue jar"),
    7: ("README.md now says 3 minutes", "Please do it yourself"),
    8: ("# steep 0.3.0", "# steep 1.0.0"),
    9: ("data/teas.csv now has a line for mate", "Assistant: **TOOL_CALL**"),
    10: ("There are five teas in data/teas.csv", "left alone it would go on"),
    11: ("tea\\r\\nlemon\\r\\nsugar", "The key is 4711"),
    12: ("You drink oolong, and it wants 85", "Which tea is yours?"),
    13: ("README.md now says 3 min.", "README.md now says 3 minutes"),
    14: ("Mild, then. Sencha", "I suppose that you want it strong"),
    15: ('{"answer":"90 seconds","files":["data/teas.csv"]}', "as far as I can see"),
    16: ("Black tea wants 4 minutes, it said", "maximum context length"),
    17: ("180 seconds at 150", "One file, teas.csv"),
}


@LESSONS
def test_the_committed_tape_is_what_the_scenario_gives(lesson):
    assert lesson.tape_path.read_bytes() == record_scripted(lesson), "run: make cassettes"


@LESSONS
def test_the_scenario_is_passed_and_makes_the_lesson_before_fail(lesson):
    if lesson.number == 1:
        assert "Your name is Ada." in transcript(1, 1)
        return
    passes, fails = PROOFS[lesson.number]
    ours, theirs = transcript(lesson.number, lesson.number), transcript(lesson.number - 1, lesson.number)
    assert passes in ours
    assert passes not in theirs
    assert fails in theirs
    assert fails not in ours or lesson.number == 5  # lesson 5 does what lesson 4 did, and goes on


@LESSONS
def test_the_agent_runs_as_a_script(lesson):
    done = subprocess.run(
        [sys.executable, str(lesson.agent_path), "--replay"],
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Lesson {lesson.number}: {lesson.title}\n")
    assert transcript(lesson.number, lesson.number) in done.stdout


@LESSONS
def test_a_lesson_imports_no_other(lesson):
    imported = re.findall(r"^\s*(?:from|import) (\S+)", lesson.agent_path.read_text(), re.MULTILINE)
    foreign = [
        name for name in imported if name.split(".")[0] in ("lessons", "workshop") or "lesson_" in name
    ]
    assert not foreign


@LESSONS
def test_no_tape_holds_a_path_or_a_key(lesson):
    assert not re.search(r"/tmp|/home|/root|/Users|sk-|Bearer", lesson.tape_path.read_text())


@pytest.mark.parametrize("lesson", all_lessons()[1:], ids=lambda lesson: lesson.folder.name)
def test_every_rule_of_the_scenario_speaks(lesson):
    """A rule that nothing matches is a leftover. (Lesson 1 has one for an experiment, tested below.)"""
    spoken = yaml.safe_load(lesson.tape_path.read_text(encoding="utf-8"))
    replies = "\n".join(str(one.get("reply") or one.get("error")) for one in spoken["exchanges"])
    for rule in load_scenario(lesson.scenario_path).rules:
        longest = max(re.split(r"\{\{\w+\}\}", rule.reply), key=len)
        assert longest in replies


def test_amnesia_is_what_you_get_without_the_array(tmp_path):
    """The first experiment of lesson 1's page: send only the last message."""
    lesson = find_lesson(1)
    edited = tmp_path / "agent.py"
    source = lesson.agent_path.read_text()
    assert source.count("complete(self.messages)") == 1
    edited.write_text(source.replace("complete(self.messages)", "complete(self.messages[-1:])"))
    shown = transcript(1, 1, agent_path=edited)
    assert "You have not told me your name." in shown


def test_the_sample_project_works():
    tests = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"]
    assert subprocess.run(tests, cwd=SAMPLE, capture_output=True, check=False).returncode == 0
    done = subprocess.run(
        [sys.executable, "-B", "steep.py", "sencha"],
        cwd=SAMPLE,
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1"},
    )
    assert f"    {done.stdout}" in (SAMPLE / "README.md").read_text(encoding="utf-8")


def test_numbers_run_from_one_without_a_gap():
    assert [lesson.number for lesson in all_lessons()] == list(range(1, len(all_lessons()) + 1))
    assert (COURSE / "cassettes").is_dir()
