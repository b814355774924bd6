"""Tapes: recorded exchanges with a model, in a file that is made to be read.

A model keeps nothing between two requests, so a recording of one is a table from array to reply. The file
is YAML, laid out by hand: one message an item, long text as it stands. An array that grew from another one
is not repeated: ``continues: 3`` is the array of exchange 3, and ``messages`` what was added to it. So a
tape is no longer than its conversation (with whole arrays its length is quadratic), and shows it growing.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from harness.errors import TapeError
from harness.messages import Message, Role

HEADER = """\
# A recorded conversation. An exchange is one request, which is an array of messages, and what came back.
# `continues: 3` stands for all the messages of exchange 3; those listed below it were added to them.
"""
LAST_LINE = "..."  # YAML's end of a document. A file that was cut may still be YAML, but lacks this line.
REMEDY = "Record it again: make cassettes, or make record-N for a tape of your own."

Kind = Literal["reply", "error", "body"]
KINDS = get_args(Kind)
ROLES = get_args(Role)
COUNTS = ("prompt_tokens", "completion_tokens")


@dataclass(frozen=True)
class Exchange:
    """One request, by its array, and what came back."""

    messages: tuple[Message, ...]
    text: str
    kind: Kind = "reply"
    """What ``text`` is: the model's reply, the endpoint's error message, or a body that is neither."""
    status: int = 200
    finish_reason: str | None = None
    usage: tuple[int, int] | None = None
    """Tokens of the array and of the reply, as the endpoint counted them."""
    continues: int = field(default=0, compare=False)
    """Where it was read from a tape: the number of the exchange whose array this one grew from, or 0."""


@dataclass(frozen=True)
class Tape:
    """All that was recorded, and of whom: ``model`` spoke, at ``when``."""

    model: str
    when: str
    exchanges: Sequence[Exchange]


def write_tape(path: Path, tape: Tape) -> None:
    """Write a tape, whole or not at all. The same tape gives the same bytes on every machine.

    Raises:
        TapeError: the file can't be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes("".join(f"{line}\n" for line in tape_lines(tape)).encode())
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise TapeError(f"the tape {path} can't be written: {error.strerror}") from error


def tape_lines(tape: Tape) -> Iterator[str]:
    """The file's lines. An exchange that is on the tape already is left out: it would say nothing new."""
    yield HEADER + "about:"
    yield from entry("  model: ", tape.model)
    yield from entry("  when: ", tape.when)
    yield "exchanges:"
    numbers: dict[tuple[Message, ...], int] = {}
    for number, exchange in enumerate(dict.fromkeys(tape.exchanges), 1):
        known = len(exchange.messages)  # how many of them an earlier exchange has sent
        while known and exchange.messages[:known] not in numbers:
            known -= 1
        yield f"\n- exchange: {number}"
        if known:
            yield f"  continues: {numbers[exchange.messages[:known]]}"
        if added := exchange.messages[known:]:
            yield "  messages:"
            for message in added:
                yield from entry(f"  - {message.role}: ", message.content)
        if exchange.status != 200:
            yield f"  status: {exchange.status}"
        yield from entry(f"  {exchange.kind}: ", exchange.text)
        if exchange.finish_reason is not None:
            yield from entry("  finish_reason: ", exchange.finish_reason)
        if exchange.usage:
            sent, written = exchange.usage
            yield f"  usage: {{prompt_tokens: {sent}, completion_tokens: {written}}}"
        numbers.setdefault(exchange.messages, number)
    yield LAST_LINE


# What a block can hold as it stands; controls, line ends other than \n and the like have to be escaped. Not
# compiled here: only writing a tape takes them, and such wide classes cost 3 ms of every start.
BLOCK = r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffd]*"
ESCAPED = r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff\U0010fffe\U0010ffff]"


def entry(key: str, text: str) -> Iterator[str]:
    """The lines of one ``key: text``: short text in quotes, the rest as a block if a block can hold it."""
    short = len(text) <= 80 and not re.search(r'["\\\n]', text)
    if short or text.isspace() or text.endswith("\n\n") or not re.fullmatch(BLOCK, text):
        quoted = json.dumps(text, ensure_ascii=False)  # YAML reads JSON's strings, but for these characters
        yield key + re.sub(ESCAPED, lambda odd: f"\\U{ord(odd[0]):08x}", quoted)
        return
    # The block's head says what can't be seen: a 2, the indentation, where the text itself begins with
    # a space, and a minus where it doesn't end in a newline.
    yield key + "|" + "2" * text.lstrip("\n").startswith((" ", "\t")) + "-" * (not text.endswith("\n"))
    indent = " " * (len(key) - len(key.lstrip(" -")) + 2)
    for line in text.removesuffix("\n").split("\n"):
        yield indent + line if line else ""


