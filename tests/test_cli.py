"""The command line, as a person meets it: exit codes, streams, colours, and no traceback whatever happens."""

import importlib
import os
import subprocess
import sys
import time

import pytest

from harness.commands import ROOMS
from harness.lessons import COURSE, all_lessons
from harness.scenario import load_scenario
from harness.scripted_model import serving

LAST = len(all_lessons())


def run(*arguments, stdin="", timeout=30, cwd=COURSE, **env):
    clean = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("LLM_", "OPENAI_", "NO_COLOR", "FORCE_COLOR"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "harness", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        cwd=cwd,
        env={**clean, "PYTHONPATH": str(COURSE), **env},
        check=False,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


def live(*arguments, number=3, **options):
    """Run a lesson live, against the scripted model of a lesson."""
    lesson = next(one for one in all_lessons() if one.number == number)
    with serving(load_scenario(lesson.scenario_path)) as base_url:
        return run("lesson", number, "--live", "--base-url", base_url, *arguments, **options)


def test_help_names_every_command():
    shown = run("--help").stdout
    for command in ("lesson", "list", "diff", "compare", "matrix", "record", "doctor"):
        assert f"\n  {command} " in shown


def test_the_table_of_rooms_is_what_the_rooms_hold():
    modules = {module: importlib.import_module(f"harness.commands.{module}") for module, _ in ROOMS.values()}
    held = {command.name: name for name, module in modules.items() for command in module.COMMANDS}
    assert held == {name: module for name, (module, _) in ROOMS.items()}
    assert all(
        run(name, "--help").returncode == 0 for name in ("compare", "check", "doctor", "model", "bundle")
    )


def test_lessons_play_without_a_key():
    done = run("lesson", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Assistant: Your name is Ada.\n")


def test_a_number_that_is_no_lesson():
    done = run("lesson", 99)
    assert done.returncode == 2
    assert f"1..{LAST}" in done.stderr
    assert run("lesson", "three").returncode == 2
    assert run("lesson").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--cassette", "nowhere.yaml"), "nowhere.yaml"),
        (("--cassette", "README.md"), "README.md"),
        (("--workspace", "nowhere"), "nowhere"),
        (("--live", "--step"), "--step"),
        (("--live", "--base-url", "localhost"), "--base-url"),
    ],
)
def test_what_can_not_be_used_is_one_clear_line(arguments, complaint):
    done = run("lesson", 3, *arguments)
    assert done.returncode in (1, 2)
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_end_of_input_leaves():
    started = time.monotonic()
    done = live(stdin="")
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < 5


def test_blank_lines_ask_nothing():
    done = live("--wire", stdin="\n  \nWhat does README.md say?\n")
    assert done.returncode == 0
    assert done.stdout.count("wire <-") == 1


def test_live_reads_the_workspace_that_was_named(tmp_path):
    folder = tmp_path / "My Work é"
    folder.mkdir()
    (folder / "README.md").write_text("# mine\n\nA thing of my own. Really.\n")
    done = live("--workspace", folder, stdin="What does README.md say?\nGo on.\n")
    assert 'It is called mine. README.md says: "A thing of my own."' in done.stdout
    assert done.returncode == 0


def test_live_works_on_a_copy_of_the_sample_by_default():
    before = (COURSE / "lessons/workspace/README.md").read_bytes()
    done = live(number=7, stdin="README.md is wrong about black tea.\n")
    assert "tool-success: edit_file" in done.stdout
    assert (COURSE / "lessons/workspace/README.md").read_bytes() == before


def test_a_key_makes_it_live_and_a_dead_endpoint_is_one_line():
    done = run(
        "lesson", 1, stdin="Hello.\n", LLM_API_KEY="sk-TOPSECRET", LLM_BASE_URL="http://127.0.0.1:9/v1"
    )
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert "TOPSECRET" not in done.stdout + done.stderr
    assert run("lesson", 1, "--replay", LLM_API_KEY="sk-TOPSECRET").returncode == 0


def test_colours_follow_the_flag_and_the_environment():
    escape = "\x1b["
    assert escape not in run("lesson", 3).stdout
    assert escape in run("lesson", 3, FORCE_COLOR="1").stdout
    assert escape not in run("lesson", 3, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert escape in run("--color", "lesson", 3, NO_COLOR="1").stdout
    for command in (("diff", 3), ("list",), ("doctor",)):
        assert escape not in run(*command).stdout


@pytest.mark.parametrize("env", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C"}, {"PYTHONUTF8": "0"}])
def test_utf8_whatever_the_locale(env):
    done = run("lesson", 5, **env)
    assert done.returncode == 0
    assert "75 °C" in done.stdout


def test_a_reader_that_leaves_is_no_traceback():
    for arguments in ("lesson 7", "diff 4", "compare 13"):
        command = f"{sys.executable} -m harness {arguments} | head -1"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=COURSE, check=False)
        assert done.returncode == 0
        assert "Traceback" not in done.stderr


def test_a_narrow_terminal():
    assert run("lesson", 3, COLUMNS="20").returncode == 0
    assert run("--help", COLUMNS="20").returncode == 0


def test_it_runs_from_anywhere(tmp_path):
    assert run("lesson", 3, cwd=tmp_path).returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_an_edited_lesson_goes_off_the_tape_and_on(tmp_path, monkeypatch):
    """The tape is asked first; where the array differs is said, and the scripted model goes on."""
    tape = (COURSE / "cassettes/lesson_03.yaml").read_text().replace("a coding assistant", "a rude assistant")
    other = tmp_path / "other.yaml"
    other.write_text(tape)
    done = run("lesson", 3, "--cassette", other)
    assert done.returncode == 0
    assert "Not on the tape" in done.stderr
    assert "rude" in done.stderr
    assert "A kitchen timer for tea" in done.stdout


def test_diff():
    shown = run("diff", 3).stdout
    assert "+def parse_reply(" in shown
    assert run("diff", 5, "--against", 2).returncode == 0
    assert len(run("diff", "--stat").stdout.splitlines()) >= LAST
    assert run("diff").returncode == 2
    assert f"1..{LAST}" in run("diff", 3, "--against", 99).stderr


def test_doctor_finds_nothing_wrong_here():
    done = run("doctor")
    assert done.returncode == 0, done.stdout
    assert "tapes" in done.stdout


def test_doctor_live_asks_the_endpoint():
    lesson = all_lessons()[1]
    with serving(load_scenario(lesson.scenario_path)) as base_url:
        done = run("doctor", "--live", "--base-url", base_url, "--model", "scripted")
    assert "it answers" in done.stdout
    dead = run("doctor", "--live", "--base-url", "http://127.0.0.1:9/v1", "--model", "x")
    assert dead.returncode == 1
    assert "FAIL endpoint" in dead.stdout


def test_record_into_a_folder_of_ones_own_and_play_it(tmp_path):
    lesson = all_lessons()[2]
    with serving(load_scenario(lesson.scenario_path)) as base_url:
        done = run("record", 3, "--base-url", base_url, "--model", "mine", "--to", tmp_path, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tape = tmp_path / "lesson_03.yaml"
    assert '"mine"' in tape.read_text()
    played = run("lesson", 3, "--cassette", tape)
    assert "A kitchen timer for tea" in played.stdout
    assert played.stderr == ""


def test_wire_shows_that_all_is_sent_again():
    shown = run("lesson", 1, "--wire").stdout
    assert "0 of them sent before" in shown
    assert "wire -> 4 user: 'What is my name?'" in shown
