"""``harness chat`` and ``ask``: lesson 16 on a folder of one's own, live, against a scripted model."""

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Annotated

import pytest
from annotated_types import Len
from pydantic import BaseModel, Field, create_model
from pydantic.errors import PydanticInvalidForJsonSchema

from harness.chat import AGENT, ask
from harness.client import Reply
from harness.console import Console
from harness.errors import ModelError
from harness.lessons import COURSE, find_lesson, load_agent, make_agent
from harness.scenario import Rule
from harness.scripted_model import ScriptedServer
from harness.session import Session
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
    (r"Look it up first", call("read_file", '{"path":"data/teas.csv"}')),
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


class Brewing(BaseModel):
    name: str = Field(alias="tea-name")
    minutes: Annotated[list[int], Len(1)]


def asked(tmp_path, form, *replies):
    """An agent of lesson 16 that a program asked for a form, the report, and every array it sent."""
    said, arrays = iter(replies), []

    class Client:
        def complete(self, messages):
            arrays.append([message.content for message in messages])
            return Reply(next(said), "stop")

    session = Session(tmp_path / "session.jsonl")
    agent_class = load_agent(find_lesson(AGENT).agent_path)
    console = Console((), out=io.StringIO())
    agent = make_agent(agent_class, client=Client(), console=console, workspace=tmp_path, session=session)
    return agent, agent.ask("How long?", form), arrays


def test_the_call_to_copy_has_the_names_that_the_form_takes(tmp_path):
    good = call("Report-Answer", '{"tea-name":"mate","minutes":[4]}')
    _, report, arrays = asked(tmp_path, Brewing, call("report", "{}"), good)
    assert report == Brewing(**{"tea-name": "mate", "minutes": [4]})
    assert call("report_answer", '{"tea-name":"<tea-name>","minutes":["<minutes>"]}') in arrays[0][1]
    assert "report_answer" in arrays[1][-1].split("\n")[1], "the tool of this turn was not named"


def test_after_a_report_nothing_asks_for_it_any_more(tmp_path):
    agent, _, _ = asked(tmp_path, Code, call("report_answer", '{"code":4711}'))
    assert agent.messages[-1].content == "TOOL_RESULT SUCCESS 1 lines\nreported"


def test_a_form_that_has_no_schema_leaves_the_conversation_as_it_was(tmp_path):
    agent, _, _ = asked(tmp_path, Code, call("report_answer", '{"code":4711}'))
    before = list(agent.messages)
    with pytest.raises(PydanticInvalidForJsonSchema):
        agent.ask("And now?", create_model("NoSchema", check=(Callable[[], int], ...)))
    assert (agent.form, agent.messages) == (None, before)
