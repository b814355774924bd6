"""The exercises: what a learner is told about a lesson before it is written, and while.

A task says what breaks and what must work, never how. It stands on top of the file that the learner changes,
which holds the agent of the lesson before: so each exercise can be begun without having solved the last one.
"""

import re
import shutil

from harness.errors import HarnessError
from harness.lessons import COURSE, PACKAGE, Lesson, previous_lesson
from workshop.behaviours import Behaviour, all_behaviours
from workshop.definitions import read_agent, split_docstring

CHECKOUT = PACKAGE.parent == COURSE
"""Whether the course lies in a checkout, with its Makefile, or inside an installed package."""
SKELETON = '''

from harness.client import ChatClient
from harness.console import Console
from harness.messages import Message, assistant, system, user

SYSTEM_PROMPT = "You are a coding assistant. Answer in plain text."


class Agent:
    """A normal program that owns a list of messages."""

    def __init__(self, client: ChatClient, console: Console) -> None:
        self.client = client
        self.console = console

    def run(self) -> None:
        """Take turns until the user leaves."""


if __name__ == "__main__":
    from harness.cli import run_script

    run_script(__file__)
'''
"""What lesson 1 begins with: there is no lesson 0."""


def command(verb: str, number: int, option: str = "") -> str:
    """How a command is typed here: with make where it is there, else without."""
    if CHECKOUT and shutil.which("make"):
        return f"make {verb}-{number}" + (f" ARGS={option}" if option else "")
    return " ".join(filter(None, ("python -m harness", verb, str(number), option)))


def behaviours_of(lesson: Lesson) -> list[Behaviour]:
    """What an agent of this lesson must do: what is new first, then what earlier lessons had."""
    rows = [row for row in all_behaviours() if row.first <= lesson.number]
    return sorted(rows, key=lambda row: row.first != lesson.number)


def starting_text(lesson: Lesson, source: str | None = None) -> str:
    """The file that a learner begins with: the task on top of ``source``, the whole of an agent's file.

    Without ``source`` it is our agent of the lesson before. The docstring of either gives way to the task.

    Raises:
        HarnessError: the task or the agent can't be read.
    """
    before = previous_lesson(lesson)
    if source is not None:
        body = split_docstring(source)[1]
    else:
        body = split_docstring(read_agent(before))[1] if before else SKELETON
    return docstring(lesson) + body


def docstring(lesson: Lesson) -> str:
    """The task as the docstring of the learner's file."""
    before = previous_lesson(lesson)
    below = f"what lesson {before.number} leaves you with" if before else "an empty agent"
    titles = "\n".join(f"- {row.title}" for row in behaviours_of(lesson) if row.first == lesson.number)
    text = f"""\
Lesson {lesson.number}: {lesson.title}. This one is yours to write.

Below this text stands {below}. Change it until the check is content:
    {command("check", lesson.number):24} tells what works and what does not
    {command("hint", lesson.number):24} the next of three hints

{task_text(lesson)}

New in this lesson, and checked (so is everything that earlier lessons had):
{titles}
"""
    prefix = "r" if "\\" in text else ""
    return f'{prefix}"""{text}"""'


def task_text(lesson: Lesson) -> str:
    """What breaks and what must work, from the lesson's task.md, without the marks of Markdown.

    Raises:
        HarnessError: it can't be read.
    """
    text = _read(lesson, "task.md")
    text = re.sub(r"^```\w*\n(.*?)^```\n", _indented, text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^## ", "", text, flags=re.MULTILINE).strip()


def hints(lesson: Lesson) -> list[str]:
    """The hints of a lesson, from vague to plain, each in one line.

    Raises:
        HarnessError: the lesson's page can't be read.
    """
    section = _read(lesson, "README.md").partition("\n## Hints\n")[2]
    return [" ".join(hint.split()) for hint in re.split(r"^\d+\. ", section, flags=re.MULTILINE)[1:]]


def _indented(block: re.Match[str]) -> str:
    return re.sub(r"^(?=.)", "    ", block[1], flags=re.MULTILINE)


def _read(lesson: Lesson, name: str) -> str:
    try:
        return (lesson.folder / name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HarnessError(f"lesson {lesson.number}: {lesson.folder.name}/{name}: {reason}") from error
