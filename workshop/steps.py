"""The step gate: what each lesson adds to, changes in and removes from the agent of the lesson before.

``lessons/steps.yaml`` lists it. Whatever else differs between two neighbours is drift: a copy that was
edited alone, or a fix that was not carried on.

What a definition is: ``workshop/definitions.py``.
"""

import ast
import difflib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.errors import HarnessError
from harness.lessons import COURSE, Lesson, previous_lesson
from workshop.definitions import definitions, read_agent

TABLE = COURSE / "lessons" / "steps.yaml"
KINDS = ("adds", "changes", "removes")


@dataclass(frozen=True)
class Step:
    """How one agent differs from the one before: names of definitions, in the order of the file."""

    adds: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    reordered: tuple[str, ...] = ()
    """Shared by both, but at another place among the others. Never right, so the table has no such list."""


def check_step(lesson: Lesson) -> list[str]:
    """Compare a lesson with the one before and with the table: a sentence for each fault.

    Raises:
        HarnessError: the table can't be read.
    """
    older = previous_lesson(lesson)
    try:
        sources = read_agent(older) if older else "", read_agent(lesson)
    except HarnessError as error:
        return [str(error)]
    return step_faults(lesson.number, *sources, load_table().get(lesson.number))


def step_faults(number: int, older: str, newer: str, listed: Step | None) -> list[str]:
    """What is wrong with the step from ``older`` to ``newer``, the agent of lesson ``number``."""
    step = differences(older, newer)
    faults = docstring_faults(number, newer)
    if listed is None:
        return [*faults, f"lesson {number} has no row in lessons/steps.yaml; add: {render_row(number, step)}"]
    before = f"lesson {number - 1}"
    told = {
        "adds": f"is not in {before}",
        "changes": f"differs from {before} (a fix made there alone goes on with: harness carry {number - 1})",
        "removes": f"is in {before} but not here",
    }
    for kind in KINDS:
        real, meant = getattr(step, kind), getattr(listed, kind)
        remedy = f"if that is meant, list it under {kind} in lessons/steps.yaml"
        faults += [f"lesson {number}: {name} {told[kind]}; {remedy}" for name in real if name not in meant]
        faults += [
            f"lesson {number}: lessons/steps.yaml lists {name} under {kind}, which is not so; take it off"
            for name in meant
            if name not in real
        ]
    faults += [
        f"lesson {number}: {name} stands in another place than in {before}; move it back"
        for name in step.reordered
    ]
    return faults


def docstring_faults(number: int, source: str) -> list[str]:
    """Which of the parts that open a lesson are missing, empty or out of order."""
    docstring = ast.get_docstring(ast.parse(source)) or ""
    openings = [f"Lesson {number}: ", "Adds: ", f"Unlike lesson {number - 1}: ", "But: "]
    found = [re.search(rf"^{re.escape(opening)}\S", docstring, re.MULTILINE) for opening in openings]
    faults = [
        f'lesson {number}: the docstring of agent.py has no line that begins "{opening}"; write one'
        for opening, match in zip(openings, found, strict=True)
        if match is None
    ]
    places = [match.start() for match in found if match]
    title = docstring.partition("\n")[0]
    if not faults and (places != sorted(places) or places[0] != 0 or not title.endswith(".")):
        faults.append(
            f'lesson {number}: the docstring of agent.py should be "{openings[0]}<title>." and then '
            f"{', '.join(opening.rstrip() for opening in openings[1:])} in this order"
        )
    return faults


def differences(older: str, newer: str) -> Step:
    """Compare two agent files, given as source."""
    before, after = definitions(older), definitions(newer)
    shared_before = [name for name in before if name in after]
    shared_after = [name for name in after if name in before]
    matcher = difflib.SequenceMatcher(None, shared_before, shared_after, autojunk=False)
    blocks = matcher.get_matching_blocks()
    in_place = {name for block in blocks for name in shared_after[block.b : block.b + block.size]}
    return Step(
        adds=tuple(name for name in after if name not in before),
        changes=tuple(name for name in shared_after if before[name] != after[name]),
        removes=tuple(name for name in before if name not in after),
        reordered=tuple(name for name in shared_after if name not in in_place),
    )


def load_table(path: Path = TABLE) -> dict[int, Step]:
    """Read ``steps.yaml``: the step of each lesson, by its number.

    Raises:
        HarnessError: the file can't be read or says something else; the text names the row.
    """
    import yaml  # imported here: `harness diff` needs no table

    try:
        rows: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise HarnessError(f"{path} can't be read: {' '.join(str(error).split())}") from error
    if not isinstance(rows, dict):
        raise HarnessError(f"{path}: expected a row for each lesson, by its number")
    table = {}
    for number, row in rows.items():
        lists = row.values() if isinstance(row, dict) and set(row) <= set(KINDS) else [None]
        names = [name for names in lists for name in (names if isinstance(names, list) else [None])]
        if not isinstance(number, int) or not all(isinstance(name, str) for name in names):
            raise HarnessError(f"{path}: row {number!r} should hold lists of names: {', '.join(KINDS)}")
        table[number] = Step(**{kind: tuple(names) for kind, names in row.items()})
    return table


def render_row(number: int, step: Step) -> str:
    """A row of ``steps.yaml`` on one line, to paste into it."""
    import yaml

    row = {kind: list(names) for kind, names in asdict(step).items() if kind in KINDS and names}
    text: str = yaml.safe_dump({number: row}, default_flow_style=True, sort_keys=False, width=10_000)
    return text.strip().removeprefix("{").removesuffix("}")
