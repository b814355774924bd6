"""Lesson 8: invented results.

Adds: a cut, after the first call of a reply. What follows was written without knowing the result, so it is
neither run nor believed nor kept in the array, and the model is told so. And behind each result a sentence
that says what to do now: a bare result is a text to go on with.
Unlike lesson 7: a result that the model invented can't lead to an edit that it invented too.
But: a call in bold, in a fence or over several lines is silently taken for an answer.
"""

import inspect
import itertools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.arguments import checked_call
from harness.client import ChatClient
from harness.console import Console
from harness.errors import ToolError
from harness.messages import Message, assistant, count_lines, system, user

SYSTEM_PROMPT = """\
You are a coding assistant. You can't see the project's files, but a harness can.
To use a tool, reply with exactly one line and nothing else:
TOOL_CALL {"name":"tool_name","arguments":{"argument":"value"}}
The harness runs it and answers with TOOL_RESULT SUCCESS or TOOL_RESULT ERROR.
When you know enough, answer the user in plain text.
Paths are relative to the workspace root, and nothing outside it can be reached.

Tools:"""
NEXT = "Now answer the user in your own words. Use another tool only if something is still missing."

TOOLS: dict[str, Callable[..., str]] = {}


def tool(method: Callable[..., str]) -> Callable[..., str]:
    """Register a method of the agent as a tool."""
    TOOLS[method.__name__] = method
    return method


def system_prompt() -> str:
    """The standing orders, with every registered tool told of: its docstring, and a call to copy."""
    prompt = SYSTEM_PROMPT
    for name, method in TOOLS.items():
        parameters = list(inspect.signature(method).parameters.values())[1:]  # all but self
        arguments = {parameter.name: f"<{parameter.name}>" for parameter in parameters}
        example = {"name": name, "arguments": arguments}
        prompt += f"\n{name}: {inspect.getdoc(method)}"
        prompt += f"\nTOOL_CALL {json.dumps(example, separators=(',', ':'))}"
    return prompt


@dataclass
class ToolCall:
    """What the model asks for: ``TOOL_CALL {"name":"read_file","arguments":{"path":"README.md"}}``."""

    name: str
    arguments: dict[str, Any]


