"""Scenarios: all that a demonstration needs, in one readable ``scenario.yaml`` beside the lesson.

What the user types (``turns``), what they answer when asked in mid-turn (``answers``), the folder the agent
works in, and the ``rules`` of a scripted model, which stands in for a real one.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ScenarioError


@dataclass(frozen=True)
class Rule:
    r"""If every pattern of ``when`` is found in its part of the array, ``reply`` is the reply.

    Parts: ``system`` (the system prompt), ``said`` (any later message), ``last`` (the last message). A
    named group ``(?P<seconds>\d+)`` fills ``{{seconds}}`` in the reply: a scripted model can only repeat
    what it was sent, as a real one can only continue it.
    """

    when: dict[str, re.Pattern[str]]
    reply: str
    finish_reason: str = "stop"
    over: int = 0
    """Only for an array of more tokens than this, four characters each: a context window that is full."""
    status: int = 200
    """Other than 200, the server answers with this HTTP status and ``reply`` as its error message."""


@dataclass(frozen=True)
class Scenario:
    """One demonstration. Fields are those of the file; ``path`` is where it was read."""

    path: Path
    shows: str
    """One sentence: what to look for."""
    turns: tuple[str, ...]
    rules: tuple[Rule, ...]
    again: tuple[str, ...] = ()
    """Turns of a second run: the program ends, and is started again with --resume."""
    answers: tuple[str, ...] = ()
    stop_after: int = 100
    """The demonstration ends after so many requests; some lessons would go on for ever."""
    workspace: Path | None = None
    """The folder the agent is given a copy of; None is the sample project."""
    given: dict[str, Any] = field(default_factory=dict)
    """What else the agent is handed, by name, where it asks for it."""
    show: tuple[str, ...] = ()
    """Files of the workspace to show at the end, byte for byte."""
    beside: dict[str, str] = field(default_factory=dict)
    """Files laid next to the workspace, outside it: what an agent must not reach."""
    files: dict[str, str] = field(default_factory=dict)
    """Files laid into the workspace's copy, over the sample's own."""


PARTS = ("system", "said", "last")


def load_scenario(path: Path) -> Scenario:
    """Read and check a scenario.yaml.

    Raises:
        ScenarioError: the file is missing, is no YAML, or says something unknown; the text names the place.
    """
    import yaml  # imported here: `harness --help` needs no scenario

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is 20-50 times faster where it is there
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ScenarioError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ScenarioError(f"{path}: expected keys such as shows, turns and rules")
    known = {
        "shows",
        "turns",
        "again",
        "answers",
        "workspace",
        "beside",
        "files",
        "given",
        "rules",
        "show",
        "stop_after",
    }
    if unknown := set(data) - known:
        raise ScenarioError(f"{path}: unknown key {sorted(map(str, unknown))[0]!r}; known: {sorted(known)}")
    workspace = data.get("workspace")
    return Scenario(
        path=path,
        shows=str(data.get("shows", "")).strip(),
        turns=texts(data, "turns", path),
        again=texts(data, "again", path),
        answers=texts(data, "answers", path),
        stop_after=int(data.get("stop_after") or 100),
        workspace=path.parent / workspace if workspace else None,
        given=dict(data.get("given") or {}),
        show=texts(data, "show", path),
        beside=dict(data.get("beside") or {}),
        files=dict(data.get("files") or {}),
        rules=tuple(
            read_rule(item, f"{path}: rule {n}") for n, item in enumerate(data.get("rules") or [], 1)
        ),
    )


def texts(data: dict[str, Any], key: str, path: Path) -> tuple[str, ...]:
    """A list of texts.

    Raises:
        ScenarioError: one of them is something else: to YAML a bare ``yes`` is true, and ``2`` a number.
    """
    found = data.get(key) or []
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ScenarioError(f"{path}: {key} is a list of texts; put quotes around yes, no and numbers")
    return tuple(found)


def read_rule(item: Any, place: str) -> Rule:
    """Check one item of ``rules``; ``place`` opens the error's text.

    Raises:
        ScenarioError: the item has no reply, an unknown key, or a pattern that is no regular expression.
    """
    if not isinstance(item, dict) or not isinstance(item.get("reply"), str):
        raise ScenarioError(f"{place}: a rule needs a reply")
    if unknown := set(item) - {"when", "reply", "finish_reason", "over", "status"}:
        raise ScenarioError(f"{place}: unknown key {sorted(map(str, unknown))[0]!r}")
    when = item.get("when") or {}
    if not isinstance(when, dict) or set(when) - set(PARTS):
        raise ScenarioError(f"{place}: when takes {', '.join(PARTS)}")
    try:
        patterns = {part: re.compile(str(text), re.MULTILINE) for part, text in when.items()}
    except re.error as error:
        raise ScenarioError(f"{place}: {error}") from error
    # A block of YAML ends in a newline; a model's reply does not.
    reply = item["reply"].removesuffix("\n")
    over, status = int(item.get("over", 0)), int(item.get("status", 200))
    return Rule(patterns, reply, item.get("finish_reason", "stop"), over, status)


@contextmanager
def workspace_copy(scenario: Scenario, sample: Path) -> Iterator[Path]:
    """Lay a throw-away copy of the scenario's workspace, so that a demonstration can't spoil the original."""
    with tempfile.TemporaryDirectory(prefix="harness-") as folder:
        workspace = Path(folder) / "workspace"
        shutil.copytree(
            scenario.workspace or sample,
            workspace,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", ".*"),
        )
        for root, files in ((Path(folder), scenario.beside), (workspace, scenario.files)):
            for name, text in files.items():
                target = root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode())  # bytes: the line endings are part of what is shown
        yield workspace
