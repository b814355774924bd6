"""The tapes of a real model play offline, with the agents as they are, and say who spoke and how."""

import re

import pytest

from harness.lessons import all_lessons, previous_lesson
from harness.scenario import load_scenario
from harness.tape import read_tape
from workshop.real_tapes import TAPES, real_lesson, real_lessons
from workshop.survey_page import real_transcript

LESSONS = list(real_lessons())
EACH = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.folder.name)
VERDICTS = ("It shows: ", "It shows in part: ", "It does not show: ")


def test_each_lesson_has_its_turns_and_its_tape():
    assert [lesson.number for lesson in LESSONS] == [lesson.number for lesson in all_lessons()]
    assert {path.name for path in TAPES.iterdir()} == {lesson.tape_path.name for lesson in LESSONS}
    assert all(real_lesson(lesson.number).scenario_path.is_file() for lesson in all_lessons())


@EACH
def test_the_header_says_who_spoke_and_how(lesson):
    tape = read_tape(lesson.tape_path)
    for part in ("Qwen2.5-Coder-1.5B-Instruct", "SHA-256 cc324af070c2", "llama.cpp"):
        assert part in tape.model
    assert re.match(r"20\d\d-\d\d-\d\d; temperature 0, ", tape.when)


@EACH
def test_nothing_of_the_machine_is_on_it(lesson):
    text = lesson.tape_path.read_text(encoding="utf-8")
    assert not re.search(r"/tmp/|/root\b|/home/|\\Users\\|127\.0\.0\.1|localhost|chatcmpl|Bearer", text)


@EACH
def test_it_is_short(lesson):
    assert len(read_tape(lesson.tape_path).exchanges) <= 30
    assert lesson.tape_path.stat().st_size < 40_000


@EACH
def test_it_plays_to_its_end_without_a_mismatch(lesson, capsys):
    agents = [agent for agent in (previous_lesson(lesson), lesson) if agent]
    shown = [real_transcript(agent, lesson) for agent in agents]
    assert "Not on the tape" not in capsys.readouterr().err
    assert all("<Turn 1>" in transcript for transcript in shown)
    replies = {exchange.text for exchange in read_tape(lesson.tape_path).exchanges}
    assert len(replies) > 1 or len(agents) == 1
    assert not any("I am a scripted model" in transcript for transcript in shown)


@EACH
def test_it_says_whether_the_point_shows(lesson):
    scenario = load_scenario(lesson.scenario_path)
    assert scenario.shows.startswith(VERDICTS)
    assert scenario.rules == ()
