"""Reasoning is not speech: what a model thinks aloud is neither shown, nor run, nor kept.

Servers that know a model's template split its reasoning off; others leave the tags in the text
(vllm, renderers and qvac settled on removing them first, PrimeIntellect-ai/renderers#80). Some templates
open the tag themselves, so that the reply starts inside it (unslothai/unsloth#5704).
"""

import re

TAG = re.compile(r"<(/?)(?:think|thinking|reasoning)>")
CALL = re.compile(r"^\W*TOOL_CALL\b[^\n]*", re.MULTILINE)


def without_reasoning(reply: str) -> str:
    """The reply without its reasoning. Tags in a call line are text of the call and stay.

    A tag that is never closed takes the rest with it; one that was never opened takes what is before it.
    """
    if "<" not in reply or not TAG.search(reply):
        return reply
    calls = [match.span() for match in CALL.finditer(reply)]
    kept: list[str] = []
    start, thinking = 0, False
    for tag in TAG.finditer(reply):
        while calls and calls[0][1] <= tag.start():
            calls.pop(0)
        if calls and calls[0][0] <= tag.start() and not thinking:
            continue  # inside a call line: a text that somebody wants written
        closes = tag[1] == "/"
        if closes and not thinking:
            kept.clear()
        elif not closes and not thinking:
            kept.append(reply[start : tag.start()])
        thinking = not closes
        start = tag.end()
    if not thinking:
        kept.append(reply[start:])
    return "".join(kept)
