"""The bundle: what is in it, and that the lessons run from it on a machine without any network."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from packaging.markers import default_environment
from packaging.requirements import Requirement

from harness.commands import teach
from harness.errors import HarnessError, SettingsError
from harness.lessons import COURSE
from workshop import bundle

PLAIN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("LLM_", "OPENAI_", "NO_COLOR", "FORCE_COLOR", "PYTHONPATH", "VIRTUAL_ENV"))
}
POSIX_ONLY = ("fcntl", "termios", "tty", "pty", "pwd", "grp", "resource", "readline", "curses")


def project(folder, **files):
    """A small project with a description of its own."""
    folder.mkdir(parents=True)
    about = '[project]\nname = "small"\nversion = "1.2"\ndependencies = ["click"]\n'
    about += "[build-system]\nrequires = []\n"
    for name, text in {"pyproject.toml": about, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def no_download(monkeypatch):
    """Wheels from nowhere: what was asked for is noted."""
    asked = []

    def fetch(target, needed, folder):
        asked.append((target, tuple(needed)))
        folder.mkdir(exist_ok=True)
        (folder / "click-1-py3-none-any.whl").write_bytes(b"a wheel")

    monkeypatch.setattr(bundle, "fetch_wheels", fetch)
    return asked


def offline(command):
    """A command, in a network namespace that has nothing in it, where this machine makes one."""
    if shutil.which("unshare") and not subprocess.run(["unshare", "-rn", "true"], check=False).returncode:
        return ["unshare", "-rn", *command]
    return command


def an_index_can_be_reached(folder):
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--retries",
        "0",
        "--no-deps",
        "-d",
        str(folder),
    ]
    return subprocess.run([*command, "editables"], capture_output=True, check=False).returncode == 0


@pytest.mark.timeout(240)
def test_the_lessons_run_from_a_bundle_without_any_network(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "git_names", lambda *_: [])  # what lies here, committed or not
    try:
        made = bundle.write_bundle(tmp_path / "dist")
    except HarnessError:
        if an_index_can_be_reached(tmp_path / "probe"):
            raise
        pytest.skip("wheels can't be downloaded here: no network, or no pip")
    room = tmp_path / "My Wörk é"
    with zipfile.ZipFile(made.path) as archive:
        archive.extractall(room)  # as python -m zipfile -e does
    (course,) = room.iterdir()
    assert not (course / ".env").exists()
    env = {**PLAIN, "PIP_NO_INDEX": "1", "UV_OFFLINE": "1"}

    def play(number):
        if shutil.which("make"):
            command = ["make", "--no-print-directory", f'PYTHON="{sys.executable}"', f"lesson-{number}"]
        else:
            python = course / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
            if not python.exists():
                subprocess.run([sys.executable, "install.py"], cwd=course, env=env, check=True)
            command = [str(python), "-m", "harness", "lesson", str(number)]
        return subprocess.run(
            offline(command), cwd=course, env=env, capture_output=True, encoding="utf-8", check=False
        )

    first = play(1)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.endswith("Assistant: Your name is Ada.\n")
    last = play(11)
    assert (last.returncode, last.stderr) == (0, "")
    assert "Installing" not in last.stdout


def test_what_is_in_the_archive(tmp_path, no_download):
    course = project(
        tmp_path / "My Wörk é", **{".ci/run": "#!/bin/sh\n", "docs/ü.md": "a page\n", ".env": "K=1"}
    )
    (course / ".ci/run").chmod(0o755)
    tomorrow = time.time() + 80_000  # such as where a clock is in another zone
    os.utime(course / "pyproject.toml", (tomorrow, tomorrow))
    made = bundle.write_bundle(tmp_path / "out", ["windows", "macos"], ["3.11", "3.12"], course=course)
    assert made.path == tmp_path / "out" / "small-1.2.zip"
    assert [path.name for path in made.path.parent.iterdir()] == ["small-1.2.zip"]
    with zipfile.ZipFile(made.path) as archive:
        assert archive.testzip() is None
        assert set(archive.namelist()) == {
            "small-1.2/pyproject.toml",
            "small-1.2/.ci/run",
            "small-1.2/docs/ü.md",
            "small-1.2/wheels/for.txt",
            "small-1.2/wheels/click-1-py3-none-any.whl",
        }
        targets = archive.read("small-1.2/wheels/for.txt").decode().splitlines()
        about = {one.filename.removeprefix("small-1.2/"): one for one in archive.infolist()}
    assert targets == ["Python 3.11, 3.12 on windows", "Python 3.11, 3.12 on macos"]
    if sys.platform != "win32":
        assert about[".ci/run"].external_attr >> 16 & 0o111
        assert not about["docs/ü.md"].external_attr >> 16 & 0o111
    a_day_ago = time.localtime(time.time() - 86_400)[:6]
    assert all(one.date_time < a_day_ago for one in about.values())
    assert about["wheels/click-1-py3-none-any.whl"].compress_type == zipfile.ZIP_STORED
    assert {needed for _, needed in no_download} == {("click", "editables", "pip")}


def test_only_what_git_tracks_goes_in_and_no_key_ever(tmp_path):
    if not shutil.which("git"):
        pytest.skip("needs git")
    course = project(
        tmp_path / "course",
        **{
            ".gitignore": "build/\n",
            ".env": "LLM_API_KEY=sk-TOPSECRET\n",
            "lessons/é.md": "x",
            "gone.md": "x",
            "build/thing": "x",
        },
    )
    subprocess.run(["git", "init", "-q"], cwd=course, check=True)
    subprocess.run(["git", "add", "-f", ".gitignore", ".env", "lessons", "gone.md"], cwd=course, check=True)
    (course / "gone.md").unlink()
    files, untracked = bundle.course_files(course)
    assert {path.as_posix() for path in files} == {".gitignore", "lessons/é.md"}
    assert untracked == ["pyproject.toml"]


def test_without_git_it_is_what_gitignore_does_not_name(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    course = project(
        tmp_path / "course",
        **{
            ".gitignore": "# made by tools\n__pycache__/\n/recordings/\n*.egg-info/\n",
            ".venv/bin/python": "x",
            ".git/config": "x",
            "wheels/click.whl": "x",
            ".env.local": "LLM_API_KEY=sk-TOPSECRET\n",
            "harness/a.py": "x",
            "harness/__pycache__/a.pyc": "x",
            "recordings/mine.yaml": "x",
            "small.egg-info/PKG-INFO": "x",
        },
    )
    files, untracked = bundle.course_files(course)
    assert {path.as_posix() for path in files} == {".gitignore", "pyproject.toml", "harness/a.py"}
    assert untracked == []


@pytest.mark.parametrize("version", ["3", "3.12.1", "three", "3.x", "", "3.10", "2.7"])
def test_a_version_that_can_not_be_used_is_said(version):
    with pytest.raises(SettingsError, match="--python"):
        bundle.targets([], [version])


def test_each_platform_with_each_version():
    assert bundle.targets([], []) == [bundle.Target()]
    assert bundle.Target().pip_options == []
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert bundle.targets(["windows", "windows"], []) == [bundle.Target("windows", here)]
    both = bundle.targets(["windows", "linux"], ["3.11", "3.12"])
    assert len(both) == 4
    assert "win_amd64" in both[0].pip_options
    assert bundle.Target("musllinux_1_2_x86_64").pip_options[:2] == ["--platform", "musllinux_1_2_x86_64"]


def test_wheels_that_can_not_be_had_are_one_line_and_the_last_archive_stays(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    before = tmp_path / "small-1.2.zip"
    before.write_bytes(b"the last one")
    course = project(tmp_path / "course")
    with pytest.raises(HarnessError) as caught:
        bundle.write_bundle(tmp_path, ["windows"], ["3.12"], course=course)
    assert str(caught.value).startswith("no wheels for Python 3.12 on windows: ")
    assert len(str(caught.value).splitlines()) == 1
    assert before.read_bytes() == b"the last one"
    assert {path.name for path in tmp_path.iterdir()} == {"small-1.2.zip", "course"}


def test_a_folder_that_can_not_be_written_and_a_course_that_is_none(tmp_path, no_download):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(HarnessError, match="can't be written"):
        bundle.write_bundle(tmp_path / "file", course=project(tmp_path / "course"))
    with pytest.raises(SettingsError, match="no checkout"):
        bundle.write_bundle(tmp_path, course=tmp_path / "nowhere")


def test_the_command_says_what_to_do_with_it(tmp_path, no_download):
    done = CliRunner().invoke(teach.bundle, ["--to", str(tmp_path), "--python", "3.12"])
    assert done.exit_code == 0
    assert "fetching wheels for Python 3.12" in done.output
    assert f"written: {tmp_path}" in done.output
    assert "make lesson-1" in done.output
    assert "python install.py" in done.output
    refused = CliRunner().invoke(teach.bundle, ["--to", str(tmp_path), "--python", "3.9"])
    assert isinstance(refused.exception, SettingsError)


def closure(environment):
    """The names of all that the project requires on a machine; pip's download goes by its own."""
    about = bundle.read_pyproject(COURSE)["project"]["dependencies"]
    waiting, seen = [Requirement(text) for text in about], set()
    while waiting:
        requirement = waiting.pop()
        extras = requirement.extras or {""}
        if requirement.marker and not any(
            requirement.marker.evaluate({**environment, "extra": extra}) for extra in extras
        ):
            continue
        if requirement.name.lower() in seen:
            continue
        seen.add(requirement.name.lower())
        try:
            distribution = importlib.metadata.distribution(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            continue  # one for another system
        waiting += [Requirement(text) for text in distribution.requires or [] if "extra ==" not in text]
    return seen


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
@pytest.mark.parametrize("system", ["Windows", "Darwin", "Linux"])
def test_what_only_another_system_asks_for_is_known(system, version):
    names = {"Windows": ("win32", "nt"), "Darwin": ("darwin", "posix"), "Linux": ("linux", "posix")}[system]
    there = {
        **default_environment(),
        "platform_system": system,
        "sys_platform": names[0],
        "os_name": names[1],
        "python_version": version,
        "python_full_version": f"{version}.0",
    }
    more = closure(there) - closure(default_environment())
    assert more <= (set(bundle.ASKED_FOR_ONLY_ON_WINDOWS) if system == "Windows" else set())


def test_a_checkout_with_windows_line_endings_plays_the_same(tmp_path):
    """In a folder with a space and an accent in its name."""
    copy = tmp_path / "My Wörk é"
    for name in ("harness", "workshop", "lessons", "cassettes"):
        shutil.copytree(COURSE / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in filter(Path.is_file, copy.rglob("*")):
        text = path.read_bytes().replace(b"\r\n", b"\n")
        path.write_bytes(text.replace(b"\n", b"\r\n"))

    def play(number, course):
        command = [sys.executable, "-m", "harness", "lesson", str(number), "--replay"]
        env = {**PLAIN, "PYTHONPATH": str(course)}
        done = subprocess.run(command, cwd=course, env=env, capture_output=True, check=False)
        return done.returncode, done.stdout, done.stderr

    for number in (3, 11):
        assert play(number, copy) == play(number, COURSE), number
    assert play(1, copy)[0] == 0


def test_no_module_needs_posix_to_be_imported():
    modules = [
        path.relative_to(COURSE).with_suffix("").as_posix().replace("/", ".")
        for package in ("harness", "workshop")
        for path in sorted((COURSE / package).rglob("*.py"))
        if path.stem not in ("__init__", "__main__")
    ]
    code = f"""
import importlib, os, sys
for name in {POSIX_ONLY!r}:
    sys.modules[name] = None
for name in ("fork", "openpty", "getuid", "mkfifo", "fchmod", "O_NONBLOCK", "O_NOFOLLOW", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
failed = {{}}
for module in {modules!r}:
    try:
        importlib.import_module(module)
    except (ImportError, AttributeError) as error:
        failed[module] = error
assert not failed, failed
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=COURSE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
