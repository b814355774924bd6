"""Messages: the items of the array that is the whole of an agent's memory.

The conversation itself is a plain ``list[Message]``. A chat completion is a function of that list: the
server keeps nothing between two requests, so what is not in the list did not happen.
"""

import json
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One item of the array: who speaks, and the text.

    Frozen, because the array only ever grows: the client encodes each message once and keeps the bytes.
    """

    role: Role
    content: str

    def __post_init__(self) -> None:
        # A terminal with the wrong locale yields lone surrogates, which no UTF-8 body can carry: one of
        # them in the array would make every later request fail (Aider-AI/aider#3693). Cleaned on entry.
        if not self.content.isascii():
            cleaned = self.content.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            object.__setattr__(self, "content", cleaned)

    def encoded(self) -> bytes:
        """The message as it stands in the request's body: compact JSON, raw UTF-8."""
        item = {"role": self.role, "content": self.content}
        return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()


def system(content: str) -> Message:
    """The standing orders: what the model should be and which tools it is told of."""
    return Message("system", content)


def user(content: str) -> Message:
    """What a person typed, or, in this text protocol, what a tool returned."""
    return Message("user", content)


def assistant(content: str) -> Message:
    """What the model wrote, and what it will be told that it wrote."""
    return Message("assistant", content)


def count_lines(text: str) -> int:
    """How many lines a text has; a last one without a newline counts, and an empty text has none."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def joined(first: Message, second: Message) -> Message:
    """Two messages of one role as one: several servers refuse roles that do not take turns.

    (vllm-project/vllm#6862: the templates of Mistral and Gemma answer such an array with an error.)
    """
    return Message(first.role, f"{first.content}\n\n{second.content}")
