"""Carrying a fix on: what changed in one lesson's agent is merged into every later lesson's.

A three-way merge from lesson to lesson (``git merge-file``). Between lesson 3 as committed and lesson 3 as it
stands lies the fix; it is laid over lesson 4. Between lesson 4 as committed and lesson 4 with the fix then
lies what lesson 5 is to take, and so on. Where a later lesson has rewritten a line of the fix, only a person
can say what the fix means there.

The module's docstring is each lesson's own: it is neither compared nor carried.
"""

import difflib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from harness.errors import HarnessError
from harness.lessons import Lesson, all_lessons, find_lesson
from workshop.definitions import check_syntax, read_agent, split_docstring

# What git writes where both sides changed the same lines; group 1 is the later lesson's side.
CONFLICT = re.compile(r"^<{7} .*\n((?:.*\n)*?)\|{7} .*\n(?:.*\n)*?={7}\n(?:.*\n)*?>{7} .*\n?", re.MULTILINE)


class ConflictError(HarnessError):
    """A fix can't be laid over a lesson: the text shows where."""


def carry(number: int) -> list[str]:
    """Merge the uncommitted changes of a lesson's agent.py into every later lesson; a line about each.

    Lessons are written up to the first that the fix can't be merged into; that one and all behind it stay
    as they are. Every file is replaced as a whole. Carrying again changes nothing.

    Raises:
        ConflictError: a lesson is in the way. The text says what was done, where it stopped, how to go on.
        HarnessError: git can't tell what the fix is, or there is none; nothing was written. Or a file can't
            be written; then those of earlier lessons are.
    """
    older = find_lesson(number)
    later = [lesson for lesson in all_lessons() if lesson.number > number]
    if not later:
        raise HarnessError(f"lesson {number} is the last: there is no later lesson to carry a fix to")
    _require_checkout(older.folder)
    base, fixed = _committed_body(older), split_docstring(read_agent(older))[1]
    if base is None:
        raise HarnessError(f"lesson {number} was never committed, so git can't tell what the fix in it is")
    if base == fixed:
        raise HarnessError(f"lesson {number} has no uncommitted change to carry (its docstring is its own)")

    merged: list[tuple[Lesson, str, str]] = []  # a lesson's source as it is, and as it is to be
    obstacle = None
    for lesson in later:  # nothing is written before all is merged: an error here leaves every file alone
        source = read_agent(lesson)
        head, body = split_docstring(source)
        committed = _committed_body(lesson)
        try:
            fixed = _merge(lesson, older, base=base, fixed=fixed, source=source)
        except ConflictError as error:
            edited = committed is not None and committed != body
            obstacle = f"{error}\n{_way_on(lesson, later[-1], edited=edited)}"
            break
        merged.append((lesson, source, head + fixed))
        # What was never committed can't be compared with: the fix alone is what the next lesson takes.
        base, older = body if committed is None else committed, lesson

    said = []
    for lesson, source, text in merged:
        if text != source:
            _replace(lesson.agent_path, text)
        said.append(f"lesson {lesson.number}: {'has it already' if text == source else 'carried'}")
    if obstacle:
        raise ConflictError("\n".join([*said, obstacle]))
    return said


