"""The bundle: one archive for a room without a network. The project, its tapes, and the wheels it needs.

A zip, because every system opens one without being asked to install anything; where there is no ``unzip``,
``python -m zipfile -e`` is there, as Python has to be. ``install.py`` takes what lies in ``wheels/``.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, SettingsError
from harness.lessons import COURSE

PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "linux-arm": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macos": ("macosx_11_0_arm64",),
    "macos-intel": ("macosx_10_15_x86_64",),
    "windows": ("win_amd64",),
}
"""Names for people, and the wheel tags they stand for; pip itself adds the older macOS tags to a new one."""
OLDEST_PYTHON = (3, 11)
FOR_AN_EDITABLE_INSTALL = ("editables", "pip")
"""hatchling asks for editables where an install is editable. pip: some Pythons (Debian's) come without it."""
ASKED_FOR_ONLY_ON_WINDOWS = ("colorama",)
"""pip reads ``; platform_system == "Windows"`` as the machine at hand has it, whatever --platform says."""
NEVER_PACKED = (".git", ".venv", ".env", ".env.*", "wheels")
TWO_DAYS = 172_800  # seconds: more than any two clocks in the world differ by


@dataclass(frozen=True)
class Target:
    """A machine that wheels are for; with neither field, the machine at hand."""

    platform: str | None = None
    """A name of ``PLATFORMS``, or a wheel tag."""
    python: str | None = None
    """A version, such as 3.12."""

    def __str__(self) -> str:
        """As a person would say it."""
        here = f"{platform.system()} {platform.machine()}"
        return f"Python {self.python or running_python()} on {self.platform or here}"

    @property
    def pip_options(self) -> list[str]:
        """What makes pip choose for this target and not for itself."""
        options = []
        if self.platform:
            for tag in PLATFORMS.get(self.platform, (self.platform,)):
                options += ["--platform", tag]
            options += ["--implementation", "cp"]
        return [*options, "--python-version", self.python] if self.python else options


@dataclass(frozen=True)
class Bundle:
    """What was written."""

    path: Path
    files: int
    wheels: int
    untracked: Sequence[str]
    """Files of the folder that git does not know, and that are therefore not in it."""


def write_bundle(
    folder: Path,
    platforms: Sequence[str] = (),
    pythons: Sequence[str] = (),
    *,
    course: Path = COURSE,
    notice: Callable[[str], None] = lambda line: None,
) -> Bundle:
    """Write the archive into a folder, in one step: an interrupted run leaves the last one as it was.

    Args:
        folder: where the archive goes; it is made.
        platforms: names of ``PLATFORMS`` or wheel tags; none means the machine at hand.
        pythons: versions; none means the one that runs.
        course: the project's folder.
        notice: is told what is being fetched.

    Raises:
        SettingsError: a version that can't be used, or no checkout to pack.
        HarnessError: wheels can't be fetched, or the archive can't be written.
    """
    about = read_pyproject(course)
    wanted = targets(platforms, pythons)
    files, untracked = course_files(course)
    name = f"{about['project']['name']}-{about['project']['version']}"
    needed = [*about["project"]["dependencies"], *about["build-system"]["requires"], *FOR_AN_EDITABLE_INSTALL]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="bundle-", dir=folder) as made:
            wheels = Path(made) / "wheels"
            for target in wanted:
                notice(f"fetching wheels for {target} …")
                fetch_wheels(target, needed, wheels)
            (wheels / "for.txt").write_text(summary(wanted), encoding="utf-8")  # install.py quotes it
            draft = Path(made) / "draft.zip"
            with zipfile.ZipFile(draft, "w") as archive:
                for path in files:
                    pack(archive, course / path, f"{name}/{path.as_posix()}")
                for path in sorted(wheels.iterdir()):
                    pack(archive, path, f"{name}/wheels/{path.name}")
            done = draft.replace(folder / f"{name}.zip")
            return Bundle(done, len(files), len(list(wheels.glob("*.whl"))), untracked)
    except OSError as error:
        raise HarnessError(f"the bundle can't be written to {folder}: {error.strerror or error}") from error


def read_pyproject(course: Path) -> dict[str, Any]:
    """The project's description of itself.

    Raises:
        SettingsError: there is none, as where the harness was installed from a wheel.
    """
    try:
        return tomllib.loads((course / "pyproject.toml").read_text(encoding="utf-8"))
    except OSError:
        raise SettingsError(f"{course} is no checkout of the workshop: get one, and run this there") from None


