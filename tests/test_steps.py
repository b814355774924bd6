import ast
from collections import Counter
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.lessons import Lesson, all_lessons, previous_lesson
from workshop.definitions import definitions, read_agent, split_docstring
from workshop.steps import (
    KINDS,
    TABLE,
    Step,
    check_step,
    differences,
    docstring_faults,
    load_table,
    render_row,
    step_faults,
)

LESSONS = all_lessons()
each_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.slug)
each_step = pytest.mark.parametrize("lesson", LESSONS[1:], ids=lambda lesson: lesson.slug)


# ---- the course ----


@each_lesson
def test_lesson_differs_as_the_table_says(lesson: Lesson) -> None:
    assert check_step(lesson) == []


def test_every_row_has_a_lesson() -> None:
    assert set(load_table()) == {lesson.number for lesson in LESSONS}


@each_lesson
def test_no_line_of_an_agent_escapes_the_gate(lesson: Lesson) -> None:
    docstring, body = split_docstring(read_agent(lesson))
    assert docstring + body == read_agent(lesson)
    compared = "\n".join(definitions(docstring + body).values())
    assert Counter(compared.split()) == Counter(body.split())


# ---- the gate can fail ----


def step_to(lesson: Lesson) -> tuple[str, str, Step]:
    """Both agents and a table's row that is right for them, whatever the table says just now."""
    older, newer = read_agent(previous_lesson(lesson)), read_agent(lesson)
    return older, newer, differences(older, newer)


def drifted(source: str, names: list[str]) -> str:
    """``source`` with a comment added to these definitions, found without the code under test."""
    lines, missing = source.split("\n"), set(names)
    tree = ast.parse(source)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner, body in [("", tree.body), *((f"{node.name}.", node.body) for node in classes)]:
        for node in body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            name = owner + (getattr(node, "name", None) or getattr(target, "id", ""))
            if isinstance(node, ast.Import | ast.ImportFrom):
                name = "imports"
            elif isinstance(node, ast.If):
                name = "main"
            if name in missing:
                missing.remove(name)
                lines[(node.lineno if node in classes else node.end_lineno) - 1] += "  # drift"
    assert not missing
    return "\n".join(lines)


@each_step
def test_a_comment_that_drifts_is_found_in_every_copy(lesson: Lesson) -> None:
    older, newer, listed = step_to(lesson)
    copies = [name for name in definitions(newer) if name not in listed.adds + listed.changes]
    faults = step_faults(lesson.number, older, drifted(newer, copies), listed)
    assert copies
    for name, fault in zip(copies, faults, strict=True):
        assert fault.startswith(f"lesson {lesson.number}: {name} differs from lesson {lesson.number - 1} ")
        assert f"harness carry {lesson.number - 1}" in fault
        assert "list it under changes in lessons/steps.yaml" in fault


@each_step
def test_a_fix_that_was_not_carried_is_found(lesson: Lesson) -> None:
    older, newer, listed = step_to(lesson)
    copies = [name for name in definitions(older) if name not in listed.removes + listed.changes]
    faults = step_faults(lesson.number, drifted(older, copies), newer, listed)
    assert len(faults) == len(copies) > 0


@each_step
def test_a_row_that_lists_too_little_or_too_much_is_found(lesson: Lesson) -> None:
    older, newer, listed = step_to(lesson)
    faults = step_faults(lesson.number, older, newer, Step())
    names = [(name, kind) for kind in KINDS for name in getattr(listed, kind)]
    for (name, kind), fault in zip(names, faults, strict=True):
        assert fault.startswith(f"lesson {lesson.number}: {name} ")
        assert f"list it under {kind}" in fault
    longer = Step(**{kind: (*getattr(listed, kind), "nobody") for kind in KINDS})
    faults = step_faults(lesson.number, older, newer, longer)
    for kind, fault in zip(KINDS, faults, strict=True):
        assert fault.startswith(f"lesson {lesson.number}: lessons/steps.yaml lists nobody under {kind}, ")


def test_a_method_that_moved_is_found() -> None:
    number, source = LESSONS[-1].number, read_agent(LESSONS[-1])
    agent = next(node for node in ast.parse(source).body if getattr(node, "name", "") == "Agent")
    first, second = [node for node in agent.body if isinstance(node, ast.FunctionDef)][:2]
    lines = source.split("\n")
    swapped = [
        *lines[: first.lineno - 1],
        *lines[second.lineno - 1 : second.end_lineno],
        "",
        *lines[first.lineno - 1 : first.end_lineno],
        *lines[second.end_lineno :],
    ]
    (fault,) = step_faults(number, source, "\n".join(swapped), Step())
    assert "stands in another place" in fault
    assert f"Agent.{first.name} " in fault or f"Agent.{second.name} " in fault


