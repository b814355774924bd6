"""Answers: from what came back over HTTP to a Reply, or to one line that says what is wrong.

Everything here was sent by some server to somebody: errors inside a 200, a web page, content in blocks.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from harness.errors import ModelError
from harness.messages import assistant

_HINTS = {
    401: "Check the key (LLM_API_KEY).",
    403: "Check the key (LLM_API_KEY) and what it may use.",
    404: "Check the base URL (most end in /v1) and the name of the model.",
    405: "Check the base URL (most end in /v1).",
    413: "The conversation is too long for this server.",
}


@dataclass(frozen=True)
class Usage:
    """How many tokens the server counted: the array it read, and the text it wrote."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Reply:
    """What the model said. An empty text is a reply too: a model that only reasoned, or called natively."""

    text: str
    finish_reason: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True)
class Answer:
    """One HTTP response, whole. ``retry_after`` is in seconds, 0 where the server named none."""

    url: str
    status: int
    reason: str
    content_type: str
    location: str
    retry_after: float
    body: bytes


def may_pass(status: int) -> bool:
    """Whether a refusal with this status may be gone when asked again."""
    return status in (408, 409, 429) or 500 <= status < 600


def read_reply(answer: Answer) -> Reply:
    """Read the model's reply out of an answer.

    Raises:
        ModelError: the answer holds none. The text may be long and quote the server; the caller cuts it.
    """
    if 300 <= answer.status < 400:
        raise ModelError(
            f"{answer.url} redirects ({answer.status}) to {answer.location or 'nowhere'}. A redirect is not "
            "followed, for the key would go with it: if that address is right, make it the base URL."
        )
    try:
        value = json.loads(answer.body)
        fault = ""
    except (ValueError, RecursionError) as error:  # ValueError: also not UTF-8, an integer of 5,000 digits
        value, fault = None, str(error)
    if not 200 <= answer.status < 300:
        raise _refusal(answer, value)
    if fault:
        raise _not_json(answer, fault)
    _raise_error_object(answer, value)  # before the choices: some send both

    choices = _get(value, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    _raise_error_object(answer, choice)
    message = _get(choice, "message")
    content = _get(message, "content")
    if not isinstance(message, dict) or not isinstance(content, str | list | None):
        raise ModelError(
            f"{answer.url} answered with JSON that is not a chat completion: no usable text in choices[0] "
            f"({_outline(answer, value)})",
            retryable=True,
        )
    reason = _get(choice, "finish_reason")
    return Reply(_text(content), reason if isinstance(reason, str) else None, _usage(_get(value, "usage")))


def _get(value: object, key: str) -> Any:
    """A member of a JSON object; None where it has none, or where it is no object."""
    return value.get(key) if isinstance(value, dict) else None


def _text(content: str | list[Any] | None) -> str:
    """The text of a message: blocks of text joined, other kinds (thinking, images) left out."""
    if isinstance(content, list):
        blocks = [item if isinstance(item, dict) else {"text": item} for item in content]
        texts = [block.get("text") for block in blocks if block.get("type", "text") == "text"]
        content = "".join(text for text in texts if isinstance(text, str))
    return assistant(content or "").content  # as the array will hold it: without lone surrogates


def _usage(value: object) -> Usage | None:
    prompt, completion = _get(value, "prompt_tokens"), _get(value, "completion_tokens")
    return Usage(prompt, completion) if isinstance(prompt, int) and isinstance(completion, int) else None


def _error_object(answer: Answer, value: object) -> tuple[str, str] | None:
    """The words and the code of ``{"error": …}``; Google wraps it in a list, Ollama sends bare words."""
    if isinstance(value, list) and value:
        value = value[0]
    error = _get(value, "error")
    if not error:
        return None
    words = _get(error, "message") if isinstance(error, dict) else error
    code = _get(error, "code")
    return (
        words if isinstance(words, str) else _excerpt(answer.body),
        str(code) if isinstance(code, str | int) else "",
    )


def _raise_error_object(answer: Answer, value: object) -> None:
    """Raise the error that a provider put under a status of 200, in its own words."""
    if found := _error_object(answer, value):
        words, code = found
        passing = re.fullmatch("[1-5][0-9][0-9]", code) is not None and may_pass(int(code))
        named = f"error {code}" if code else "an error"
        raise ModelError(f"{answer.url} answered with {named}: {words}", retryable=passing)


def _refusal(answer: Answer, value: object) -> ModelError:
    """A status of 4xx or 5xx: what to check, and the server's words last, where a cut hurts least."""
    words, code = _error_object(answer, value) or ("", "")
    bare = (_get(value, "message"), _get(value, "detail"))  # without an error object around them
    words = words or next((each for each in bare if isinstance(each, str)), _excerpt(answer.body))
    # A 429 that says so is not about speed: the account is empty, and will be in ten seconds.
    passing = may_pass(answer.status) and code != "insufficient_quota"
    hint = _HINTS.get(answer.status, "")
    words = words and f"It says: {words}"
    parts = (f"{answer.url} answered {answer.status} {answer.reason}.", hint, words)
    return ModelError(" ".join(filter(None, parts)), retryable=passing)


def _not_json(answer: Answer, fault: str) -> ModelError:
    """A status of 200 and no JSON: name the likely cause."""
    kind = answer.content_type or "no content type"
    start = answer.body[:200].lstrip().lower()
    if "html" in kind or start.startswith((b"<!doctype", b"<html")):
        return ModelError(
            f"{answer.url} answered with an HTML page ({kind}) instead of JSON. The base URL may lack /v1, "
            "or this network wants you to log in first."
        )
    if "event-stream" in kind or start.startswith(b"data:"):
        return ModelError(
            f"{answer.url} answered with an event-stream ({kind}), which was not asked for. "
            "Switch streaming off in the server or the proxy."
        )
    found = f"broken JSON ({kind}; {fault}): {_excerpt(answer.body)}" if start else f"an empty body ({kind})"
    return ModelError(f"{answer.url} answered with {found}", retryable="json" in kind or not start)


def _excerpt(body: bytes) -> str:
    """Enough of a body to know it again; of a web page only the title.

    It is not cut to fit: half of a key that it quotes would not be recognized as the key.
    """
    text = body[:2000].decode("utf-8", "replace").strip()
    if text.startswith("<"):
        title = re.search(r"<title>([^<]*)", text, re.IGNORECASE)
        return f"an HTML page, {title[1].strip()!r}" if title else "an HTML page"
    return text


def _outline(answer: Answer, value: object) -> str:
    """What a JSON value holds, in few words."""
    if isinstance(value, dict):
        return "its keys: " + (", ".join(list(value)[:8]) or "none")
    return f"all of it: {_excerpt(answer.body)}"
