"""What ``docs/ideas.md`` shows of the tapes: one as a table, its cost, its calls on other wires."""

import json
import re
import sys
from typing import Any

from harness.lessons import find_lesson, load_agent
from harness.messages import Message, assistant
from harness.tape import Exchange, read_tape
from workshop.native import declared, to_anthropic, to_openai

LONGEST = 44  # characters of one text in a piece of JSON: three columns have to fit a page
LONGEST_LINE = 140  # characters of a line of the text protocol
CACHED = 0.1  # what a token of a kept prefix costs, of a new one's price: see the page for whose prices
SAME = "the same"


def own_exchanges(lesson: int) -> list[Exchange]:
    """The exchanges of the lesson's own agent: its tape also holds those of the lesson before.

    The last array of the tape is the lesson's, and its earlier ones are beginnings of it.
    """
    exchanges = read_tape(find_lesson(lesson).tape_path).exchanges
    final = exchanges[-1].messages
    return [exchange for exchange in exchanges if final[: len(exchange.messages)] == exchange.messages]


def tape_table(lesson: int) -> str:
    """A lesson's exchanges, from the array that was sent to the reply that came back."""
    rows = ["| the array that was sent | the reply |", "|---|---|"]
    for exchange in own_exchanges(lesson):
        array = "<br>".join(said(message) for message in exchange.messages)
        rows.append(f"| {array} | {code(exchange.text)} |")
    return "\n".join(rows)


def cost_table(lesson: int) -> str:
    """What each step of a turn sends, how much of it the step before had sent, and the sum of it."""
    rows = ["| step | tokens sent | of them in the step before | new |", "|---|--:|--:|--:|"]
    counts = [exchange.usage[0] for exchange in own_exchanges(lesson) if exchange.usage]
    before = [0, *counts[:-1]]
    for step, (now, then) in enumerate(zip(counts, before, strict=True), 1):
        rows.append(f"| {step} | {now:,} | {then:,} | {now - then:,} |")
    total, again, new = sum(counts), sum(before), counts[-1]
    rows.append(f"| all | {total:,} | {again:,} | {new:,} |")
    priced = new + CACHED * again
    rows.append(
        f"\nTo build an array of {new:,} tokens, {total:,} were sent. With what was there before at a tenth"
        f" of the price, that costs as much as {priced:,.0f}."
    )
    return "\n".join(rows)


def native_table(lesson: int) -> str:
    """A lesson's exchange, message by message: the text protocol, and both native forms of the same.

    Raises:
        ValueError: the lesson's protocol has no native form that can be read back (see ``workshop.native``).
    """
    last = own_exchanges(lesson)[-1]
    messages = [*last.messages, assistant(last.text)]
    openai, anthropic = to_openai(messages), to_anthropic(messages)
    rows = [
        "| what it is | text protocol | OpenAI `chat/completions` | Anthropic `messages` |",
        "|---|---|---|---|",
        declaration(lesson),
    ]
    blocks = [{"system": anthropic["system"]}, *anthropic["messages"]]
    for message, item, block in zip(messages, openai, blocks, strict=True):
        cells = [said(message), wire(item), SAME if block == item else wire(block)]
        if item == {"role": message.role, "content": message.content}:
            cells[1] = SAME
        rows.append(f"| {kind(item)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def declaration(lesson: int) -> str:
    """The row of the first tool: told in the prompt, or in a field of each request."""
    agent = load_agent(find_lesson(lesson).agent_path)
    tools = vars(sys.modules[agent.__module__]).get("TOOLS")
    if not tools:
        raise ValueError(f"lesson {lesson} has no registry of tools")
    name, description, schema = declared(tools)[0]
    prompt = own_exchanges(lesson)[0].messages[0].content
    told = prompt[prompt.index(f"\n{name}: ") :].split("\n")[1:3]
    function = {"name": name, "description": description, "parameters": schema}
    cells = (
        f"in the system prompt:<br>{'<br>'.join(code(line) for line in told)}",
        f"beside the array:<br>{wire({'tools': [{'type': 'function', 'function': function}]})}",
        "beside the array:<br>"
        + wire({"tools": [{"name": name, "description": description, "input_schema": schema}]}),
    )
    return f"| 1. declare | {' | '.join(cells)} |"


def kind(item: dict[str, Any]) -> str:
    """Which step of the contract a message is, or who speaks."""
    if "tool_calls" in item:
        return "2. call"
    return {"tool": "3. result", "user": "request", "assistant": "answer", "system": "orders"}[item["role"]]


def said(message: Message) -> str:
    """Who speaks, and what: the first two lines of it."""
    lines = [line for line in message.content.split("\n") if line]
    more = "<br>…" if lines[2:] else ""
    return f"{message.role}: {'<br>'.join(code(line) for line in lines[:2])}{more}"


def wire(item: dict[str, Any]) -> str:
    """A piece of a request, as it is sent, with its long texts cut."""
    return code(json.dumps(cut(item), ensure_ascii=False), longest=sys.maxsize)


def cut(value: Any) -> Any:
    """The value with each long text in it cut."""
    if isinstance(value, dict):
        return {key: cut(part) for key, part in value.items()}
    if isinstance(value, list):
        return [cut(part) for part in value]
    return shortened(value, LONGEST) if isinstance(value, str) else value


def shortened(text: str, longest: int) -> str:
    """A text of at most that many characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def code(text: str, longest: int = LONGEST_LINE) -> str:
    """A span of code in a cell of a table: neither a bar nor a backtick in it ends it."""
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " * ("`" in text)
    return f"{ticks}{space}{shortened(text, longest)}{space}{ticks}".replace("|", "\\|")


TABLES = {"cost": cost_table, "native": native_table, "tape": tape_table}
"""By the word that marks one on a page: ``<!-- generated: native 7 -->``."""
