import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from harness.lessons import Lesson, all_lessons, previous_lesson
from workshop.budgets import CHANGED_LINES_AIM, step_sizes
from workshop.definitions import read_agent
from workshop.diff import diff, stat, unified
from workshop.paint import twins

each_lesson = pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: lesson.slug)


def patched(older: str, lines: list[str]) -> str:
    """``older`` with a diff applied to it; fails where the diff does not fit."""
    before, after, place = older.splitlines(), list[str](), 0
    for line in lines[2:]:
        if match := re.match(r"@@ -(\d+)", line):
            after += before[place : max(int(match[1]) - 1, 0)]
            place = max(int(match[1]) - 1, 0)
        else:
            if line[0] in " -":
                assert before[place] == line[1:]
                place += 1
            if line[0] in " +":
                after.append(line[1:])
    return "\n".join([*after, *before[place:], ""])


@each_lesson
def test_a_lesson_against_the_one_before(lesson: Lesson) -> None:
    before = previous_lesson(lesson)
    lines = diff(before, lesson)
    assert lines[0] == (f"--- lesson {before.number}: {before.title}" if before else "--- an empty file")
    assert lines[1] == f"+++ lesson {lesson.number}: {lesson.title}"
    assert patched(read_agent(before) if before else "", lines) == read_agent(lesson)


@each_lesson
def test_colour_adds_nothing_but_colour(lesson: Lesson) -> None:
    plain = diff(previous_lesson(lesson), lesson)
    colored = diff(previous_lesson(lesson), lesson, color=True)
    assert [click.unstyle(line) for line in colored] == plain
    assert not any("\x1b" in line for line in plain)
    for line, shown in zip(plain[2:], colored[2:], strict=True):
        expected = {"-": "\x1b[31m-", "+": "\x1b[32m+", "@": "\x1b[36m@", " ": " "}[line[0]]
        assert shown.startswith(expected)


def test_any_two_lessons_can_be_compared() -> None:
    first, *_, last = all_lessons()
    assert diff(first, last)[:2] == [
        f"--- lesson {first.number}: {first.title}",
        f"+++ lesson {last.number}: {last.title}",
    ]
    assert patched(read_agent(first), diff(first, last)) == read_agent(last)
    assert patched(read_agent(last), diff(last, first)) == read_agent(first)


def test_a_lesson_against_itself_says_so() -> None:
    lesson = all_lessons()[0]
    assert diff(lesson, lesson) == [f"lesson 1: {lesson.title}: the same agent as lesson 1: {lesson.title}"]


def test_a_file_that_is_no_python_has_a_diff_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def f(:\n")
    assert diff(None, Lesson(1, "broken", tmp_path))[-1] == "+def f(:"


def reversed_words(line: str) -> list[str]:
    return re.findall(r"\x1b\[3[12]m\x1b\[7m(.*?)\x1b\[0m", line)


def test_changed_words_stand_out() -> None:
    older = "a = 1\nreply = self.client.complete(self.messages)\nb = 2\n"
    newer = "a = 1\nreply = self.client.answer(self.messages)\nb = 2\n"
    lines = unified(older, newer, "old", "new", color=True)
    assert [reversed_words(line) for line in lines if line.startswith("\x1b[3")] == [
        [],
        ["complete"],
        ["answer"],
    ]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("return value + 1\n", "return value + 1\nreturn value + 2\n"),  # added, replacing nothing
        ("one line here\n", "another line over there\nthe second\n"),  # one line became two others
        ("    if prose:\n        say(prose)\n", "        if prose:\n            say(prose)\n"),  # moved only
        ("import os\n", "yield from everything_else(at=once)\n"),  # hardly a word in common
        ("same\n\n", "same\n"),
    ],
)
def test_no_word_stands_out_where_lines_are_no_pair(older: str, newer: str) -> None:
    lines = unified(older, newer, "old", "new", color=True)
    assert len(lines) > 2
    assert not any("\x1b[7m" in line for line in lines)


