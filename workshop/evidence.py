"""What is shown beside an expectation that was not met: what was sent to the model, what the user saw."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.messages import Message
from harness.printable import one_line, printable
from workshop.examinee import Examinee
from workshop.trial import NO_MORE, Model, Outcome, Trial, UnmetError

MESSAGES_SHOWN = 10  # the last ones of the last array
LINES_SHOWN = 8  # the last ones that the user saw
WIDTH = 110  # characters of a message that are shown at its beginning, and as many at its end
SAYS_NOTHING = re.compile(rf"(\n(<.*>|You: Go on\.|Assistant: {re.escape(NO_MORE)}))+\Z")
"""How a conversation ends where a model has nothing more to say, and turns are left."""


class WatchedTrial(Trial):
    """A trial that keeps what was sent in its last conversation, also when the agent raised an error."""

    requests: Sequence[tuple[Sequence[Message], str]] = ()
    """Every array that was sent, with what the model said to it."""
    outcome: Outcome | None = None

    def run(self, turns: Sequence[str], model: Model, **given: Any) -> Outcome:
        """As Trial.run."""
        requests: list[tuple[Sequence[Message], str]] = []
        self.requests, self.outcome = requests, None

        def watched(messages: Sequence[Message]) -> str:
            requests.append((list(messages), ""))
            strangers = [item for item in messages if not isinstance(item, Message)]
            if strangers:
                kind = type(strangers[0]).__name__
                raise UnmetError(
                    f"the array holds a {kind}; it should hold messages: user(...), assistant(...)"
                )
            requests[-1] = (requests[-1][0], model(messages))
            return requests[-1][1]

        self.outcome = super().run(turns, watched, **given)
        return self.outcome


def evidence(trial: WatchedTrial, examinee: Examinee) -> Iterator[str]:
    """What was to be seen of a trial's last conversation: how the last array ended, and the screen."""
    if not trial.requests:
        yield "sent to the model: nothing"
    else:
        telling = [number for number, (_, reply) in enumerate(trial.requests, 1) if reply != NO_MORE]
        number = telling[-1] if telling else 1
        array, reply = trial.requests[number - 1]
        # The system prompt is of use where there is little else, and in the way where there is.
        shown = array[-min(MESSAGES_SHOWN, max(2, len(array) - 1)) :]
        left_out = f", the last {len(shown)} of them:" if len(shown) < len(array) else ":"
        yield f"sent to the model (request {number}, {len(array)} message{'s' * (len(array) != 1)}){left_out}"
        for message in shown:
            if isinstance(message, Message):
                yield f"  {message.role + ':':10} {excerpt(message.content)}"
        yield f"the model then said: {excerpt(reply)}"
    if trial.outcome is None:
        return
    seen = SAYS_NOTHING.sub("", printable(trial.outcome.transcript).strip())
    yield "the user saw, at the end:" if seen else "the user saw: nothing"
    yield from (f"  {excerpt(line)}" for line in seen.split("\n")[-LINES_SHOWN:] if seen)
    if (error := trial.outcome.error) is not None:
        place = examinee.line_of(error)
        at = f", at {examinee.at(place)}" if place else ""
        yield f"the conversation ended there: {type(error).__name__}: {one_line(str(error), 300)}{at}"


def excerpt(text: str) -> str:
    """A text in one line: all of it if it is short, else how it begins and ends."""
    if len(text) <= 2 * WIDTH + 30:
        return one_line(text, 2 * WIDTH + 30) or "(an empty text)"
    middle = len(text) - 2 * WIDTH
    return f"{one_line(text[:WIDTH])} … ({middle} characters) … {one_line(text[-WIDTH:])}"
