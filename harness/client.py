"""The client: one POST of the whole array to an OpenAI-compatible endpoint, one Reply back."""

import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from io import BytesIO
from random import random
from typing import TYPE_CHECKING

from harness.answers import Answer, Reply, Usage, read_reply
from harness.errors import ModelError
from harness.messages import Message
from harness.printable import printable
from harness.settings import Settings

if TYPE_CHECKING:
    from harness.transport import Transport

__all__ = ["ChatClient", "Reply", "Usage"]

CONNECT_TIMEOUT = 10.0  # seconds: a server that is there takes a connection in one, a wrong address never
MAX_BYTES = 16_000_000  # of an answer, unpacked: the longest reply of any model is about 1 MB
TRIES = 4  # with the pauses below, trouble that passes within about four seconds ends no turn
FIRST_PAUSE = 0.5  # seconds; doubled each time
LONGEST_WAIT = 60.0  # seconds that a server may ask for; what is longer, a person should decide
LONGEST_MESSAGE = 400  # characters of an error

# What a key looks like when a server quotes it, whole or masked ("Incorrect API key provided: sk-ab***yz").
_KEY_SHAPE = re.compile(r"\bsk-[\w*.…-]+")


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class ChatClient:
    """Asks a model: the whole array goes out each time, for the server keeps nothing between two requests.

    For one thread. It may be interrupted anywhere (Ctrl+C), and asked again.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        notice: Callable[[str], None] = _to_stderr,
        waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
        sleep: Callable[[float], None] = time.sleep,
        connect_timeout: float = CONNECT_TIMEOUT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """Nothing is imported or opened until the first request.

        Args:
            settings: endpoint, model, key, and the seconds that one call may last.
            notice: takes a line for the user: why it waits, what is unsafe.
            waiting: makes a context that is held while the model thinks, such as a spinner.
            sleep: waits for a number of seconds.
            connect_timeout: seconds that a server may take to accept a connection.
            max_bytes: the largest answer that is taken.
        """
        self._settings = settings
        self._notice = notice
        self._waiting = waiting
        self._sleep = sleep
        self._connect_timeout = connect_timeout
        self._max_bytes = max_bytes
        self._body = _Body(settings.model)
        self._transport: Transport | None = None

    @property
    def encoded_bytes(self) -> int:
        """Bytes of messages encoded so far. With a stable prefix no more than one final array."""
        return self._body.encoded_bytes

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Post the array and return what the model says.

        What may pass (429, 5xx, a lost connection) is tried again, after a pause that the user is told of;
        all of it within ``settings.timeout`` seconds.

        Raises:
            ModelError: no usable reply; one line of at most 500 characters, without the key.
            SettingsError: the base URL makes no address.
        """
        deadline = time.monotonic() + self._settings.timeout
        body = self._body.holding(messages)
        transport = self._transport or self._open()
        for tried in range(1, TRIES + 1):
            answer: Answer | None = None
            try:
                with self._waiting():
                    answer = transport.post(body, deadline)
                return read_reply(answer)
            except ModelError as error:
                problem = ModelError(self._presentable(str(error)), retryable=error.retryable)
            if not problem.retryable:
                break
            asked = answer.retry_after if answer else 0.0
            backoff = FIRST_PAUSE * 2 ** (tried - 1) * (0.75 + random() / 2)  # a class shares a limit
            pause = max(asked, backoff)
            left = deadline - time.monotonic()
            if asked > min(LONGEST_WAIT, left):
                wish = f"the server asks to wait {asked:.0f} s, which is too long to sit through"
                problem = ModelError(f"{wish}. {problem}", retryable=True)
                break
            if tried == TRIES or pause >= left:
                break
            self._notice(f"{problem} (asking again in {pause:.1f} s: try {tried + 1} of {TRIES})")
            self._sleep(pause)
        raise ModelError(f"{problem} (tried {tried} times)", retryable=True) if tried > 1 else problem

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        if self._transport:
            self._transport.close()
            self._transport = None

    def _open(self) -> "Transport":
        from harness.transport import Transport  # with requests, which takes longer than all other imports

        if self._settings.exposes_key:
            self._notice(
                f"warning: the key goes to {self._settings.base_url} over plain http: others can read it"
            )
        self._transport = Transport(
            self._settings, connect_timeout=self._connect_timeout, max_bytes=self._max_bytes
        )
        return self._transport

    def _presentable(self, text: str) -> str:
        """One line, cut, that neither holds the key nor works the terminal; servers quote what they got."""
        if self._settings.api_key:
            text = text.replace(self._settings.api_key, "***")
        text = printable(" ".join(_KEY_SHAPE.sub("***", text).split())[: 2 * LONGEST_MESSAGE])
        return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


class _Body:
    """The request's bytes. The array only grows, so only its new end is encoded, once.

    A BytesIO, because it hands out the whole as bytes without a copy, and makes one only where somebody
    still holds the last (a tape does). Copying 4 MB each step would cost more than sending them.
    """

    def __init__(self, model: str) -> None:
        self._bytes = BytesIO()
        self._head = self._bytes.write(b'{"model":%b,"messages":[' % json.dumps(model).encode())
        self._ends: list[int] = []  # where each message ends in the bytes
        self._messages: list[Message] = []
        self.encoded_bytes = 0

    def holding(self, messages: Sequence[Message]) -> bytes:
        """The body for this array. What it shares with the last one, from the start, is kept as it is."""
        kept = self._shared(messages)
        del self._messages[kept:], self._ends[kept:]
        self._bytes.seek(self._ends[-1] if kept else self._head)
        for message in messages[kept:]:
            item = message.encoded()
            self.encoded_bytes += len(item)
            self._bytes.write(b"," + item if self._messages else item)
            self._ends.append(self._bytes.tell())
            self._messages.append(message)  # last, so that after an interrupt before it, it is not kept
        self._bytes.write(b"]}")
        self._bytes.truncate()
        return self._bytes.getvalue()

    def _shared(self, messages: Sequence[Message]) -> int:
        """How many messages, from the first on, are those of the last request."""
        count = len(self._messages)
        if list(messages[:count]) == self._messages:  # the usual case, decided in C by identity
            return count
        pairs = zip(messages, self._messages, strict=False)
        return next((at for at, (new, old) in enumerate(pairs) if new != old), min(count, len(messages)))
