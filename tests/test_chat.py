"""``harness chat`` and ``ask``: lesson 16 on a folder of one's own, live, against a scripted model."""

import os
import re
import subprocess
import sys

import pytest
from pydantic import BaseModel

from harness.chat import ask
from harness.errors import ModelError
from harness.lessons import COURSE
from harness.scenario import Rule
from harness.scripted_model import ScriptedServer
from harness.settings import Settings


def rules(*pairs):
    return [Rule({"last": re.compile(pattern, re.MULTILINE)}, reply) for pattern, reply in pairs]


def call(name, arguments):
    return f'TOOL_CALL {{"name":"{name}","arguments":{arguments}}}'


@pytest.fixture
def server(request):
    import threading

    with ScriptedServer(request.param) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running.base_url
        running.shutdown()
        thread.join()


def harness(*arguments, stdin="", cwd=COURSE, home=None, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LLM_", "OPENAI_"))}
    if home:
        clean |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**clean, "PYTHONPATH": str(COURSE), **env},
        check=False,
        timeout=30,
    )


def test_without_settings_three_lines_say_how_to_get_a_model():
    done = harness("chat")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 3
    assert "Ollama" in done.stderr
    assert "LLM_API_KEY" in done.stderr


TALK = rules(
    (r"name is Ada", "Hello, Ada."),
    (r"What is in", call("read_file", '{"path":"mine.txt"}')),
    (r"^(?P<text>.*) is mine", "{{text}} is yours."),
    (r"Change it", call("edit_file", '{"path":"mine.txt","old_text":"This","new_text":"That"}')),
    (r"nobody is there", "I may not."),
    (r"Still there", "Yes."),
)


@pytest.mark.parametrize("server", [TALK], indirect=True)
def test_chat_on_the_folder_one_stands_in_and_on_again_tomorrow(server, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "mine.txt").write_text("This is mine.\n")
    stdin = "My name is Ada.\nWhat is in mine.txt?\nChange it.\n"
    done = harness("chat", "--base-url", server, "--model", "m", stdin=stdin, cwd=work, home=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "This is yours." in done.stdout
    assert "I may not." in done.stdout
    assert (work / "mine.txt").read_text() == "This is mine.\n"  # a pipe approves nothing
    listed = harness("sessions", home=tmp_path).stdout
    assert "My name is Ada." in listed
    done = harness(
        "chat",
        "--base-url",
        server,
        "--model",
        "m",
        "--resume",
        "--wire",
        stdin="Still there?\n",
        cwd=work,
        home=tmp_path,
    )
    assert "My name is Ada." in done.stdout
    assert done.stdout.rstrip().endswith("Yes.")
    assert harness("chat", "--base-url", server, "--resume", "nope", home=tmp_path).returncode == 1
    assert harness("lesson", "3", "--live", "--base-url", server, "--resume").returncode == 2


REFUSING = [
    Rule({"last": re.compile("fine")}, "Yes."),
    Rule({"last": re.compile("broken")}, "no such key", status=401),
]


@pytest.mark.parametrize("server", [REFUSING], indirect=True)
@pytest.mark.parametrize(
    ("said", "code"), [("broken\n", 1), ("broken\nbroken\n", 1), ("broken\nfine\n", 0), ("", 0)]
)
def test_a_run_in_which_nothing_came_back_has_failed(server, said, code, tmp_path):
    done = harness("chat", "--base-url", server, "--model", "m", stdin=said, cwd=tmp_path, home=tmp_path)
    assert done.returncode == code, done.stdout
    assert done.stderr.count("harness: No request of this run got a reply.") == code


@pytest.mark.parametrize("option", [["--resume"], ["--base-url", "http://127.0.0.1:9/v1"], ["--model", "m"]])
def test_what_only_a_live_model_can_use_is_refused_with_a_tape(option):
    done = harness("lesson", "12", "--replay", *option)
    assert (done.returncode, "--live" in done.stderr) == (2, True)


STEEPING = rules(
    (r"report_answer", call("read_file", '{"path":"data/teas.csv"}')),
    (
        r"sencha,(?P<celsius>\d+),(?P<seconds>\d+)",
        call("report_answer", '{"seconds":{{seconds}},"celsius":{{celsius}}}'),
    ),
)


@pytest.mark.parametrize("server", [STEEPING], indirect=True)
def test_the_example_of_the_page(server):
    done = subprocess.run(
        [sys.executable, "examples/report.py"],
        capture_output=True,
        text=True,
        cwd=COURSE,
        env={**os.environ, "LLM_BASE_URL": server, "LLM_MODEL": "m", "PYTHONPATH": str(COURSE)},
        check=False,
    )
    assert (done.stdout, done.stderr) == ("seconds=90 celsius=75\n", "")


class Code(BaseModel):
    code: int


@pytest.mark.parametrize("server", [rules((r".", "It is 4711, I think."))], indirect=True)
def test_a_model_that_only_talks_is_an_error_in_the_end(server, tmp_path):
    with pytest.raises(ModelError, match="report_answer"):
        ask("What is the code?", Code, workspace=tmp_path, settings=Settings(server, "m"))
