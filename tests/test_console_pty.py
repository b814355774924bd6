"""The console on a real terminal: what is typed, what is sent to the screen, and what Ctrl+C does."""

import re
import sys
import time
from contextlib import AbstractContextManager

import click
import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are a POSIX thing", allow_module_level=True)

from screen import Screen, on_screen

# pexpect forks; under pytest-xdist there are threads, which Python 3.12 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")

UP = "\x1b[A"
CTRL_D = "\x04"

# A loop as in lesson 10: some turns are commands, the rest is echoed. Ctrl+C in mid-turn is caught.
PROGRAM = """
import os, sys, time
from harness import console as module
from harness.console import Console, use_utf8
use_utf8()
module.LEAVE_WITHIN = float(os.environ.get("LEAVE_WITHIN", module.LEAVE_WITHIN))
given = sys.argv[1:] or None
console = Console(given, step=given is not None)
def answer(text):
    if text == "think":
        with console.thinking():
            time.sleep(float(os.environ.get("THINK", 30)))
        return "thought"
    if text == "retry":
        with console.thinking():
            time.sleep(0.3)
            console.note("asking again")
            time.sleep(0.3)
            console.warn("slow network")
            time.sleep(0.2)
    if text == "work":
        console.note("working")
        time.sleep(30)
    if text == "ask":
        return "answer " + repr(console.ask("Sure?"))
    return "said " + ascii(text)
try:
    for text in console.turns():
        try:
            console.assistant(answer(text))
        except KeyboardInterrupt:
            console.interrupted()
except KeyboardInterrupt:
    sys.exit(130)
"""


def screen(*given: str, size: tuple[int, int] = (24, 80), **env: str) -> AbstractContextManager[Screen]:
    """The program above on a terminal, with these turns given or else typed; "soon" is not a race here."""
    return on_screen(sys.executable, "-c", PROGRAM, *given, size=size, **{"LEAVE_WITHIN": "30", **env})


def plain(text: str) -> str:
    """What is left to read, without codes."""
    return click.unstyle(re.sub(r"\x1b\[\?\d+[hl]", "", text)).replace("\r\n", "\n").replace("\r", "")


# Colour


def test_a_terminal_is_coloured_and_every_colour_is_ended():
    with screen() as child:
        child.prompt()
        child.enter("hi")
        child.expect("said")
        child.prompt()
        child.send(CTRL_D)
        assert child.end() == 0
        assert "\x1b[36m\x1b[1mAssistant:\x1b[0m said 'hi'" in child.sent
        assert plain(child.sent).startswith("<Turn 1>\nYou: hi\nAssistant: said 'hi'\n<Turn 2>\nYou: ")
        last_codes = [re.findall(r"\x1b\[\d+m", line)[-1:] for line in child.sent.splitlines()]
        assert {code for codes in last_codes for code in codes} == {"\x1b[0m"}


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_without_colour_not_one_escape_code_is_sent(env):
    with screen(THINK="0.3", **env) as child:
        child.prompt()
        child.enter("\x16\x1b[2J")  # Ctrl+V, ESC: an escape code typed by the user himself
        child.expect("said")
        child.prompt()
        child.enter("think")
        child.expect("thought")
        child.prompt()
        child.send(CTRL_D)
        assert child.end() == 0
        assert "\x1b" not in child.sent
        assert "thinking" not in child.sent, "nor is there a spinner, which can't be erased without one"


# Ctrl+D and Ctrl+C


def test_end_of_input_leaves_on_a_line_of_its_own():
    with screen(NO_COLOR="1") as child:
        child.prompt()
        child.send(CTRL_D)
        assert child.end() == 0
        assert child.sent == "<Turn 1>\r\nYou: \r\n"


def test_one_interrupt_clears_the_line():
    with screen(NO_COLOR="1") as child:
        child.prompt()
        child.send("not this")
        child.expect("not this")
        child.interrupt()
        child.expect_exact("\r\n(Ctrl+C again to leave)\r\n")
        child.prompt()
        child.enter("but that")
        child.expect_exact("said 'but that'")


def test_two_interrupts_leave():
    with screen() as child:
        child.prompt()
        child.interrupt()
        child.expect("again to leave")
        child.prompt()
        child.interrupt()
        assert child.end() == 130
        assert "Traceback" not in child.sent
        assert child.sent.endswith("\n")


def test_interrupts_that_are_far_apart_only_clear():
    with screen(LEAVE_WITHIN="0.2") as child:
        for _ in range(3):
            child.prompt()
            child.interrupt()
            child.expect("again to leave")
            time.sleep(0.25)
        child.prompt()
        child.enter("still here")
        child.expect("said")


def test_a_turn_between_two_interrupts_means_that_the_user_stays():
    with screen() as child:
        for text in ("one", "two"):
            child.prompt()
            child.interrupt()
            child.expect("again to leave")
            child.prompt()
            child.enter(text)
            child.expect(f"said '{text}'")


def test_an_interrupt_in_mid_turn_and_one_at_the_prompt_leave():
    with screen(NO_COLOR="1") as child:
        child.prompt()
        child.enter("work")
        child.expect("working")
        child.interrupt()
        child.expect_exact("\rinterrupted; the turn so far is kept. Ctrl+C again to leave\r\n<Turn 2>\r\n")
        child.prompt()
        child.interrupt()
        assert child.end() == 130


def test_an_interrupt_in_mid_turn_alone_goes_on():
    with screen() as child:
        child.prompt()
        child.enter("work")
        child.expect("working")
        child.interrupt()
        child.prompt()
        child.enter("hi")
        child.expect("said 'hi'")


