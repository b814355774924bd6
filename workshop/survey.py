"""What real models do: each lesson's prompt, a fixed set of tasks, and every reply kept.

A run is one model, one prompt and one task. The prompt is the lesson's own, and so is what stands behind a
result; reader and tools are those of the last working agent, so that only the model differs, and what it is
told. What the model wrote is stored and nothing else: all that the page says is counted from it again,
without a model.
"""

import io
import json
import os
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.chat import AGENT
from harness.client import Reply
from harness.console import Console
from harness.errors import HarnessError
from harness.lessons import SAMPLE, find_lesson, load_agent
from harness.messages import Message, assistant, system, user
from harness.scenario import Scenario, workspace_copy
from harness.session import Session
from workshop.survey_tasks import TASKS, Task

PROMPTS = (2, 4, 6, 7, 8, 14)
"""The lessons that change what a model is told: one tool; a list of tools; a root; edits; a sentence behind
each result (the prompt itself is that of 7); a user to ask. The others tell what the lesson before told."""
MOST_STEPS = 4  # replies of a run: no task needs more than three calls and an answer

Ask = Callable[[Sequence[Message]], Reply]


@dataclass(frozen=True)
class Run:
    """One model, one prompt, one task: what the model wrote, step by step."""

    model: str
    prompt: int
    task: str
    replies: tuple[str, ...]
    finish: tuple[str | None, ...]
    of: str
    """Names the wording of prompt and task that were asked."""

    @property
    def key(self) -> tuple[str, int, str]:
        """Which run this is."""
        return self.model, self.prompt, self.task


@dataclass
class Seen:
    """What could be seen in one run."""

    run: Run
    task: Task
    results: list[str] = field(default_factory=list)
    """What the model was told after each of its replies but the last."""
    calls: list[Any] = field(default_factory=list)
    """The call of each reply as the last reader reads it; None where there is none."""
    faults: list[str] = field(default_factory=list)
    """For each reply, why it looks like a call and is none; else empty."""
    repeats: bool = False
    done: bool = False
    """For a chore: whether the file holds what it should, and for a question whether the answer is right."""


@cache
def agent_module(number: int) -> ModuleType:
    """The module of a lesson's agent."""
    return sys.modules[load_agent(find_lesson(number).agent_path).__module__]


def prompt_of(number: int) -> str:
    """The system prompt of a lesson's agent."""
    module = agent_module(number)
    return str(module.system_prompt() if hasattr(module, "system_prompt") else module.SYSTEM_PROMPT)


def tools_of(number: int) -> tuple[str, ...]:
    """The tools that a lesson's prompt tells of."""
    return tuple(getattr(agent_module(number), "TOOLS", ("read_file",)))


def tasks_of(number: int) -> list[Task]:
    """The tasks that can be done with a lesson's tools."""
    tools = tools_of(number)
    chores = "edit_file" in tools
    return [task for task in TASKS if set(task.tools) <= set(tools) and (chores or not task.change[0])]


def as_told(number: int, result: str) -> str:
    """A result as a lesson tells the model of it: before lesson 8 the bare text, then with what to do now."""
    if number < 8:
        return re.sub(r"\A(TOOL_RESULT \w+) (?:0 lines\n.*|\d+ lines\n)", r"\1\n", result)
    return f"{result}\n{agent_module(number).NEXT}"


def wording(number: int, task: Task) -> str:
    """A short name for all that a model is told: it changes when the prompt, the question or its files do."""
    empty = agent_module(AGENT).tool_result("SUCCESS", "")
    told = (prompt_of(number), task.asks, task.files, as_told(number, empty))
    return f"{zlib.crc32(repr(told).encode()):08x}"


def all_runs(model: str, prompts: Sequence[int] = PROMPTS) -> Iterator[tuple[int, Task]]:
    """Every run that a model is to make."""
    return ((number, task) for number in prompts for task in tasks_of(number))


@contextmanager
def world(task: Task) -> Iterator[tuple[Path, Any]]:
    """A fresh workspace with the task's files, and an agent that runs tools in it and approves all."""
    scenario = Scenario(Path(), "", (), (), files=task.files)
    with workspace_copy(scenario, SAMPLE) as folder, tempfile.TemporaryDirectory() as beside:
        console = Console((), answers=("yes",) * MOST_STEPS, out=io.StringIO())
        session = Session(Path(beside) / "session.jsonl")
        try:
            yield folder, agent_module(AGENT).Agent(None, console, folder, session)
        finally:
            session.close()


