"""The offline proof: with no network at all, not even loopback, lessons play and the suite's core passes."""

import os
import shutil
import subprocess
import sys

import pytest

from harness.lessons import COURSE, all_lessons

NO_SOCKETS = """
import runpy, socket, sys
def refuse(*_): raise AssertionError("a socket was connected")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
sys.argv = ["harness", "lesson", sys.argv[1], "--replay"]
runpy.run_module("harness", run_name="__main__")
"""


def can_unshare():
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(COURSE)}


@pytest.mark.skipif(not can_unshare(), reason="this machine makes no network namespace")
def test_every_lesson_plays_in_an_empty_network_namespace():
    plays = " && ".join(
        f'"{sys.executable}" -m harness lesson {lesson.number} --replay' for lesson in all_lessons()
    )
    done = subprocess.run(
        ["unshare", "-rn", "sh", "-c", plays],
        capture_output=True,
        text=True,
        cwd=COURSE,
        env=ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for lesson in all_lessons():
        assert f"Lesson {lesson.number}: {lesson.title}\n" in done.stdout


@pytest.mark.parametrize("number", [1, 7])
def test_playing_connects_no_socket(number):
    done = subprocess.run(
        [sys.executable, "-c", NO_SOCKETS, str(number)],
        capture_output=True,
        text=True,
        cwd=COURSE,
        env=ENVIRONMENT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not can_unshare(), reason="this machine makes no network namespace")
def test_the_offline_part_of_the_suite_passes_without_a_network():
    parts = [
        "tests/test_steps.py",
        "tests/test_tape.py",
        "tests/test_matrix.py",
        "-k",
        "not matrix or remembers",
    ]
    done = subprocess.run(
        [
            "unshare",
            "-rn",
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:xdist",
            "-p",
            "no:cacheprovider",
            *parts,
        ],
        capture_output=True,
        text=True,
        cwd=COURSE,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
