"""What ``harness doctor`` looks at: one finding a line, and one line of remedy for each fault."""

import importlib.metadata
import importlib.util
import locale
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import HarnessError, NoModelError
from harness.lessons import COURSE, all_lessons

SPACE_NEEDED = 50_000_000
"""Bytes: a workspace's copy and a recording need far less; a full disk loses sessions."""
SAMPLE = "→ °C"
"""What the lessons print beyond ASCII."""
ENOUGH = 4
"""Of the five prompts: the harness has an answer for a slip, and none for a model that never calls."""
REMEDIES = {
    r" 401\b": "the key is not taken: put the one for this endpoint into LLM_API_KEY",
    r" 403\b": "the key is not taken: ask whoever gave it to you what it may use",
    r" 404\b": "the address or the model is not known there: see LLM_BASE_URL and LLM_MODEL",
    r"\bquota\b": "the quota is used up: wait if it is one per minute, else pay in or take another key",
    r" 429\b": "too many ask at once: wait a minute, or play tapes (see docs/workshop.md)",
    r"HTML page": "open a browser: this network may want a login; if not, see LLM_BASE_URL (most end in /v1)",
    r"no connection": "start the server, or look at the network and at LLM_BASE_URL",
    r"^timeout": "give it longer (LLM_TIMEOUT=600, in seconds), or take a smaller model",
    r"": "ask whoever runs that server; until then play the tapes: harness lesson 1 --replay",
}
"""What to do about a request that failed, by what the client says of it; the first that is found."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``remedy`` is None where all is well."""

    subject: str
    remedy: str | None = None


def examine(
    *, live: bool, base_url: str | None, model: str | None, color: bool | None = None
) -> Iterator[Finding]:
    """Look at this machine, and with ``live`` at the endpoint too; ``color`` is what the flag says."""
    from harness.session import sessions_folder

    version = ".".join(map(str, sys.version_info[:3]))
    too_old = "install Python 3.11 or newer" if sys.version_info < (3, 11) else None
    yield Finding(f"Python {version}, {sys.executable}", too_old)
    yield libraries()
    yield terminal()
    yield colours(color)
    yield programs()
    yield folder("the course", COURSE)
    yield folder("throw-away copies", Path(tempfile.gettempdir()))
    yield folder("sessions", sessions_folder())
    yield from tapes()
    yield dotenv(COURSE)
    where = settings(base_url, model, live=live)
    yield where
    if live and where.remedy is None:
        yield from endpoint(base_url, model)


def libraries() -> Finding:
    """The libraries of pyproject.toml: is each there, and new enough."""
    requirements = importlib.metadata.requires("agent-harness-workshop") or []
    if (COURSE / "pyproject.toml").is_file():  # newer than what was installed, where somebody has pulled
        about = tomllib.loads((COURSE / "pyproject.toml").read_text(encoding="utf-8"))
        requirements = about["project"]["dependencies"]
    bad = list(filter(None, map(shortcoming, requirements)))
    again = "remove the folder .venv and run: make lesson-1 (without make: python install.py)"
    if bad:
        return Finding(f"libraries: {', '.join(bad)}", again)
    return Finding(f"libraries: {len(requirements)}, all there")


def shortcoming(requirement: str) -> str:
    """What is wrong with a library, given a requirement such as ``click>=8.1.8``; empty if nothing is."""
    found = re.match(r"([\w.-]+)(?:>=([\d.]+))?", requirement)
    if found is None or "extra ==" in requirement:
        return ""
    name, floor = found[1], found[2] or "0"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} is missing"
    there, needed = ([int(number) for number in re.findall(r"\d+", text)[:3]] for text in (version, floor))
    return f"{name} {version} is older than {floor}" if there < needed else ""


def terminal() -> Finding:
    """What the transcript will be written to, and whether it can show what the lessons print."""
    is_terminal = sys.stdout.isatty()
    kind = "a terminal" if is_terminal else "no terminal (a file or a pipe)"
    encoding = sys.stdout.encoding
    about = f"output: {kind}, {shutil.get_terminal_size().columns} columns, {encoding}"
    try:
        SAMPLE.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return Finding(f"{about}: it has no arrow and no degree sign", "set PYTHONIOENCODING=utf-8")
    # The streams are UTF-8 by now, whatever the locale; a terminal that goes by another locale shows that as
    # "â†’". Plain C says nothing about the terminal, and Windows' console takes any character.
    elsewhere = locale.getencoding().upper().replace("-", "")
    if is_terminal and sys.platform != "win32" and elsewhere not in ("UTF8", "ASCII", "ANSI_X3.41968"):
        remedy = "switch the terminal to UTF-8, then: export LC_ALL=C.UTF-8"
        return Finding(f"{about}, but the locale says {locale.getencoding()}", remedy)
    return Finding(f"{about}, {SAMPLE} (an arrow and a degree sign?)")


