"""The generated parts of docs/models.md: counted from the stored replies, and read off the stored tapes."""

import io
import re
from collections.abc import Iterator
from functools import cache

from harness.console import Console
from harness.errors import HarnessError, SettingsError
from harness.lessons import COURSE, Lesson, previous_lesson
from harness.runner import play
from harness.scenario import load_scenario
from workshop.real_tapes import RealLesson, real_lesson, real_lessons
from workshop.survey import PROMPTS, Run, read_runs, tasks_of, wording
from workshop.survey_counts import MEASURES
from workshop.survey_tables import models_of, table, table_by_prompt, table_by_task
from workshop.survey_tasks import TASKS

PAGE = COURSE / "docs" / "models.md"
RUNS = COURSE / "tests" / "cases" / "survey_replies.jsonl"
MARKED = re.compile(r"(<!-- surveyed: (\w+) -->\n).*?(<!-- /surveyed -->)", re.DOTALL)


@cache
def stored_runs() -> tuple[Run, ...]:
    """The runs that the page is made of."""
    return tuple(read_runs(RUNS))


def refresh_page(check: bool) -> bool:
    """Write the page's generated parts again; whether they changed, or with ``check`` would.

    Raises:
        SettingsError: the page is not there, as in an installed package.
    """
    if not PAGE.is_file():
        raise SettingsError(f"there is no {PAGE}: it is in a checkout; name --base-url for a model of yours")
    old = PAGE.read_text(encoding="utf-8")
    new = MARKED.sub(lambda mark: f"{mark[1]}{part(mark[2])}\n{mark[3]}", old)
    if new != old and not check:
        PAGE.write_bytes(new.encode())
    return new != old


def part(what: str) -> str:
    """One generated part of the page."""
    makers = {
        "counts": lambda: table(stored_runs()),
        "definitions": definitions,
        "prompts": by_prompt,
        "tasks": lambda: table_by_task(stored_runs()),
        "numbers": numbers,
        "lessons": lessons,
    }
    return "\n".join(makers[what]())


def definitions() -> Iterator[str]:
    """What is counted, as a list."""
    for measure in MEASURES:
        yield f"- **{measure.title.lstrip('… ')}**: {measure.means}."


def by_prompt() -> Iterator[str]:
    """A table a model: what the lessons' prompts do to it."""
    for model in models_of(stored_runs()):
        yield from table_by_prompt(stored_runs(), model)
        yield ""


def numbers() -> Iterator[str]:
    """How much was asked of whom, and whether the wording has changed since."""
    runs = stored_runs()
    replies = sum(len(run.replies) for run in runs)
    yield f"In all {len(runs)} runs and {replies} replies, of {len(TASKS)} tasks:"
    yield ""
    for model in models_of(runs):
        mine = [run for run in runs if run.model == model]
        made = ", ".join(
            f"{sum(run.prompt == number for run in mine)} of {len(tasks_of(number))}" for number in PROMPTS
        )
        yield f"- {model}: {made} runs with the prompts of lessons {', '.join(map(str, PROMPTS))}"
    tasks = {task.name: task for task in TASKS}
    old = sum(run.of != wording(run.prompt, tasks[run.task]) for run in runs)
    yield ""
    yield (
        f"{old} of them were asked with an earlier wording of prompt or task."
        if old
        else "All were asked with the prompts and tasks as they stand now."
    )


def lessons() -> Iterator[str]:
    """The lessons on the real model's tapes: what shows, and how both agents end."""
    yield "| lesson | does its point show? | the lesson before ends | the lesson ends |"
    yield "|---|---|---|---|"
    for lesson in real_lessons():
        link = f"[{lesson.number} {lesson.title}](../lessons/{lesson.folder.name}/README.md)"
        before = previous_lesson(lesson)
        ends = [cell(last_line(one, lesson)) if one else "" for one in (before, lesson)]
        yield f"| {link} | {cell(load_scenario(lesson.scenario_path).shows, 400)} | {ends[0]} | {ends[1]} |"


def real_line(number: int) -> str:
    """What a lesson's own page says of its tape from a real model."""
    shows = load_scenario(real_lesson(number).scenario_path).shows
    return f"`make lesson-{number} TAPE=real` plays it with [a real model](../../docs/models.md). {shows}"


def real_transcript(agent: Lesson, tape: RealLesson) -> str:
    """What one lesson's agent shows on a real model's tape."""
    screen = io.StringIO()
    try:
        play(
            tape,
            lambda scenario: Console(scenario.turns, answers=scenario.answers, out=screen),
            agent=agent.agent_path,
        )
    except HarnessError as error:  # what ended it is a part of what there was to see
        screen.write(f"harness: {error}\n")
    return screen.getvalue()


def last_line(agent: Lesson, tape: RealLesson) -> str:
    """The last thing that a transcript shows, from where it begins."""
    begins = r"You:|Assistant:|tool-\w+:|<Turn|<Step|harness:|stopped|The turn |\S+ now holds"
    return re.split(rf"\n(?={begins})", real_transcript(agent, tape).strip())[-1]


def cell(text: str, most: int = 160) -> str:
    """A text as a cell of a table: one line, cut, with nothing that markdown or HTML would read."""
    line = " ".join(text.split())
    line = line if len(line) <= most else f"{line[:most]}…"
    return re.sub(r"([|<>*_`\[\]\\])", r"\\\1", line)
