import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import lessons as table
from harness.errors import HarnessError
from harness.lessons import all_lessons, previous_lesson
from workshop.carry import ConflictError, carry
from workshop.definitions import definitions, read_agent
from workshop.steps import differences

AGENT = '''\
"""Lesson {number}: a thing.

But: more.
"""

import os

LIMIT = 3


def greet(name: str) -> str:
    text = "Hello, " + name
    return text


def leave() -> str:
    return "Bye"


{own}
if __name__ == "__main__":
    print(greet("Ada"))
'''

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="carry merges with git")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def commit(course: Path) -> None:
    git(course, "add", "-A")
    git(course, "commit", "-q", "-m", "all")


def start_git(folder: Path) -> None:
    git(folder, "init", "-q", "--template=")
    with (folder / ".git" / "config").open("a") as config:
        config.write("[user]\n\tname = A\n\temail = a@example.org\n[commit]\n\tgpgsign = false\n")


@pytest.fixture(autouse=True, scope="module")
def nothing_but_our_own_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_")]:
            patch.delenv(name)
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path_factory.getbasetemp().resolve()))
        yield


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four small lessons, committed. Each has constants of its own; lesson 3 rewrites the greeting."""
    course = tmp_path_factory.mktemp("committed")
    for number in range(1, 5):
        text = AGENT.format(number=number, own="".join(f"OWN_{n} = {n}\n" for n in range(1, number + 1)))
        if number >= 3:
            text = text.replace('"Hello, " + name', 'f"Hello, {name}"')
        agent(course, number).parent.mkdir(parents=True)
        agent(course, number).write_text(text)
    start_git(course)
    commit(course)
    return course


@pytest.fixture
def empty_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in the place of the real course."""
    monkeypatch.setattr(table, "COURSE", tmp_path)
    all_lessons.cache_clear()
    yield tmp_path
    all_lessons.cache_clear()


@pytest.fixture
def course(committed: Path, empty_course: Path) -> Path:
    """A copy of the four lessons, to be spoilt."""
    shutil.copytree(committed, empty_course, dirs_exist_ok=True)
    return empty_course


def agent(course: Path, number: int) -> Path:
    return course / "lessons" / f"lesson_0{number}_thing" / "agent.py"


def edit(course: Path, number: int, old: str, new: str) -> None:
    text = agent(course, number).read_text()
    assert text.count(old) == 1
    agent(course, number).write_text(text.replace(old, new))


def texts(course: Path) -> list[str]:
    return [agent(course, number).read_text() for number in range(1, 5)]


def test_a_fix_reaches_every_later_lesson_and_nothing_else_changes(course: Path) -> None:
    before = texts(course)
    edit(course, 2, '"Bye"', '"Goodbye"')
    assert carry(2) == ["lesson 3: carried", "lesson 4: carried"]
    assert texts(course) == [before[0], *(text.replace('"Bye"', '"Goodbye"') for text in before[1:])]
    assert sorted(path.name for path in course.rglob("*.py*")) == ["agent.py"] * 4


def test_carrying_again_changes_nothing(course: Path) -> None:
    edit(course, 1, '"Bye"', '"Goodbye"')
    carry(1)
    once, times = texts(course), [agent(course, n).stat().st_mtime_ns for n in range(1, 5)]
    assert carry(1) == [f"lesson {number}: has it already" for number in (2, 3, 4)]
    assert texts(course) == once
    assert [agent(course, n).stat().st_mtime_ns for n in range(1, 5)] == times


def test_a_fix_that_is_staged_or_adds_and_removes_lines_is_carried(course: Path) -> None:
    edit(course, 1, "import os\n", "import os\nimport re\n")
    edit(course, 1, "LIMIT = 3\n", "")
    edit(course, 1, "def leave", "def stay() -> None:\n    pass\n\n\ndef leave")
    git(course, "add", "-A")
    carry(1)
    for number in range(2, 5):
        assert differences(agent(course, number).read_text(), agent(course, 1).read_text()).adds == ()
        assert "import re" in agent(course, number).read_text()
        assert "LIMIT" not in agent(course, number).read_text()