def test_a_changed_line_is_found_among_added_ones() -> None:
    older = "prose, call = parse_reply(reply.text)\nif prose:\n    say(prose)\n"
    newer = (
        "parsed = parse_reply(reply.text)\nkeep(parsed)\nif parsed.prose:\n    log()\n    say(parsed.prose)\n"
    )
    assert twins(older.splitlines(), newer.splitlines()) == [(0, 0), (1, 2), (2, 4)]
    lines = unified(older, newer, "old", "new", color=True)
    assert [word for line in lines for word in reversed_words(line)] == [
        "prose, call",
        *("parsed", "parsed.", "parsed."),
    ]


def test_blocks_that_are_too_long_are_not_paired_for_ever() -> None:
    older, newer = ([f"the same words, another number {n + off}" for n in range(2000)] for off in (0, 5000))
    assert twins(older, newer) == []


def test_python_is_shown_in_its_syntax() -> None:
    newer = '@tool\ndef f():  # why\n    """Prose if any."""\n    return "if" if 1 else None\n'
    shown = "\n".join(unified("", newer, "old", "new", color=True))
    for magenta in ("@tool", "def", "return", "None"):
        assert f"\x1b[35m{magenta}\x1b[0m" in shown
    assert "\x1b[32m\x1b[1mf\x1b[0m" in shown
    assert '\x1b[36m"if"\x1b[0m' in shown
    assert "\x1b[32m\x1b[3m# why\x1b[0m" in shown
    assert '"""Prose if any."""\x1b[0m' in shown


def test_a_prompt_over_many_lines_is_one_string() -> None:
    newer = 'PROMPT = """\nonly\nif you like"""\nreturn None\n'
    lines = unified(newer.replace("like", "please"), newer, "old", "new", color=True)
    assert " \x1b[36monly\x1b[0m" in lines
    assert '\x1b[32m+\x1b[0m\x1b[36mif you \x1b[0m\x1b[32m\x1b[7mlike\x1b[0m\x1b[36m"""\x1b[0m' in lines


@pytest.mark.parametrize(
    "text", ["\ufeffx\r\n\ty\x0b\n", "'''\x00🙂\ud800", 'f"{', "}\u2028\x85日本\r", "\\\n"]
)
def test_what_is_no_python_is_shown_whole(text: str) -> None:
    for older, newer in ((text, ""), ("", text), (f"{text}\na", f"{text}\nb")):
        colored = unified(older, newer, "old", "new", color=True)
        assert [click.unstyle(line) for line in colored] == unified(older, newer, "old", "new", color=False)


def test_pairs_are_found_on_both_sides_of_lines_that_stay() -> None:
    older, newer = "x = 1\nkept\nz = 3\n", "x = 2\nkept\nz = 4\n"
    lines = unified(older, newer, "old", "new", color=True)
    assert [word for line in lines for word in reversed_words(line)] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("color", [False, True])
def test_equal_texts_have_no_diff(color: bool) -> None:
    assert unified("a\nb\n", "a\nb\n", "old", "new", color=color) == []


def test_a_file_can_not_work_the_terminal() -> None:
    lines = unified("a\n", "\x1b[2Ja\x0cb\u202e\n", "old", "new", color=False)
    assert lines[-1] == "+\\x1b[2Ja\\x0cb\\u202e"
    assert "\x1b[2J" not in "".join(unified("a\n", "\x1b[2Ja\n", "old", "new", color=True))


def test_a_stat_is_a_line_a_lesson() -> None:
    lessons = all_lessons()
    lines = stat(lessons)
    for line, size in zip(lines, step_sizes(), strict=True):
        numbers = re.fullmatch(r"lesson (\d+) +(\w+) +\+(\d+) +-(\d+) +(\d+) changed(  \(aim: \d+\))?", line)
        assert numbers is not None
        assert numbers.groups()[:5] == tuple(
            map(str, (size.lesson.number, size.lesson.slug, size.added, size.removed, size.changed))
        )
        assert bool(numbers[6]) == (size.changed > CHANGED_LINES_AIM)
    assert stat(lessons[1:2]) == lines[1:2]


def test_only_what_is_needed_is_imported() -> None:
    script = (
        "import sys, workshop.diff as d, harness.lessons as l; a, b, *_ = l.all_lessons()\n"
        "d.stat([a, b]); d.diff(a, b); print(*sys.modules)"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    )
    assert not {"yaml", "rich", "pydantic", "requests", "vcr", "pygments"} & set(done.stdout.split())