def read_tape(path: Path) -> Tape:
    """Read and check a tape.

    Raises:
        TapeError: the file is missing, cut, or no tape; the text says where, and what to do.
    """
    try:
        return _tape(_yaml(path.read_bytes().decode()))
    except FileNotFoundError:
        raise TapeError(f"there is no tape {path}. {REMEDY}") from None
    except OSError as error:
        raise TapeError(f"the tape {path} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise TapeError(f"{path} is no tape: {error}. {REMEDY}") from error


def _yaml(text: str) -> Any:
    """The file's data. Raises ValueError, as all that follow, with a text that fits "… is no tape: …"."""
    import yaml  # imported here: `harness --help` needs no tape

    if not text.rstrip().endswith(f"\n{LAST_LINE}"):
        raise ValueError(f"its last line is not {LAST_LINE!r}, so it was cut")
    # Safe: it makes data, and never what a tag such as !!python/object asks for. C: 20 times faster.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, loader)
    except Exception as error:  # for an odd tag PyYAML raises what it happens upon: KeyError, AttributeError…
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        what = " ".join(str(getattr(error, "problem", None) or error or type(error).__name__).split())
        raise ValueError(f"{line}{what}") from error


def _tape(data: Any) -> Tape:
    _expect(isinstance(data, dict) and set(data) == {"about", "exchanges"}, "it needs about and exchanges")
    about, items = data["about"], data["exchanges"]
    _expect(isinstance(about, dict) and set(about) == {"model", "when"}, "about needs model and when")
    _expect(all(isinstance(value, str) for value in about.values()), "about holds what is no text")
    _expect(isinstance(items, list), "exchanges is no list")
    exchanges: list[Exchange] = []
    for item in items:
        exchanges.append(_exchange(item, exchanges))
    return Tape(about["model"], about["when"], exchanges)


def _exchange(item: Any, earlier: Sequence[Exchange]) -> Exchange:
    number = len(earlier) + 1
    place = f"exchange {number}"
    _expect(isinstance(item, dict) and _is_count(item.get("exchange"), number, number), f"{place} is missing")
    left = {key: value for key, value in item.items() if key != "exchange"}
    continues, added = left.pop("continues", 0), left.pop("messages", [])
    _expect(_is_count(continues, 0, number - 1), f"{place} continues none before it")
    _expect(isinstance(added, list), f"{place}: messages is no list")
    messages = earlier[continues - 1].messages if continues else ()
    messages += tuple(_message(message, place) for message in added)
    status, finish_reason = left.pop("status", 200), left.pop("finish_reason", None)
    _expect(_is_count(status, 100, 999), f"{place}: status is no HTTP status")
    _expect(isinstance(finish_reason, str | None), f"{place}: finish_reason is no text")
    usage = _usage(left.pop("usage"), place) if "usage" in left else None
    _expect(len(left) == 1, f"{place} needs one of {', '.join(KINDS)}, and nothing unknown")
    kind, text = left.popitem()
    _expect(
        kind in KINDS and isinstance(text, str), f"{place} needs one of {', '.join(KINDS)}, and it is text"
    )
    return Exchange(messages, text, kind, status, finish_reason, usage, continues)


def _message(item: Any, place: str) -> Message:
    _expect(isinstance(item, dict) and len(item) == 1, f"{place}: a message is one role and its text")
    [(role, content)] = item.items()
    _expect(
        role in ROLES and isinstance(content, str),
        f"{place}: a message is one of {', '.join(ROLES)}, and text",
    )
    return Message(role, content)


def _usage(item: Any, place: str) -> tuple[int, int]:
    _expect(
        isinstance(item, dict) and set(item) == set(COUNTS), f"{place}: usage needs {' and '.join(COUNTS)}"
    )
    _expect(all(map(_is_count, item.values())), f"{place}: usage is no count")
    return item[COUNTS[0]], item[COUNTS[1]]


def _is_count(value: Any, lowest: int = 0, highest: float = math.inf) -> bool:
    return type(value) is int and lowest <= value <= highest  # a bool is an int, but no count


def _expect(condition: bool, complaint: str) -> None:
    if not condition:
        raise ValueError(complaint)