def _merge(lesson: Lesson, older: Lesson, *, base: str, fixed: str, source: str) -> str:
    """Lay what changed in ``older`` between ``base`` and ``fixed`` over ``lesson``: its new body.

    Raises:
        ConflictError: the lesson has rewritten a line of it, or would be no Python any more.
    """
    head, body = split_docstring(source)
    sides = {
        f"lesson {lesson.number} as it is": body,
        f"lesson {older.number} before the fix": base,
        f"lesson {older.number} with the fix": fixed,
    }
    with tempfile.TemporaryDirectory(prefix="harness-carry-") as folder:
        command = ["merge-file", "-p", "--diff3"]
        for name, (label, text) in enumerate(sides.items()):
            (Path(folder) / str(name)).write_bytes(text.encode())
            command += ["-L", label]
        done = _git(Path(folder), *command, "0", "1", "2")
    text = done.stdout.decode()
    stopped = f"lesson {lesson.number}: stopped;"
    if done.returncode:
        hunks = [f"lines {first}-{last}:\n{hunk}" for first, last, hunk in _conflicts(text, head, body)]
        if not hunks:
            raise HarnessError(f"git merge-file failed: {_first_line(done.stderr)}")
        told = f"{stopped} it has rewritten lines that the fix changes"
        raise ConflictError("\n".join([told, *hunks]))
    try:
        check_syntax(head + text, f"{stopped} with the fix, its agent.py")
    except HarnessError as error:
        raise ConflictError(str(error)) from error
    return text


def _conflicts(merged: str, head: str, body: str) -> Iterator[tuple[int, int, str]]:
    """Every conflict that git marked: first and last line in the later lesson's file, and the marked text.

    Lines of the merged text aren't those of the file where the fix went in higher up; difflib finds them.
    """
    decided, end, found = "", 0, []
    for match in CONFLICT.finditer(merged):
        decided += merged[end : match.start()]
        found.append((decided.count("\n"), match[1].count("\n"), match[0].rstrip("\n")))
        decided, end = decided + match[1], match.end()
    matcher = difflib.SequenceMatcher(None, decided.split("\n"), body.split("\n"), autojunk=False)
    blocks = matcher.get_matching_blocks()
    for start, length, hunk in found:
        block = next((block for block in reversed(blocks) if block.a <= start), blocks[0])
        first = head.count("\n") + block.b + min(start - block.a, block.size) + 1
        yield first, first + max(length - 1, 0), hunk


def _way_on(lesson: Lesson, last: Lesson, *, edited: bool) -> str:
    """What a person has to do where the fix stopped."""
    if lesson is last:
        untouched, go_on = f"Lesson {lesson.number} is", ""
    else:
        untouched = f"Lessons {lesson.number} to {last.number} are"
        go_on = f", then go on: harness carry {lesson.number}"
    lines = [
        f"{untouched} untouched. Make the fix by hand in {lesson.folder.name}/agent.py{go_on}",
        f"If lesson {lesson.number} has no need of it, nothing more is to be done: later ones build on it.",
    ]
    if edited:
        lines.append(
            f"Lesson {lesson.number} has uncommitted changes. If the fix is among them, just go on; if they "
            "are an older form of the fix, take them back first (git restore) and carry again."
        )
    return "\n".join(lines)


def _committed_body(lesson: Lesson) -> str | None:
    """The agent at HEAD, without its docstring; None if it isn't there."""
    done = _git(lesson.folder, "cat-file", "blob", "HEAD:./agent.py")
    if done.returncode:
        return None
    source = done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")
    check_syntax(source, f"lesson {lesson.number} as committed: agent.py")
    return split_docstring(source)[1]


def _require_checkout(folder: Path) -> None:
    done = _git(folder, "rev-parse", "--is-inside-work-tree")
    if done.returncode:
        raise HarnessError(f"carry needs a git checkout, to see what changed: {_first_line(done.stderr)}")


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which("git")
    if program is None:
        raise HarnessError("carry needs git, to see what changed and to merge it; install git")
    return subprocess.run([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True)


def _first_line(output: bytes) -> str:
    return output.decode("utf-8", "replace").strip().partition("\n")[0]


def _replace(path: Path, text: str) -> None:
    """Put a whole new file in the place of ``path``, with its mode."""
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(text, encoding="utf-8", newline="\n")
        shutil.copymode(path, new)
        os.replace(new, path)
    except OSError as error:
        raise HarnessError(f"{path} can't be written: {error.strerror}; carry again") from error
    finally:
        with suppress(OSError):  # after the rename it is gone
            new.unlink()
