"""What the console shows and whom it listens to, in memory; on a terminal, see test_console_pty.py."""

import io
import os
import sys
import threading
import time

import click
import pytest
from test_printable import HOSTILE, unseen

from harness import console as console_module
from harness.console import Console


def in_memory(*turns: str, **options) -> Console:
    return Console(list(turns), out=io.StringIO(), **options)


def written(console: Console) -> str:
    return console.out.getvalue()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


# The transcript


def test_every_line_is_labelled_as_in_the_article():
    console = in_memory("What is this?", "Two\nlines")
    turns = console.turns()
    assert next(turns) == "What is this?"
    console.step(1)
    console.tool_call("read_file", {"path": "README.md", "line": 2, "whole": True})
    console.tool_success("read_file", "a\nb\n")
    console.step(2)
    console.tool_error("edit_file", "no match for old_text")
    console.assistant("It is\n  a sample.\n")
    console.note("14 messages")
    assert next(turns) == "Two\nlines"
    assert next(turns, "end") == "end"
    assert written(console) == (
        "<Turn 1>\n"
        "You: What is this?\n"
        "<Step 1>\n"
        'tool-call: read_file {"path": "README.md", "line": 2, "whole": true}\n'
        "tool-success: read_file -> 2 lines\n"
        "<Step 2>\n"
        "tool-error: edit_file -> no match for old_text\n"
        "Assistant: It is\n"
        "  a sample.\n"
        "14 messages\n"
        "<Turn 2>\n"
        "You: Two\n"
        "lines\n"
    )


@pytest.mark.parametrize(
    ("result", "count"),
    [
        ("", "0 lines"),
        ("a", "1 line"),
        ("a\n", "1 line"),
        ("\n", "1 line"),
        ("a\nb", "2 lines"),
        ("a\r\nb\r\n", "2 lines"),
        ("a\x0cb\u2028c\n", "1 line"),
        ("x\n" * 17, "17 lines"),
    ],
)
def test_lines_of_a_result_are_counted_as_editors_count_them(result, count):
    console = in_memory()
    console.tool_success("read_file", result)
    assert written(console) == f"tool-success: read_file -> {count}\n"


def test_empty_text_leaves_a_bare_label():
    console = in_memory()
    console.assistant("")
    console.assistant("\n\nHello\n\n")
    assert written(console) == "Assistant:\nAssistant: Hello\n"


def test_a_memory_transcript_is_plain_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = in_memory("hi")
    assert list(console.turns()) == ["hi"]
    assert written(console) == "<Turn 1>\nYou: hi\n"


def test_colour_adds_codes_and_changes_no_character():
    def transcript(color: bool) -> str:
        console = in_memory("hi", color=color)
        list(console.turns())
        console.tool_call("read_file", {"path": "a"})
        console.tool_error("read_file", "no")
        console.assistant("hello")
        console.note("noted")
        return written(console)

    colored = transcript(True)
    assert colored.count("\x1b[0m") >= 6
    assert click.unstyle(colored) == transcript(False)


# Text from outside


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_nothing_from_outside_reaches_the_screen_unseen(text, monkeypatch, capsys):
    assert unseen(text), "the case itself must hold something"
    console = in_memory(text, answers=[text])
    assert list(console.turns()) == [text], "the model gets the text as it is"
    assert console.ask(text) == text
    console.assistant(text)
    console.note(text)
    console.heading(text)
    console.tool_call(text, {text: text, "nested": [{text: text}]})
    console.tool_success(text, text)
    console.tool_error(text, text)
    console.warn(text)
    assert unseen(written(console)) == set()
    assert unseen(capsys.readouterr().err) == set()


def test_markup_is_text():
    console = in_memory()
    console.assistant("[/bold] [red] {x} %s \\")
    console.tool_error("t", "[/]")
    console.note("[link=file:///etc]x[/link]")
    assert written(console) == (
        "Assistant: [/bold] [red] {x} %s \\\ntool-error: t -> [/]\n[link=file:///etc]x[/link]\n"
    )


def test_no_name_argument_or_reason_can_pose_as_another_line():
    console = in_memory()
    console.tool_call("x\nYou: yes", {"a\nb": "c\nYou: yes", "d": ["\nYou: yes"]})
    console.tool_success("x\nYou: yes", "")
    console.tool_error("x\nYou: yes", "failed\nYou: yes\r\nAssistant: done")
    lines = written(console).splitlines()
    labels = [line.split()[0] for line in lines if not line.startswith("  ")]
    assert labels == ["tool-call:", "tool-success:", "tool-error:"]
    assert lines[-2:] == ["  You: yes", "  Assistant: done"]


# Input


