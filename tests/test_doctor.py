"""The doctor: what it finds, what it says to do, and the score of a model."""

import io
import sys
from pathlib import Path

import pytest

from harness.client import Reply
from harness.errors import ModelError
from harness.scenario import Scenario, read_rule
from harness.scripted_model import serving
from workshop import doctor
from workshop.probe import run_probe

CALL = 'TOOL_CALL {"name":"%s","arguments":{"path":"%s"}}'
EDIT = (
    'TOOL_CALL {"name":"edit_file","arguments":{"path":"./kettle.py",'
    '"old_text":"LIMIT = 90\\n","new_text":"LIMIT = 80\\n"}}'
)
OBEDIENT = {
    "answers once it has the result": (r"highest,(?P<celsius>\d+)", "It is {{celsius}} °C."),
    "edits one line with exact text": ("LIMIT = 90", EDIT),
    "mends its call after an error": ("TOOL_RESULT ERROR", CALL % ("read_file", "README.md")),
    "lists a folder it does not know": ("folder data", "I look.\n" + CALL % ("list_files", "data/")),
    "reads the file it is asked about": ("README", "**" + CALL % ("read_file", "README.md") + "**"),
}


def script(**other):
    """A model that keeps to the protocol; ``other`` is what it says instead, by the prompt's start."""
    rules = []
    for wants, (last, reply) in OBEDIENT.items():
        instead = next((text for start, text in other.items() if wants.startswith(start)), reply)
        rules.append(read_rule({"when": {"last": last}, "reply": instead}, "rule"))
    return Scenario(Path("probe"), "", (), tuple(rules))


def probe_lines(scenario, **options):
    with serving(scenario) as base_url:
        return list(doctor.endpoint(base_url, "scripted", **options))


class Says:
    """A client whose model says the same to all."""

    def __init__(self, text, finish_reason="stop"):
        self.reply = Reply(text, finish_reason)
        self.arrays = []

    def complete(self, messages):
        self.arrays.append(list(messages))
        return self.reply


def faults(text, finish_reason="stop"):
    return {verdict.wants: verdict.fault for verdict in run_probe(Says(text, finish_reason))}


def test_a_model_that_keeps_to_the_protocol_has_five_of_five():
    lines = probe_lines(script())
    assert lines[0].subject.startswith("endpoint: it answers")
    assert lines[-1] == doctor.Finding("protocol: 5 of 5")
    assert [line.subject for line in lines if line.remedy] == []
    assert len(lines) == 7


def test_a_chatty_model_has_none():
    lines = probe_lines(Scenario(Path("probe"), "", (), ()))  # it says to all that it has no line for this
    assert lines[-1].subject == "protocol: 0 of 5"
    assert "play the tapes" in lines[-1].remedy
    assert all(line.remedy for line in lines[1:])
    assert "in prose" in lines[1].subject


def test_one_miss_is_one_line_with_its_remedy_and_the_score_still_holds():
    lines = probe_lines(script(edits="I can't do that."))
    assert lines[-1] == doctor.Finding("protocol: 4 of 5")
    missed = [line for line in lines if line.remedy]
    assert [line.subject for line in missed] == [
        "probe: edits one line with exact text: it answered in prose and made no call"
    ]
    assert "lessons 1 to 6" in missed[0].remedy


