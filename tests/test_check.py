"""Checking a learner's file: each exercise is open and can be solved; what goes wrong is told in words."""

import re
import time

import pytest

from harness.lessons import all_lessons, find_lesson
from workshop.check import Report, check
from workshop.check_report import report_lines
from workshop.examine import Verdict, examine
from workshop.examinee import Examinee
from workshop.tasks import behaviours_of, starting_text
from workshop.trial import UnmetError

LESSONS = pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: f"{lesson.number}")
BREAKS = {row.name: row.breaks for row in behaviours_of(all_lessons()[-1])}


def verdicts(path, behaviours):
    return list(examine(Examinee(path), behaviours))


@LESSONS
def test_an_exercise_fails_before_it_is_solved(lesson, tmp_path):
    path = tmp_path / "lesson.py"
    path.write_text(starting_text(lesson), encoding="utf-8")
    new = [row for row in behaviours_of(lesson) if row.first == lesson.number]
    for verdict in verdicts(path, new):
        assert verdict.state == "fails"
        assert lesson.number == 1 or verdict.sentence == BREAKS[verdict.name]


@LESSONS
def test_an_exercise_is_solved_by_our_solution(lesson):
    """That it still does what earlier lessons do is for tests/test_matrix.py; here, that it is seen to."""
    new = [row for row in behaviours_of(lesson) if row.first == lesson.number]
    assert {verdict.state for verdict in verdicts(lesson.agent_path, new)} == {"holds"}


# ---- a learner's own words ----

OWN_WORDS = {
    "You are a coding assistant. You can't see the project's files, but a harness can.": "Help with code.",
    "To use a tool, reply with exactly one line and nothing else:": "A tool is run if you say only this:",
    "The harness runs it and answers with": "Then you will read",
    "When you know enough, answer the user in plain text.": "Otherwise talk to the user.",
    "Paths are relative to the workspace root, and nothing outside it can be reached.": "Stay in here.",
    "Read a text file of the project.": "Gives what is in a file.",
    "List the files of a folder of the project; the names of folders end in a slash.": "Gives names.",
    "unknown tool": "I never heard of",
    "the only tool is": "I have",
    "the tools are": "I have",
    "separators=(',', ':')": "",
    " is outside the workspace; use a path inside it, such as README.md": ": may not leave the root",
    'f"edited {path}"': '"ok"',
    'f"created {path}"': '"made it"',
    ": old_text must occur once, but occurs {len(places)} times (lines {lines})": (
        " has {len(places)} such places: {' and '.join(f'line {line}' for line in lines)}"
    ),
    ": old_text and new_text are the same, so there is nothing to change": ": twice the same text",
    "No tool was run: only the harness writes TOOL_RESULT.": "You made that up.",
    "only the harness writes TOOL_RESULT": "you made that up",
    "more calls or results in the reply were cut off and not run": "things left out",
    "that looks like a tool call but is none": "I can't read that call",
    "Your reply was empty. Answer the user, or write ": "Say something, such as ",
    "No tool was run: ": "Sorry: ",
    ". The right form is ": ". Write it so: ",
    "stopped: the model is stuck. Say what it should do instead.": "(enough of that)",
    "stopped after {MAX_STEPS} steps. Say something to go on.": "({MAX_STEPS} were enough)",
    "The same call, with the same result. Do something else.": "Again? You know the answer.",
    "the model repeats this call": "again",
    " What was said is kept: go on when you like.": " (kept)",
    "cleared: the session begins anew": "gone",
    "Make this change? yes, no, always (for this file), or why not:": "May I?",
    "nobody is there to approve the change, so it was not made": "not without a yes",
    "the user refused the change: {answer}": "{answer!r} is what I was told",
    'f"{number}. {option}"': 'f"  ({number}) {option}"',
    "nobody is there to answer; decide yourself, and say what you assumed": "silence",
    "No answer was reported yet: call report_answer.": "Call report_answer, please.",
    "model_dump_json()": "model_dump_json(indent=1)",
    "Look it up first, with the other tools. When you know the answer, report it ": "The tool ",
    "Its arguments must fit this schema": "The schema is",
    "Now report the answer by a call of report_answer.": "Well?",
    "Now answer the user in your own words. Use another tool only if something is still missing.": "Now you.",
    "(nothing: it is empty)": "(empty)",
    "Stop here. Sum up all of the above for yourself: what was asked, found out, changed and decided.": (
        "Now write down in short what has happened so far."
    ),
    "Summary of what was said before": "So far",
    "The request: ": "Now: ",
    'about = "" if usage else "about "': 'about = "" if usage else "~"',
    "{about}{self.tokens} of {self.budget} tokens, {again} % of them sent before": (
        "{about}{self.tokens} tokens, {again}% again"
    ),
    "From now on: ": "Well then. ",
}