def test_it_stops_where_a_later_lesson_has_rewritten_the_line(course: Path) -> None:
    before = texts(course)
    edit(course, 1, '"Hello, " + name', '"Hi, " + name')
    edit(course, 1, '"Bye"', '"Goodbye"')
    with pytest.raises(ConflictError) as caught:
        carry(1)
    after = texts(course)
    assert after[1] == before[1].replace('"Hello, "', '"Hi, "').replace('"Bye"', '"Goodbye"')
    assert after[2:] == before[2:]
    told = str(caught.value).splitlines()
    assert told[0] == "lesson 2: carried"
    assert told[1].startswith("lesson 3: stopped")
    place = before[2].splitlines().index('    text = f"Hello, {name}"') + 1
    assert f"lines {place}-{place}:" in told
    for line in (
        "<<<<<<< lesson 3 as it is",
        '    text = f"Hello, {name}"',
        "||||||| lesson 2 before the fix",
        '    text = "Hello, " + name',
        ">>>>>>> lesson 2 with the fix",
        '    text = "Hi, " + name',
    ):
        assert line in told
    assert "Lessons 3 to 4 are untouched" in told[-2]
    assert "lesson_03_thing/agent.py" in told[-2]
    assert "harness carry 3" in told[-2]


def test_going_on_after_the_fix_was_made_by_hand(course: Path) -> None:
    edit(course, 1, '"Hello, " + name', '"Hi, " + name')
    with pytest.raises(ConflictError):
        carry(1)
    edit(course, 3, 'f"Hello, {name}"', 'f"Hi, {name}"')
    # Carrying the first one again must not undo what was done by hand, and says how to go on.
    by_hand = texts(course)
    with pytest.raises(ConflictError, match="Lesson 3 has uncommitted changes") as caught:
        carry(1)
    assert str(caught.value).startswith("lesson 2: has it already\nlesson 3: stopped")
    assert texts(course) == by_hand
    assert carry(3) == ["lesson 4: carried"]
    assert 'f"Hi, {name}"' in agent(course, 4).read_text()


def test_a_conflict_in_the_last_lesson_leaves_nothing_to_go_on_with(course: Path) -> None:
    edit(course, 3, '"Bye"', '"Goodbye"')
    edit(course, 4, '"Bye"', '"See you"')
    with pytest.raises(ConflictError) as caught:
        carry(3)
    assert "Lesson 4 is untouched" in str(caught.value)
    assert "harness carry" not in str(caught.value)


def test_the_lines_are_those_of_the_later_file_although_the_fix_grows_it_higher_up(course: Path) -> None:
    edit(course, 2, "LIMIT = 3\n", "LIMIT = 3\n" + "# why\n" * 7)
    edit(course, 2, '"Hello, " + name', '"Hi, " + name')
    before = texts(course)
    with pytest.raises(ConflictError) as caught:
        carry(2)
    place = before[2].splitlines().index('    text = f"Hello, {name}"') + 1
    assert f"lines {place}-{place}:" in str(caught.value)
    assert texts(course) == before


def test_several_conflicts_are_all_shown(course: Path) -> None:
    edit(course, 3, '"Bye"', '"See you"')
    edit(course, 2, '"Bye"', '"Goodbye"')
    edit(course, 2, '"Hello, " + name', '"Hi, " + name')
    with pytest.raises(ConflictError) as caught:
        carry(2)
    assert str(caught.value).count("<<<<<<<") == 2


def test_lines_that_a_later_lesson_has_removed_stop_it(course: Path) -> None:
    edit(course, 3, "def leave", "def go")
    commit(course)
    edit(course, 2, "def leave() -> str:", "def leave() -> str | None:")
    with pytest.raises(ConflictError, match="def go"):
        carry(2)


