"""Clients that stand before a ChatClient, or in its place: impatient, counting, bounded."""

from collections.abc import Sequence
from typing import Protocol

from harness.client import ChatClient, Reply
from harness.errors import EndOfDemonstrationError, ModelError
from harness.messages import Message
from harness.settings import Settings


class Client(Protocol):
    """What an agent asks: a ChatClient, or one of those that stand before it."""

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Post the array and return what the model says."""
        ...


def impatient_client(settings: Settings) -> ChatClient:
    """A client that tries again at once, and says nothing of it."""
    return ChatClient(settings, notice=lambda line: None, sleep=lambda seconds: None)


class Heard:
    """A client that counts: an agent that survives failures does not tell that there was nothing else."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.replies = self.failures = 0

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Ask, and count what came of it. Raises what the client raises."""
        try:
            reply = self._client.complete(messages)
            self.replies += 1
            return reply
        except ModelError:
            self.failures += 1
            raise


class Bounded:
    """A client for demonstrations: some lessons would go on for ever."""

    def __init__(self, client: Client, most: int) -> None:
        self._client = client
        self._left = most

    def complete(self, messages: Sequence[Message]) -> Reply:
        """Ask, if there is a request left.

        Raises:
            EndOfDemonstrationError: there is none. It is no ModelError, which an agent may survive.
        """
        if self._left == 0:
            raise EndOfDemonstrationError("The demonstration ends here; left alone it would go on and on.")
        self._left -= 1
        return self._client.complete(messages)