@pytest.mark.parametrize("number", [2, 3, 5, 6, 7, 8, 10, 15, 17])
def test_a_learners_own_words_are_as_good_as_ours(number, tmp_path):
    lesson = find_lesson(number)
    text = lesson.agent_path.read_text(encoding="utf-8")
    said = 0
    for ours, theirs in OWN_WORDS.items():
        said += ours in text
        text = text.replace(ours, theirs)
    assert said > 2 + number
    path = tmp_path / "lesson.py"
    path.write_text(text, encoding="utf-8")
    rows = [row for row in behaviours_of(lesson) if row.first == number or number in (7, 10, 17)]
    assert [v for v in verdicts(path, rows) if v.state != "holds"] == []


def test_every_one_of_these_words_is_somewhere():
    texts = "".join(lesson.agent_path.read_text(encoding="utf-8") for lesson in all_lessons())
    assert [words for words in OWN_WORDS if words not in texts] == []


# ---- in a process of its own ----

AGENT = """\
from harness.messages import assistant, system, user
class Agent:
    def __init__(self, client, console):
        self.client, self.console, self.messages = client, console, [system("You help.")]
    def run(self):
        for text in self.console.turns():
            self.messages.append(user(text))
            reply = self.client.complete(self.messages)
            self.messages.append(assistant(reply.text))
            self.console.assistant(reply.text)
"""


def checked(tmp_path, text, *, number=1, seconds=3.0, here=False):
    """The report of a check in the child process, or here, and what a learner reads of it."""
    path = tmp_path / "my files é" / "lesson_01.py"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    lesson = find_lesson(number)
    if not here:
        report = check(path, lesson, seconds=seconds)
    else:
        report = Report(lesson, path)
        try:
            report.verdicts = verdicts(path, behaviours_of(lesson))
        except UnmetError as unmet:
            report.fault = Verdict("", "fails", str(unmet))
    shown = "\n".join(report_lines(report, color=False))
    assert "Traceback" not in shown
    for ours in ("workshop/", "harness/", "site-packages", "importlib"):
        assert ours not in shown.replace("workshop (", "")
    return report, shown


def swapped(old, new):
    assert old in AGENT
    return AGENT.replace(old, new)


def test_a_solved_lesson(tmp_path):
    report, shown = checked(tmp_path, AGENT)
    assert report.solved
    assert "Lesson 1 is solved: all 2 hold in my files é/lesson_01.py." in shown


def test_our_solution_of_a_late_lesson(tmp_path):
    lesson = find_lesson(10)
    report, shown = checked(tmp_path, lesson.agent_path.read_bytes(), number=10, seconds=5)
    assert report.solved, shown
    new = sum(row.first == 10 for row in behaviours_of(lesson))
    assert f"ok   {report.total - new} of {report.total - new} that earlier lessons had still hold" in shown


def test_what_was_sent_stands_beside_what_was_expected(tmp_path):
    text = swapped("self.messages.append(user(text))", "self.messages[1:2] = [user(text)]")
    report, shown = checked(tmp_path, text, here=True)
    assert not report.solved
    assert "FAIL Remembers what was said before" in shown
    assert "the second request did not hold the first turn" in shown
    sent = r"request 2, 3 messages\), the last 2 of them:\n +user: +What is my name\?\n +assistant: Hello, "
    assert re.search(sent, shown)
    assert "the model then said: Ada." in shown
    assert "Assistant: Ada." in shown


def test_text_that_works_the_terminal_is_written_out(tmp_path):
    _, shown = checked(tmp_path, swapped("user(text)", 'user("\\x1b[2J" + text)'), here=True)
    assert r"\x1b[2J" in shown
    assert "\x1b" not in shown