def test_a_lesson_edited_by_hand_keeps_its_edit_and_hands_it_on(course: Path) -> None:
    edit(course, 2, '"Bye"', '"Goodbye"')
    edit(course, 3, "LIMIT = 3", "LIMIT = 4")
    carry(2)
    for number in (3, 4):
        assert '"Goodbye"' in agent(course, number).read_text()
        assert "LIMIT = 4" in agent(course, number).read_text()
    assert "LIMIT = 3" in agent(course, 2).read_text()


def test_a_later_lesson_that_was_never_committed_takes_part(course: Path) -> None:
    for number in (3, 4):
        git(course, "rm", "-q", "--cached", str(agent(course, number)))
    git(course, "commit", "-q", "-m", "without")
    before = texts(course)
    edit(course, 2, '"Bye"', '"Goodbye"')
    assert carry(2) == ["lesson 3: carried", "lesson 4: carried"]
    assert texts(course)[2:] == [text.replace('"Bye"', '"Goodbye"') for text in before[2:]]


def test_a_merge_that_is_no_python_any_more_stops_it(course: Path) -> None:
    # Lesson 4 keeps a function in a string only: its lines can be merged, but not what they mean.
    edit(course, 4, "def leave", 'OLD = """\ndef leave')
    edit(course, 4, 'return "Bye"\n', 'return "Bye"\n"""\n')
    commit(course)
    edit(course, 2, "leave() -> str:\n", 'leave() -> str:\n    """Say it."""\n')
    before = texts(course)
    with pytest.raises(ConflictError) as caught:
        carry(2)
    assert str(caught.value).startswith(
        "lesson 3: carried\nlesson 4: stopped; with the fix, its agent.py line "
    )
    assert "is not Python" in str(caught.value)
    assert texts(course)[3] == before[3]


@pytest.mark.parametrize("only", ["nothing", "docstring"])
def test_without_an_uncommitted_change_it_refuses(course: Path, only: str) -> None:
    if only == "docstring":
        edit(course, 2, "But: more.", "But: something else.\nAnd more.")
    before = texts(course)
    with pytest.raises(HarnessError, match="lesson 2 has no uncommitted change to carry") as caught:
        carry(2)
    assert "\n" not in str(caught.value)
    assert texts(course) == before


def test_a_docstring_stays_where_it_is(course: Path) -> None:
    edit(course, 2, "But: more.", "But: something else.\nAnd more.")
    edit(course, 2, '"Bye"', '"Goodbye"')
    carry(2)
    assert agent(course, 4).read_text().startswith('"""Lesson 4: a thing.\n\nBut: more.\n"""\n\nimport os')


def fix_nothing(course: Path) -> None:
    pass


def forget_lesson_2(course: Path) -> None:
    git(course, "rm", "-q", "-r", "--cached", "lessons/lesson_02_thing")
    git(course, "commit", "-q", "-m", "without")


def break_lesson_4(course: Path) -> None:
    agent(course, 4).write_text("def f(:\n")


def break_lesson_3_at_head(course: Path) -> None:
    text = agent(course, 3).read_text()
    agent(course, 3).write_text("def f(:\n")
    commit(course)
    agent(course, 3).write_text(text)


def remove_lesson_4(course: Path) -> None:
    agent(course, 4).unlink()


def remove_git(course: Path) -> None:
    shutil.rmtree(course / ".git")


def empty_git(course: Path) -> None:
    remove_git(course)
    start_git(course)