def running_python() -> str:
    """The version that runs, as 3.12."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def targets(platforms: Sequence[str], pythons: Sequence[str]) -> list[Target]:
    """Each platform with each version.

    Raises:
        SettingsError: a version is no version, or too old for the lessons.
    """
    for version in pythons:
        numbers = version.split(".")
        if len(numbers) != 2 or not all(number.isdecimal() for number in numbers):
            raise SettingsError(f"--python {version}: write it as {running_python()}")
        if tuple(map(int, numbers)) < OLDEST_PYTHON:
            raise SettingsError(f"--python {version}: the lessons need 3.11 or newer")
    versions: Sequence[str | None] = pythons or ([running_python()] if platforms else [None])
    names: Sequence[str | None] = platforms or [None]
    return [Target(name, version) for name in dict.fromkeys(names) for version in dict.fromkeys(versions)]


def summary(wanted: Sequence[Target]) -> str:
    """A line for each machine, with its versions."""
    versions: dict[str, list[str]] = {}
    for target in wanted:
        version, _, machine = str(target).partition(" on ")
        versions.setdefault(machine, []).append(version.removeprefix("Python "))
    return "".join(f"Python {', '.join(those)} on {machine}\n" for machine, those in versions.items())


def course_files(course: Path) -> tuple[list[Path], list[str]]:
    """The files to pack, relative to the course, and the names of those that git does not know.

    Without git, or outside a repository, it is all that ``.gitignore`` does not name.
    """
    tracked = git_names(course, "--cached")
    if tracked:
        paths = [Path(name) for name in tracked if not hidden(Path(name), NEVER_PACKED)]
        others = git_names(course, "--others", "--exclude-standard")
        return [path for path in paths if (course / path).is_file()], others
    ignored = list(NEVER_PACKED)
    if (course / ".gitignore").is_file():
        lines = (course / ".gitignore").read_text(encoding="utf-8").split()
        ignored += [line.strip("/") for line in lines if not line.startswith("#")]
    found = []
    for place, folders, names in os.walk(course):
        folders[:] = [name for name in folders if not hidden(Path(name), ignored)]
        found += [Path(place, name).relative_to(course) for name in names if not hidden(Path(name), ignored)]
    return sorted(found), []


def hidden(path: Path, patterns: Iterable[str]) -> bool:
    """Whether a part of the path has one of these names; keys and environments never travel."""
    return any(fnmatch(part, pattern) for part in path.parts for pattern in patterns)


def git_names(course: Path, *which: str) -> list[str]:
    """What ``git ls-files`` lists; nothing where there is no git, or the folder is in no repository."""
    if not shutil.which("git"):
        return []
    command = ["git", "ls-files", "-z", *which]
    listed = subprocess.run(command, cwd=course, capture_output=True, encoding="utf-8", check=False)
    return (
        [name for name in dict.fromkeys(listed.stdout.split("\0")) if name] if listed.returncode == 0 else []
    )


def fetch_wheels(target: Target, needed: Sequence[str], folder: Path) -> None:
    """Put the wheels of the requirements, and of all that they require, into a folder.

    The user's pip settings hold: behind a mirror they are what makes it work.

    Raises:
        HarnessError: pip is not there, or could not fetch them; its own words are in the text.
    """
    if find_spec("pip") is None:  # as in an environment that uv has made
        subprocess.run([sys.executable, "-m", "ensurepip"], capture_output=True, check=False)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
    ]
    # An sdist would have to be built, with yet more packages, on a machine that has no network.
    command += ["--retries", "2", "--only-binary", ":all:", "--dest", str(folder), *target.pip_options]
    extra = ASKED_FOR_ONLY_ON_WINDOWS if (target.platform or "").startswith("win") else ()
    done = subprocess.run(
        [*command, *needed, *extra], capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["pip said nothing"]
        said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines
        raise HarnessError(
            f"no wheels for {target}: {said[-1]}. Look at the network, or name another --platform or --python"
        )


def pack(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Add a file under a name, with its mode bits."""
    found = path.stat()
    # A zip's times have no zone, and for a file from the future make would install again and again.
    seconds = max(min(found.st_mtime, time.time()) - TWO_DAYS, 631_152_000)  # a zip begins in 1980
    year, month, day, hour, minute, second, *_ = time.localtime(seconds)
    entry = zipfile.ZipInfo(name, (year, month, day, hour, minute, second))
    entry.create_system = 3  # Unix: else the mode is not looked at
    entry.external_attr = found.st_mode << 16
    entry.compress_type = zipfile.ZIP_STORED if path.suffix == ".whl" else zipfile.ZIP_DEFLATED
    archive.writestr(entry, path.read_bytes())