@pytest.mark.parametrize(
    ("start", "reply", "says"),
    [
        ("reads", CALL % ("list_files", "."), "it called list_files, not read_file"),
        ("reads", CALL % ("read_file", "readme"), "it named the path 'readme', not 'README.md'"),
        (
            "reads",
            CALL % ("read_file", "README.md") + "\nTOOL_RESULT SUCCESS 1 lines\nA pot.",
            "went on after",
        ),
        ("reads", "TOOL_RESULT SUCCESS 1 lines\nA pot.", "only the harness writes TOOL_RESULT"),
        ("reads", "TOOL_CALL {'name':", "cut off"),
        ("lists", CALL % ("list_files", "."), "it named the path '.', not 'data'"),
        ("answers", CALL % ("read_file", "data/limits.csv"), "it called read_file again"),
        ("answers", "It is 90 °C.", "does not say 83"),
        ("answers", "", "empty"),
        ("mends", CALL % ("read_file", "readme.txt"), "it named the path 'readme.txt'"),
        ("edits", EDIT.replace("LIMIT = 90\\n", "LIMIT=90"), "can't work"),
        ("edits", EDIT.replace("80\\n", "80"), "can't work"),
        ("edits", EDIT.replace('"LIMIT = 90\\n"', '""'), "can't work"),
        ("edits", EDIT.replace('"old_text":"LIMIT = 90\\n",', ""), "can't work"),
        ("edits", EDIT.replace('"./kettle.py"', "7"), "it named the path 7"),
    ],
)
def test_what_was_wrong_is_said(start, reply, says):
    lines = probe_lines(script(**{start: reply}))
    missed = [line.subject for line in lines if line.remedy]
    assert len(missed) == 1
    assert says in missed[0]


def test_a_reply_that_was_cut_off_is_called_so():
    assert set(faults("I will now", "length").values()) == {"it was cut off at its token limit"}


def test_the_prompts_are_arrays_that_every_server_takes():
    client = Says("Well.")
    assert len(list(run_probe(client))) == 5
    for array in client.arrays:
        roles = [message.role for message in array]
        assert roles[0] == "system"
        assert roles[1:] == ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"]
        assert "read_file" in array[0].content


@pytest.mark.parametrize(
    ("status", "words", "remedy"),
    [
        (401, "no such key", "LLM_API_KEY"),
        (403, "not allowed", "may use"),
        (404, "model not found", "LLM_MODEL"),
        (400, "bad", "play the tapes"),
    ],
)
def test_a_refusal_is_one_line_and_what_to_do(status, words, remedy):
    rule = read_rule({"when": {}, "reply": words, "status": status}, "rule")
    lines = probe_lines(Scenario(Path("probe"), "", (), (rule,)))
    assert len(lines) == 1
    assert lines[0].subject.startswith("endpoint: http://127.0.0.1")
    assert words in lines[0].subject
    assert remedy in lines[0].remedy


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("u answered 429 Too Many Requests. It says: slow down (tried 4 times)", "workshop.md"),
        ("u answered 429 Too Many Requests. It says: You exceeded your current quota", "used up"),
        ("u answered with error 401: no", "LLM_API_KEY"),
        ("u answered with an HTML page (text/html) instead of JSON.", "login"),
        ("no connection to u: Connection refused. Is the server running?", "LLM_BASE_URL"),
        ("timeout: u gave no whole answer within 180 s.", "LLM_TIMEOUT"),
        ("u answered 500 Internal Server Error.", "whoever runs"),
    ],
)
def test_trouble_of_other_kinds_has_a_remedy_too(monkeypatch, error, remedy):
    class Down:
        def __init__(self, settings):
            pass

        def complete(self, messages):
            raise ModelError(error)

        def close(self):
            pass

    monkeypatch.setattr("harness.client.ChatClient", Down)
    found = list(doctor.endpoint("http://127.0.0.1:9/v1", "x"))
    assert len(found) == 1
    assert remedy in found[0].remedy


def test_trouble_in_mid_probe_gives_no_score():
    busy = read_rule({"when": {"last": "LIMIT = 90"}, "reply": "no", "status": 400}, "rule")
    other = script().rules
    lines = probe_lines(Scenario(Path("probe"), "", (), (busy, *other)))
    assert [bool(line.remedy) for line in lines] == [False] * 5 + [True]
    assert "400" in lines[-1].subject


class Stream(io.StringIO):
    """Standard output of some kind."""

    def __init__(self, encoding, is_terminal):
        super().__init__()
        self._encoding, self._is_terminal = encoding, is_terminal

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return self._is_terminal


