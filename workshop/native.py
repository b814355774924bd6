"""The text protocol's array as native tool calls, and back: what moves where, and that nothing is lost.

Two wire forms: OpenAI's ``chat/completions`` (``tool_calls``, and messages of the role ``tool``) and
Anthropic's ``messages`` (blocks ``tool_use`` and ``tool_result``). Both are read back after they are made,
so a conversion is exact or an error. It reads the protocol of lessons 2 to 7. What has no place in a native
form (prose behind a call, or the number of lines in a result's header, from lesson 8 on) is an error.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.messages import Message, Role

Item = dict[str, Any]
Form = TypeVar("Form")

CALL = re.compile(r"(?:(?P<prose>.+)\n)?TOOL_CALL (?P<call>\{.*\})", re.DOTALL)
RESULT = re.compile(r"TOOL_RESULT (?P<outcome>SUCCESS|ERROR)\n(?P<text>.*)", re.DOTALL)
FAILED = "ERROR\n"  # OpenAI's form has no mark for a failure, so the text has to say it


@dataclass(frozen=True)
class Part:
    """A message, taken apart: the text, and beside it a call, or what came of one."""

    role: Role
    text: str
    id: str = ""
    """Ties a result to its call. The text protocol has none: there it is the order that does."""
    call: Item = field(default_factory=dict)
    """``name`` and ``arguments``, or empty."""
    failed: bool | None = None
    """Of a result: whether it is an error. None: this is no result."""


def taken_apart(messages: Sequence[Message]) -> list[Part]:
    """The messages with their calls and results, each result with the id of the call before it.

    Raises:
        ValueError: a call has no result, or a result no call; only the last call may still wait for its
            own. Both APIs refuse such an array.
    """
    parts: list[Part] = []
    calls = 0
    for message in messages:
        open_call = parts[-1].id if parts and parts[-1].call else ""
        result = RESULT.fullmatch(message.content) if message.role == "user" else None
        call = CALL.fullmatch(message.content) if message.role == "assistant" else None
        if bool(open_call) != bool(result):
            raise ValueError(f"a call without result, or a result without call, at {message.content[:80]!r}")
        if result:
            part = Part("user", result["text"], id=open_call, failed=result["outcome"] == "ERROR")
        elif call:
            calls += 1
            part = Part("assistant", call["prose"] or "", f"call_{calls}", json.loads(call["call"]))
        else:
            part = Part(message.role, message.content)
        parts.append(part)
    return parts


def put_together(parts: Iterable[Part]) -> list[Message]:
    """The messages of the text protocol again."""
    return [Message(part.role, protocol_text(part)) for part in parts]


def protocol_text(part: Part) -> str:
    """One message's text, with its call or its result's header."""
    if part.failed is not None:
        return f"TOOL_RESULT {'ERROR' if part.failed else 'SUCCESS'}\n{part.text}"
    if part.call:
        call = f"TOOL_CALL {json.dumps(part.call, ensure_ascii=False, separators=(',', ':'))}"
        return f"{part.text}\n{call}" if part.text else call
    return part.text


def to_openai(messages: Sequence[Message]) -> list[Item]:
    """The ``messages`` of a ``chat/completions`` request.

    Raises:
        ValueError: the array does not survive the way there and back.
    """
    items = [_to_openai(part) for part in taken_apart(messages)]
    return _checked(items, from_openai(items), messages)


def _to_openai(part: Part) -> Item:
    if part.failed is not None:
        return {"role": "tool", "tool_call_id": part.id, "content": FAILED * part.failed + part.text}
    if not part.call:
        return {"role": part.role, "content": part.text}
    arguments = json.dumps(part.call["arguments"], ensure_ascii=False, separators=(",", ":"))
    function = {"name": part.call["name"], "arguments": arguments}  # JSON in a string: it may be cut off
    calls = [{"id": part.id, "type": "function", "function": function}]
    return {"role": "assistant", "content": part.text or None, "tool_calls": calls}


def from_openai(items: Iterable[Item]) -> list[Message]:
    """The text protocol's array for the ``messages`` of a ``chat/completions`` request."""
    return put_together(map(_from_openai, items))


def _from_openai(item: Item) -> Part:
    match item:
        case {"role": "tool", "tool_call_id": str(name), "content": str(text)}:
            return Part("user", text.removeprefix(FAILED), id=name, failed=text.startswith(FAILED))
        case {"tool_calls": [{"id": str(name), "function": {"name": tool, "arguments": arguments}}]}:
            call = {"name": tool, "arguments": json.loads(arguments)}
            return Part("assistant", item["content"] or "", id=name, call=call)
    return Part(item["role"], item["content"])


def to_anthropic(messages: Sequence[Message]) -> Item:
    """The ``system`` and the ``messages`` of a ``messages`` request.

    Raises:
        ValueError: the array does not survive the way there and back.
    """
    parts = taken_apart(messages)
    standing = [part.text for part in parts if part.role == "system"]  # no message here, but a field
    request = {"system": "".join(standing), "messages": [_to_anthropic(p) for p in parts[len(standing) :]]}
    return _checked(request, from_anthropic(request), messages)


def _to_anthropic(part: Part) -> Item:
    if part.failed is not None:
        block = {"type": "tool_result", "tool_use_id": part.id, "content": part.text}
        return {"role": "user", "content": [block | {"is_error": True} if part.failed else block]}
    if not part.call:
        return {"role": part.role, "content": part.text}
    prose = [{"type": "text", "text": part.text}] if part.text else []
    use = {"type": "tool_use", "id": part.id, "name": part.call["name"], "input": part.call["arguments"]}
    return {"role": "assistant", "content": [*prose, use]}


def from_anthropic(request: Item) -> list[Message]:
    """The text protocol's array for the ``system`` and ``messages`` of a ``messages`` request."""
    standing = [Part("system", request["system"])] if request["system"] else []
    return put_together([*standing, *map(_from_anthropic, request["messages"])])


def _from_anthropic(item: Item) -> Part:
    match item["content"]:
        case [{"type": "tool_result", "tool_use_id": str(name), "content": str(text)} as block]:
            return Part("user", text, id=name, failed=block.get("is_error", False))
        case [*prose, {"type": "tool_use", "id": str(name), "name": tool, "input": arguments}]:
            text = "".join(block["text"] for block in prose)
            return Part("assistant", text, id=name, call={"name": tool, "arguments": arguments})
    return Part(item["role"], item["content"])


def _checked(form: Form, again: list[Message], messages: Sequence[Message]) -> Form:
    if again != list(messages):
        odd = next(new.content for new, old in zip(again, messages, strict=True) if new != old)
        raise ValueError(f"a message does not come back as it was, but as {odd[:80]!r}")
    return form


def declared(tools: dict[str, Callable[..., str]]) -> list[tuple[str, str, Item]]:
    """Of each registered tool its name, its docstring, and its arguments as a JSON schema.

    All three are what lesson 4's registry writes the prompt from.
    """
    import pydantic

    told = []
    for name, method in tools.items():
        fields: Item = {
            parameter.name: (
                parameter.annotation,
                ... if parameter.default is parameter.empty else parameter.default,
            )
            for parameter in list(inspect.signature(method).parameters.values())[1:]  # all but self
        }
        schema = pydantic.create_model(name, **fields).model_json_schema()
        schema.pop("title")
        for argument in schema["properties"].values():
            argument.pop("title")
        told.append((name, inspect.getdoc(method) or "", schema))
    return told
