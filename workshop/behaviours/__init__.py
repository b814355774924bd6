"""The behaviours: what an agent can do, each with the first lesson that can.

From that lesson on a behaviour must hold; in every lesson before it must fail, and in the lesson just before
it fails with the sentence in ``breaks``, which is what broke. Each is worded so that doing nothing fails it.

``all_behaviours`` gives the rows in the order of the lessons; a file beside this one holds each group.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from workshop.trial import Outcome, Trial


@dataclass(frozen=True)
class Behaviour:
    """One row of the matrix."""

    name: str
    first: int
    """The first lesson that has it."""
    breaks: str
    """The sentence with which the lesson before ``first`` fails."""
    check: Callable[[Trial], None]

    @property
    def title(self) -> str:
        """The check's docstring: what is shown in the matrix."""
        return (self.check.__doc__ or self.name).strip().rstrip(".")


REGISTERED: list[Behaviour] = []


def behaviour(first: int, breaks: str = "") -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    """Register a check as a row of the matrix."""

    def register(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
        REGISTERED.append(Behaviour(check.__name__, first, breaks, check))
        return check

    return register


def all_behaviours() -> list[Behaviour]:
    """Every row of the matrix, in the order of the lessons."""
    from workshop.behaviours import article, holding, reading, surroundings  # noqa: F401 - each registers its own when it is imported

    return sorted(REGISTERED, key=lambda row: row.first)


def said_at_the_end(seen: Outcome) -> bool:
    """Whether the last that the user saw of the first turn is a note of the harness, whatever it says."""
    end = seen.transcript.partition("\n<Turn 2>")[0].rpartition("\n")[2]
    return bool(end.strip()) and not re.match(r"You:|Assistant:|tool-\w+:|<", end)


def read(path: str) -> str:
    """A call of read_file, as a model writes it."""
    return f'TOOL_CALL {{"name":"read_file","arguments":{{"path":"{path}"}}}}'


def edit(path: str, old_text: str, new_text: str) -> str:
    """A call of edit_file, as a model writes it."""
    return (
        'TOOL_CALL {"name":"edit_file","arguments":'
        f'{{"path":"{path}","old_text":"{old_text}","new_text":"{new_text}"}}}}'
    )