@pytest.mark.parametrize(
    ("encoding", "is_terminal", "locale", "remedy"),
    [
        ("utf-8", True, "UTF-8", None),
        ("utf-8", True, "ANSI_X3.4-1968", None),  # the locale C says nothing about the terminal
        ("utf-8", True, "ISO-8859-1", "LC_ALL"),
        ("utf-8", False, "ISO-8859-1", None),
        ("cp1252", True, "UTF-8", "PYTHONIOENCODING"),
        ("ascii", False, "UTF-8", "PYTHONIOENCODING"),
    ],
)
def test_the_terminal_has_to_show_an_arrow(monkeypatch, encoding, is_terminal, locale, remedy):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "stdout", Stream(encoding, is_terminal))
    monkeypatch.setattr("locale.getencoding", lambda: locale)
    found = doctor.terminal()
    assert (remedy or "") in (found.remedy or "")
    assert bool(found.remedy) == bool(remedy)
    found.subject.encode(encoding)  # what it says can be shown there


def test_colours_follow_the_flag(monkeypatch):
    monkeypatch.setattr(sys, "stdout", Stream("utf-8", is_terminal=False))
    assert "no colours" in doctor.colours(None).subject
    assert "no colours" not in doctor.colours(flag=True).subject


def test_libraries_that_are_missing_or_old(monkeypatch):
    assert doctor.libraries().remedy is None
    assert doctor.shortcoming("no-such-thing>=1") == "no-such-thing is missing"
    assert "is older than 999.0" in doctor.shortcoming("click>=999.0")
    assert doctor.shortcoming("click>=8") == ""
    assert doctor.shortcoming('no-such-thing>=1; extra == "dev"') == ""
    monkeypatch.setattr(doctor, "shortcoming", lambda requirement: "one is missing")
    assert "remove the folder .venv" in doctor.libraries().remedy


def test_a_folder_that_can_be_written_to_is_left_as_it_was(tmp_path):
    assert doctor.folder("sessions", tmp_path / "a" / "b").remedy is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_made(tmp_path, monkeypatch):
    (tmp_path / "sessions").write_text("a file where a folder should be")
    found = doctor.folder("sessions", tmp_path / "sessions" / "deeper")
    assert "may write" in found.remedy
    monkeypatch.setattr(doctor, "SPACE_NEEDED", 10**18)
    assert "room" in doctor.folder("sessions", tmp_path).remedy


def test_dotenv_is_told_by_its_names_and_never_by_its_values(tmp_path):
    assert doctor.dotenv(tmp_path).subject.startswith(".env: none")
    (tmp_path / ".env.txt").write_text("LLM_API_KEY=sk-TOPSECRET")
    assert "rename" in doctor.dotenv(tmp_path).remedy
    (tmp_path / ".env").write_text("# mine\nexport LLM_API_KEY='sk-TOPSECRET'\nLLM_MODEL=small\n")
    found = doctor.dotenv(tmp_path)
    assert found == doctor.Finding(".env: sets LLM_API_KEY, LLM_MODEL")
    (tmp_path / ".env").write_text("sk-TOPSECRET\n")
    assert "NAME=value" in doctor.dotenv(tmp_path).remedy
    assert "TOPSECRET" not in str(doctor.dotenv(tmp_path))
    (tmp_path / ".env").write_bytes(b"\xff\xfeL\x00")
    assert "UTF-8" in doctor.dotenv(tmp_path).remedy


def test_settings_that_can_not_be_used_are_a_finding(monkeypatch):
    for name in ("LLM_API_KEY", "OPENAI_API_KEY", "LLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert doctor.settings(None, None, live=False).remedy is None
    assert "LLM_API_KEY" in doctor.settings(None, None, live=True).remedy
    monkeypatch.setenv("OPENAI_API_KEY", "sk-TOPSECRET")
    assert "with --live; else" in doctor.settings(None, None, live=False).subject
    monkeypatch.setenv("LLM_API_KEY", "sk-TOPSECRET")
    assert doctor.settings(None, None, live=False).subject.endswith("openai.com/v1, a key")
    monkeypatch.setenv("LLM_API_KEY", "<your key>")
    assert "placeholder" in doctor.settings(None, None, live=False).remedy
    found = list(doctor.examine(live=True, base_url=None, model=None))
    assert [one.subject for one in found if one.remedy] == [
        "settings: can't be used"
    ]  # and nothing was asked
