"""One exact replacement in the bytes of a text file: what is outside the replaced span stays as it is.

A model sees text and answers with text, so what it sends is matched against a *view* of the file: UTF-8
without the byte order mark, every CRLF one line feed. The replacement is then spliced into the bytes.
"""

import difflib
import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable

from harness.errors import ToolError

_BOM = b"\xef\xbb\xbf"
_COUNTED = 100  # places that are counted; more are "100 or more"
_EXPLAINED = 1_000_000  # characters of a file in which a near match is looked for
_COMPARED = 2_000  # lines that are compared to find the nearest one: difflib is slow
_QUOTED = 200  # characters of a line that are compared and shown


def decode(data: bytes, *, cut: bool = False) -> str:
    """The text of ``data``, less a byte order mark. If it was ``cut``, the last character may be incomplete.

    Raises:
        ToolError: it isn't UTF-8 text. A zero byte in the first 8 KiB tells, as it does for git.
    """
    if b"\0" in data[:8192]:
        raise ToolError("not a text file: it holds zero bytes.")
    data = data.removeprefix(_BOM)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if cut and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        raise ToolError(f"not UTF-8 text: byte {error.start + 1:,} does not fit.") from None


def view(text: str) -> str:
    """``text`` as a model sees it."""
    return text.replace("\r\n", "\n")


def splice(data: bytes, old: str, new: str) -> tuple[bytes, int]:
    """``data`` with the one place where ``old`` stands replaced by ``new``, and the line of the change.

    Of the span, only what differs between ``old`` and ``new`` is touched. A line feed put in becomes the
    ending of the line where it is put in; everything else of ``new`` is taken literally.

    Raises:
        ToolError: ``data`` isn't text, or ``old`` stands nowhere or in several places (overlapping ones are
            counted); the message says where, or what comes nearest.
    """
    body = decode(data)
    seen, old, new = view(body), view(old), view(new)
    if old == new:
        raise ToolError("old_text and new_text differ only in line endings, and those stay as they are.")
    places = _places(seen, old)
    if not places:
        raise ToolError(f"old_text was not found. {_nearest(seen, old, new)}")
    if len(places) > 1:
        lines = ", ".join(str(_line(seen, place)) for place in places[:10]) + ", …" * (len(places) > 10)
        count = f"{_COUNTED} or more" if len(places) == _COUNTED else len(places)
        raise ToolError(
            f"old_text must match one place, and it matches {count} (lines {lines}). "
            "Take in more of the lines around the place you mean."
        )
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    start = _in_body(body, seen, places[0] + head)
    end = _in_body(body, seen, places[0] + len(old) - tail)
    put_in = new[head : len(new) - tail].replace("\n", _line_ending(body, start))
    mark = _BOM if data.startswith(_BOM) else b""
    return mark + (body[:start] + put_in + body[end:]).encode(), _line(seen, places[0] + head)


def _places(seen: str, old: str) -> list[int]:
    places: list[int] = []
    place = seen.find(old)
    while place >= 0 and len(places) < _COUNTED:
        places.append(place)
        place = seen.find(old, place + 1)
    return places


def _alike(one: str, other: str) -> int:
    """How many characters the two have in common at the beginning."""
    lengths = range(1, min(len(one), len(other)) + 1)
    return bisect_left(lengths, True, key=lambda length: one[:length] != other[:length])


def _line(seen: str, place: int) -> int:
    return seen.count("\n", 0, place) + 1


def _in_body(body: str, seen: str, place: int) -> int:
    """Where the character at ``place`` of the view stands in ``body``: further on by one for each CRLF."""
    if len(body) == len(seen):
        return place
    lines = seen.count("\n", 0, place)
    return place + sum(line.endswith("\r") for line in body.split("\n", lines)[:lines])


def _line_ending(body: str, place: int) -> str:
    """The ending of the line at ``place``; if it has none, of the line before."""
    feed = body.find("\n", place)
    if feed < 0:
        feed = body.rfind("\n", 0, place)
    return "\r\n" if feed > 0 and body[feed - 1] == "\r" else "\n"


def _by_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(map(change, text.split("\n")))


_QUOTES = str.maketrans("‘’‚“”„«»–—\u00a0", '\'\'\'"""""-- ')

# What models most often get wrong in a quotation, each with a form in which the difference disappears. None
# of them is mended silently: that would be a guess at what new_text should look like. Lines stay lines.
_SLIPS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("the final newline", lambda text: text.rstrip("\n")),
    ("white space at the end of a line", _by_line(str.rstrip)),
    ("indentation (tabs or spaces)", _by_line(str.lstrip)),
    ("white space", _by_line(lambda line: " ".join(line.split()))),
    (
        "the Unicode form of a letter (composed or decomposed)",
        lambda text: unicodedata.normalize("NFC", text),
    ),
    ("typographic quotes, dashes or blanks", lambda text: text.translate(_QUOTES)),
    ("upper and lower case", str.casefold),
)


def _nearest(seen: str, old: str, new: str) -> str:
    """What the model is told when ``old`` isn't there: the likeliest reason, and the place that was meant."""
    if len(seen) > _EXPLAINED:
        return "Copy it exactly from the file."
    lines = seen.split("\n")
    for slip, form in _SLIPS:
        wanted, there = form(old), form(seen)
        if wanted.strip() and wanted in there:
            first = _line(there, there.index(wanted))
            where = _differing(lines[first - 1 :], old, first)
            return f"From line {first} on, it differs only in {slip}.{where}"
    unescaped = re.sub(r'\\([nt"])', lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), old)
    if unescaped in seen:
        line = _line(seen, seen.index(unescaped))
        return f"It matches at line {line} with one backslash less in its escapes."
    if len(new) >= 10 and new in seen:
        return f"new_text stands at line {_line(seen, seen.index(new))} already: was this edit made before?"
    longest = max(old.split("\n"), key=len).strip()[:_QUOTED]
    stripped = [line.strip()[:_QUOTED] for line in lines[:_COMPARED]]
    for match in difflib.get_close_matches(longest, stripped, 1):
        number = stripped.index(match)
        return f"The nearest is line {number + 1}: {_quote(lines[number])}. Copy the text exactly."
    return "Nothing there is like it. Read the file, then copy the text exactly."


def _differing(lines: list[str], old: str, first: int) -> str:
    """The first of ``lines`` that isn't what ``old`` says; they are numbered from ``first``."""
    pieces = old.split("\n")
    for number, (line, piece) in enumerate(zip(lines, pieces, strict=False)):
        # Of several, the first need only end as its line does, and the last only begin so.
        wanted = "\n" * (number > 0) + piece + "\n" * (number < len(pieces) - 1)
        if wanted not in f"\n{line}\n":
            return f" Line {first + number} is {_quote(line)}."
    return ""


def _quote(line: str) -> str:
    return json.dumps(line[:_QUOTED], ensure_ascii=False) + "…" * (len(line) > _QUOTED)
