"""The generated parts of the pages: what stands between two marks is made by a run, never typed.

    <!-- generated: transcript 2 on 3 -->
    …
    <!-- /generated -->

Kinds: ``transcript N on M`` (lesson N's agent on lesson M's tape), ``lessons`` (the table of lessons),
``matrix`` (behaviour by lesson), ``readings`` (what the lessons make of real replies),
``attacks`` (how many each withstands), ``code PATH NAME`` (a definition, from the file), ``file PATH``;
of lesson N's tape ``tape N`` (a table), ``cost N`` (of its steps), ``native N`` (its calls on other wires).
"""

import ast
import io
import re
import textwrap
import zlib
from functools import cache
from pathlib import Path

from harness.console import Console
from harness.errors import HarnessError
from harness.lessons import COURSE, all_lessons, find_lesson
from harness.runner import play
from workshop import matrix
from workshop.attacks import attacks_table
from workshop.budgets import step_sizes
from workshop.definitions import definitions
from workshop.readings import readings_table
from workshop.survey_page import real_line
from workshop.tables import TABLES

MARKED = re.compile(r"(<!-- generated: (?P<what>[^>]*?) -->\n)(?P<made>.*?)(<!-- /generated -->)", re.DOTALL)
SLOW = {
    "attacks": (
        *(
            f"harness/{room}.py"
            for room in ("arguments", "atomic", "beneath", "path_faults", "splice", "workspace")
        ),
        *(f"workshop/{room}.py" for room in ("attacks", "judge", "world")),
        *(f"lessons/lesson_{number}_*/agent.py" for number in ("05", "07", "11")),
        "tests/cases/paths.json",
        "tests/cases/edits.json",
    ),
    "readings": (
        *(f"harness/{room}.py" for room in ("envelope", "payload", "reasoning")),
        "workshop/readings.py",
        "tests/cases/real_replies.jsonl",
        "lessons/lesson_0*/agent.py",
    ),
}
"""Tables that take a minute to make, and the files that they follow from: kept while those are the same."""


def all_pages() -> list[Path]:
    """Every page that a person reads."""
    pages = [*COURSE.glob("*.md"), *COURSE.glob("docs/*.md"), *COURSE.glob("lessons/lesson_*/README.md")]
    return sorted(pages)


def refresh(check: bool) -> list[Path]:
    """Write the generated parts again; name the pages that changed, or with ``check`` would."""
    stale = []
    for page in all_pages():
        old = page.read_text(encoding="utf-8")
        new = MARKED.sub(generated_again, old)
        if new != old:
            stale.append(page)
            if not check:
                page.write_bytes(new.encode())
    return stale


def generated_again(mark: re.Match[str]) -> str:
    """A mark with its part made again; a slow one only if what it follows from has changed."""
    what, made = mark["what"], mark["made"]
    if what in SLOW:
        follows = f"<!-- of {digest(SLOW[what])} -->"
        if not made.startswith(follows):
            made = f"{follows}\n{generate(what)}\n"
    else:
        made = f"{generate(what)}\n"
    return f"{mark[1]}{made}{mark[4]}"


def digest(patterns: tuple[str, ...]) -> str:
    """A short name for the contents of some files."""
    files = sorted({path for pattern in patterns for path in COURSE.glob(pattern)})
    sums = "".join(checksum(path) for path in files)
    return f"{zlib.crc32(sums.encode()):08x}"


def checksum(path: Path) -> str:
    """A file's name and checksum, whatever the line endings of the checkout."""
    text = path.read_bytes().replace(b"\r\n", b"\n")
    return f"{path.name} {zlib.crc32(text)} "


@cache
def generate(what: str) -> str:
    """Make one generated part.

    Raises:
        ValueError: the mark names no kind that there is.
    """
    kind, *words = what.split()
    match kind, words:
        case "transcript", [agent, "on", tape]:
            return fenced(transcript(int(agent), int(tape)), "text")
        case "code", [path, name]:
            return fenced(definition(COURSE / path, name), "python")
        case "file", [path]:
            return fenced((COURSE / path).read_text(encoding="utf-8"), "python")
        case "tape" | "cost" | "native", [lesson]:
            return TABLES[kind](int(lesson))
        case "lessons", []:
            return lessons_table()
        case "attacks", []:
            return attacks_table()
        case "readings", []:
            return readings_table()
        case "real", [number]:
            return real_line(int(number))
        case "rooms", []:
            return rooms_table()
        case "matrix", []:
            return matrix.markdown(matrix.run_matrix())
    raise ValueError(f"unknown mark: generated: {what}")


def fenced(text: str, language: str) -> str:
    """A fenced block; its fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"^`{3,}", text, re.MULTILINE)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.strip()}\n{fence}"


def transcript(agent: int, tape: int, *, agent_path: Path | None = None) -> str:
    """What lesson ``agent`` (or the agent in a file) shows on the tape of lesson ``tape``."""
    screen = io.StringIO()
    lesson = find_lesson(tape)
    try:
        play(
            lesson,
            lambda scenario: Console(scenario.turns, answers=scenario.answers, out=screen),
            agent=agent_path or find_lesson(agent).agent_path,
        )
    except HarnessError as error:  # what ended it is a part of what there was to see
        screen.write(f"harness: {error}\n")
    return screen.getvalue()


def definition(path: Path, name: str) -> str:
    """The source of a definition: a function or constant, or a method as ``Agent.run``."""
    found = definitions(path.read_text(encoding="utf-8"))
    if name not in found:
        raise ValueError(f"{path} defines no {name}")
    return textwrap.dedent(found[name])


def lessons_table() -> str:
    """The table of lessons for the README: what each adds, and how many lines that took."""
    rows = ["| lesson | what it adds | what that mends | changed lines |", "|---|---|---|--:|"]
    changed = {size.lesson.number: size.changed for size in step_sizes()}
    for lesson in all_lessons():
        link = f"[{lesson.number} {lesson.title}](lessons/{lesson.folder.name}/README.md)"
        rows.append(f"| {link} | {lesson.adds} | {lesson.fixes} | {changed[lesson.number]} |")
    return "\n".join(rows)


def rooms_table() -> str:
    """The modules of harness/ and what each is for, from their docstrings."""
    rows = ["| module | what it is for |", "|---|---|"]
    for path in sorted((COURSE / "harness").glob("[a-z]*.py")):
        purpose = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]
        rows.append(f"| `{path.name}` | {purpose.replace('``', '`')} |")
    return "\n".join(rows)
