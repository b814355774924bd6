"""How a reply is read, from lesson 9 on: cases from public reports, replies of real models, any text.

The cases' fields: ``reply`` (a text, or prefix + unit × times), ``call`` (what is run, or null), ``prose``
(what the user is shown; null: not checked), ``error`` (whether the model is told of a fault).
"""

import json
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.arguments import meant_name
from harness.envelope import find_signs
from harness.errors import ToolError
from harness.lessons import all_lessons, load_agent
from harness.payload import read_object
from harness.reasoning import without_reasoning
from workshop.trial import Trial, in_turn

FOLDER = Path(__file__).parent / "cases"
CASES = json.loads((FOLDER / "replies.json").read_text(encoding="utf-8"))
READERS = [lesson for lesson in all_lessons() if lesson.number >= 9]
LAST = READERS[-1]


def module_of(lesson):
    return sys.modules[load_agent(lesson.agent_path).__module__]


def text_of(reply):
    if isinstance(reply, str):
        return reply
    return reply["prefix"] + reply["joiner"].join([reply["unit"]] * reply["times"])


@pytest.mark.parametrize("lesson", [READERS[0], LAST], ids=lambda lesson: str(lesson.number))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case, lesson):
    module, reply = module_of(lesson), text_of(case["reply"])
    started = time.perf_counter()
    parsed = module.parse_reply(reply)
    assert time.perf_counter() - started < 2
    seen = Trial(module.Agent).run(["Go."], in_turn(reply, "Done."))
    told = bool(seen.results) and seen.results[0].startswith("TOOL_RESULT ERROR")
    if case["error"]:
        assert told  # when the reply is read, or when the arguments are checked, or by the tool itself
        assert parsed.fault or "tool-error: read_file" in seen.transcript or "It takes" in seen.results[0]
        assert len(seen.results[0]) < 1500
    else:
        assert not parsed.fault
        call = parsed.call and {
            "name": meant_name(parsed.call.name, module.TOOLS),
            "arguments": parsed.call.arguments,
        }
        assert call == case["call"]
        assert ("tool-call:" in seen.transcript) == (case["call"] is not None)
    if case["prose"] is not None:
        assert parsed.prose.strip() == case["prose"].strip()


REAL = [json.loads(line) for line in (FOLDER / "real_replies.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("lesson", READERS, ids=lambda lesson: str(lesson.number))
def test_every_real_reply_is_a_call_an_answer_or_an_error(lesson):
    parse_reply = module_of(lesson).parse_reply
    for row in REAL:
        parsed = parse_reply(row["reply"])
        kinds = [parsed.call is not None, bool(parsed.fault), parsed.call is None and not parsed.fault]
        assert kinds.count(True) == 1
        if kinds[2]:
            assert parsed.prose, "an answer with nothing in it"


FLOODS = {
    "open braces": "{" * 1_000_000,
    "openers": 'TOOL_CALL {"name":"read_file","arguments":{"path":"a\n' * 20_000,
    "markers": "TOOL_CALL \n" * 100_000,
    "marker and braces": "TOOL_CALL " + "{" * 1_000_000,
    "marker and brackets": 'TOOL_CALL {"a":' + "[" * 1_000_000,
    "marker and pairs": "TOOL_CALL {" + "[]" * 500_000,
    "blanks after the marker": "TOOL_CALL" + " " * 1_000_000,
    "blanks before it": " " * 1_000_000 + "TOOL_CALL {",
    "newlines": "\n" * 1_000_000,
    "blank lines": " \n" * 500_000,
    "fences": "```\n" * 250_000,
    "fences that open": "```json\n" * 125_000,
    "thoughts": "<think>" * 140_000,
    "closed thoughts": "</think>\n" * 110_000,
    "lines and thoughts": 'TOOL_CALL {"a":"<think>"}\n' * 40_000,
    "quotes": 'TOOL_CALL {"' + '\\"' * 500_000,
    "single quotes": "TOOL_CALL {'" + "{'" * 500_000,
    "commas": "TOOL_CALL {" + ",  " * 300_000 + "}",
    "a literal": "TOOL_CALL {'a': " + "-" * 500_000 + "1}",
    "near misses": '{"name":"a","arguments"\n' * 40_000,
    "bullets": "- * 1. " * 140_000,
    "results": "TOOL_RESULT SUCCESS\n" * 50_000,
    "prose": "All is well with the tea. " * 40_000,
}


@pytest.mark.parametrize("flood", FLOODS, ids=str)
def test_a_megabyte_is_read_in_less_than_a_second(flood):
    """Linear time: what is quadratic takes minutes here, so the bound is far from both."""
    parse_reply = module_of(LAST).parse_reply
    started = time.process_time()
    parse_reply(FLOODS[flood])
    assert time.process_time() - started < 1


MARKS = [
    "TOOL_CALL ",
    "TOOL_RESULT ",
    "<tool_call>",
    "```\n",
    "<think>",
    "</think>",
    "SUCCESS",
    "- ",
    "**",
    " ",
]
PIECES = st.sampled_from(
    [*MARKS, '{"name":"read_file","arguments":{"path":"a"}}', *"{}[]\"'\\,:\n\ufeff\u2028"]
)
REPLIES = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=3)), max_size=40).map("".join))


@given(REPLIES)
@settings(max_examples=400, deadline=None)
def test_any_text_is_a_call_an_answer_or_an_error(reply):
    parsed = module_of(LAST).parse_reply(reply)
    assert parsed.kept
    if parsed.call:
        assert not parsed.fault
        assert isinstance(parsed.call.name, str)
        assert isinstance(parsed.call.arguments, dict)
    elif not parsed.fault:
        assert parsed.prose == without_reasoning(reply).strip()
        assert not find_signs(without_reasoning(reply))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_repair_never_touches_valid_json(value, behind, ascii_only):
    written = json.dumps(value, ensure_ascii=ascii_only)
    assert read_object(written + behind, 0) == (value, len(written))


@given(st.dictionaries(st.text(), JSON, max_size=4))
@settings(max_examples=300, deadline=None)
def test_no_part_of_an_object_is_taken_for_the_whole(value):
    written = json.dumps(value)
    for end in range(1, len(written)):
        with pytest.raises(ToolError):
            read_object(written[:end], 0)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_the_repairs_are_exact(value):
    written = json.dumps(value, ensure_ascii=False)
    assert read_object(written[:-1] + ",}", 0)[0] == value
    assert read_object(repr(value), 0)[0] == value
    if "\\\\" not in written:  # else a backslash and an n may stand for themselves
        assert read_object(written.replace("\\n", "\n"), 0)[0] == value
