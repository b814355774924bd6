from pathlib import Path

import pytest

from harness.lessons import PACKAGE, Lesson, all_lessons
from workshop import budgets
from workshop.budgets import StepSize, code_lines, core_imports, count_lines, step_size, step_sizes
from workshop.definitions import read_agent

MODULES = sorted([*PACKAGE.rglob("*.py"), *Path(budgets.__file__).parent.glob("*.py")])
each_lesson = pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: lesson.slug)


@each_lesson
def test_step_is_small(lesson: Lesson) -> None:
    size = step_size(lesson)
    assert 0 < size.changed <= size.limit
    assert 0 < size.definitions <= budgets.STEP_DEFINITIONS


@each_lesson
def test_agent_is_short(lesson: Lesson) -> None:
    assert len(read_agent(lesson).splitlines()) <= budgets.AGENT_LINES


@pytest.mark.parametrize("path", MODULES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_module_is_one_room(path: Path) -> None:
    assert (
        path.stem in budgets.LISTS
        or len(path.read_text(encoding="utf-8").splitlines()) <= budgets.MODULE_LINES
    )


def test_core_can_be_read() -> None:
    sizes = {name: code_lines((PACKAGE / f"{name}.py").read_text(encoding="utf-8")) for name in budgets.CORE}
    assert sum(sizes.values()) <= budgets.CORE_LINES, sizes


@each_lesson
def test_what_an_agent_imports_is_core_or_a_room_of_a_lesson_reached(lesson: Lesson) -> None:
    reached = {name for name, first in budgets.ROOMS.items() if first <= lesson.number}
    unbudgeted = core_imports(read_agent(lesson)) - set(budgets.CORE) - reached
    assert not unbudgeted, "list them in CORE or ROOMS of workshop/budgets.py"


@pytest.mark.parametrize(
    ("older", "newer", "counted"),
    [
        ("", "", (0, 0, 0)),
        ("", "a = 1\nb = 2\n", (2, 0, 2)),
        ("a = 1\nb = 2\n", "", (0, 2, 2)),
        ("a = 1\n", "a = 2\n", (1, 1, 1)),  # a line that replaces another is one change
        ("a = 1\nb = 2\n", "a = 3\nb = 4\nc = 5\n", (3, 2, 3)),
        ("a = 1\nb = 2\nc = 3\n", "x = 0\na = 1\nb = 2\n", (1, 1, 2)),  # two places are two changes
        ("a = 1\nb = 2\n", "\na = 1\n\n    \nb = 2\n", (0, 0, 0)),  # blank lines
        ('"""One."""\na = 1\n', '"""Two,\n\nlonger."""\n\na = 1\n', (0, 0, 0)),  # the module's docstring
        ("a = 1\n", "# why\na = 1\n", (1, 0, 1)),  # a comment is read
        (
            "if a:\n    b()\n",
            "if a:\n    if c:\n        b()\n",
            (2, 1, 2),
        ),  # an indented line is another line
    ],
)
def test_changed_lines_are_counted(older: str, newer: str, counted: tuple[int, int, int]) -> None:
    assert count_lines(older, newer) == counted


def test_long_repetitive_files_are_counted_too() -> None:
    # Beyond 200 lines difflib would by default take frequent lines for junk and find none of them again.
    lines = ["x += 1"] * 300
    assert count_lines("\n".join(lines), "\n".join(["y = 1", *lines])) == (1, 0, 1)


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("", 0),
        ("\n\n# only a comment\n", 0),
        ('"""Module."""\nimport os\n', 1),
        ("a = 1  # why\n", 1),
        ("a = (\n    1,\n    # why\n    2,\n)\n", 4),
        ('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n', 2),
        ('class A:\n    a: int\n    """A field."""\n', 2),
        ('TEXT = """\\\nno docstring\n\n# nor a comment\n"""\n', 5),
    ],
)
def test_lines_of_code_are_counted(source: str, count: int) -> None:
    assert code_lines(source) == count


def test_imports_of_the_core_are_found() -> None:
    source = "import json\nfrom harness.a import b\nfrom pathlib import Path\nfrom harness.x import y\n"
    script = 'if __name__ == "__main__":\n    from harness.cli import run_script\n'
    assert core_imports(source + script) == {"a", "x"}


def test_limits_differ_where_they_say_so() -> None:
    first, second = all_lessons()[:2]
    assert StepSize(first, 0, 0, 0, 0).limit == budgets.CHANGED_LINES == 60
    assert StepSize(second, 0, 0, 0, 0).limit == 80


def test_sizes_come_in_the_order_asked_for() -> None:
    assert [size.lesson for size in step_sizes()] == list(all_lessons())
    last = all_lessons()[-1]
    assert step_sizes([last]) == [step_size(last)]


def test_imports_are_not_counted_as_a_definition(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import os\n\na = os.name\n\n\ndef b() -> str:\n    return a\n")
    assert step_size(Lesson(1, "small", tmp_path)) == StepSize(Lesson(1, "small", tmp_path), 4, 0, 4, 2)