def test_an_error_is_told_by_the_learners_own_line(tmp_path):
    _, shown = checked(tmp_path, swapped("assistant(reply.text))", "assistant(reply.txt))"), here=True)
    line = "line 9 of my files é/lesson_01.py: self.messages.append(assistant(reply.txt))"
    assert f"your agent raised AttributeError: 'Reply' object has no attribute 'txt' at {line}" in shown


def test_an_error_of_the_harness_that_ends_the_conversation_is_told(tmp_path):
    text = swapped(
        "            self.messages.append(assistant", "            raise ToolError('no such thing')\n#"
    )
    _, shown = checked(tmp_path, "from harness.errors import ToolError\n" + text, here=True)
    assert "the conversation ended there: ToolError: no such thing, at line 10 of" in shown


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "self.messages.append(user(text))",
            "self.messages.append({'role': 'user'})",
            "the array holds a dict",
        ),
        (
            "reply = ",
            "raise SystemExit(3)\n            reply = ",
            "your agent raised SystemExit: 3 at line 8",
        ),
        ("complete(self.messages)", "complete(None)", "your agent raised TypeError: 'NoneType'"),
        # Not Python, but not the file: the model's words.
        ("self.messages.append(user(text))", "eval(text)", "your agent raised SyntaxError: "),
        ("self.console.turns()", "[]", "two turns should send two requests"),
    ],
)
def test_what_an_agent_may_do_is_told_in_a_sentence(tmp_path, old, new, sentence):
    report, shown = checked(tmp_path, swapped(old, new), here=True)
    assert not report.solved
    assert report.fault is None
    assert sentence in shown


def test_a_program_that_asks_for_input_or_ends_itself(tmp_path):
    text = "os._exit(7) if text == 'Hello.' else input()"
    report, shown = checked(
        tmp_path, f"import os\n{swapped('reply = ', text + chr(10) + 12 * ' ' + 'reply = ')}"
    )
    assert "your agent raised EOFError: EOF when reading a line at line 9 of" in shown
    assert "the program ended by itself (exit code 7)" in shown
    assert [verdict.state for verdict in report.verdicts] == ["fails", "fails"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("class Agent\n    pass\n", "is not Python yet: SyntaxError: expected ':', at line 1 of"),
        ("  x = 1\n", "is not Python yet: IndentationError: unexpected indent, at line 1 of"),
        (b"x = '\xff'\n", "is not Python yet: SyntaxError: "),
        ("x = '\0'\n", "is not Python yet"),
        ("x = 1\n", "defines no class Agent"),
        ("", "defines no class Agent"),
        ("class Agent:\n    pass\n", "has no method run"),
        ("import nothing_like_it\n", "ModuleNotFoundError: No module named 'nothing_like_it' at line 1 of"),
        ("exit(1)\n", "your agent raised SystemExit: 1 at line 1 of"),
        (
            swapped("console):", "console, budget):"),
            "Agent.__init__ asks for 'budget', which it is not always",
        ),
        (f"print('hello')\n{AGENT}1 / 0\n", "ZeroDivisionError: division by zero at line 12 of"),
    ],
)
def test_a_file_that_can_not_be_tried(tmp_path, text, sentence):
    report, shown = checked(tmp_path, text, here=True)
    assert report.fault
    assert sentence in shown
    assert shown.startswith("FAIL ")
    assert shown.count("\n") <= 2
    assert (report.held, report.total) == (0, 2)


def test_such_a_file_in_the_child(tmp_path):
    report, shown = checked(tmp_path, f"print('hello')\n{AGENT}1 / 0\n")
    assert report.fault
    assert "ZeroDivisionError: division by zero at line 12 of my files é/lesson_01.py: 1 / 0" in shown
    assert "it printed: hello" in shown


