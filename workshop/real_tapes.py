"""The second tape of each lesson: the same agents, and a real model in place of the scripted one.

A real model does not do on demand what a lesson is about, so the user's turns are others (``real.yaml``).
Recorded once: what it said is on the tape for good, and nothing is recorded again when pages are made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import SettingsError
from harness.lessons import COURSE, Lesson, all_lessons, find_lesson

MODEL = "qwen2.5-coder-1.5b"
TAPES = COURSE / "cassettes" / MODEL


@dataclass(frozen=True)
class RealLesson(Lesson):
    """A lesson with the turns and the tape of a real model; the agents are the same."""

    @property
    def scenario_path(self) -> Path:
        """The turns for a real model. Without rules: off its tape there is nobody to go on."""
        return self.folder / "real.yaml"

    @property
    def tape_path(self) -> Path:
        """What the real model said to this lesson's agent, and to the one before."""
        return TAPES / f"lesson_{self.number:02}.yaml"


def real_lesson(number: int) -> RealLesson:
    """A lesson as a real model played it.

    Raises:
        SettingsError: there is no such lesson, or no tape of it from a real model.
    """
    lesson = find_lesson(number)
    real = RealLesson(lesson.number, lesson.slug, lesson.folder)
    if not real.scenario_path.is_file():
        raise SettingsError(f"lesson {number} has no turns for a real model; leave TAPE=real out")
    return real


def real_lessons() -> Iterator[RealLesson]:
    """Every lesson whose tape from a real model is there."""
    for lesson in all_lessons():
        real = RealLesson(lesson.number, lesson.slug, lesson.folder)
        if real.tape_path.is_file():
            yield real
