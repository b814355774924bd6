"""The budgets: how much a step, an agent file and the shared core may ask of a reader, and the measuring.

All limits stand here and nowhere else. ``tests/test_budgets.py`` holds the course to them.
"""

import ast
import difflib
import io
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from harness.lessons import Lesson, all_lessons, previous_lesson
from workshop.definitions import read_agent, split_docstring
from workshop.steps import differences

CHANGED_LINES = 60
"""A step: lines of agent.py that differ from the lesson before, counted as in ``StepSize``."""
CHANGED_LINES_OF = {2: 80}
"""Lesson 2 brings the whole protocol at once: half of one would not run."""
CHANGED_LINES_AIM = 40
"""What a step should stay under. Beyond it nothing fails, but ``harness diff --stat`` says so."""
STEP_DEFINITIONS = 8
"""A step: definitions added, changed and removed. Imports don't count: they follow from the others."""
AGENT_LINES = 450
"""An agent file, all lines."""
MODULE_LINES = 250
"""A module of harness/ or workshop/, all lines: a longer one holds two ideas."""
LISTS = ("behaviours",)
"""Modules that are a list of like things: these may grow with the course."""

CORE = (
    "messages",
    "client",
    "errors",
    "settings",
    "console",
    "arguments",
    "scenario",
    "scripted_model",
    "replay",
    "tape",
    "lessons",
)
"""The modules of harness/ that a learner has to read: what the agents are handed, and what plays a lesson."""
CORE_LINES = 1000
"""The core together, lines of code: not blank, no comment, no docstring."""
ROOMS = {"envelope": 9, "payload": 9, "reasoning": 9, "workspace": 11, "session": 12}
"""Modules of harness/ that agents import but that are no core: each is read with the lesson it belongs to."""


@dataclass(frozen=True)
class StepSize:
    """How much one lesson differs from the one before.

    Lines are counted in agent.py without the module's docstring, which every lesson has of its own, and
    without blank lines. Lines that replace others count once: where 3 lines become 5, 5 are changed.
    """

    lesson: Lesson
    added: int
    removed: int
    changed: int
    definitions: int

    @property
    def limit(self) -> int:
        """How many changed lines are allowed in this step."""
        return CHANGED_LINES_OF.get(self.lesson.number, CHANGED_LINES)


def step_size(lesson: Lesson) -> StepSize:
    """Measure the step that leads to a lesson; to the first one, from an empty file.

    Raises:
        HarnessError: an agent can't be read.
    """
    before = previous_lesson(lesson)
    older, newer = read_agent(before) if before else "", read_agent(lesson)
    step = differences(older, newer)
    names = {*step.adds, *step.changes, *step.removes} - {"imports"}
    return StepSize(lesson, *count_lines(older, newer), definitions=len(names))


def step_sizes(lessons: Sequence[Lesson] | None = None) -> list[StepSize]:
    """Measure the steps that lead to these lessons, or to all."""
    return [step_size(lesson) for lesson in (all_lessons() if lessons is None else lessons)]


def count_lines(older: str, newer: str) -> tuple[int, int, int]:
    """Lines added, removed and changed between two agent files, counted as in ``StepSize``."""
    before, after = (
        [line for line in split_docstring(source)[1].split("\n") if line.strip()] for source in (older, newer)
    )
    added = removed = changed = 0
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            removed += end - start
            added += new_end - new_start
            changed += max(end - start, new_end - new_start)
    return added, removed, changed


def code_lines(source: str) -> int:
    """How many lines of a module are code: not blank, no comment, no docstring (a field's is one too)."""
    layout = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in {*layout, tokenize.COMMENT}:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def core_imports(agent: str) -> set[str]:
    """The modules of harness/ that an agent imports at its top: what its reader meets."""
    modules = [node.module or "" for node in ast.parse(agent).body if isinstance(node, ast.ImportFrom)]
    return {module.removeprefix("harness.") for module in modules if module.startswith("harness.")}
