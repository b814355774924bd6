"""Lesson 1: a chat loop.

Adds: the array of messages. Every turn appends to it and sends all of it: that is the model's whole memory.
Unlike lesson 0: there is none; nothing ran yet.
But: the model knows nothing of your project. All it can do is talk.
"""

from harness.client import ChatClient
from harness.console import Console
from harness.messages import Message, assistant, system, user

SYSTEM_PROMPT = "You are a coding assistant. Answer in plain text."


class Agent:
    """A normal program that owns a list of messages."""

    def __init__(self, client: ChatClient, console: Console) -> None:
        self.client = client
        self.console = console
        self.messages: list[Message] = [system(SYSTEM_PROMPT)]

    def run(self) -> None:
        """Take turns until the user leaves."""
        for user_text in self.console.turns():
            self.take_turn(user_text)

    def take_turn(self, user_text: str) -> None:
        """Say one thing to the model and show what it answers."""
        self.messages.append(user(user_text))
        reply = self.client.complete(self.messages)  # all of it, every time: the server keeps nothing
        self.messages.append(assistant(reply.text))
        self.console.assistant(reply.text)


if __name__ == "__main__":
    from harness.cli import run_script

    run_script(__file__)