def parse_call(line: str) -> ToolCall | None:
    """Read one line of the protocol; None if it is anything else."""
    if not line.startswith("TOOL_CALL "):
        return None
    try:
        call = json.loads(line.removeprefix("TOOL_CALL "))
        return ToolCall(str(call["name"]), dict(call["arguments"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


@dataclass
class ParsedReply:
    """A reply, taken apart."""

    prose: str
    """For the user."""
    call: ToolCall | None
    """For the harness: the first call, and the only one that is run."""
    kept: str
    """What the array will say that the model wrote."""
    fault: str
    """Why there is no call to run although the reply looks like one; else empty."""
    dropped: int
    """How many calls and invented results came after what was kept."""


def parse_reply(reply: str) -> ParsedReply:
    """Take a reply apart at its first line of protocol."""
    lines = reply.split("\n")
    protocol = [n for n, line in enumerate(lines) if line.startswith("TOOL_RESULT") or parse_call(line)]
    if not protocol:
        return ParsedReply(reply.strip(), None, reply, "", 0)
    first, end = protocol[0], (*protocol, len(lines))[1]
    call = parse_call(lines[first])
    fault = "" if call else "No tool was run: only the harness writes TOOL_RESULT."
    prose = lines[:first] + (lines[first + 1 : end] if call else [])  # what follows a result is invented too
    kept = lines[: first + 1]
    return ParsedReply("\n".join(prose).strip(), call, "\n".join(kept), fault, len(protocol) - 1)


def tool_result(status: str, text: str) -> str:
    """A TOOL_RESULT. It says how many lines belong to it, so that none in the text can pass for another."""
    return f"TOOL_RESULT {status} {count_lines(text)} lines\n{text or '(nothing: it is empty)'}"


class Agent:
    """A normal program that owns a list of messages."""

    def __init__(self, client: ChatClient, console: Console, workspace: Path) -> None:
        self.client = client
        self.console = console
        self.workspace = workspace.resolve()
        self.messages: list[Message] = [system(system_prompt())]

    def run(self) -> None:
        """Take turns until the user leaves."""
        for user_text in self.console.turns():
            self.take_turn(user_text)

    def take_turn(self, user_text: str) -> None:
        """Say one thing to the model, and go on until a reply asks for no tool."""
        self.messages.append(user(user_text))
        for step in itertools.count(1):
            self.console.step(step)
            reply = self.client.complete(self.messages)  # all of it, every time: the server keeps nothing
            parsed = parse_reply(reply.text)
            self.messages.append(assistant(parsed.kept))
            if parsed.prose:
                self.console.assistant(parsed.prose)
            if parsed.call:
                result = self.run_tool(parsed.call)
            elif parsed.fault:
                self.console.tool_error("no call", parsed.fault)
                result = tool_result("ERROR", parsed.fault)
            else:
                return
            if parsed.dropped:
                cut = f"{parsed.dropped} more calls or results in the reply were cut off and not run"
                self.console.note(cut)
                result += f"\n({cut})"
            self.messages.append(user(f"{result}\n{NEXT}"))

    def run_tool(self, call: ToolCall) -> str:
        """Run a call; give the TOOL_RESULT. An error is a result too: the model can react to it."""
        self.console.tool_call(call.name, call.arguments)
        try:
            if call.name not in TOOLS:
                raise ToolError(f"unknown tool {call.name!r}; the tools are {', '.join(TOOLS)}")
            result = checked_call(TOOLS[call.name], self, call.arguments)
        except ToolError as error:
            self.console.tool_error(call.name, str(error))
            return tool_result("ERROR", str(error))
        self.console.tool_success(call.name, result)
        return tool_result("SUCCESS", result)

    def resolve_path(self, path: str) -> Path:
        """Where a path leads, links and ``..`` followed; a ToolError if that is outside the workspace."""
        target = Path(os.path.realpath(self.workspace / path))
        if not target.is_relative_to(self.workspace):
            raise ToolError(f"{path} is outside the workspace; use a path inside it, such as README.md")
        return target

    @tool
    def read_file(self, path: str) -> str:
        """Read a text file of the project."""
        try:
            return self.resolve_path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
            raise ToolError(f"{path}: {getattr(error, 'strerror', None) or error}") from error

    @tool
    def list_files(self, path: str = ".") -> str:
        """List the files of a folder of the project; the names of folders end in a slash."""
        try:
            entries = sorted(self.resolve_path(path).iterdir())
        except (OSError, ValueError) as error:
            raise ToolError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
        return "\n".join(entry.name + "/" * entry.is_dir() for entry in entries)

    @tool
    def edit_file(self, path: str, old_text: str, new_text: str) -> str:
        """Replace old_text, which must occur exactly once, by new_text. Empty old_text creates a new file."""
        try:
            target = self.resolve_path(path)
            if old_text == "":
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("x", encoding="utf-8") as file:  # x: never over a file that exists
                    file.write(new_text)
                return f"created {path}"
            text = target.read_text(encoding="utf-8")
            # The lookahead finds overlapping matches too: two places to edit are two, even if they touch.
            places = [match.start() for match in re.finditer(f"(?={re.escape(old_text)})", text)]
            if len(places) != 1:
                lines = [text.count("\n", 0, place) + 1 for place in places[:9]]
                raise ToolError(
                    f"{path}: old_text must occur once, but occurs {len(places)} times (lines {lines})"
                )
            if old_text == new_text:
                raise ToolError(f"{path}: old_text and new_text are the same, so there is nothing to change")
            target.write_text(text.replace(old_text, new_text), encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ToolError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
        return f"edited {path}"


if __name__ == "__main__":
    from harness.cli import run_script

    run_script(__file__)