@pytest.mark.parametrize(
    ("number", "spoil", "told"),
    [
        (4, fix_nothing, "lesson 4 is the last"),
        (9, fix_nothing, "there is no lesson 9"),
        (2, forget_lesson_2, "lesson 2 was never committed"),
        (2, empty_git, "lesson 2 was never committed"),
        (2, remove_git, "carry needs a git checkout.*not a git repository"),
        (2, break_lesson_4, "lesson 4: .*line 1 is not Python"),
        (2, break_lesson_3_at_head, "lesson 3 as committed: .*line 1 is not Python"),
        (2, remove_lesson_4, "lesson 4: .*can't be read: No such file"),
    ],
)
def test_what_stands_in_the_way_is_said_in_a_line_and_nothing_is_written(
    course: Path, number: int, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(course)
    edit(course, 2, '"Bye"', '"Goodbye"')
    before = {path: path.read_bytes() for path in course.rglob("agent.py")}
    with pytest.raises(HarnessError, match=told) as caught:
        carry(number)
    assert "\n" not in str(caught.value)
    assert {path: path.read_bytes() for path in course.rglob("agent.py")} == before


def test_without_git_it_says_so(course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(course, 2, '"Bye"', '"Goodbye"')
    monkeypatch.setenv("PATH", str(tmp_path / "lessons"))
    with pytest.raises(HarnessError, match="install git"):
        carry(2)


def test_a_write_that_fails_loses_nothing(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(course, 2, '"Bye"', '"Goodbye"')
    before, replace = texts(course), os.replace

    def full_disk(source: Path, target: Path) -> None:
        if "lesson_04" in str(target):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(
        HarnessError, match=r"lesson_04_thing/agent\.py can't be written: No space left.*again"
    ):
        carry(2)
    assert agent(course, 4).read_text() == before[3]
    assert sorted(path.name for path in course.rglob("*.py*")) == ["agent.py"] * 4
    monkeypatch.undo()
    monkeypatch.setattr(table, "COURSE", course)
    assert carry(2) == ["lesson 3: has it already", "lesson 4: carried"]


@pytest.mark.skipif(os.name != "posix", reason="mode bits")
def test_mode_bits_stay(course: Path) -> None:
    agent(course, 3).chmod(0o640)
    edit(course, 2, '"Bye"', '"Goodbye"')
    carry(2)
    assert stat.S_IMODE(agent(course, 3).stat().st_mode) == 0o640


def test_line_endings_of_an_editor_are_no_change(course: Path) -> None:
    agent(course, 2).write_bytes(agent(course, 2).read_bytes().replace(b"\n", b"\r\n"))
    with pytest.raises(HarnessError, match="no uncommitted change"):
        carry(2)


def test_text_beyond_ascii_and_a_missing_final_newline_are_carried(course: Path) -> None:
    edit(course, 2, '"Bye"', '"Auf Wiedersehen, Bär 🐻"')
    edit(course, 2, '    print(greet("Ada"))\n', '    print(greet("Zoë"))')
    carry(2)
    text = agent(course, 4).read_text(encoding="utf-8")
    assert "Bär 🐻" in text
    assert text.endswith('print(greet("Zoë"))')


def test_settings_of_a_users_git_change_nothing(course: Path) -> None:
    for setting in (
        "merge.conflictStyle=merge",
        "core.autocrlf=true",
        "color.ui=always",
        "diff.external=false",
    ):
        git(course, "config", "--local", *setting.split("="))
    edit(course, 1, '"Hello, " + name', '"Hi, " + name')
    with pytest.raises(ConflictError, match=r"\|\|\|\|\|\|\| lesson 2 before the fix"):
        carry(1)
    assert b"\r" not in agent(course, 2).read_bytes()


def test_the_real_lessons(empty_course: Path) -> None:
    """A comment added to the block that every lesson has reaches all of them, and no step changes."""
    shutil.copytree(table.PACKAGE.parent / "lessons", empty_course / "lessons", dirs_exist_ok=True)
    all_lessons.cache_clear()
    start_git(empty_course)
    commit(empty_course)
    first, *later = all_lessons()
    steps = [differences(read_agent(previous_lesson(lesson)), read_agent(lesson)) for lesson in later]
    assert "main" in definitions(read_agent(first))
    first.agent_path.write_text(read_agent(first) + "# the end\n")
    assert carry(first.number) == [f"lesson {lesson.number}: carried" for lesson in later]
    assert all(read_agent(lesson).endswith("# the end\n") for lesson in later)
    assert steps == [differences(read_agent(previous_lesson(lesson)), read_agent(lesson)) for lesson in later]