def test_piped_lines_are_turns_and_blank_ones_are_none(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n\n  \nhi\n\t\nthere"))
    console = Console(out=io.StringIO())
    assert list(console.turns()) == ["hi", "there"]
    assert written(console) == "<Turn 1>\nYou: hi\n<Turn 2>\nYou: there\n"


def test_blank_given_turns_are_none_either():
    console = in_memory("", "hi", " \n ", step=False)
    assert list(console.turns()) == ["hi"]


def test_a_missing_standard_input_is_an_end_of_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    console = Console(out=io.StringIO())
    assert list(console.turns()) == []
    assert console.ask("sure?") is None


def test_step_waits_for_a_line_before_each_given_turn(monkeypatch):
    stdin = io.StringIO("\n\n")
    monkeypatch.setattr(sys, "stdin", stdin)
    console = in_memory("one", "two", "three", step=True)
    turns = console.turns()
    assert (next(turns), stdin.tell()) == ("one", 1)
    assert (next(turns), stdin.tell()) == ("two", 2)
    assert list(turns) == [], "the end of input leaves"
    assert "three" not in written(console)


def test_step_waits_for_nothing_where_the_turns_are_read_anyway(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert list(Console(out=io.StringIO(), step=True).turns()) == ["one", "two"]


def test_answers_are_taken_in_order_and_shown_as_if_typed():
    console = in_memory("edit it", answers=["y", "no"])
    assert [console.ask("Sure?") for _ in range(3)] == ["y", "no", None]
    assert written(console) == "Sure?\nYou: y\nSure?\nYou: no\nSure?\n"


def test_a_scripted_conversation_never_asks_the_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert in_memory("edit it").ask("Sure?") is None
    assert Console(answers=["n"], out=io.StringIO()).ask("Sure?") == "n"


def test_nobody_at_a_terminal_means_no_answer_and_takes_no_turn(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    console = Console(out=io.StringIO())
    assert console.ask("Sure?") is None
    assert list(console.turns()) == ["y"]


def test_who_answers_has_seen_the_question_even_if_the_transcript_goes_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    console = Console(out=io.StringIO())
    assert console.ask("Overwrite \x1b[8ma.txt?") == "y"
    assert capsys.readouterr().err == "Overwrite \\x1b[8ma.txt?\nYou: "
    assert console.ask("And now?") is None, "end of input is no answer"


# Ctrl+C


@pytest.fixture
def clock(monkeypatch):
    """The console's clock, to be set: ``clock[0] = seconds``."""
    now = [100.0]
    monkeypatch.setattr(console_module.time, "monotonic", lambda: now[0])
    return now


def test_a_second_interrupt_within_two_seconds_leaves(clock):
    console = in_memory()
    console.interrupted()
    clock[0] += 1.9
    with pytest.raises(KeyboardInterrupt):
        console.interrupted()
    assert written(console) == "interrupted; the turn so far is kept. Ctrl+C again to leave\n"


def test_a_later_interrupt_is_a_first_one_again(clock):
    console = in_memory()
    for _ in range(3):
        console.interrupted()
        clock[0] += 2.1
    assert written(console).count("interrupted") == 3


def test_interrupting_a_pipe_leaves_at_once(monkeypatch):
    class Interrupted(io.StringIO):
        def readline(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Interrupted())
    console = Console(out=io.StringIO())
    with pytest.raises(KeyboardInterrupt):
        list(console.turns())
    assert written(console) == ""


# Streams


def test_each_line_is_flushed_and_a_reader_that_left_is_a_broken_pipe():
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as out:
        console = Console([], out=out, color=False)
        console.note("first")
        assert os.read(reader, 100) == b"first\n"
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            console.note("second")
        with open(os.devnull, "wb") as nowhere:  # or closing would flush once more, and fail once more
            os.dup2(nowhere.fileno(), out.fileno())


def test_a_warning_is_no_part_of_the_transcript(capsys):
    console = in_memory()
    console.warn("careful")
    assert (written(console), capsys.readouterr().err) == ("", "careful\n")


def test_the_spinner_is_for_terminals_only():
    console = in_memory(color=True)
    threads = threading.active_count()
    with console.thinking():
        assert threading.active_count() == threads
    assert written(console) == ""


def test_a_quick_reply_draws_no_spinner():
    console = Console([], out=Terminal(), color=True)
    with console.thinking():
        time.sleep(0.02)
    assert written(console) == ""


def test_a_change_is_shown_as_a_diff():
    out = io.StringIO()
    Console(turns=[], out=out).change("a.txt", "one\ntwo\u2028\x1b[2K\nthree", "one\n2\nthree\n")
    assert out.getvalue().splitlines() == [
        "--- a.txt",
        "+++ a.txt",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two\\u2028\\x1b[2K",
        "-three",
        "\\ no newline at the end of the file",
        "+2",
        "+three",
    ]


def test_the_number_of_steps_is_shown():
    out = io.StringIO()
    console = Console(turns=[], out=out)
    console.step(2)
    console.step(2, 20)
    assert out.getvalue() == "<Step 2>\n<Step 2 of 20>\n"
