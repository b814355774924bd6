"""Make .venv and install what the workshop needs: once, quietly. Run by make; standard library only."""

from __future__ import annotations  # an older Python must be able to read this file, to say that it is old

import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WHEELS = ROOT / "wheels"  # in an archive of `harness bundle`; what the tests need is not among them
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

NEEDED_BY = {"dev": "the tests need", "local": "a local model needs"}


def install(extra: str) -> None:
    """Install the project, editable, with an extra or none; on failure say what was tried and leave."""
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    print(f"Installing what {NEEDED_BY.get(extra, 'the lessons need')} into .venv (once) …", flush=True)
    # With the wheels at hand nothing is asked of a network, whatever pip's or uv's settings say.
    bundled = WHEELS.is_dir() and not extra
    source = ["--no-index", "--find-links", str(WHEELS)] if bundled else []
    uv = shutil.which("uv")
    if not PYTHON.exists():
        if uv:
            run([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])
        else:
            venv.create(VENV, with_pip=not bundled, symlinks=sys.platform != "win32")
    if uv:
        # Bytecode now, so that the first lesson starts as fast as the second.
        compiled = ["--quiet", "--compile-bytecode", "--python", str(PYTHON)]
        run([uv, "pip", "install", *compiled, *source, "-e", target])
    else:
        if bundled:
            # pip out of its wheel: it is new, and needs no ensurepip, which Debian leaves out.
            pip = [str(path / "pip") for path in WHEELS.glob("pip-*.whl")][:1]
        else:
            # An environment that uv has made has no pip; where one is there, this changes nothing.
            run([str(PYTHON), "-m", "ensurepip"])
            pip = ["-m", "pip"]
        run([str(PYTHON), *pip, "install", "--quiet", "--disable-pip-version-check", *source, "-e", target])
    (VENV / f"ready{'-' * bool(extra)}{extra}").touch()


def run(command: list[str]) -> None:
    """Run a command whose output matters only if it fails."""
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        if "--no-index" in command:
            packed = "; ".join((WHEELS / "for.txt").read_text(encoding="utf-8").splitlines())
            print(f"The wheels here are for {packed}.", file=sys.stderr)
            print("With a network: remove the folder wheels and run make again.", file=sys.stderr)
        sys.exit(f"install: {' '.join(command)} failed; the lines above say why. Mend it and run make again.")


def show_help(makefile: str) -> None:
    """Print the targets of the Makefile that have a ## comment."""
    print("Start with:  make lesson-1\n")
    for line in Path(makefile).read_text(encoding="utf-8").splitlines():
        if found := re.match(r"([\w%-]+):[^#]*## (.*)", line):
            print(f"  make {found[1].replace('%', 'N'):12} {found[2]}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["help"]:
        show_help(sys.argv[2])
    elif sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells an older Python so
        found = f"{sys.executable} is {sys.version.split()[0]}"
        sys.exit(f"This needs Python 3.11 or newer, and {found}. Try: make PYTHON=python3.12 lesson-1")
    else:
        is_fresh = not PYTHON.exists()
        try:
            install(sys.argv[1] if len(sys.argv) > 1 else "")
        except SystemExit:
            if is_fresh:  # half an environment, perhaps of a Python that won't do, would be used next time
                shutil.rmtree(VENV, ignore_errors=True)
            raise
