"""Attacks on files: how many of the rows in ``tests/cases`` each lesson's tools withstand.

The rows come from public reports and advisories (each names its source): paths that lead out, links, pipes,
devices, odd names, line endings, mode bits, edits that match twice. A row is held if what the tool answers
and what is on the disk afterwards are as the row says; an agent that waits for ever has not held it.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from harness.arguments import checker
from harness.console import Console
from harness.lessons import find_lesson, load_agent, make_agent
from harness.session import Session
from workshop import judge, world

LESSONS = (5, 7, 11)
"""Before the sandbox, with the sandbox and the edit tool, with the held workspace."""
KINDS = {
    "paths that lead out, links, pipes, devices": ("path",),
    "listings": ("list",),
    "contents": ("content", "read", "protocol"),
    "writes and edits": ("write", "edit"),
}
PATIENCE = 3.0
"""Seconds until an agent that does not answer is given up."""
WORKERS = 6
"""Most of the time goes into waiting, for pipes and for the disk."""


@cache
def tools_of(lesson: int) -> Callable[[Path], judge.Call]:
    """What connects a row's workspace with a lesson's tools, as ``workshop.judge`` wants it."""
    agent_class = load_agent(find_lesson(lesson).agent_path)
    module = sys.modules[agent_class.__module__]
    for method in module.TOOLS.values():
        checker(method)  # made here, once, rather than in every child

    def connect(root: Path) -> judge.Call:
        session = Session(root.parent / "session.jsonl")
        console = Console(turns=[], answers=["yes"] * 9, out=io.StringIO())
        agent = make_agent(agent_class, client=None, console=console, workspace=root, session=session)

        def call(tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
            header, _, text = agent.run_tool(module.ToolCall(tool, arguments)).partition("\n")
            nothing = header.endswith(" 0 lines")  # what follows is the harness's word, and not the file's
            return header.startswith("TOOL_RESULT SUCCESS"), "" if nothing else text

        return call

    return connect


def runnable(kinds: tuple[str, ...]) -> Iterator[world.Row]:
    """The rows of some kinds that can be run here, by whoever runs them."""
    tools = ("read_file", "list_files", "edit_file")
    for row in world.rows("paths.json") + world.rows("edits.json"):
        # A row with a fault needs something to fail in mid-write; one that root may read needs another user.
        special = "fault" in row or row.get("os") == "posix-nonroot" or world.why_not_here(row)
        if row["kind"] in kinds and row["tool"] in tools and not special:
            yield row


def is_held(lesson: int, row: world.Row) -> bool:
    """Whether a lesson's tools withstand a row, tried in a child process of its own."""
    return not judge.judge_apart(row, tools_of(lesson), seconds=PATIENCE)


def attacks_table() -> str:
    """A row a kind of attack, a column a lesson: how many are held, of those that its tools allow."""
    if os.name != "posix":
        raise OSError("the attacks are run in forked children: on Linux or macOS")
    lines = ["| attack | " + " | ".join(f"lesson {lesson}" for lesson in LESSONS) + " |"]
    lines.append("|---|" + "--:|" * len(LESSONS))
    with ProcessPoolExecutor(WORKERS) as pool:
        for name, kinds in KINDS.items():
            cells = []
            for lesson in LESSONS:
                rows = [row for row in runnable(kinds) if lesson >= 7 or row["tool"] != "edit_file"]
                held = sum(pool.map(is_held, [lesson] * len(rows), rows))
                cells.append(f"{held} of {len(rows)}" if rows else "no such tool")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
