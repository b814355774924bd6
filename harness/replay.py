"""Record and play tapes: what ChatClient asks is answered from a file, with no key, network or server."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.answers import may_pass
from harness.client import ChatClient, Reply, Usage
from harness.errors import ModelError, TapeError
from harness.messages import Message
from harness.redact import redactor
from harness.scenario import Rule
from harness.tape import Tape, read_tape, write_tape


@contextmanager
def recording(
    path: Path, *, model: str, when: str, secrets: Sequence[str] = ()
) -> Iterator[Callable[[], None]]:
    """Let requests through to the network, and write what was asked and answered to a tape at the end.

    Gives a function to call before a second run goes onto the same tape. From then on, what the first run
    asked is answered as it was then: a real model would answer otherwise, and a table from array to reply
    could not give each run its own. Within a run, equal arrays keep all their replies, in order.

    An exception inside leaves a tape that was there as it was.

    Args:
        path: the tape to write.
        model: who speaks.
        when: the date, as the tape is to say it.
        secrets: the keys in use, should something quote them. Keys of the usual shapes, account ids and
            the home folder are taken out anyway.

    Raises:
        TapeError: nothing was recorded, or the tape can't be written.
    """
    from harness.cassette import table_for_network

    redact = redactor(secrets)
    with table_for_network((), redact, record=True) as table:
        yield table.rewind
    if not table.requests:
        raise TapeError(f"nothing to write to {path}: no model answered anything")
    write_tape(path, Tape(redact(model), when, table.requests))


@contextmanager
def playing(path: Path, *, secrets: Sequence[str] = ()) -> Iterator[Tape]:
    """Answer every request from a tape, whatever its host, key or model; nothing goes to the network.

    What is not on the tape raises vcr's CannotOverwriteExistingCassetteException; see ``Player``. Each use
    plays from the tape's start.

    Args:
        path: the tape.
        secrets: the keys in use. Taken out of a request, as they were out of the tape, before it is
            looked up.

    Raises:
        TapeError: the file is missing, cut, or no tape.
    """
    tape = read_tape(path)  # first, for it is quick to fail
    from harness.cassette import table_for_network

    with table_for_network(tape.exchanges, redactor(secrets), record=False):
        yield tape


class Player:
    """A ChatClient that can go off its tape, while ``playing``.

    An edited lesson sends arrays that nobody recorded. Those are answered by the scenario's scripted model,
    and the first time ``notice`` is told why. The tape is asked first each time, as what follows may be on
    it again.
    """

    def __init__(self, client: ChatClient, rules: Sequence[Rule], *, notice: Callable[[str], None]) -> None:
        self._client = client
        self._rules = rules
        self._notice = notice
        self._noticed = False

    def complete(self, messages: Sequence[Message]) -> Reply:
        """The reply that was recorded for this array, else the scripted model's.

        Raises:
            ModelError: it was an error that was recorded, or is scripted.
        """
        from vcr.errors import CannotOverwriteExistingCassetteException  # type: ignore[import-untyped]

        try:
            return self._client.complete(messages)
        except CannotOverwriteExistingCassetteException as error:
            if not self._noticed:
                self._noticed = True
                why = error.cassette.why_not(error.failed_request)
                self._notice(f"Not on the tape: {why}. The scripted model goes on from here.")
        return scripted(self._rules, messages)

    def close(self) -> None:
        """Close the client."""
        self._client.close()


def scripted(rules: Sequence[Rule], messages: Sequence[Message]) -> Reply:
    """The scripted model's reply, without a server.

    Raises:
        ModelError: the rule that fits is one of another status than 200.
    """
    from harness.scripted_model import completion, scripted_reply  # brings a web server along

    array = [{"role": message.role, "content": message.content} for message in messages]
    rule = scripted_reply(rules, array)
    if rule.status != 200:
        raise ModelError(
            f"the scripted model answered {rule.status}: {rule.reply}", retryable=may_pass(rule.status)
        )
    return Reply(rule.reply, rule.finish_reason, Usage(**completion(rule, array)["usage"]))