@pytest.mark.parametrize(
    "loop",
    [
        "while True: print('y')",
        "__import__('time').sleep(600)",
        "__import__('re').match('(a+)+$', 'a' * 60 + 'b')",  # in C, and never lets go of Python's lock
    ],
)
def test_what_loops_or_hangs_is_stopped_and_said_to_be_that(tmp_path, loop):
    started = time.monotonic()
    report, shown = checked(tmp_path, swapped("reply = ", f"{loop}\n            reply = "), seconds=0.3)
    assert time.monotonic() - started < 15
    assert [verdict.state for verdict in report.verdicts] == ["stopped", "stopped"]
    assert re.search(r"stopped after 0.3 s, at line 8 of my files é/lesson_01.py, .*loops without end", shown)
    assert "Syntax" not in shown


def test_what_loops_while_it_is_loaded(tmp_path, monkeypatch):
    path = tmp_path / "lesson_01.py"
    path.write_text("while True:\n    pass\n")
    monkeypatch.setattr("workshop.check.GRACE", 30)
    report = check(path, find_lesson(1), load_seconds=0.2)
    assert report.fault
    assert "stopped after 0.2 s while it was being loaded, at line" in report.fault.sentence


def test_the_rest_is_not_tried_after_two_stops(tmp_path):
    text = (
        find_lesson(3)
        .agent_path.read_text(encoding="utf-8")
        .replace("return ToolCall(", "while 1: 0\n        (")
    )
    report, shown = checked(tmp_path, text, number=4, seconds=0.3)
    states = [verdict.state for verdict in report.verdicts]
    assert states.count("stopped") == 2
    assert states[-1] == "untried"
    assert "not tried" in shown


def test_a_broken_earlier_behaviour_is_said_to_be_one(tmp_path):
    text = find_lesson(3).agent_path.read_text(encoding="utf-8")
    report, shown = checked(tmp_path, text.replace('"TOOL_RESULT ERROR', '"ERROR'), number=3, here=True)
    assert not report.solved
    assert "ok   Finds the call between lines of prose" in shown
    assert (
        "FAIL Tells the model what went wrong, and goes on\n       You broke something that lesson 2 had."
        in shown
    )
    assert "     3 of 4 that earlier lessons had still hold" in shown


def test_what_the_program_prints_is_shown_and_confuses_nothing(tmp_path):
    text = swapped(
        "reply = ", "print('{\"done\": true}'); print('\\x1b[1mhello', text)\n            reply = "
    )
    text = text.replace("self.messages.append(assistant", "[].append(assistant")
    report, shown = checked(tmp_path, text)
    assert (report.held, report.total) == (1, 2)
    assert r"it printed: \x1b[1mhello What is my name?" in shown
    assert "hello Hello." not in shown  # printed by the one that holds


def test_closing_standard_output_stops_nothing(tmp_path):
    report, shown = checked(tmp_path, f"import os, sys\nsys.stdout.close(); os.close(2)\n{AGENT}")
    assert report.solved, shown


def test_a_thread_that_goes_on_stops_nothing(tmp_path):
    text = f"import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n{AGENT}"
    started = time.monotonic()
    assert checked(tmp_path, text)[0].solved
    assert time.monotonic() - started < 10


def test_a_save_in_the_same_second_is_seen(tmp_path):
    """Python's own cache goes by the second and the size."""
    for name in ("text", "txet"):
        report, _ = checked(tmp_path, AGENT.replace("reply.text)", f"reply.{name})"))
        assert report.solved == (name == "text")
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_check_that_is_outdated_is_given_up(tmp_path):
    path = tmp_path / "lesson_01.py"
    path.write_text("while True: pass\n")
    started = time.monotonic()
    assert check(path, find_lesson(1), outdated=lambda: time.monotonic() > started + 0.3) is None
    assert time.monotonic() - started < 5


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    checked(tmp_path, swapped("reply = ", "while True: pass\n            reply = "), seconds=0.2)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_what_this_system_can_not_try_is_skipped(tmp_path, monkeypatch):
    monkeypatch.delattr("os.mkfifo")
    lesson = find_lesson(11)
    (row,) = [row for row in behaviours_of(lesson) if row.name == "never_waits_for_a_file"]
    (verdict,) = verdicts(lesson.agent_path, [row])
    assert verdict.state == "impossible"


def test_a_fault_is_a_sentence_in_process_too(tmp_path):
    with pytest.raises(UnmetError, match="can't be read"):
        Examinee(tmp_path / "nowhere.py")
    assert Verdict("x", "holds").evidence == ()
