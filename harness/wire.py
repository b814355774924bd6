"""``--wire``: what goes out and what comes back at each step, and how the agent reads it."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.client import Reply
from harness.console import Console
from harness.errors import ModelError
from harness.messages import Message

if TYPE_CHECKING:
    from harness.clients import Client

PARSERS = ("parse_reply", "parse_call")  # lesson 2 has only the second; from lesson 3 on the first calls it


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
        try:
            reply = self._client.complete(messages)
        except ModelError:
            self._console.note("wire <- no reply")
            raise
        counts = (reply.usage.prompt_tokens, reply.usage.completion_tokens) if reply.usage else None
        usage = f", tokens {counts[0]} + {counts[1]}" if counts else ""
        raw = shortened(reply.text, 2000)
        self._console.note(f"wire <- {raw} (finish_reason {reply.finish_reason}{usage})")
        return reply


def show_readings(agent: type[Any], console: Console) -> None:
    """From now on show how an agent reads each reply: step before the parser of the module it was made in.

    A reply that the agent does not parse, such as a summary, is not spoken of; an agent without a parser
    (lesson 1) takes every reply for an answer, which needs no saying.
    """
    module = sys.modules[agent.__module__]
    name = next((name for name in PARSERS if callable(getattr(module, name, None))), None)
    if name is None:
        return
    parse: Callable[..., Any] = getattr(module, name)

    def parse_and_show(*reply: Any, **more: Any) -> Any:
        parsed = parse(*reply, **more)
        if what := reading(parsed):
            console.note(f"wire == read as {what}")
        return parsed

    setattr(module, name, parse_and_show)


def reading(parsed: Any) -> str:
    """How a reply was read, in words; empty if this is no shape that a parser of the lessons gives.

    ``parsed`` is a call or None (lesson 2), prose and a call or None (lesson 3), or an object with prose,
    call, fault, and the number of calls and results that were dropped (lesson 8).
    """
    prose, call = parsed if isinstance(parsed, tuple) and len(parsed) == 2 else ("", parsed)
    fault, dropped = "", 0
    if hasattr(parsed, "call"):
        prose, call = getattr(parsed, "prose", ""), parsed.call
        fault, dropped = getattr(parsed, "fault", ""), getattr(parsed, "dropped", 0)
    if call is not None and not hasattr(call, "name"):
        return ""
    if call is not None:
        words = [f"a call of {call.name}" + (", and prose for the user" if prose else "")]
    elif fault:
        words = [f"a fault: {shortened(str(fault))}"]
    else:
        words = ["an answer"]
    return "; ".join([*words, *([f"{dropped} more calls or results dropped"] if dropped else [])])


def shortened(text: str, most: int = 300) -> str:
    """A text on one line, as a Python literal, cut at ``most`` characters."""
    rest = len(text) - most
    return repr(text) if rest <= 0 else f"{text[:most]!r} and {rest:,} characters more"
