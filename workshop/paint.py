"""The colours of a patch: code in its syntax, and in a changed line the words that are new or gone."""

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import click

ALIKE = 0.55  # of two lines less alike than this, nearly every word would be marked
MOST_PAIRS = (
    10_000  # pairs of lines looked at in one hunk, in a second at most; beyond that no word is marked
)

BASE: dict[str, dict[str, Any]] = {"-": {"fg": "red"}, "+": {"fg": "green"}, " ": {}}
# Red and green are the patch's. Prose, as docstrings are, has no syntax.
SYNTAX: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Token.Literal.String.Doc", {}),
    ("Token.Literal.String", {"fg": "cyan"}),
    ("Token.Literal.Number", {"fg": "cyan"}),
    ("Token.Keyword", {"fg": "magenta"}),
    ("Token.Operator.Word", {"fg": "magenta"}),
    ("Token.Name.Function", {"bold": True}),
    ("Token.Name.Class", {"bold": True}),
    ("Token.Name.Decorator", {"fg": "magenta"}),
    ("Token.Comment", {"italic": True}),
)

Words = list[tuple[str, bool]]
"""A line in parts, each with whether it is to stand out."""


def painted(lines: Sequence[str], newer: Sequence[str]) -> Iterator[str]:
    """The lines of a unified diff in colour. What was removed is plain red: it is there to be seen, not read.

    Args:
        lines: the diff, its two lines of names included.
        newer: the lines of the newer file.
    """
    yield from (click.style(line, bold=True) for line in lines[:2])
    styles = syntax(newer)
    place = 0
    added: list[Words] = []
    runs = [(sign, [line[1:] for line in run]) for sign, run in groupby(lines[2:], key=lambda line: line[0])]
    for (sign, run), (next_sign, next_run) in zip(runs, [*runs[1:], ("", [])], strict=True):
        if sign == "@":
            place = max(int(re.findall(r"\+(\d+)", run[0])[0]) - 1, 0)
            yield click.style(sign + run[0], fg="cyan")
            continue
        words = added or whole(run)
        if sign == "-":  # removed lines stand before those that were added in their place
            words, added = changed_words(run, next_run if next_sign == "+" else [])
        else:
            added = []
        for text, parts in zip(run, words, strict=True):
            yield _line(sign, parts, [{}] * len(text) if sign == "-" else styles[place])
            place += sign != "-"


def whole(lines: Sequence[str]) -> list[Words]:
    """Lines in which nothing stands out."""
    return [[(line, False)] for line in lines]


def changed_words(older: Sequence[str], newer: Sequence[str]) -> tuple[list[Words], list[Words]]:
    """Two blocks of lines in parts: what a line's twin in the other block lacks is to stand out.

    Indentation never does: a block that moves to the right has no new word in it.
    """
    found = whole(older), whole(newer)
    for number, other in twins(older, newer):
        texts = older[number], newer[other]
        indents = [len(text) - len(text.lstrip()) for text in texts]
        one, two = (
            re.findall(r"\w+|\s+|.", text[indent:]) for text, indent in zip(texts, indents, strict=True)
        )
        parts: tuple[Words, Words] = [(texts[0][: indents[0]], False)], [(texts[1][: indents[1]], False)]
        for kind, first, last, start, end in difflib.SequenceMatcher(
            None, one, two, autojunk=False
        ).get_opcodes():
            # A blank between two changed words is no word that stayed.
            new = kind != "equal" or (first > 0 and last < len(one) and not "".join(one[first:last]).strip())
            parts[0].append(("".join(one[first:last]), new))
            parts[1].append(("".join(two[start:end]), new))
        found[0][number], found[1][other] = parts
    return found


def twins(older: Sequence[str], newer: Sequence[str]) -> list[tuple[int, int]]:
    """Which lines of two blocks are one line, changed: pairs in order that have most words in common."""
    if len(older) * len(newer) > MOST_PAIRS:
        return []
    # best[i][j]: the most words that the lines from i and from j on can have in common.
    best = [[0.0] * (len(newer) + 1) for _ in range(len(older) + 1)]
    alike = [[_words_in_common(one, two) for two in newer] for one in older]
    for i in reversed(range(len(older))):
        for j in reversed(range(len(newer))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], alike[i][j] + best[i + 1][j + 1])
    pairs, i, j = [], 0, 0
    while i < len(older) and j < len(newer):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def syntax(lines: Sequence[str]) -> list[list[dict[str, Any]]]:
    """For every character of every line its style as Python code; of what is no Python, as far as it goes."""
    # Only who sees colours waits for it.
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    styles: list[list[dict[str, Any]]] = [[]]
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        style = next((style for name, style in SYNTAX if str(token).startswith(name)), {})
        first, *rest = text.split("\n")
        styles[-1] += [style] * len(first)
        styles += [[style] * len(line) for line in rest]
    return styles


def _words_in_common(one: str, two: str) -> float:
    """How many words and signs two lines share; 0 where they are too little alike to be one line, changed."""
    words, others = re.findall(r"\w+|[^\w\s]", one), re.findall(r"\w+|[^\w\s]", two)
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    if not words or matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0
    ratio = matcher.ratio()
    return ratio * (len(words) + len(others)) if ratio >= ALIKE else 0


def _line(sign: str, parts: Words, colors: Sequence[dict[str, Any]]) -> str:
    """One line of the diff: what stands out is reversed, all else in the colours of its syntax."""
    text, styles = sign, [BASE[sign]]
    for part, stands_out in parts:
        place = len(text) - 1
        own = [{"reverse": True}] * len(part) if stands_out else colors[place : place + len(part)]
        styles += [{**BASE[sign], **style} for style in own]
        text += part
    pieces = groupby(zip(text, styles, strict=True), key=lambda char: char[1])
    shown = (("".join(char for char, _ in piece), style) for style, piece in pieces)
    return "".join(click.style(piece, **style) if style else piece for piece, style in shown)
