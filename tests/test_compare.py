"""Two lessons on one scenario: what each shows, where they part, and the command that shows it."""

import re
import subprocess
import sys
from functools import cache

import click
import pytest
from click.testing import CliRunner

from harness.commands.compare import compare
from harness.errors import SettingsError
from harness.lessons import COURSE, Lesson, all_lessons, find_lesson, previous_lesson
from workshop.compare import Row, beside, run_on
from workshop.pages import transcript
from workshop.side_by_side import PARTED, ROOM, two_columns

WITH_A_LESSON_BEFORE = [lesson.number for lesson in all_lessons() if previous_lesson(lesson)]
# The command line with the command on it, whether or not it is registered there.
PROGRAM = "from harness import cli; cli.main()"


def compared(*arguments, columns=120, color=None):
    done = CliRunner().invoke(
        compare, [*map(str, arguments)], obj=color, color=color, env={"COLUMNS": str(columns)}
    )
    if done.exception:
        raise done.exception
    return done.stdout


@cache
def pair(number):
    lesson = find_lesson(number)
    return run_on(lesson, previous_lesson(lesson)), run_on(lesson, lesson)


def side(rows, name):
    return [getattr(row, name) for row in rows if getattr(row, name) is not None]


def plain(lines):
    return [click.unstyle(line) for line in lines]


# Where they part


@pytest.mark.parametrize("number", WITH_A_LESSON_BEFORE)
def test_both_transcripts_are_whole_and_they_part_somewhere(number):
    older, newer = pair(number)
    assert "\n".join([*plain(older.lines), ""]) == transcript(number - 1, number).rstrip("\n") + "\n"
    assert "\n".join([*plain(newer.lines), ""]) == transcript(number, number).rstrip("\n") + "\n"
    rows, parted = beside(older.lines, newer.lines)
    assert side(rows, "left") == older.lines
    assert side(rows, "right") == newer.lines
    assert parted is not None
    assert not any(row.differs for row in rows[:parted])
    assert rows[parted].differs
    assert older.notices == newer.notices == []


def step(number, of=""):
    return click.style(f"<Step {number}{of}>", bold=True)


@pytest.mark.parametrize(
    ("left", "right", "parted"),
    [
        ("a b c", "a b c", None),
        ("a b", "a c", 1),
        ("a b", "a b c", 2),  # the one ends, and the other goes on
        ("a b c", "a b", 2),
        ("", "a", 0),
        ("x a b", "a b", 0),
        ("a a a x", "a a y", 2),  # not where the longest stretch in common would begin
    ],
)
def test_where_they_part(left, right, parted):
    rows, found = beside(left.split(), right.split())
    assert found == parted
    assert side(rows, "left") == left.split()
    assert side(rows, "right") == right.split()


def test_what_is_the_same_again_stands_beside_each_other():
    rows, parted = beside(["a", "b", "turn", "x"], ["a", "c", "d", "turn", "y"])
    assert parted == 1
    assert rows[1:] == [
        Row("b", "c", True),
        Row(None, "d", True),
        Row("turn", "turn", False),
        Row("x", "y", True),
    ]


def test_counting_steps_is_no_difference():
    rows, parted = beside(["turn", step(1), "a", "b"], ["turn", step(1, " of 20"), "a", "c"])
    assert parted == 3
    rows, parted = beside(["turn", "a"], ["turn", step(1), "a", step(2), "b"])
    assert rows[1] == Row(None, step(1), False)
    assert rows[parted] == Row(None, step(2), True)  # the step that is one too many is where they part
    assert beside(["a"], [step(1), "a"])[1] is None


def test_a_model_can_not_pose_as_a_step():
    assert beside(["a", "<Step 2>"], ["a", "<Step 2 of 20>"])[1] == 1


# Runs that go wrong


def agent_of(folder, source):
    (folder / "agent.py").write_text(source, encoding="utf-8")
    return Lesson(3, "mine", folder)


AGENT = """
class Agent:
    def __init__(self, client, console):
        self.client, self.console = client, console

    def run(self):
        for text in self.console.turns():
            {}
"""


