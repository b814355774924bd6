"""Text from a model or a file, made safe to show: it can be read, but it can't work the terminal."""

import json
import re
import unicodedata
from collections.abc import Mapping

VALUES_WIDTH = 80  # characters that the argument values of one tool-call line share

# What a reader can't see as a character: controls (Cc: C0, DEL, C1), format characters (Cf: the bidi
# overrides of "Trojan Source", zero-width marks, tags), lone surrogates (Cs), line separators (Zl, Zp).
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

# Two format characters do honest work: the joiners, in Persian, in Hindi and in emoji. Behind an ASCII
# character there is nothing to join, so there they can only hide.
_JOINERS = "\u200c\u200d"
_JOINER_THAT_HIDES = re.compile(r"(?<![^\x00-\x7f])[\u200c\u200d]+")


def printable(text: str) -> str:
    r"""``text`` with everything that isn't a visible character written out: ``\x1b``, ``\u202e``.

    Line feeds and tabs stay, CRLF becomes a line feed, a lone carriage return (it lets the rest of a line
    overwrite its beginning) is written out. Takes time linear in the length. For showing only: what the
    model reads is never changed. What such text can do to a reader: https://trojansource.codes.
    """
    if text.isprintable():  # the usual case, decided without building anything
        return text
    text = text.replace("\r\n", "\n")
    unseen = {ord(char): _escape(char) for char in set(text) if _is_unseen(char)}
    if unseen:
        text = text.translate(unseen)
    return _JOINER_THAT_HIDES.sub(lambda found: _escape(found[0]), text)


def one_line(text: str, limit: int = 200) -> str:
    r"""Like ``printable``, in one line: line feeds are written out too, and it is cut at ``limit``."""
    kept, left_out = _cut(text, limit)
    return printable(kept).replace("\n", "\\n") + left_out


def brief(arguments: Mapping[str, object]) -> str:
    """A call's arguments as JSON in about one line: long values are cut, and it says by how much."""
    width = max(12, VALUES_WIDTH // max(1, len(arguments)))
    items = (
        f"{json.dumps(str(key), ensure_ascii=False)}: {_brief_value(value, width)}"
        for key, value in arguments.items()
    )
    return one_line("{" + ", ".join(items) + "}", 5 * VALUES_WIDTH)


def _brief_value(value: object, width: int) -> str:
    if isinstance(value, str):  # cut before it is quoted, so that the quotes close and the count is true
        kept, left_out = _cut(value, width)
        return json.dumps(kept, ensure_ascii=False) + left_out
    try:
        text = json.dumps(value, ensure_ascii=False, default=repr)
    except (RecursionError, TypeError):  # nested too deep, or with keys that JSON has not
        text = f"<{type(value).__name__}>"
    return "".join(_cut(text, width))


def _cut(text: str, width: int) -> tuple[str, str]:
    """``text`` up to ``width`` characters, and a note on the rest, where the rest is longer."""
    rest = len(text) - width
    if rest <= 24:
        return text, ""
    return text[:width], f"… ({rest} more characters)"


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN and char not in "\n\t" + _JOINERS


def _escape(chars: str) -> str:
    return chars.encode("unicode_escape").decode("ascii")
