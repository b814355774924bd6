"""vcrpy's side of a tape: it stands in for the network, and asks here what to play and what to keep.

vcrpy compares a request with one recording after the other. Here its cassette is a table instead, from the
digest of an array to the replies: a step of a long tape costs what a step of a short one does.

Imported only where a tape is played or recorded, for vcrpy brings requests along.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import responses
from typing import Any

from vcr.cassette import Cassette  # type: ignore[import-untyped]
from vcr.filters import decode_response  # type: ignore[import-untyped]
from vcr.record_mode import RecordMode  # type: ignore[import-untyped]

from harness.messages import Message, assistant
from harness.mismatch import first_difference
from harness.tape import COUNTS, ROLES, Exchange

# The keys that are kept of a response's body. Everything else goes: ids, times, fingerprints.
KEPT = {"choices", "message", "role", "content", "type", "text", "finish_reason", "usage", *COUNTS}
KEPT |= {"error", "code", "detail"}
LONGEST_BODY = 2_000  # characters of a web page and the like


class Table(Cassette):  # type: ignore[misc]  # vcrpy has no types
    """A cassette that looks a request up by its array of messages: not by host, key or model.

    Equal arrays get their replies in the order in which they were recorded, and the last one ever after.
    Redefines those methods of vcr's cassette that its stand-ins for connections call; the search with
    matchers, which vcr's own do, is never reached.
    """

    def __init__(self, *, redact: Callable[[str], str], **options: Any) -> None:
        self._redact = redact
        self._replies: dict[bytes, list[dict[str, Any]]] = {}
        self._hash = GrowingHash()
        self._body = self._digest = b""  # of the request that was looked up last: vcr asks more than once
        super().__init__(match_on=(), **options)

    def rewind(self) -> None:
        """Play from the start, whatever is recorded so far. What comes after is recorded, not played."""
        super().rewind()
        self._replies = {}
        for digest, response in zip(digests(self.requests), self.responses, strict=True):
            self._replies.setdefault(digest, []).append(response)

    def can_play_response_for(self, request: Any) -> bool:
        """Whether there is a reply to the array of this request."""
        return self._digest_of(request) in self._replies

    def play_response(self, request: Any) -> dict[str, Any]:
        """The reply to the array of this request, where there is one."""
        replies = self._replies[self._digest_of(request)]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def append(self, request: Any, response: dict[str, Any]) -> None:
        """Take up an exchange: one of a tape, or what vcr has just seen on the network."""
        if not isinstance(request, Exchange):
            messages = messages_in(body_of(request), self._redact)
            if messages is None:
                return  # a question for the list of models, say: not a conversation
            request = heard(messages, decode_response(response), self._redact)
        self.data.append((request, as_response(request)))

    def why_not(self, request: Any) -> str:
        """How the array of a request that there is no reply to differs from the recorded ones."""
        recorded = [exchange.messages for exchange in self.requests]
        return first_difference(messages_in(body_of(request), self._redact) or (), recorded)

    def _digest_of(self, request: Any) -> bytes:
        body = body_of(request)
        if body != self._body:
            self._body, self._digest = body, self._hash.digest(array_in(body))
            if self._digest not in self._replies:  # other spaces or escapes than ours, or a home folder?
                messages = messages_in(body, self._redact)
                self._digest = next(digests([Exchange(messages, "")])) if messages is not None else b""
        return self._digest


class NoFile:
    """A persister of vcr's that keeps no file: it hands over a tape's exchanges, to ``Table.append``."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._exchanges = exchanges

    def load_cassette(self, path: str, serializer: object) -> tuple[Sequence[Exchange], Sequence[Exchange]]:
        """The requests and the responses. An exchange is both."""
        return self._exchanges, self._exchanges


@contextmanager
def table_for_network(
    exchanges: Sequence[Exchange], redact: Callable[[str], str], *, record: bool
) -> Iterator[Table]:
    """Answer the requests made inside from these exchanges, and no others; or record them, too."""
    mode = RecordMode.NEW_EPISODES if record else RecordMode.NONE
    with Table.use(path="a tape", persister=NoFile(exchanges), record_mode=mode, redact=redact) as table:
        table.rewind()
        yield table


