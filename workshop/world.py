"""The worlds of ``tests/cases/paths.json`` and ``edits.json``: small file trees in which a tool is tried.

A row says how a small file tree is built (``setup``), what is called (``tool``, ``arguments``) and what must
come of it (``expected``, see ``workshop.judge``).

Words of ``setup``, each an object; ``ROOT/`` is the workspace, other paths lie beside it, outside:
    mkdir | fifo | socket: a path        symlink | hardlink: a path, to: where it leads
    file: a path, with text | b64 | repeat: [text, times]      rawfile: a folder, name_b64: the name's bytes
    many: a folder, count: n             chmod: a path, mode: octal digits
    sparse: a path, size: bytes          env: variables            root_via_symlink: the link to use as root
"""

import base64
import json
import os
import stat
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.lessons import COURSE

Row = dict[str, Any]
CASES = COURSE / "tests" / "cases"


def rows(file: str, *, kinds: tuple[str, ...] = ()) -> list[Row]:
    """The rows of ``tests/cases/<file>``, of these kinds or of all."""
    found: list[Row] = json.loads((CASES / file).read_text("utf-8"))
    return [row for row in found if not kinds or row["kind"] in kinds]


def why_not_here(row: Row) -> str:
    """Why the row can't be run on this system and by this user; "" where it can."""
    wanted = row.get("os", "any")
    if wanted == "linux" and sys.platform != "linux":
        return "needs Linux"
    if wanted.startswith("posix") and os.name != "posix":
        return "needs POSIX"
    if wanted == "posix-nonroot" and os.geteuid() == 0:
        return "root may read everything: run it with judge_apart(..., uid=...)"
    return ""


@dataclass
class World:
    """A row's file tree: ``base`` holds the workspace ``ROOT`` and what lies beside it."""

    base: Path
    root: Path
    """The path to give to the agent: the workspace, or a link to it."""
    env: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """A path of the row: relative to ``base``, where it isn't absolute."""
        return self.base / name


def build(row: Row, base: Path) -> World:
    """Make the row's file tree in the empty folder ``base``. Raises OSError where the system can't."""
    world = World(base, base / "ROOT")
    world.root.mkdir()
    for step in filled_in(row.get("setup", []), base):
        _build_step(world, step)
    return world


def filled_in(value: Any, base: Path) -> Any:
    """``value`` with ``$ABS`` replaced by the absolute path of ``base``, and [text, times] repeated."""
    if isinstance(value, str):
        return value.replace("$ABS", str(base))
    if isinstance(value, list):
        return [filled_in(item, base) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"repeat"}:
            text, times = value["repeat"]
            return text * times
        return {key: filled_in(item, base) for key, item in value.items()}
    return value


def _build_step(world: World, step: dict[str, Any]) -> None:
    word = next(iter(step))
    at = world.path(step[word]) if isinstance(step[word], str) else world.base
    at.parent.mkdir(parents=True, exist_ok=True)
    match word:
        case "mkdir":
            at.mkdir(parents=True, exist_ok=True)
        case "file":
            at.write_bytes(contents(step))
        case "rawfile":
            name = base64.b64decode(step["name_b64"])
            with open(os.path.join(os.fsencode(at), name), "xb"):
                pass
        case "sparse":
            at.touch()
            os.truncate(at, step["size"])
        case "symlink":
            at.symlink_to(step["to"])
        case "hardlink":
            target = world.path(step["to"])
            if "text" in step:
                target.write_text(step["text"], "utf-8")
            at.hardlink_to(target)
        case "fifo":
            os.mkfifo(at)
        case "socket":
            os.mknod(at, stat.S_IFSOCK | 0o600)  # without a program behind it; Linux only
        case "many":
            first, *others = (at / f"f{number:05}{step.get('suffix', '')}" for number in range(step["count"]))
            first.touch()
            for other in others:
                try:
                    os.link(first, other)  # twenty times as fast as a file of its own
                except OSError:  # a file may have so many names only
                    other.touch()
        case "chmod":
            at.chmod(int(step["mode"], 8))
        case "env":
            world.env.update(step["env"])
        case "root_via_symlink":
            at.symlink_to("ROOT")
            world.root = at
        case _:
            raise ValueError(f"unknown word in setup: {word}")


def contents(step: dict[str, Any]) -> bytes:
    """What a file of a row holds, given as ``text``, ``b64`` or ``repeat``."""
    if "b64" in step:
        return base64.b64decode(step["b64"])
    text = step["repeat"][0] * step["repeat"][1] if "repeat" in step else step["text"]
    data: bytes = text.encode()
    return data
