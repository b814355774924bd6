"""Lesson 3: a tolerant parser.

Adds: a parser that reads the reply line by line. Prose is the user's, the TOOL_CALL line is the harness's.
Unlike lesson 2: a model that says "Let me look." before it calls a tool is understood.
But: the prompt is written by hand and knows one tool: the model can inspect a file but not find one.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.client import ChatClient
from harness.console import Console
from harness.errors import ToolError
from harness.messages import Message, assistant, system, user

SYSTEM_PROMPT = """\
You are a coding assistant. You can't see the project's files, but a harness can.
To use a tool, reply with exactly one line and nothing else:
TOOL_CALL {"name":"tool_name","arguments":{"argument":"value"}}
The harness runs it and answers with TOOL_RESULT SUCCESS or TOOL_RESULT ERROR.
When you know enough, answer the user in plain text.

Tools:
read_file: Read a text file of the project.
TOOL_CALL {"name":"read_file","arguments":{"path":"some/file.txt"}}"""


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


def parse_reply(reply: str) -> tuple[str, ToolCall | None]:
    """Split a reply into the prose, for the user, and the call, for the harness."""
    prose, call = [], None
    for line in reply.split("\n"):
        if found := parse_call(line):
            call = found
        else:
            prose.append(line)
    return "\n".join(prose).strip(), call


class Agent:
    """A normal program that owns a list of messages."""

    def __init__(self, client: ChatClient, console: Console, workspace: Path) -> None:
        self.client = client
        self.console = console
        self.workspace = workspace
        self.messages: list[Message] = [system(SYSTEM_PROMPT)]

    def run(self) -> None:
        """Take turns until the user leaves."""
        for user_text in self.console.turns():
            self.take_turn(user_text)

    def take_turn(self, user_text: str) -> None:
        """Say one thing to the model; show what it answers and run what it asks for."""
        self.messages.append(user(user_text))
        reply = self.client.complete(self.messages)  # all of it, every time: the server keeps nothing
        self.messages.append(assistant(reply.text))
        prose, call = parse_reply(reply.text)
        if prose:
            self.console.assistant(prose)
        if call:
            self.messages.append(user(self.run_tool(call)))

    def run_tool(self, call: ToolCall) -> str:
        """Run a call; give the TOOL_RESULT. An error is a result too: the model can react to it."""
        self.console.tool_call(call.name, call.arguments)
        try:
            if call.name != "read_file":
                raise ToolError(f"unknown tool {call.name!r}; the only tool is read_file")
            result = self.read_file(**call.arguments)
        except (ToolError, TypeError) as error:  # TypeError: arguments that read_file does not take
            self.console.tool_error(call.name, str(error))
            return f"TOOL_RESULT ERROR\n{error}"
        self.console.tool_success(call.name, result)
        return f"TOOL_RESULT SUCCESS\n{result}"

    def read_file(self, path: str) -> str:
        """Read a text file of the project."""
        try:
            return (self.workspace / path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a NUL in the path
            raise ToolError(f"{path}: {getattr(error, 'strerror', None) or error}") from error


if __name__ == "__main__":
    from harness.cli import run_script

    run_script(__file__)
