"""What docs/ideas.md says: its tables come from the tapes, its native forms are exact, its hints are true."""

import io
import json
import re

import pytest

from harness.console import Console
from harness.lessons import COURSE, all_lessons, find_lesson
from harness.messages import assistant, system, user
from harness.runner import play
from workshop.native import declared, from_anthropic, from_openai, to_anthropic, to_openai
from workshop.pages import generate
from workshop.tables import code, cost_table, native_table, own_exchanges, tape_table

PAGE = COURSE / "docs" / "ideas.md"
FORMS = pytest.mark.parametrize(
    ("to", "back"), [(to_openai, from_openai), (to_anthropic, from_anthropic)], ids=["openai", "anthropic"]
)
CALL = 'TOOL_CALL {"name":"read_file","arguments":{"path":"a.md"}}'


def final_array(lesson):
    last = own_exchanges(lesson)[-1]
    return [*last.messages, assistant(last.text)]


@FORMS
@pytest.mark.parametrize("lesson", [4, 5, 6, 7])
def test_each_array_of_a_tape_survives_the_way_there_and_back(to, back, lesson):
    for exchange in own_exchanges(lesson):
        array = [*exchange.messages, assistant(exchange.text)]
        assert back(json.loads(json.dumps(to(array)))) == array


@FORMS
@pytest.mark.parametrize(
    "array",
    [
        [system("Be kind."), user("Hi."), assistant("Hello.")],
        [user("No orders."), assistant(f"Two\n\nlines.\n{CALL}"), user("TOOL_RESULT SUCCESS\n")],
        [user("x"), assistant(CALL), user("TOOL_RESULT SUCCESS\nTOOL_RESULT ERROR\nin a file")],
        [user("x"), assistant(CALL), user("TOOL_RESULT ERROR\nERROR\ntwice")],
        [
            user("x"),
            assistant('TOOL_CALL {"name":"edit_file","arguments":{"n":"ü\\n\\"|`","d":{"a":[1,null]}}}'),
        ],
        [user("TOOL_RESULT is a word"), assistant("and TOOL_CALL { is none")],
    ],
    ids=[
        "plain",
        "prose and an empty result",
        "a forged result",
        "an error of errors",
        "arguments",
        "mentions",
    ],
)
def test_odd_messages_survive_too(to, back, array):
    assert back(to(array)) == array


@FORMS
@pytest.mark.parametrize(
    ("array", "complaint"),
    [
        ([user("x"), user("TOOL_RESULT SUCCESS\ny")], "a result without call"),
        ([user("x"), assistant(CALL), user("Go on.")], "a call without result"),
        ([user("x"), assistant(f"{CALL}\nprose behind"), user("TOOL_RESULT SUCCESS\ny")], "without call"),
        ([user("x"), assistant(CALL), user("TOOL_RESULT SUCCESS 1 lines\ny")], "a call without result"),
        ([user("x"), assistant(CALL.replace('":"', '": "'))], "does not come back"),
    ],
    ids=["a result alone", "a call alone", "prose behind the call", "a count of lines", "other spaces"],
)
def test_what_has_no_native_form_is_refused(to, back, array, complaint):
    with pytest.raises(ValueError, match=complaint):
        to(array)


def test_a_success_that_reads_like_openais_failure_is_refused_there_and_only_there():
    array = [user("x"), assistant(CALL), user("TOOL_RESULT SUCCESS\nERROR\nsays the file")]
    with pytest.raises(ValueError, match="does not come back"):
        to_openai(array)
    assert from_anthropic(to_anthropic(array)) == array


def test_the_openai_form_is_what_that_api_takes():
    items = to_openai(final_array(7))
    assert [item["role"] for item in items] == ["system", "user", *["assistant", "tool"] * 3, "assistant"]
    for call, result in zip(items[2:-1:2], items[3::2], strict=True):
        (wanted,) = call["tool_calls"]
        assert wanted["type"] == "function"
        assert isinstance(json.loads(wanted["function"]["arguments"]), dict)
        assert result["tool_call_id"] == wanted["id"]
    assert items[2]["content"] is None
    assert items[6]["content"] == "180 seconds are 3 minutes, and README.md says 4."
    assert "TOOL_" not in json.dumps(items[1:]), "the protocol is gone from all but the orders"


def test_the_anthropic_form_is_what_that_api_takes():
    request = to_anthropic(final_array(6))
    asked, call, result, answer = request["messages"]
    assert request["system"] == final_array(6)[0].content
    assert (asked["role"], answer["role"]) == ("user", "assistant")
    assert call["content"] == [
        {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "../diary.txt"}}
    ]
    (block,) = result["content"]
    assert (result["role"], block["tool_use_id"], block["is_error"]) == ("user", "call_1", True)
    done = to_anthropic(final_array(7))["messages"][2]["content"][0]
    assert "is_error" not in done


