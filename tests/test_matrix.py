"""Behaviour by lesson: from its first lesson on each must hold; before that it must fail, as it is said."""

import pytest

from harness.lessons import all_lessons, load_agent
from workshop.behaviours import all_behaviours
from workshop.matrix import run_behaviour
from workshop.trial import Trial, UnmetError

CELLS = [
    pytest.param(
        behaviour,
        lesson,
        id=f"{behaviour.name}-{lesson.number}",
        marks=[pytest.mark.xfail(raises=UnmetError, strict=True)] if lesson.number < behaviour.first else [],
    )
    for behaviour in all_behaviours()
    for lesson in all_lessons()
]


@pytest.mark.parametrize(("behaviour", "lesson"), CELLS)
def test_behaviour(behaviour, lesson):
    behaviour.check(Trial(load_agent(lesson.agent_path)))


@pytest.mark.parametrize("behaviour", [b for b in all_behaviours() if b.first > 1], ids=lambda b: b.name)
def test_the_lesson_before_fails_as_said(behaviour):
    before = max(lesson.number for lesson in all_lessons() if lesson.number < behaviour.first)
    (lesson,) = [lesson for lesson in all_lessons() if lesson.number == before]
    assert run_behaviour(behaviour, lesson) == behaviour.breaks
