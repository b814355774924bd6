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
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def install(extra: str) -> None:
    """Install the project, editable, with an extra or none; on failure say what was tried and leave."""
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    print(f"Installing what the {'tests need' if extra else 'lessons need'} into .venv (once) …", flush=True)
    uv = shutil.which("uv")
    if not PYTHON.exists():
        if uv:
            run([uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])
        else:
            venv.create(VENV, with_pip=True, symlinks=sys.platform != "win32")
    if uv:
        # Bytecode now, so that the first lesson starts as fast as the second.
        run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON), "-e", target])
    else:
        # An environment that uv has made has no pip; where one is there, this changes nothing.
        run([str(PYTHON), "-m", "ensurepip"])
        run([str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-e", target])
    (VENV / f"ready{'-' * bool(extra)}{extra}").touch()


def run(command: list[str]) -> None:
    """Run a command whose output matters only if it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
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
        install(sys.argv[1] if len(sys.argv) > 1 else "")