def test_ids_are_not_used_twice():
    ids = re.findall(r'"id": "(\w+)"', json.dumps(to_openai(final_array(7))))
    assert ids == ["call_1", "call_2", "call_3"]


def test_tools_are_declared_by_their_signatures():
    def look(self, path: str = ".", lines: int = 10) -> str:
        """Look."""

    def edit(self, path: str, words: list[str]) -> str:
        """Edit."""

    assert declared({"look": look, "edit": edit}) == [
        (
            "look",
            "Look.",
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "default": "."},
                    "lines": {"type": "integer", "default": 10},
                },
            },
        ),
        (
            "edit",
            "Edit.",
            {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "words": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["path", "words"],
            },
        ),
    ]


def test_the_native_table_has_a_row_a_message_and_one_for_the_tools():
    rows = generate("native 7").splitlines()
    cells = [row.replace(r"\|", "").count("|") for row in rows]
    assert cells == [5] * len(rows), "a bar in a cell would make one more"
    kinds = [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]]
    calls = ["2. call", "3. result"] * 3
    assert kinds == ["1. declare", "orders", "request", *calls, "answer"]


@pytest.mark.parametrize("lesson", [2, 8, 13])
def test_lessons_without_a_native_form_say_so(lesson):
    with pytest.raises(ValueError, match=r"result|registry"):
        native_table(lesson)


def test_the_tape_as_a_table():
    rows = tape_table(1).splitlines()[2:]
    assert len(rows) == len(own_exchanges(1)) == 2
    assert rows[0].split(" | ")[0] in rows[1], "the second array begins with the first"
    assert rows[1].endswith("| `Your name is Ada.` |")


def test_the_costs_add_up():
    table, told = cost_table(7).split("\n\n")
    rows = [
        [int(cell.replace(",", "")) for cell in re.findall(r"[\d,]+", row)] for row in table.splitlines()[2:]
    ]
    steps, (total, again, new) = rows[:-1], rows[-1]
    assert [sum(column) for column in zip(*steps, strict=True)][1:] == [total, again, new]
    assert len(steps) == len(own_exchanges(7))
    assert f"{new:,} tokens, {total:,} were sent" in told
    assert told.endswith(f"as much as {new + again / 10:,.0f}.")


@pytest.mark.parametrize(
    ("text", "span"),
    [("a|b", r"`a\|b`"), ("a `b` c", "`` a `b` c ``"), ("``", "``` `` ```"), ("x" * 200, f"`{'x' * 139}…`")],
)
def test_a_span_of_code_holds_in_a_cell(text, span):
    assert code(text) == span


def sections():
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(("title", "text"), sections(), ids=[title for title, _ in sections()])
def test_each_section_has_a_command_and_says_what_to_look_at(title, text):
    assert re.search(r"^```sh\n(make .+\n)+```\nLook (at|for) ", text, re.MULTILINE)


def test_the_sections_follow_the_lessons():
    first = [found[1] for _, text in sections() if (found := re.search(r"lesson_(\d\d)_", text))]
    assert first == sorted(first)
    assert {lesson.folder.name for lesson in all_lessons()} >= set(
        re.findall(r"lessons/(lesson_\w+)/README", PAGE.read_text(encoding="utf-8"))
    )


def seen_on_the_wire(number):
    screen = io.StringIO()
    lesson = find_lesson(number)
    play(lesson, lambda told: Console(told.turns, answers=told.answers, out=screen), wire=True)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("lesson", "line"),
    [
        (1, r"wire -> 4 messages, 210 bytes; 122 of them sent before"),
        (2, r"wire -> 4 user: 'TOOL_RESULT SUCCESS"),
        (6, r"wire -> 4 user: 'TOOL_RESULT ERROR\\n.*use a path inside it, such as README.md'"),
        (7, r"wire -> 3 assistant: 'TOOL_CALL .*\n(?s:.*)wire -> 4 user: 'TOOL_RESULT SUCCESS"),
        (
            12,
            r"--resume.\n(?s:.*?)How hot was my tea again\?'\nwire -> 6 messages, .*; 0 of them sent before",
        ),
        (14, r"wire -> 4 user: 'TOOL_RESULT SUCCESS.*\\nmild\\n"),
        (15, r"wire -> 6 user: 'TOOL_RESULT ERROR.*does not fit its form"),
        (17, r"150 °C"),
    ],
)
def test_there_is_to_see_what_the_page_says(lesson, line):
    assert re.search(line, seen_on_the_wire(lesson))
