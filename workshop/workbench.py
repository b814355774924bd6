"""The workbench: the folder in which a learner writes the lessons, one file each.

``workbench/lesson_03.py`` is the learner's own, and git does not see it. Nothing here overwrites such a file:
starting refuses where one is, and starting again keeps the old one beside it.
"""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from harness.errors import HarnessError, SettingsError
from harness.lessons import COURSE, Lesson, all_lessons, previous_lesson
from workshop.definitions import check_syntax, read_text, split_docstring
from workshop.diff import unified
from workshop.progress import Progress, free_name, now, patiently
from workshop.tasks import CHECKOUT, command, hints, starting_text


def workbench_folder() -> Path:
    """Beside the lessons in a checkout, wherever one stands; of an installed copy, in the current folder."""
    return (COURSE if CHECKOUT else Path.cwd()) / "workbench"


@dataclass(frozen=True)
class Row:
    """A lesson in the table of progress."""

    lesson: Lesson
    state: str
    hints: int
    checked: str


class Workbench:
    """A learner's files and progress, in one folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = workbench_folder() if folder is None else folder

    def path(self, lesson: Lesson) -> Path:
        """The learner's file for a lesson, whether it is there or not."""
        return self.folder / f"lesson_{lesson.number:02}.py"

    def existing(self, lesson: Lesson) -> Path:
        """The learner's file for a lesson.

        Raises:
            SettingsError: it is not there; the text says how to begin.
        """
        path = self.path(lesson)
        if not path.is_file():
            raise SettingsError(
                f"there is no {shown(path)} yet; begin with: {command('start', lesson.number)}"
            )
        return path

    def start(self, lesson: Lesson, *, from_mine: bool = False) -> Path:
        """Put the exercise into the workbench: the task, on top of the agent of the lesson before.

        Args:
            lesson: which exercise.
            from_mine: build on the learner's own file of the lesson before, not on ours.

        Raises:
            SettingsError: the learner's file is there already, or the one to build on is missing.
            HarnessError: the file to build on is no Python, or the workbench can't be written.
        """
        path = self.path(lesson)
        text = starting_text(lesson, self._own_source(lesson) if from_mine else None)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            if not path.is_file():
                raise HarnessError(f"{path} can't be written: {error.strerror}") from error
            again = command("reset", lesson.number)
            raise SettingsError(
                f"{shown(path)} is there already: go on with it, or start again and keep a backup: {again}"
            ) from None
        Progress(self.folder).change(lesson.number, started=now(), held=0, total=0)
        return path

    def reset(self, lesson: Lesson, *, from_mine: bool = False) -> Path:
        """Start a lesson again; the old file's new name is given.

        Raises:
            SettingsError, HarnessError: as ``start``; then the old file is where it was.
        """
        path = self.existing(lesson)
        starting_text(lesson, self._own_source(lesson) if from_mine else None)  # fails before anything moves
        backup = free_name(path.with_stem(f"{path.stem}.backup-{datetime.now():%Y%m%d-%H%M%S}"))
        try:
            patiently(lambda: os.replace(path, backup))
        except OSError as error:
            raise HarnessError(f"{path} can't be moved to {backup.name}: {error.strerror}") from error
        try:
            self.start(lesson, from_mine=from_mine)
        except HarnessError:
            if not path.exists():
                os.replace(backup, path)
            raise
        return backup

    def hint(self, lesson: Lesson) -> tuple[int, str] | None:
        """The next hint with its number, which is remembered; None after the last."""
        progress = Progress(self.folder)
        given = progress[lesson.number].hints
        if given >= len(all_hints := hints(lesson)):
            return None
        progress.change(lesson.number, hints=given + 1)
        return given + 1, all_hints[given]

    def solution(self, lesson: Lesson, *, color: bool) -> list[str]:
        """The lines by which our agent differs from the learner's, each below the learner's own docstring.

        Raises:
            SettingsError: there is no file of the learner's.
            HarnessError: a file can't be read.
        """
        path = self.existing(lesson)
        mine, ours = read_source(path), read_text(lesson)
        try:
            top = split_docstring(mine)[0]
            ours = top + split_docstring(ours)[1]  # so that line numbers are those of the learner's file
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # not finished: it is compared as it stands
        return unified(mine, ours, f"yours: {shown(path)}", f"ours: lesson {lesson.number}", color=color)

    def rows(self, progress: Progress) -> list[Row]:
        """The table of progress: what was kept, and the files that are there."""
        rows = []
        for lesson in all_lessons():
            entry = progress[lesson.number]
            if not self.path(lesson).is_file():
                state = "solved, the file is gone" if entry.solved else "-"
            elif entry.total and entry.held == entry.total:
                state = "solved"
            else:
                state = f"{entry.held} of {entry.total} behaviours" if entry.total else "started"
                state += " (was solved)" if entry.solved else ""
            rows.append(Row(lesson, state, entry.hints, entry.checked))
        return rows

    def _own_source(self, lesson: Lesson) -> str:
        before = previous_lesson(lesson)
        if before is None:
            raise SettingsError("--from-mine: there is no lesson before the first")
        path = self.existing(before)
        source = read_source(path)
        check_syntax(source, shown(path))
        return source


def read_source(path: Path) -> str:
    """The text of a learner's file.

    Raises:
        HarnessError: it can't be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"{shown(path)} can't be read: {reason}") from error


def shown(path: Path) -> str:
    """A learner's file as it is called in every message: ``workbench/lesson_03.py``."""
    return f"{path.parent.name}/{path.name}"
