"""Record every lesson's tape again from its scripted model; the committed ones must be just that."""

import io
import tempfile
from pathlib import Path

from harness.console import Console
from harness.lessons import Lesson, all_lessons
from harness.runner import record
from harness.scenario import Scenario, load_scenario
from harness.scripted_model import MODEL_NAME, serving
from harness.settings import Settings


def record_all(check: bool) -> list[Path]:
    """Record every tape; write those that changed, or with ``check`` only name them."""
    stale = []
    for lesson in all_lessons():
        fresh = record_scripted(lesson)
        tape = lesson.tape_path
        if not tape.is_file() or tape.read_bytes() != fresh:
            stale.append(tape)
            if not check:
                tape.parent.mkdir(exist_ok=True)
                tape.write_bytes(fresh)
    return stale


def unseen(scenario: Scenario) -> Console:
    """A console that nobody looks at."""
    return Console(scenario.turns, answers=scenario.answers, out=io.StringIO())


def record_scripted(lesson: Lesson) -> bytes:
    """The bytes of a lesson's tape, recorded over HTTP from its scenario's rules."""
    with tempfile.TemporaryDirectory() as folder, serving(load_scenario(lesson.scenario_path)) as base_url:
        tape = Path(folder) / "tape.yaml"
        settings = Settings(base_url=base_url, model=MODEL_NAME, api_key=None)
        # The scripted model says the same on any day, so its tapes carry no date: else none would be
        # the same byte for byte.
        when = "any day: it follows scenario.yaml"
        record(lesson, tape, settings, when=when, console=unseen, patient=False)
        return tape.read_bytes()
