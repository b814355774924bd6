"""Proof that live works: lessons against a real model, SmolLM2, behind a real server, llama.cpp's.

The model is fetched once, by the project's own code, into the user's folder. Where model or server can't be
had, the group is skipped with the reason; with HARNESS_REQUIRE_LIVE set (for CI) it fails instead.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from urllib.request import urlopen

import pytest

from harness.client import ChatClient
from harness.lessons import COURSE
from harness.local_model import SMOLLM2, UnavailableError, fetch_model, models_folder
from harness.local_server import Limits, check_server, serving_in_a_child
from harness.messages import user
from harness.settings import Settings

pytestmark = [
    pytest.mark.xdist_group("live"),  # with --dist loadgroup: one server, not one a worker
    pytest.mark.timeout(300),  # the first run fetches 93 MB
]

CONTEXT, MAX_TOKENS = 1024, 48
CALL = 'TOOL_CALL {"name":"read_file","arguments":{"path":"README.md"}}'
POLITE = f"Read README.md: reply with exactly one line: {CALL}"
TOO_LONG = "tea " * (CONTEXT + 100)  # a token a word, at least


@pytest.fixture(scope="module")
def base_url():
    try:
        check_server()
        fetch_model(SMOLLM2, models_folder())
    except UnavailableError as error:
        if os.environ.get("HARNESS_REQUIRE_LIVE"):
            raise
        pytest.skip(str(error))
    with serving_in_a_child(Limits(context=CONTEXT, max_tokens=MAX_TOKENS, threads=1)) as address:
        yield address


@pytest.fixture
def client(base_url):
    client = ChatClient(Settings(base_url, SMOLLM2.name))
    yield client
    client.close()


def environment(tmp_path):
    """The user's, without settings of theirs, and with a home of the test's own for what a run leaves."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("LLM_", "OPENAI_", "XDG_"))}
    return {**ours, "PYTHONPATH": str(COURSE), "HOME": str(tmp_path), "NO_COLOR": "1", "TERM": "xterm"}


def command(*arguments):
    return [sys.executable, "-m", "harness", *map(str, arguments)]


def run(arguments, stdin, env):
    done = subprocess.run(
        command(*arguments),
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        cwd=COURSE,
        env=env,
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


def live(number, base_url, *more):
    return ["lesson", number, "--live", "--base-url", base_url, "--model", SMOLLM2.name, *more]


def test_usage_and_finish_reason_are_read_and_the_same_array_gives_the_same_reply(client):
    array = [user("What is 2 + 2? Answer with a number.")]
    reply = client.complete(array)
    assert "4" in reply.text
    assert reply.finish_reason == "stop"
    assert reply.usage is not None
    assert 10 < reply.usage.prompt_tokens < 100  # with the template's own tokens around the nine words
    assert 0 < reply.usage.completion_tokens < MAX_TOKENS
    assert client.complete(array) == reply

    longer = client.complete([user("Tell a long story about rivers.")])
    assert longer.finish_reason == "length"
    assert longer.usage is not None
    assert longer.usage.completion_tokens == MAX_TOKENS


def test_lesson_3_runs_a_call_that_the_model_has_wrapped_in_prose(base_url, tmp_path):
    done = run(live(3, base_url, "--wire"), POLITE + "\n", environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    (received,) = [line for line in done.stdout.splitlines() if line.startswith("wire <-")]
    assert "finish_reason stop, tokens " in received or "finish_reason length, tokens " in received
    if f"\\n{CALL}" not in received:
        pytest.skip(f"on this machine, to this prompt, the model writes no polite call: {received}")
    assert "tool-success: read_file -> " in done.stdout


def test_a_conversation_that_outgrows_the_context_is_explained_in_one_line(base_url, tmp_path):
    done = run(live(1, base_url), TOO_LONG + "\n", environment(tmp_path))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"exceeds the available context size ({CONTEXT} tokens)" in line
    assert len(line) < 500


def test_from_lesson_10_on_the_conversation_survives_that(base_url, tmp_path):
    done = run(live(10, base_url), TOO_LONG + "\n", environment(tmp_path))
    assert (done.returncode, done.stderr) == (1, "harness: No request of this run got a reply.\n")
    assert f"exceeds the available context size ({CONTEXT} tokens)" in done.stdout
    assert "What was said is kept" in done.stdout


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_doctor_asks_the_model(base_url, tmp_path):
    # Its prompts are long and begin alike: a server that reads what is new only takes a third of the time.
    with serving_in_a_child(Limits(context=CONTEXT, max_tokens=4, threads=1, reuse=True)) as quick:
        arguments = ["doctor", "--live", "--base-url", quick, "--model", SMOLLM2.name]
        done = run(arguments, "", environment(tmp_path))
    assert done.returncode in (0, 1)  # 1: this model keeps to no protocol
    assert "endpoint: it answers" in done.stdout


def test_one_command_starts_a_server_for_a_lesson_which_ends_even_if_that_is_killed(base_url):
    users = {k: v for k, v in os.environ.items() if not k.startswith(("LLM_", "OPENAI_"))}
    with subprocess.Popen(
        command("model", "run", "lesson", 1),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=COURSE,
        env={**users, "PYTHONPATH": str(COURSE)},
    ) as lesson:
        line = next(line for line in iter(lesson.stdout.readline, "") if SMOLLM2.name in line)
        port = int(re.search(r"at http://127\.0\.0\.1:(\d+)/v1", line)[1])
        assert accepts(port)
        lesson.kill()
        assert "135 million" in lesson.stderr.read()
    wait_until(lambda: not accepts(port))


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def is_working(base_url):
    """Whether the server's one slot is at a reply."""
    with urlopen(base_url.removesuffix("/v1") + "/slots", timeout=30) as answer:
        return json.load(answer)[0]["is_processing"]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_ctrl_c_in_mid_reply_ends_the_turn_and_not_the_conversation(base_url, tmp_path):
    pexpect = pytest.importorskip("pexpect")
    start, *arguments = command(*live(10, base_url))
    terminal = pexpect.spawn(
        start, arguments, cwd=COURSE, env=environment(tmp_path), encoding="utf-8", timeout=30
    )
    terminal.expect("You: ")
    terminal.sendline("Tell a long story about rivers.")
    wait_until(lambda: is_working(base_url))
    terminal.sendintr()
    terminal.expect("interrupted")
    assert "Assistant:" not in terminal.before
    terminal.expect("<Turn 2>")
    terminal.expect("You: ")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert is_working(base_url)  # it was in mid-reply: the server does not notice who has hung up