def test_an_import_that_is_not_listed_is_found() -> None:
    number, source = LESSONS[-1].number, read_agent(LESSONS[-1])
    docstring, body = split_docstring(source)
    (fault,) = step_faults(number, source, docstring + "\nimport zlib" + body, Step())
    assert f"lesson {number}: imports differs" in fault


def test_a_lesson_without_a_row_is_shown_the_row_to_add(tmp_path: Path) -> None:
    older, newer = read_agent(LESSONS[0]), read_agent(LESSONS[1])
    (fault,) = step_faults(2, older, newer, None)
    (tmp_path / "steps.yaml").write_text(fault.partition("; add: ")[2])
    assert load_table(tmp_path / "steps.yaml") == {2: differences(older, newer)}


# ---- what a definition is ----

OLDER = '''\
"""Module."""

import os

from pathlib import Path

# how many
LIMIT = 3
TABLE: dict[str, int] = {}


@decorated
def helper(x):
    return x  # as it is


class Agent(Base):
    """An agent."""

    kind = "small"

    def run(self):
        # first of all
        self.go()

    @property
    def name(self):
        return 1

    @name.setter
    def name(self, value):
        pass

    async def go(self):
        pass


if __name__ == "__main__":
    run()
# the end
'''


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("import os\n", "import os\nimport re\n", "imports"),
        ("from pathlib import Path", "from pathlib import PurePath", "imports"),
        ("# how many", "# how often", "LIMIT"),
        ("LIMIT = 3", "LIMIT = 4", "LIMIT"),
        ("LIMIT = 3", "LIMIT =  3", "LIMIT"),
        ("TABLE: dict[str, int]", "TABLE: dict[str, str]", "TABLE"),
        ("@decorated", "@decorated(1)", "helper"),
        ("@decorated\n", "", "helper"),
        ("helper(x)", "helper(x, y)", "helper"),
        ("  # as it is", "", "helper"),
        ("Agent(Base)", "Agent", "Agent"),
        ("class Agent", "@frozen\nclass Agent", "Agent"),
        ("An agent.", "The agent.", "Agent"),
        ('kind = "small"', 'kind = "big"', "Agent"),
        ("# first of all", "# first", "Agent.run"),
        ("        self.go()", "\n        self.go()", "Agent.run"),
        ("    def run(self):", "    # starts\n    def run(self):", "Agent.run"),
        ("    @property\n", "    @cached_property\n", "Agent.name"),
        ("def name(self, value):\n        pass", "def name(self, value):\n        return", "Agent.name"),
        ("async def go", "def go", "Agent.go"),
        ("    run()\n", "    walk()\n", "main"),
        ("# the end", "# end", "main"),
    ],
)
def test_a_change_is_named(old: str, new: str, changed: str) -> None:
    assert OLDER.count(old) == 1
    assert differences(OLDER, OLDER.replace(old, new)) == Step(changes=(changed,))


