"""The table of lessons, read from the folders, and how a lesson's agent is made.

A folder ``lessons/lesson_03_tolerant_parser`` is lesson 3; nothing else lists the lessons.
"""

import inspect
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import SettingsError

PACKAGE = Path(__file__).resolve().parent
# A checkout keeps the lessons beside the package, where people read them; a wheel carries them inside.
COURSE = PACKAGE.parent if (PACKAGE.parent / "lessons").is_dir() else PACKAGE / "course"
SAMPLE = COURSE / "lessons" / "workspace"


@dataclass(frozen=True)
class Lesson:
    """One lesson: its number, its slug and its folder."""

    number: int
    slug: str
    folder: Path

    @property
    def title(self) -> str:
        """The slug as words: ``tolerant parser``."""
        return self.slug.replace("_", " ")

    @property
    def adds(self) -> str:
        """What the lesson adds: the first sentence of that part of the agent's docstring."""
        return re.split(r"(?<=[.:]) ", self._part("Adds:"), maxsplit=1)[0].rstrip(".:")

    @property
    def fixes(self) -> str:
        """What is better than in the lesson before: that part of the agent's docstring."""
        return self._part(f"Unlike lesson {self.number - 1}:").rstrip(".")

    def _part(self, name: str) -> str:
        text = self.agent_path.read_text(encoding="utf-8").split('"""')[1]
        found = re.search(rf"^{re.escape(name)}(.*?)(?=^Unlike |^But:|\Z)", text, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].split()) if found else ""

    @property
    def agent_path(self) -> Path:
        """The whole agent after this lesson, one file."""
        return self.folder / "agent.py"

    @property
    def scenario_path(self) -> Path:
        """What the demonstration plays."""
        return self.folder / "scenario.yaml"

    @property
    def tape_path(self) -> Path:
        """The recorded conversation of this lesson and the one before."""
        return COURSE / "cassettes" / f"lesson_{self.number:02}.yaml"


@cache
def all_lessons() -> tuple[Lesson, ...]:
    """Every lesson, in order."""
    folders = (COURSE / "lessons").glob("lesson_[0-9][0-9]_*")
    found = (re.fullmatch(r"lesson_(\d\d)_(\w+)", folder.name) for folder in folders)
    lessons = [Lesson(int(m[1]), m[2], COURSE / "lessons" / m[0]) for m in found if m]
    return tuple(sorted(lessons, key=lambda lesson: lesson.number))


def find_lesson(number: int) -> Lesson:
    """The lesson with this number.

    Raises:
        SettingsError: there is none; the text says which there are.
    """
    lessons = all_lessons()
    for lesson in lessons:
        if lesson.number == number:
            return lesson
    raise SettingsError(f"there is no lesson {number}; lessons are 1..{lessons[-1].number} (harness list)")


def previous_lesson(lesson: Lesson) -> Lesson | None:
    """The lesson this one builds on; None for the first."""
    earlier = [other for other in all_lessons() if other.number < lesson.number]
    return earlier[-1] if earlier else None


def load_agent(path: Path) -> type[Any]:
    """Import an agent file, wherever it is, and give its ``Agent`` class.

    Raises:
        SettingsError: the file is missing or defines no Agent.
    """
    import importlib.util  # imported here: 3 ms that `harness --help` does not need

    name = f"agent_of_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SettingsError(f"{path} is not a Python file that can be read")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while the class is being made
    spec.loader.exec_module(module)
    if not isinstance(agent := getattr(module, "Agent", None), type):
        raise SettingsError(f"{path} defines no class Agent")
    return agent


def make_agent(agent_class: type[Any], **surroundings: Any) -> Any:
    """Make an agent, handing it those of the surroundings that its ``__init__`` asks for by name.

    Lesson 1 asks for a client and a console, lesson 2 for a workspace too: so one caller runs every lesson.
    """
    wanted = inspect.signature(agent_class).parameters
    return agent_class(**{name: thing for name, thing in surroundings.items() if name in wanted})
