"""Reading the JSON object of a call: strictly first, then by repairs that are exact, else not at all.

A repair that guesses is worse than an error: closing the braces of a cut call runs half an edit
(QwenLM/qwen-code#2021), replacing curly quotes rewrites the text of a file. So there are just three, and each
has one possible reading: raw newlines inside a string, a comma too many, a Python literal.
"""

import ast
import json
import re
import warnings
from contextlib import suppress
from typing import Any, NoReturn

from harness.errors import ToolError

LONGEST_LITERAL = 200_000  # characters; Python's own parser is no place for more
DEEPEST = 100  # brackets open at once, in an object that is to be repaired
# What Python's parser raises for a text that is no literal, or too much of one.
NOT_A_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, Warning)
# A string in either kind of quotes, or a bracket, or a quote that never closes.
TOKEN = re.compile(r"""("(?:[^"\\]|\\.)*+")|('(?:[^'\\]|\\.)*+')|([{}\[\]])|(["'])""", re.DOTALL)
COMMA_TOO_MANY = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*+[}\]])', re.DOTALL)


class TruncatedError(ToolError):
    """The text ends before the object does."""


def read_object(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Read the JSON object that begins at ``start``; give it and the place where it ends.

    The time is linear in the length of the text, whatever the text.

    Raises:
        TruncatedError: the object is not closed. Nothing in it may be used: what is missing is not known.
        ToolError: it is closed but can't be read, or is nested too deeply; the text says where and why.
    """
    try:
        found, end = DECODER.raw_decode(text, start)
        return found, end
    except json.JSONDecodeError as error:
        fault = f"{error.msg} at character {error.pos - start + 1}"
    except RecursionError:
        raise ToolError("the JSON is nested too deeply") from None
    except ValueError as error:  # a key twice, a number of thousands of digits: JSON, but not to be used
        raise ToolError(f"the JSON can't be used: {str(error)[:80]}") from None
    end = end_of_object(text, start)
    return repaired(text[start:end], fault), end


def end_of_object(text: str, start: int) -> int:
    """Where the brackets opened from ``start`` on are all closed again.

    Raises:
        TruncatedError: they are not.
        ToolError: more than ``DEEPEST`` are open at once.
    """
    depth = 0
    for token in TOKEN.finditer(text, start):
        if token[4]:
            break  # a quote that never closes: the rest is inside a string
        if token[3]:
            depth += 1 if token[3] in "{[" else -1
            if depth == 0:
                return token.end()
            if depth > DEEPEST:
                raise ToolError("the JSON is nested too deeply")
    raise TruncatedError("the call was cut off before its JSON was complete; send a shorter one")


def repaired(text: str, fault: str) -> dict[str, Any]:
    """The object in ``text``, by one of the exact repairs.

    Raises:
        ToolError: none of them helps, with ``fault`` as the reason.
    """
    with suppress(ValueError):
        return dict(DECODER.decode(COMMA_TOO_MANY.sub(lambda m: m[1] or "", text)))
    if len(text) <= LONGEST_LITERAL:
        # An escape that Python does not know is only a warning; here it is a fault.
        with suppress(*NOT_A_LITERAL), warnings.catch_warnings(action="error"):
            tree = ast.parse(text, mode="eval").body
            if isinstance(found := ast.literal_eval(tree), dict) and not has_key_twice(tree):
                return found
    raise ToolError(f"the JSON can't be read: {fault}")


def has_key_twice(tree: ast.expr) -> bool:
    """Whether any dict of a Python literal names a key twice."""
    dicts = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    keys = ([ast.dump(key) for key in one.keys if key] for one in dicts)
    return any(len(set(names)) < len(names) for names in keys)


def call_form(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of a decoded call.

    Two habits that native tool calling teaches models are taken in: arguments as JSON in a string
    (huggingface/smolagents#1003), unwrapped once, and ``parameters`` for ``arguments``.

    Raises:
        ToolError: there is no name, or the arguments are missing while other keys are there.
    """
    name = payload.get("name")
    arguments = payload.get("arguments", payload.get("parameters"))
    if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
        arguments, _ = read_object(arguments.strip(), 0)
    if arguments is None and set(payload) <= {"name", "arguments", "parameters"}:
        arguments = {}
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise ToolError('a call has two keys, "name" with a string and "arguments" with an object')
    return name, arguments


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's pairs as a dict.

    Raises:
        ValueError: a key stands twice with different values. Python would keep the last and say nothing.
    """
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise ValueError(f"the key {key[:40]!r} stands twice, with different values")
        found[key] = value
    return found


def no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(f"{name} is not JSON")


# Not strict: a raw newline inside a string can only mean a newline.
DECODER = json.JSONDecoder(object_pairs_hook=no_key_twice, parse_constant=no_constant, strict=False)
