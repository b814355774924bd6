"""The beginning of the array is the same from step to step: no lesson rewrites what it has sent."""

import pytest

from harness.lessons import all_lessons, load_agent
from workshop.trial import Trial, in_turn

READ = 'TOOL_CALL {"name":"read_file","arguments":{"path":"notes.txt"}}'


@pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: str(lesson.number))
def test_each_request_begins_with_the_one_before(lesson):
    replies = (READ, "One.", "Two.", f"**{READ}**", READ, "Three.")
    seen = Trial(load_agent(lesson.agent_path)).run(["a", "b", "c", "d"], in_turn(*replies))
    assert len(seen.arrays) >= 4
    for before, after in zip(seen.arrays, seen.arrays[1:], strict=False):
        assert len(after) > len(before)
        assert all(old is new for old, new in zip(before, after, strict=False))