def test_a_decorator_belongs_to_its_method_even_where_the_class_has_nothing_above_it() -> None:
    older = "class Agent:\n    @tool\n    def run(self):\n        pass\n"
    assert differences(older, older.replace("@tool", "@cache")) == Step(changes=("Agent.run",))
    assert differences(older, older.replace("class Agent", "class Agent(Base)")) == Step(changes=("Agent",))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Module."""', '"""Another\n\nmodule.\n"""'),
        ('"""Module."""\n\n', ""),
        ("\n\n# how many", "\n\n\n\n# how many"),
        ("pass\n\n\nif", "pass\n\nif"),
        ("# the end\n", "# the end"),
    ],
)
def test_a_docstring_and_blank_lines_around_are_free(old: str, new: str) -> None:
    assert OLDER.count(old) == 1
    assert differences(OLDER, OLDER.replace(old, new)) == Step()


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("LIMIT = 3\n", "LIMIT = 3\nMORE = 4\n", Step(adds=("MORE",))),
        ("LIMIT = 3\n", "LIMIT = 3\nLIMIT += 1\n", Step(changes=("LIMIT",))),
        ("LIMIT = 3\n", "LIMIT = 3; MORE = 4\n", Step(adds=("MORE",), changes=("LIMIT",))),
        ("LIMIT = 3\n", "LIMIT = 3\nA, B = 1, 2\n", Step(adds=("(A, B)",))),
        ("LIMIT = 3\n", "LIMIT = 3\ntry:\n    x()\nfinally:\n    pass\n", Step(adds=("try:",))),
        ("# how many\nLIMIT = 3\n", "", Step(removes=("LIMIT",))),
        ("def helper", "def renamed", Step(adds=("renamed",), removes=("helper",))),
        ("class Agent", "class Tiny: pass\n\n\nclass Agent", Step(adds=("Tiny",))),
        (
            "class Agent",
            "class Tool:\n    def run(self):\n        pass\n\n\nclass Agent",
            Step(adds=("Tool", "Tool.run")),
        ),
        ("    kind", "    def more(self):\n        pass\n\n    kind", Step(adds=("Agent.more",))),
        ('    """An agent."""\n\n    kind = "small"\n\n', "", Step(changes=("Agent",))),
    ],
)
def test_added_and_removed_definitions_are_named(old: str, new: str, step: Step) -> None:
    assert OLDER.count(old) == 1
    assert differences(OLDER, OLDER.replace(old, new)) == step


@pytest.mark.parametrize(
    ("order", "moved"),
    [
        ("abcd", ""),
        ("dabc", "d"),
        ("bcda", "a"),
        ("acdb", "b"),
        ("xaybzcd", ""),  # new ones in between move nothing
        ("cd", ""),  # nor do some that are gone
        ("dxab", "d"),
    ],
)
def test_a_definition_out_of_order_is_named(order: str, moved: str) -> None:
    older, newer = ("".join(f"{name} = 1\n" for name in names) for names in ("abcd", order))
    assert differences(older, newer).reordered == tuple(moved)


# ---- the docstring ----

DOCSTRING = (
    '"""Lesson 3: a parser.\n\nAdds: this,\nand that.\nUnlike lesson 2: it works.\nBut: not well.\n"""\n'
)


def test_a_docstring_of_all_parts_is_right() -> None:
    assert docstring_faults(3, DOCSTRING) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("Lesson 3: a parser", "Lesson 2: a parser", '"Lesson 3: "'),
        ("Lesson 3: a parser.", "Lesson 3: a parser", '"Lesson 3: <title>."'),
        ("Lesson 3: a parser.", "Hello.\n\nLesson 3: a parser.", '"Lesson 3: <title>."'),
        ("Adds: ", "Brings: ", '"Adds: "'),
        ("Unlike lesson 2: ", "Unlike lesson 1: ", '"Unlike lesson 2: "'),
        ("But: not well.\n", "", '"But: "'),
        ("But: not well.", "But: ", '"But: "'),
        ("But: not", "All in all. But: not", '"But: "'),
        (
            "Adds: this,\nand that.\nUnlike lesson 2: it works.",
            "Unlike lesson 2: it works.\nAdds: this.",
            "in this order",
        ),
    ],
)
def test_a_part_that_is_missing_is_named(old: str, new: str, told: str) -> None:
    assert old in DOCSTRING
    (fault,) = docstring_faults(3, DOCSTRING.replace(old, new))
    assert fault.startswith("lesson 3: the docstring of agent.py ")
    assert told in fault


def test_without_a_docstring_every_part_is_named() -> None:
    assert len(docstring_faults(3, "import os\n")) == 4


# ---- files that can't be read ----


@pytest.mark.parametrize("data", [None, b"def f(:\n", b"\xff\xfe", b"a = 1\0", b"(" * 5000])
def test_an_agent_that_is_no_python_is_one_fault(tmp_path: Path, data: bytes | None) -> None:
    if data is not None:
        (tmp_path / "agent.py").write_bytes(data)
    (fault,) = check_step(Lesson(2, "broken", tmp_path))
    assert fault.startswith(f"lesson 2: {tmp_path.name}/agent.py ")
    assert "\n" not in fault


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a row for each lesson"),
        ("- 1", "a row for each lesson"),
        ("1: [a", "can't be read"),
        ("two: {adds: [a]}", "'two'"),
        ("2: [a]", "row 2"),
        ("2: {adds: a}", "row 2"),
        ("2: {adds: [no]}", "row 2"),  # YAML reads it as False
        ("2: {adds: [a], alters: [b]}", "row 2"),
        ("2:", "row 2"),
    ],
)
def test_a_table_that_says_something_else_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "steps.yaml").write_text(text)
    with pytest.raises(HarnessError, match=told) as caught:
        load_table(tmp_path / "steps.yaml")
    assert "\n" not in str(caught.value)


def test_a_row_is_rendered_as_it_is_read(tmp_path: Path) -> None:
    step = Step(adds=("no", "Agent.run", "if TYPE_CHECKING:"), removes=("x" * 200,))
    (tmp_path / "steps.yaml").write_text(render_row(9, step) + "\n" + render_row(10, Step()))
    assert load_table(tmp_path / "steps.yaml") == {9: step, 10: Step()}
    assert render_row(9, Step(changes=("a",))) == "9: {changes: [a]}"


def test_the_table_is_found_in_the_course() -> None:
    assert TABLE.is_file()
