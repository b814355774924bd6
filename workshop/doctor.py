"""What ``harness doctor`` looks at: one finding a line, and one line of remedy for each fault."""

import importlib.metadata
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from harness.errors import HarnessError
from harness.lessons import COURSE, all_lessons

REQUIREMENTS = ("click", "pydantic", "requests", "rich", "vcrpy", "PyYAML")
SPACE_NEEDED = 50_000_000
"""Bytes: a workspace's copy and a recording need far less; a full disk loses sessions."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``remedy`` is None where all is well."""

    subject: str
    remedy: str | None = None


def examine(*, live: bool, base_url: str | None, model: str | None) -> Iterator[Finding]:
    """Look at this machine, and with ``live`` at the endpoint too."""
    version = ".".join(map(str, sys.version_info[:3]))
    too_old = "install Python 3.11 or newer" if sys.version_info < (3, 11) else None
    yield Finding(f"Python {version}", too_old)
    yield libraries()
    yield terminal()
    free = shutil.disk_usage(COURSE).free
    yield Finding(f"disk: {free // 1_000_000:,} MB free", None if free > SPACE_NEEDED else "make some room")
    yield from tapes()
    yield settings(base_url, model)
    if live:
        yield endpoint(base_url, model)


def libraries() -> Finding:
    """The five libraries: are they there."""
    missing = []
    for name in REQUIREMENTS:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding(f"libraries: {', '.join(missing)} missing", "remove .venv and run: make lesson-1")
    return Finding(f"libraries: {', '.join(REQUIREMENTS)}")


def terminal() -> Finding:
    """What the transcript will be written to."""
    kind = "a terminal" if sys.stdout.isatty() else "no terminal (a file or a pipe)"
    columns = shutil.get_terminal_size().columns
    return Finding(f"output: {kind}, {columns} columns, {sys.stdout.encoding}")


def tapes() -> Iterator[Finding]:
    """The tapes: can every one be read."""
    from harness.replay import playing

    bad = []
    for lesson in all_lessons():
        try:
            with playing(lesson.tape_path):
                pass
        except HarnessError as error:
            bad.append(Finding(f"tape of lesson {lesson.number}: {error}", "make cassettes"))
    yield from bad or [Finding(f"tapes: {len(all_lessons())}, all readable")]


def settings(base_url: str | None, model: str | None) -> Finding:
    """The settings: where would a live run go."""
    from harness.settings import live_by_default, load_settings

    dotenv = COURSE / ".env"
    if base_url is None and not live_by_default(dotenv=dotenv):
        return Finding("settings: none, so lessons play their tapes (a key in LLM_API_KEY makes them live)")
    try:
        found = load_settings(base_url, model, dotenv=dotenv)
    except HarnessError as error:
        return Finding("settings", str(error))
    return Finding(f"settings: {found.model} at {found.base_url}, {'a' if found.api_key else 'no'} key")


def endpoint(base_url: str | None, model: str | None) -> Finding:
    """The endpoint: does it answer, and does its model keep to the protocol."""
    from harness.client import ChatClient
    from harness.messages import system, user
    from harness.settings import load_settings

    prompt = 'To read a file, reply with: TOOL_CALL {"name":"read_file","arguments":{"path":"a.txt"}}'
    try:
        client = ChatClient(load_settings(base_url, model, dotenv=COURSE / ".env"))
        reply = client.complete([system(prompt), user("Read notes.txt.")])
    except HarnessError as error:
        return Finding("endpoint", str(error))
    keeps = "TOOL_CALL {" in reply.text
    verdict = "wrote a TOOL_CALL when asked to" if keeps else "wrote no TOOL_CALL when asked to"
    return Finding(f"endpoint: it answers, and {verdict}", None if keeps else "a larger model may do better")
