"""``--wire``: what goes out and what comes back, at each step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.client import Reply
from harness.console import Console
from harness.messages import Message

if TYPE_CHECKING:
    from harness.runner import Client


class Wire:
    """A client that shows what each request adds to the array, and passes it on."""

    def __init__(self, client: "Client", console: Console) -> None:
        self._client = client
        self._console = console
        self._sent: list[Message] = []

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Show, ask, show. Raises what the client raises."""
        before = 0
        while before < min(len(self._sent), len(messages)) and self._sent[before] == messages[before]:
            before += 1
        sizes = [len(message.encoded()) for message in messages]
        for number, message in enumerate(messages[before:], before + 1):
            self._console.note(f"wire -> {number} {message.role}: {shortened(message.content)}")
        again, total = f"{sum(sizes[:before]):,}", f"{sum(sizes):,}"
        self._console.note(f"wire -> {len(messages)} messages, {total} bytes; {again} of them sent before")
        self._sent = list(messages)
        reply = self._client.complete(messages)
        counts = (reply.usage.prompt_tokens, reply.usage.completion_tokens) if reply.usage else None
        usage = f", tokens {counts[0]} + {counts[1]}" if counts else ""
        self._console.note(f"wire <- {shortened(reply.text)} (finish_reason {reply.finish_reason}{usage})")
        return reply


def shortened(text: str, most: int = 300) -> str:
    """A text on one line, as a Python literal, cut at ``most`` characters."""
    rest = len(text) - most
    return repr(text) if rest <= 0 else f"{text[:most]!r} and {rest:,} characters more"
