"""The envelope of a call: what stands around the marker, and what only looks like one.

Models drift in the envelope while the JSON inside is right (izaart95-jpg/GLM-Free-API#44). So the envelope is
read tolerantly, and everything that looks like protocol is found, the parts that can't be used too: a reply
in which an attempt is overlooked passes for an answer (langgenius/dify-official-plugins#3703).
"""

import re
from typing import Literal, NamedTuple

# Before a marker, at the start of its line: blanks, invisible marks, bullets and numbers, bold, inline code.
# A ">" is not among them: a quoted line is a quotation.
BEFORE = r"^[\ufeff\u200b-\u200d\u2060 \t*_`•+\-\d.)]*+"
SIGN = re.compile(
    BEFORE
    + r"""(?:
    (?P<call>      TOOL_CALL [*_`:\s]*+ (?={) )                         # the marker, then a JSON object
  | (?P<result>    TOOL_RESULT [*_`:\ \t]*+ (?: SUCCESS | ERROR | \{ | \S*[./] | $ ) )
  | (?P<near_miss> (?i:<?/?tool[_\ ]?call>?) [*_`:\s]*+               # some marker, and then no object,
                       (?: [\[{("'“<] | \w+_files?\b | \Z )
                 | \{ \s*+ "name" \s*+ : \s*+ "[^"\n]*+" \s*+ , \s*+   # or an object and no marker
                       "(?:arguments|parameters)" )
    )""",
    re.MULTILINE | re.VERBOSE,
)
# A fence from its opening to its closing line. The first fence line after an opening one closes it.
FENCE = re.compile(r"^[ \t]*+```.*\n(?:(?![ \t]*+```).*\n)*+[ \t]*+```.*$", re.MULTILINE)
OPENED = re.compile(r"(?:```\w*|<tool_call>)\s*\Z")
# What may follow the closing brace and means nothing: the other half of the envelope, a template's end marks.
CLOSED = re.compile(r"\A(?:[*_`\s]|</\w+>|<\|[^|\n]{1,40}\|>|</?s>)*+")


class Sign(NamedTuple):
    """A place that looks like protocol. For a call, ``end`` is where its JSON object begins."""

    kind: Literal["call", "result", "near_miss"]
    start: int
    end: int


def find_signs(text: str) -> list[Sign]:
    """Every sign of protocol at the start of a line, in order; those shown as an example are left out.

    A mention in the middle of a line is none, nor is what stands in a fence with prose on both sides: a
    model that reports a suspicious line must not run it (mckinsey/agents-at-scale-ark#3276). Linear time.
    """
    if "_" not in text and "{" not in text:
        return []  # plain prose: no need to look at every line
    found = SIGN.finditer(without_examples(text) if "```" in text else text)
    return [Sign(match.lastgroup, *match.span()) for match in found]  # type: ignore[arg-type]


def without_examples(text: str) -> str:
    """The text with every fence that has prose on both sides blanked."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())

    def blanked(fence: re.Match[str]) -> str:
        is_example = first < fence.start() and fence.end() < last
        return " " * len(fence[0]) if is_example else fence[0]

    return FENCE.sub(blanked, text)


def prose_around(before: str, after: str) -> str:
    """What the user is shown of a reply with a call: the text on both sides, without the envelope."""
    if not before and not after:
        return ""
    return (OPENED.sub("", before) + CLOSED.sub("", after)).strip()