def take_run(model: str, number: int, task: Task, ask: Ask) -> Seen:
    """Let a model do a task under a lesson's prompt, or play what it wrote. Raises what ``ask`` raises."""
    reader, tools = agent_module(AGENT), tools_of(number)
    seen = Seen(Run(model, number, task.name, (), (), wording(number, task)), task)
    messages = [system(prompt_of(number)), user(task.asks)]
    steps: list[tuple[str, str]] = []
    with ExitStack() as stack:
        place: tuple[Path, Any] | None = None  # laid out only for a model that calls something
        while len(steps) < MOST_STEPS:
            reply = ask(messages)
            parsed = reader.parse_reply(reply.text)
            replies, finish = (*seen.run.replies, reply.text), (*seen.run.finish, reply.finish_reason)
            seen.run = replace(seen.run, replies=replies, finish=finish)
            seen.calls.append(parsed.call)
            seen.faults.append(parsed.fault)
            if parsed.call is None and not parsed.fault:
                break
            if parsed.call is None:
                result = reader.tool_result("ERROR", parsed.fault)
            elif parsed.call.name in tools:
                place = place or stack.enter_context(world(task))
                result = place[1].run_tool(parsed.call)
            else:
                unknown = f"unknown tool {parsed.call.name[:60]!r}; the tools are {', '.join(tools)}"
                result = reader.tool_result("ERROR", unknown)
            steps.append((str(parsed.call or reply.text), result))
            seen.repeats = seen.repeats or steps.count(steps[-1]) > 1
            if parsed.dropped:
                result += f"\n({parsed.dropped} more calls or results in the reply were cut off and not run)"
            result = as_told(number, result)
            seen.results.append(result)
            messages += [assistant(parsed.kept), user(result)]
        seen.done = is_done(task, place[0] if place else None, seen)
    return seen


def is_done(task: Task, folder: Path | None, seen: Seen) -> bool:
    """Whether a chore was done, or the last reply is an answer and the right one."""
    path, text = task.change
    if path:
        return folder is not None and (folder / path).is_file() and text in (folder / path).read_text("utf-8")
    if seen.calls[-1] or seen.faults[-1] or not task.answer:
        return False
    looked = task.trap != "absent" or any(re.search(task.bait, result) for result in seen.results)
    return looked and re.search(task.answer, seen.run.replies[-1]) is not None


def play_run(run: Run) -> Seen:
    """What could be seen in a run that is stored; whatever is asked beyond it, there is no reply."""
    task = next(task for task in TASKS if task.name == run.task)
    replies = iter(zip(run.replies, run.finish, strict=True))

    def ask(messages: Sequence[Message]) -> Reply:
        text, finish = next(replies, ("", "stop"))
        return Reply(text, finish)

    return take_run(run.model, run.prompt, task, ask)


def read_runs(path: Path) -> list[Run]:
    """The runs of a file, one a line; none where there is no file.

    Raises:
        HarnessError: a line is no run.
    """
    runs = []
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, 1):
        try:
            data = json.loads(line)
            data["replies"], data["finish"] = tuple(data["replies"]), tuple(data["finish"])
            runs.append(Run(**data))
        except (ValueError, TypeError, KeyError) as error:
            raise HarnessError(f"{path}: line {number} is no run of a survey; move the file away") from error
    return runs


def write_runs(path: Path, runs: Sequence[Run]) -> None:
    """Write all runs, whole or not at all.

    Raises:
        HarnessError: the file can't be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(
                "".join(f"{json.dumps(asdict(run), ensure_ascii=False)}\n" for run in runs).encode()
            )
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise HarnessError(f"{path} can't be written: {error.strerror}") from error


def survey(
    model: str, ask: Ask, path: Path, prompts: Sequence[int] = PROMPTS
) -> Iterator[tuple[int, int, Run]]:
    """Make every run of a model that the file does not hold yet, and store each as it ends.

    Gives for each, also one that was stored before, its number, how many there are, and the run. Raises
    what ``ask`` raises; what was stored by then stays.
    """
    stored = {run.key: run for run in read_runs(path)}
    todo = list(all_runs(model, prompts))
    for number, (prompt, task) in enumerate(todo, 1):
        run = stored.get((model, prompt, task.name))
        if run is None or run.of != wording(prompt, task):
            run = take_run(model, prompt, task, ask).run
            stored[run.key] = run
            write_runs(path, list(stored.values()))
        yield number, len(todo), run
