"""Starting fast: gated on what is imported, not on time."""

import subprocess
import sys

import pytest

from harness.lessons import COURSE

HEAVY = ("vcr", "requests", "urllib3", "pydantic", "rich", "pygments", "yaml", "http.server")


def imported_after(code):
    probe = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, cwd=COURSE, check=True
    )
    return done.stdout.splitlines()[-1].split()


def test_help_imports_nothing_heavy():
    code = "from harness.cli import harness\nharness.main(['--help'], standalone_mode=False)"
    assert imported_after(code) == []


def test_listing_imports_nothing_heavy():
    code = "from harness.cli import harness\nharness.main(['list'], standalone_mode=False)"
    assert imported_after(code) == []
    code = "from harness.cli import harness\nharness.main(['diff', '3'], standalone_mode=False)"
    assert set(imported_after(code)) <= {"yaml"}


def test_the_first_line_comes_before_the_heavy_imports():
    code = f"""
import harness.console, io
seen = []
class Out(io.StringIO):
    def write(self, text):
        if not seen:
            seen.append([name for name in {HEAVY!r} if name in sys.modules])
        return super().write(text)
real, sys.stdout = sys.stdout, Out()
from harness.cli import harness
harness.main(['lesson', '3'], standalone_mode=False)
sys.stdout = real
assert seen == [[]], seen
"""
    assert set(imported_after(code)) >= {"vcr", "requests"}


@pytest.mark.parametrize("number", [1, 3])
def test_a_lesson_without_a_registry_needs_no_pydantic(number):
    code = f"from harness.cli import harness\nharness.main(['lesson', '{number}'], standalone_mode=False)"
    assert not {"pydantic", "rich", "http.server"} & set(imported_after(code))
