"""The terminal: who is there, what it can show, and how a line is typed on it."""

import io
import locale
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import TextIO


def use_utf8() -> None:
    """Make the three standard streams UTF-8, whatever the locale; what can't be decoded becomes U+FFFD.

    The command line calls it before anything is read or written. Streams that aren't the system's (a
    test's, an editor's) stay as they are.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with suppress(io.UnsupportedOperation):  # something was read already: too late to change
                stream.reconfigure(encoding="utf-8", errors="replace")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person is at the other end; a stream may be missing (``<&-``, pythonw)."""
    return stream is not None and stream.isatty()


def wants_color(flag: bool | None, stream: TextIO, env: Mapping[str, str] = os.environ) -> bool:
    """Whether to colour what goes to ``stream``: flag > NO_COLOR > FORCE_COLOR > a terminal that can.

    An empty variable counts as not set (no-color.org, force-color.org), and so does FORCE_COLOR=0.
    """
    if flag is not None:
        return flag
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal(stream) and env.get("TERM") != "dumb"


def typed_line(prompt: str, *, color: bool, remember: bool) -> str:
    """One line typed at the terminal, with line editing, and history for what is worth remembering.

    A paste of several lines is one text where readline marks pastes. Raises EOFError at Ctrl+D and
    KeyboardInterrupt at Ctrl+C.
    """
    readline = _line_editor(color)
    if readline:
        readline.set_auto_history(remember)
        # Colour codes take no room on the line: \x01 and \x02 tell readline so, or it would wrap too early.
        prompt = re.sub("(\x1b\\[[0-9;]*m)", "\x01\\1\x02", prompt)
    return input(prompt).strip("\n")


@cache
def _line_editor(color: bool) -> ModuleType | None:
    """Readline, set up once, where there is one."""
    if sys.platform == "win32":
        return None  # the console itself edits lines
    # Readline goes by the environment's locale; in the C locale, Backspace would take half an "é".
    if locale.nl_langinfo(locale.CODESET) != "UTF-8":
        os.environ["LC_ALL"] = "C.UTF-8"
    try:
        import readline
    except ImportError:
        return None
    # Readline switches this on with an escape code, and where there is to be no colour none is sent.
    readline.parse_and_bind(f"set enable-bracketed-paste {'on' if color else 'off'}")
    return readline
