"""Why an array is not on a tape: where it first differs from the recorded array that comes nearest."""

from collections.abc import Sequence

from harness.messages import Message

Array = Sequence[Message]
SHOWN = 40  # characters of either side


def first_difference(array: Array, recorded: Sequence[Array]) -> str:
    """Name the message, the line and the words, in one printable line.

    Nearest is the recorded array that shares the most messages from the start on; of several the one that
    shares the most of the next message's text; of several still, the one whose length comes nearest.
    """

    def nearness(other: Array) -> tuple[int, int, int]:
        same = in_common(array, other)
        here, there = (one[same].content if same < len(one) else "" for one in (array, other))
        return same, in_common(here, there), -abs(len(array) - len(other))

    nearest = max(recorded, key=nearness, default=())
    same = in_common(array, nearest)
    if same == len(array):
        return f"the array ends after message {same}, where those of the tape go on"
    here, message = array[same], f"message {same + 1}"
    if same == len(nearest):
        return f"{message} ({here.role}) is one more than the tape has: {quoted(here.content)}"
    there = nearest[same]
    if here.role != there.role:
        return f"{message} comes from the {here.role} here, from the {there.role} on the tape"
    return f"{message} ({here.role}), {differing_words(here.content, there.content)}"


def differing_words(here: str, there: str) -> str:
    """The line, counted from 1, and both texts from the first word that differs."""
    at = in_common(here, there)
    word = max(here.rfind(space, 0, at) for space in " \n\t") + 1
    start = max(word, at - SHOWN // 2)  # JSON on one line is one long word
    line = here.count("\n", 0, at) + 1
    return f"line {line}: {quoted(here[start:])} here, {quoted(there[start:])} on the tape"


def quoted(text: str) -> str:
    """The first line of a text, shortened, with what can't be seen written out, its line end too."""
    line = "".join(text.partition("\n")[:2])
    return repr(line if len(line) <= SHOWN else line[:SHOWN] + "…") if line else "nothing more"


def in_common(one: Sequence[object], other: Sequence[object]) -> int:
    """How many items of two sequences (messages, characters) are the same, from the start on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