def colours(flag: bool | None) -> Finding:
    """Whether the transcript is coloured, and how a line is typed."""
    from harness.console import wants_color

    coloured = "colours" if wants_color(flag, sys.stdout) else "no colours"
    if sys.platform == "win32":
        editing = "the console's own line editing"
    elif importlib.util.find_spec("readline"):
        editing = "line editing with readline"
    else:
        editing = "no readline: arrow keys do not edit the line you type (nothing else needs it)"
    return Finding(f"typing and showing: {coloured}; {editing}")


def programs() -> Finding:
    """What is handy and not needed."""
    make = "make" if shutil.which("make") else "no make (type python -m harness lesson 3 for make lesson-3)"
    git = "git" if shutil.which("git") else "no git (only make carry-N needs it)"
    return Finding(f"programs: {make}, {git}")


def folder(what: str, path: Path) -> Finding:
    """A folder that is written to: can it be, and is there room. One that is not there yet is not made."""
    there = next(place for place in (path, *path.parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        remedy = f"make {there} a folder that you may write to"
        return Finding(f"{what}: {path}: {error.strerror}", remedy)
    about = f"{what}: {path}, {free // 1_000_000:,} MB free"
    return Finding(about, None if free > SPACE_NEEDED else "make some room on that disk")


def tapes() -> Iterator[Finding]:
    """The tapes: can every one be read."""
    from harness.replay import playing

    bad = []
    for lesson in all_lessons():
        try:
            with playing(lesson.tape_path):
                pass
        except HarnessError as error:
            remedy = "get that file again (git checkout cassettes), or: make cassettes"
            bad.append(Finding(f"tape of lesson {lesson.number}: {error}", remedy))
    yield from bad or [Finding(f"tapes: {len(all_lessons())}, all readable")]


def dotenv(place: Path) -> Finding:
    """The file .env: is it there, and which names does it set. Never what it sets them to."""
    from harness.settings import read_dotenv as read_dotenv

    if not (place / ".env").exists():
        if (place / ".env.txt").exists():  # what Windows' Notepad makes of it
            return Finding(".env: there is a .env.txt, which nothing reads", "rename it to .env")
        return Finding(".env: none (it is one place for a key; the environment is another)")
    try:
        names = read_dotenv(place / ".env")
    except HarnessError as error:
        return Finding(f".env: {error}", "write it as UTF-8 text, one NAME=value a line")
    if not names:
        return Finding(".env: sets nothing", "write one NAME=value a line, such as LLM_API_KEY=…")
    return Finding(f".env: sets {', '.join(sorted(names))}")


def settings(base_url: str | None, model: str | None, *, live: bool) -> Finding:
    """The settings: where would a live run go, and does it need --live."""
    from harness.settings import live_by_default, load_settings

    file = COURSE / ".env"
    try:
        unasked = base_url is not None or live_by_default(dotenv=file)
        found = load_settings(base_url, model, dotenv=file)
    except NoModelError as error:
        if live:
            return Finding("settings: none", str(error))
        return Finding("settings: none, so lessons play their tapes (a key in LLM_API_KEY makes them live)")
    except HarnessError as error:
        return Finding("settings: can't be used", str(error))
    where = f"settings: {found.model} at {found.base_url}, {'a' if found.api_key else 'no'} key"
    return Finding(where if live or unasked else f"{where}, with --live; else lessons play their tapes")


def endpoint(base_url: str | None, model: str | None) -> Iterator[Finding]:
    """The endpoint: does it answer, take key and model, and does the model keep to the protocol."""
    from harness.client import ChatClient
    from harness.settings import load_settings
    from workshop.probe import run_probe

    client = ChatClient(load_settings(base_url, model, dotenv=COURSE / ".env"))
    faults: list[str] = []
    began = time.monotonic()
    try:
        for verdict in run_probe(client):
            if not faults:
                yield Finding(f"endpoint: it answers, the first time after {time.monotonic() - began:.1f} s")
            faults.append(verdict.fault)
            what = f"{verdict.wants}: {verdict.fault}" if verdict.fault else verdict.wants
            yield Finding(f"probe: {what}", verdict.remedy if verdict.fault else None)
    except HarnessError as error:
        remedy = next(text for pattern, text in REMEDIES.items() if re.search(pattern, str(error)))
        yield Finding(f"endpoint: {error}", remedy)
        return
    finally:
        client.close()
    kept = faults.count("")
    weak = "take a larger model; until then play the tapes, which need none: harness lesson 1 --replay"
    yield Finding(f"protocol: {kept} of {len(faults)}", None if kept >= ENOUGH else weak)
