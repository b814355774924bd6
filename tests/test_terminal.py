"""Colour, encodings and pipes: programs that use the console, without a terminal around them."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.terminal import use_utf8, wants_color

ROOT = Path(__file__).parent.parent

# A small program as the command line is one: it echoes each turn, and calls every method once.
PROGRAM = """
import sys
from harness.console import Console, use_utf8
use_utf8()
console = Console()
for text in console.turns():
    with console.thinking():
        reply = "you said " + text
    console.tool_call("read_file", {"path": text})
    console.tool_success("read_file", text)
    console.tool_error("read_file", text)
    console.note("a note: " + text)
    console.warn("a warning: " + text)
    console.assistant(reply)
"""


def run(stdin: bytes, env: dict[str, str] | None = None, program: str = PROGRAM):
    base = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", program],
        input=stdin,
        env={**base, "PYTHONPATH": str(ROOT), **(env or {})},
        capture_output=True,
        timeout=20,
    )


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("flag", "env", "stream", "expected"),
    [
        (None, {}, Terminal(), True),
        (None, {}, io.StringIO(), False),
        (None, {"TERM": "xterm"}, Terminal(), True),
        (None, {"TERM": "dumb"}, Terminal(), False),
        (None, {"NO_COLOR": "1"}, Terminal(), False),
        (None, {"NO_COLOR": "0"}, Terminal(), False),
        (None, {"NO_COLOR": ""}, Terminal(), True),
        (None, {"FORCE_COLOR": "1"}, io.StringIO(), True),
        (None, {"FORCE_COLOR": "true", "TERM": "dumb"}, Terminal(), True),
        (None, {"FORCE_COLOR": ""}, io.StringIO(), False),
        (None, {"FORCE_COLOR": "0"}, io.StringIO(), False),
        (None, {"FORCE_COLOR": "0"}, Terminal(), True),
        (None, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, Terminal(), False),
        (True, {"NO_COLOR": "1"}, io.StringIO(), True),
        (False, {"FORCE_COLOR": "1"}, Terminal(), False),
    ],
)
def test_colour_flag_then_no_color_then_force_color_then_terminal(flag, env, stream, expected):
    assert wants_color(flag, stream, env) is expected


def test_use_utf8_leaves_foreign_and_begun_streams_alone(monkeypatch):
    begun = io.TextIOWrapper(io.BytesIO(b"a\nb\n"), encoding="latin-1")
    begun.readline()
    monkeypatch.setattr(sys, "stdin", begun)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", None)
    use_utf8()
    assert begun.readline() == "b\n"


def test_force_color_reaches_a_pipe_and_no_color_wins():
    assert b"\x1b[" in run(b"hi\n", {"FORCE_COLOR": "1"}).stdout
    assert b"\x1b" not in run(b"hi\n", {"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout
    assert b"\x1b" not in run(b"hi\n").stdout


def test_no_input_ends_at_once_without_a_word():
    done = run(b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_byte_order_mark_in_front_of_the_pipe_is_no_text():
    done = run(b"\xef\xbb\xbfhi\r\nyou\r\n")
    assert done.stdout.count(b"You: ") == 2
    assert b"You: hi\n" in done.stdout.replace(b"\r\n", b"\n")
    assert b"feff" not in done.stdout


def test_any_text_goes_through_any_encoding():
    for encoding in ("cp1252", "ascii:strict", "utf-16"):
        for extra in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0"}):
            done = run(
                "日本 é € 😀 \n".encode() + b"\xff\xfe \x81\n", {"PYTHONIOENCODING": encoding, **extra}
            )
            assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
            assert "Assistant: you said 日本 é € 😀" in done.stdout.decode()
            assert "a warning: 日本" in done.stderr.decode()
            assert "\ufffd" in done.stdout.decode(), "bytes that are no text are shown as such"


def test_importing_the_console_imports_nothing_heavy():
    program = "import harness.console, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    modules = run(b"", program=program).stdout.decode().split()
    assert "click" in modules
    assert not set(modules) & {"rich", "requests", "vcr", "pydantic", "yaml", "readline", "asyncio"}