# Questions in mid-turn


def test_a_question_is_answered_at_the_terminal():
    with screen(NO_COLOR="1") as child:
        child.prompt()
        child.enter("ask")
        child.expect_exact("Sure?\r\n")
        child.prompt()
        child.enter("yes")
        child.expect("answer 'yes'")
        child.prompt()
        child.enter("ask")
        child.prompt()
        child.send(CTRL_D)
        child.expect_exact("\r\nAssistant: answer None")
        child.prompt()
        child.enter("ask")
        child.prompt()
        child.interrupt()
        child.expect_exact("interrupted")


# Typing


def test_the_arrow_up_brings_back_turns_and_no_answers():
    with screen() as child:
        child.prompt()
        child.enter("first")
        child.prompt()
        child.enter("ask")
        child.prompt()
        child.enter("yes")
        child.prompt()
        child.enter(UP + UP)
        child.expect("said 'first'")


def test_a_paste_of_several_lines_is_one_turn():
    with screen() as child:
        child.prompt()
        assert "\x1b[?2004h" in child.sent  # only then does a terminal mark what is pasted
        child.enter("\x1b[200~def f():\r    pass\r\x1b[201~")
        child.expect_exact(r"said 'def f():\n    pass'")


def test_the_prompt_counts_as_wide_as_it_looks():
    with screen(size=(24, 40)) as child:
        child.prompt()
        child.send("x" * 33)  # 38 columns with the prompt, but 51 characters with its codes
        child.expect("x" * 33)
        child.enter("\x01y")  # Ctrl+A: to the beginning of the line
        child.expect(f"said 'y{'x' * 33}'")
        assert UP not in child.sent, "readline believes that the text stands in two lines"


def test_a_line_longer_than_a_narrow_terminal_arrives_whole():
    with screen(size=(24, 40), COLUMNS="40") as child:
        child.prompt()
        child.enter("0123456789" * 20)
        child.expect("said")
        child.prompt()
        assert "0123456789" * 20 in child.sent.replace("\r\n", ""), "nothing is wrapped by us"


@pytest.mark.parametrize("env", [{}, {"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}])
def test_text_beyond_ascii_is_typed_and_edited_in_any_locale(env):
    with screen(PYTHONIOENCODING="cp1252", **env) as child:
        child.prompt()
        child.enter("né日x\x7f\x7f€")
        child.expect_exact(r"said 'n\xe9\u20ac'")


# Playing


def test_given_turns_wait_for_enter():
    with screen("one", "two", NO_COLOR="1") as child:
        child.expect_exact("[Enter] ")
        child.enter("")
        child.expect_exact("\r\n<Turn 1>\r\nYou: one\r\nAssistant: said 'one'\r\n[Enter] ")
        assert "two" not in child.sent
        child.send(CTRL_D)
        assert child.end() == 0
        assert "two" not in child.sent


# The spinner


def test_the_spinner_is_shown_and_leaves_nothing_behind():
    with screen(THINK="0.4") as child:
        child.prompt()
        child.enter("think")
        started = time.monotonic()
        child.expect("thinking… 0 s")
        assert time.monotonic() - started < 2
        child.expect("thought")
        shown = child.sent[child.sent.rindex("thinking…") :]
        assert re.match(r"thinking… \d s\x1b\[0m\r\x1b\[2K\x1b\[36m\x1b\[1mAssistant:\x1b\[0m thought", shown)
        assert "\x1b[?25l" not in child.sent, "the cursor is never hidden, so it can't stay so"


def test_an_interrupted_spinner_leaves_nothing_behind():
    with screen() as child:
        child.prompt()
        child.enter("think")
        child.expect("thinking…")
        child.interrupt()
        child.expect("interrupted")
        shown = child.sent[child.sent.rindex("thinking…") :]
        assert re.match(r"thinking… \d s\x1b\[0m(\^C)?\r\x1b\[2K\r\x1b\[2minterrupted", shown)
        child.prompt()


def test_what_is_said_while_the_model_thinks_has_its_own_line():
    with screen() as child:
        child.prompt()
        child.enter("retry")
        child.expect("said 'retry'")
        assert " s\x1b[0m\r\x1b[2K\x1b[2masking again\x1b[0m\r\n" in child.sent
        assert " s\x1b[0m\r\x1b[2K\x1b[33mslow network\x1b[0m\r\n" in child.sent
        left = [line.rpartition("\x1b[2K")[2] for line in child.sent.split("\n")]
        assert "thinking" not in "".join(left)


# Elsewhere


def test_a_transcript_that_goes_into_a_file_is_whole_and_the_prompt_is_still_seen(tmp_path):
    program, log = tmp_path / "program.py", tmp_path / "log.txt"
    program.write_text(PROGRAM)
    with on_screen(
        "/bin/sh", "-c", f"exec '{sys.executable}' '{program}' > '{log}'", LEAVE_WITHIN="30"
    ) as child:
        child.prompt()
        child.enter("hi")
        child.prompt()
        child.enter("ask")
        child.expect_exact("Sure?")
        child.prompt()
        child.enter("y")
        child.prompt()
        child.interrupt()
        child.prompt()
        child.interrupt()
        assert child.end() == 130
    assert log.read_text() == (
        "<Turn 1>\nYou: hi\nAssistant: said 'hi'\n<Turn 2>\nYou: ask\nSure?\nAssistant: answer 'y'\n"
        "(Ctrl+C again to leave)\n"
    )
