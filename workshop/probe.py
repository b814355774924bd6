"""The probe: five short conversations that show whether a model keeps to the protocol, and a score.

Each is one request. The prompt and the reading are those of the last lesson, so what is judged here is what
the lessons will meet. A project of three small files is made up for it, and nothing is run.
"""

import posixpath
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.client import Reply
from harness.lessons import all_lessons, load_agent
from harness.messages import Message, assistant, system, user

README = "# kettle\n\nHeats water to what the sort of tea asks for.\nThe bound is in data/limits.csv.\n"
LIMITS = "name,celsius\nhighest,83\n"
SOURCE = 'LIMIT = 90\n\n\ndef label(celsius):\n    return f"{celsius} degrees"\n'


class Asked(Protocol):
    """What is asked: a ChatClient, or a stand-in."""

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Post the array and return what the model says."""
        ...


@dataclass(frozen=True)
class Prompt:
    """One conversation: what it asks for, and what is wrong with a reply."""

    wants: str
    """What a good reply does, to be read behind "probe:"."""
    messages: tuple[Message, ...]
    """The array, without the system prompt."""
    fault: Callable[[Any], str]
    """From the lesson's ParsedReply to what is wrong with it; empty if nothing is."""
    remedy: str
    """What to do if something is."""


@dataclass(frozen=True)
class Verdict:
    """What became of one prompt."""

    wants: str
    fault: str
    """Empty if the reply was as wanted."""
    remedy: str


def reason(parsed: Any) -> str:
    """What the lesson finds wrong with a reply that looks like a call and is none, without its advice."""
    return str(parsed.fault).removeprefix("No tool was run: ").partition(". The right form is")[0]


def called(name: str, path: str, right: Callable[[dict[str, Any]], bool] = lambda arguments: True) -> Any:
    """A judge of calls: this tool, this path (however it is written), and nothing invented after it."""

    def fault(parsed: Any) -> str:
        call = parsed.call
        if call is None:
            return reason(parsed) or "it answered in prose and made no call"
        if parsed.dropped:
            return f"it went on after its call: {parsed.dropped} more calls or results of its own"
        if call.name != name:
            return f"it called {call.name}, not {name}"
        if posixpath.normpath(str(call.arguments.get("path", "."))) != path:
            return f"it named the path {call.arguments.get('path')!r}, not {path!r}"
        return "" if right(call.arguments) else f"{name} with arguments that can't work: {call.arguments}"

    return fault


def answered(word: str) -> Callable[[Any], str]:
    """A judge of answers: in plain text, with this word, which only the result could tell."""

    def fault(parsed: Any) -> str:
        if parsed.call:
            return f"it called {parsed.call.name} again, and had the result"
        return reason(parsed) or ("" if word in parsed.prose else f"the answer does not say {word}")

    return fault


def lowers_the_limit(arguments: dict[str, Any]) -> bool:
    """Whether an edit of SOURCE makes LIMIT 80 and nothing else."""
    old, new = str(arguments.get("old_text")), str(arguments.get("new_text"))
    wanted = SOURCE.replace("LIMIT = 90", "LIMIT = 80")
    return old != "" and SOURCE.count(old) == 1 and SOURCE.replace(old, new) == wanted


def call_of(name: str, path: str) -> Message:
    """A call, as the model is to have written it before."""
    return assistant(f'TOOL_CALL {{"name":"{name}","arguments":{{"path":"{path}"}}}}')


def prompts(result: Callable[[str, str], str]) -> tuple[Prompt, ...]:
    """The five; ``result`` makes a TOOL_RESULT of a status and a text."""
    return (
        Prompt(
            "reads the file it is asked about",
            (user("What does README.md say this project does?"),),
            called("read_file", "README.md"),
            "see that the server passes the system prompt on; some chat templates drop it",
        ),
        Prompt(
            "lists a folder it does not know",
            (user("Which files are in the folder data?"),),
            called("list_files", "data"),
            "expect it to guess names of files: name them in what you ask",
        ),
        Prompt(
            "answers once it has the result",
            (
                user("What is the highest temperature in data/limits.csv?"),
                call_of("read_file", "data/limits.csv"),
                user(result("SUCCESS", LIMITS)),
            ),
            answered("83"),
            "expect steps that are corrected or repeated; a larger context may help (Ollama: num_ctx)",
        ),
        Prompt(
            "mends its call after an error",
            (
                user("What does the readme say this project does? Look it up."),
                call_of("read_file", "readme.txt"),
                user(result("ERROR", "readme.txt: no such file; there is README.md")),
            ),
            called("read_file", "README.md"),
            "expect turns that end at a bound, and say yourself what it should do instead",
        ),
        Prompt(
            "edits one line with exact text",
            (
                user("Change LIMIT in kettle.py from 90 to 80."),
                call_of("read_file", "kettle.py"),
                user(result("SUCCESS", SOURCE)),
            ),
            called("edit_file", "kettle.py", lowers_the_limit),
            "use it for lessons 1 to 6, which only read; for edits take a model made for code",
        ),
    )


def run_probe(client: Asked) -> Iterator[Verdict]:
    """Ask the five, one after another.

    Raises:
        HarnessError: the endpoint gives no reply.
    """
    lesson = sys.modules[load_agent(all_lessons()[-1].agent_path).__module__]
    standing = system(lesson.system_prompt())
    for prompt in prompts(lambda status, text: f"{lesson.tool_result(status, text)}\n{lesson.NEXT}"):
        reply = client.complete([standing, *prompt.messages])
        fault = prompt.fault(lesson.parse_reply(reply.text))
        if fault and reply.finish_reason == "length":
            fault = "it was cut off at its token limit"
        yield Verdict(prompt.wants, fault, prompt.remedy)
