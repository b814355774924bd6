"""``--wire``: how each reply was read, as the agent itself read it."""

import io
import sys
from types import SimpleNamespace

import pytest

from harness.console import Console
from harness.lessons import find_lesson, load_agent
from harness.runner import play
from harness.wire import reading, show_readings


def lesson_on_wire(number):
    out = io.StringIO()
    play(
        find_lesson(number),
        lambda scenario: Console(scenario.turns, answers=scenario.answers, out=out),
        wire=True,
    )
    return out.getvalue()


def test_how_later_lessons_read_a_reply():
    assert "read as a call of read_file; 2 more calls or results dropped" in lesson_on_wire(8)
    assert "read as a fault: 'No tool was run: the call was cut off" in lesson_on_wire(9)
    assert "wire <- no reply" in lesson_on_wire(10)


def test_what_is_not_read_as_a_reply_is_not_said_to_be():
    summing_up = lesson_on_wire(16)
    assert summing_up.count("wire <-") == summing_up.count("wire ==") + summing_up.count("summed up:")
    assert "wire ==" not in lesson_on_wire(1)


CALL = SimpleNamespace(name="read_file", arguments={})


@pytest.mark.parametrize(
    ("parsed", "words"),
    [
        (None, "an answer"),
        (CALL, "a call of read_file"),
        (("", CALL), "a call of read_file"),
        (("Let me look.", CALL), "a call of read_file, and prose for the user"),
        (("It is a timer.", None), "an answer"),
        (
            SimpleNamespace(prose="", call=None, fault="cut off", dropped=2),
            "a fault: 'cut off'; 2 more calls",
        ),
        (SimpleNamespace(prose="", call=CALL, fault="", dropped=1), "a call of read_file; 1 more calls"),
        ("anything that a learner's parser may give", ""),
        ((1, 2, 3), ""),
        (("prose", "no call"), ""),
    ],
)
def test_the_shapes_that_parsers_give(parsed, words):
    assert reading(parsed).removesuffix(" or results dropped") == words


def test_a_parser_of_other_arguments_still_works(tmp_path):
    (tmp_path / "agent.py").write_text(
        "def parse_reply(text, finish_reason='stop'):\n    return text, None\n\n\nclass Agent:\n    pass\n"
    )
    agent, out = load_agent(tmp_path / "agent.py"), io.StringIO()
    show_readings(agent, Console([], out=out))
    parse_reply = sys.modules[agent.__module__].parse_reply
    assert parse_reply("hello", finish_reason="length") == ("hello", None)
    assert out.getvalue() == "wire == read as an answer\n"
