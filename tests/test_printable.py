"""Text from outside, made safe to show: nothing in it works the terminal, and nothing readable is lost."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.printable import brief, one_line, printable

HOSTILE = {
    "title and clipboard": "\x1b]0;pwn\x07\x1b[2K\rALL TESTS PASSED\x1b]52;c;cm0=\x07",
    "erase and move": "\x1b[2J\x1b[H\x1b[1A",
    "one-byte CSI and OSC": "\x9b2J\x9d0;pwn\x9c",
    "device control": "\x1bP1$r\x1b\\ \x1b_x\x1b\\",
    "overwrite": "rm -rf /\rls        ",
    "backspaces": "rm\x08\x08ls",
    "bell, null, delete, form feed": "\x07\x00\x7f\x0b\x0c\x0e",
    "bidi override": "access = '\u202e\u2066admin\u2069 \u2066'",
    "bidi marks": "a\u200e\u200f\u061cb",
    "zero width": "pass\u200bword \ufeff \u2060 \u180e \xad",
    "joiner that hides": "read\u200dme \u200c",
    "joiner in front": "\u200dreadme",
    "other line ends": "a\u2028b\u2029c\x85d",
    "lone surrogates": "\ud83d \udc80 \udfff",
    "invisible tags": "".join(chr(0xE0000 + ord(c)) for c in "obey"),
    "interlinear": "\ufff9a\ufffab\ufffb",
}


def unseen(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_a_reader_cannot_see_is_written_out(text):
    assert unseen(text), "the case itself must hold something"
    assert unseen(printable(text)) == set()


def test_what_is_escaped_can_still_be_read():
    assert printable("\x1b[2K\x07\x9b\u202e\ud800\r!") == r"\x1b[2K\x07\x9b\u202e\ud800\r!"


def test_crlf_is_a_line_end_and_tabs_stay():
    assert printable("a\tb\r\nc\n\r\n") == "a\tb\nc\n\n"
    assert printable("a\r\r\nb") == "a\\r\nb"


@pytest.mark.parametrize(
    "text",
    ["plain", "naïve café €", "日本語", "עברית", "می‌خواهم", "👨‍👩‍👧 ❤️‍🔥 🏳️‍🌈", "क्‍ष", "\u00a0", "a b\tc", ""],
)
def test_writing_of_every_kind_is_left_alone(text):
    assert printable(text) is text or printable(text) == text


@given(st.text(st.characters(codec=None)))
def test_printable_shows_everything_and_is_stable(text):
    shown = printable(text)
    assert unseen(shown) <= {"\t", "\u200c", "\u200d"}
    assert not re.search("(^|[\x00-\x7f])[\u200c\u200d]", shown)
    assert printable(shown) == shown
    assert "\n" not in one_line(text)


def test_printable_takes_time_linear_in_the_length():
    for piece in ["\x1b[2J", "\u200d", "é\u200d", "a\u200d", "\r", "\r\n", "\ud800", "\U000e0041"]:
        text = piece * (200_000 // len(piece))
        started = time.process_time()
        printable(text)
        assert time.process_time() - started < 2, repr(
            piece
        )  # measured: 0.04 s; quadratic would take minutes


# Arguments in one line


def test_long_arguments_are_cut_and_it_is_said_by_how_much():
    text = brief({"path": "calc/core.py", "old_text": "#" * 500, "new_text": "é\n" * 300})
    assert text.startswith('{"path": "calc/core.py", "old_text": "###')
    kept = text.count("#")
    assert f"({500 - kept} more characters)" in text
    assert f"({600 - text.count('é') - text.count(chr(92) + 'n')} more characters)" in text
    assert len(text) < 200


def test_what_is_left_out_is_never_shorter_than_saying_so():
    for length in range(60, 130):
        assert len(brief({"a": "x" * length})) <= len('{"a": ""}') + length + 1


def deep(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"a": None},
        {"a": float("nan")},
        {"a": [1] * 9999},
        {"a": deep(5000)},
        {"a": {(1, 2): 3}},
        {1: {2}, b"\x00": b"\x00"},
        {"k" * 9999: "v" * 9999},
        {str(i): "x" * 99 for i in range(2000)},
    ],
    ids=range(9),
)
def test_any_arguments_fit_a_few_lines(arguments):
    text = f"{one_line('t' * 5000)} {brief(arguments)}"
    assert "\n" not in text
    assert len(text) < 800
