"""Ctrl+C at a terminal, while a model is being waited for: from lesson 10 on the conversation goes on."""

import os
import socket
import sys

import pytest

from harness.lessons import COURSE

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")


@pytest.fixture
def silent_server():
    """Accepts, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def start(number, base_url, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(COURSE),
        "NO_COLOR": "1",
        "HOME": str(tmp_path),
        "TERM": "xterm",
    }
    command = [sys.executable, "-m", "harness", "lesson", str(number), "--live", "--base-url", base_url]
    return pexpect.spawn(command[0], command[1:], cwd=COURSE, env=environment, encoding="utf-8", timeout=15)


def test_the_turn_ends_and_the_conversation_goes_on(silent_server, tmp_path):
    terminal = start(10, silent_server, tmp_path)
    terminal.expect("You: ")
    terminal.sendline("How long does sencha steep?")
    terminal.expect("<Step 1 of 20>")
    terminal.expect(pexpect.TIMEOUT, timeout=0.5)
    terminal.sendintr()
    terminal.expect("interrupted")
    terminal.expect("<Turn 2>")
    terminal.expect("You: ")
    terminal.sendintr()  # the second within two seconds
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert "Traceback" not in (terminal.before or "")


def test_before_lesson_10_it_ends_the_program(silent_server, tmp_path):
    terminal = start(5, silent_server, tmp_path)
    terminal.expect("You: ")
    terminal.sendline("How long does sencha steep?")
    terminal.expect("<Step 1>")
    terminal.expect(pexpect.TIMEOUT, timeout=0.5)
    terminal.sendintr()
    shown = terminal.read()
    terminal.close()
    assert terminal.exitstatus == 130
    assert "Traceback" not in shown


def test_end_of_input_at_the_prompt_leaves(silent_server, tmp_path):
    terminal = start(10, silent_server, tmp_path)
    terminal.expect("You: ")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