class GrowingHash:
    """Digests of bytes that mostly begin with the bytes of last time: only what is new is hashed."""

    def __init__(self) -> None:
        self._seen, self._state = b"", _hash()

    def digest(self, raw: bytes) -> bytes:
        """The same as hashing ``raw`` from its start."""
        if not raw.startswith(self._seen):
            self._seen, self._state = b"", _hash()
        self._state.update(raw[len(self._seen) :])
        self._seen = raw
        return self._state.digest()


def _hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)  # as fast as any without help from the processor


def digests(exchanges: Sequence[Exchange]) -> Iterator[bytes]:
    """The digest of each exchange's array: of its JSON up to the closing bracket, as our client writes it.

    Without that bracket, the array that an array grew from is a beginning of it, and is not hashed again.
    """
    states: list[hashlib.blake2b] = []
    for exchange in exchanges:
        if exchange.continues:
            state = states[exchange.continues - 1].copy()
            known = len(exchanges[exchange.continues - 1].messages)
        else:
            state, known = _hash(), 0
            state.update(b"[")
        for place, message in enumerate(exchange.messages[known:], known):
            state.update(b"," * (place > 0) + message.encoded())
        states.append(state)
        yield state.digest()


def array_in(body: bytes) -> bytes:
    """The array's JSON up to the closing bracket, without parsing. Of a body unlike ours, something else."""
    start = body.find(b'"messages":[')
    return body[start + len('"messages":') : body.rfind(b"]")] if start >= 0 else b""


def messages_in(body: bytes, redact: Callable[[str], str]) -> tuple[Message, ...] | None:
    """The array of a chat completion request; None where the body is not one, or holds more than text."""
    try:
        items = [(item["role"], item["content"]) for item in json.loads(body)["messages"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not all(role in ROLES and isinstance(content, str) for role, content in items):
        return None
    return tuple(Message(role, redact(content)) for role, content in items)


def body_of(request: Any) -> bytes:
    """The request's body. A file or an iterator is not how a conversation is sent, and would be used up."""
    return bytes(request.body) if isinstance(request.body, bytes | bytearray) else b""


def heard(messages: tuple[Message, ...], response: dict[str, Any], redact: Callable[[str], str]) -> Exchange:
    """What a tape keeps of a response: no header, no id, no time."""

    def clean(text: str) -> str:
        return redact(assistant(text).content)  # a Message is free of lone surrogates, which no file can hold

    status, raw = response["status"]["code"], response["body"]["string"]
    text = raw if isinstance(raw, str) else raw.decode("utf-8", "replace")
    try:
        data = _pruned(json.loads(text))
    except (ValueError, RecursionError):
        return Exchange(messages, clean(text[:LONGEST_BODY]), "body", status)
    match data:
        case {"choices": [{"message": {"content": str(words)}, **choice}], **more} if not (
            "error" in more or "error" in choice
        ):
            reason = choice.get("finish_reason")
            finish_reason = clean(reason) if isinstance(reason, str) else None
            return Exchange(messages, clean(words), "reply", status, finish_reason, _usage(more.get("usage")))
        case {"error": {"message": str(words), **more}} if more.get("code") in (None, status):
            return Exchange(messages, clean(words), "error", status)
    return Exchange(messages, clean(json.dumps(data, ensure_ascii=False)), "body", status)


def as_response(exchange: Exchange) -> dict[str, Any]:
    """An exchange's response, in vcr's form."""
    kind, body = "application/json", exchange.text
    if exchange.kind == "reply":
        message = {"role": "assistant", "content": exchange.text}
        data: dict[str, Any] = {"choices": [{"message": message, "finish_reason": exchange.finish_reason}]}
        if exchange.usage:
            data["usage"] = dict(zip(COUNTS, exchange.usage, strict=True))
        body = json.dumps(data)
    elif exchange.kind == "error":
        body = json.dumps({"error": {"message": exchange.text, "code": exchange.status}})
    elif body.startswith("<"):
        kind = "text/html"
    elif body.startswith("data:"):
        kind = "text/event-stream"
    return {
        "status": {"code": exchange.status, "message": responses.get(exchange.status, "")},
        "headers": {"Content-Type": [kind]},
        "body": {"string": body.encode()},
    }


def _usage(value: object) -> tuple[int, int] | None:
    match value:
        case {"prompt_tokens": int(sent), "completion_tokens": int(written)} if min(sent, written) >= 0:
            return int(sent), int(written)
    return None


def _pruned(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _pruned(value) for key, value in data.items() if key in KEPT}
    return [_pruned(item) for item in data] if isinstance(data, list) else data