def test_an_agent_that_breaks_is_a_line_that_says_where(tmp_path):
    broken = agent_of(tmp_path, AGENT.format("self.console.nothing()"))
    run = run_on(find_lesson(3), broken)
    assert "You: What does README.md say this project is?" in plain(run.lines)
    assert re.fullmatch(
        r"harness: the agent broke: AttributeError: .*nothing.* \(agent\.py, line 8\)", plain(run.lines)[-1]
    )
    run = run_on(find_lesson(3), agent_of(tmp_path, "x = 1\ndef f(:\n"))
    assert re.fullmatch(
        r"harness: the agent broke: SyntaxError: .* \(agent\.py, line 2\)", plain(run.lines)[-1]
    )


def test_a_run_that_leaves_the_tape_says_so_beside_its_transcript(tmp_path, capsys):
    mine = agent_of(
        tmp_path,
        "from harness.messages import user\n"
        + AGENT.format("self.console.assistant(self.client.complete([user(text)]).text)"),
    )
    run = run_on(find_lesson(3), mine)
    assert run.notices[0].startswith("Not on the tape")
    assert capsys.readouterr().err == ""
    rows, parted = beside(run.lines, run.lines)
    assert "Not on the tape" in "\n".join(two_columns((run, run), rows, parted, width=120, color=False))


def test_a_file_without_an_agent_is_no_run(tmp_path):
    with pytest.raises(SettingsError, match="no class Agent"):
        run_on(find_lesson(3), agent_of(tmp_path, "x = 1\n"))


# The command


def test_side_by_side_then_the_patch():
    shown = compared(3).splitlines()
    assert shown[0] == "Lessons 2 and 3 on the scenario of lesson 3"
    assert "scripted" in shown[2]
    assert re.fullmatch(r"  lesson 2: tool call protocol +lesson 3: tolerant parser", shown[4])
    assert "--- lesson 2: tool call protocol" in shown
    assert "+def parse_reply(reply: str) -> tuple[str, ToolCall | None]:" in shown
    assert "+++" not in compared(3, "--no-patch")


def test_a_narrow_screen_stacks():
    shown = compared(3, "--no-patch", columns=ROOM - 1).splitlines()
    assert "  lesson 2: tool call protocol" in shown
    assert "  lesson 3: tolerant parser" in shown
    assert compared(3, "--no-patch", columns=20).count("▶") == 2


def test_colour_on_request_and_nothing_but_colour():
    colored = compared(3, color=True)
    assert "\x1b[7m" in colored
    assert click.unstyle(colored) == compared(3)


def test_any_two_lessons_on_the_scenario_of_the_one():
    shown = compared(5, "--against", 2)
    assert "Lessons 2 and 5 on the scenario of lesson 5" in shown
    assert "Not on the tape" in shown
    assert "+++ lesson 5: inner loop" in shown


def test_a_lesson_beside_itself():
    shown = compared(3, "--against", 3)
    assert "Both show the same" in shown
    assert PARTED not in shown
    assert "the same agent" in shown


def test_the_first_lesson_has_none_before_it():
    with pytest.raises(SettingsError, match="--against"):
        compared(1)
    with pytest.raises(SettingsError, match=r"1\.\."):
        compared(99)
    assert "+++ lesson 1: chat loop" in compared(1, "--against", 2)


def test_the_wire_of_both():
    shown = compared(3, "--wire", "--no-patch", columns=1000)
    assert shown.count("wire -> 2 messages, 584 bytes; 0 of them sent before") == 2
    part = shown.index(PARTED)
    # Up to the reply all is the same; the two differ in how they read it.
    assert "wire <- 'Let me look at the file first.\\nTOOL_CALL" in shown[:part]
    assert shown[part:].splitlines()[1] == "│ wire == read as an answer"
    newer = shown[shown.rindex(PARTED) :].splitlines()
    assert newer[1] == "│ wire == read as a call of read_file, and prose for the user"


# As a program


def test_a_reader_that_leaves_is_no_traceback():
    command = [sys.executable, "-c", PROGRAM, "compare", "13"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=COURSE, text=True)
    assert process.stdout.readline().startswith("Lessons 12 and 13")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(30)


def test_the_command_imports_nothing_heavy_until_it_runs():
    probe = "import sys, harness.commands.compare; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, cwd=COURSE, check=True
    )
    heavy = {"vcr", "requests", "pydantic", "rich", "pygments", "yaml", "difflib"}
    assert not heavy & set(done.stdout.split())
