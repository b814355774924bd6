"""The picture of the README: two lessons on one scenario, side by side, drawn from a run."""

import re
from io import StringIO

from harness.lessons import COURSE, find_lesson
from workshop.pages import transcript

PICTURE = COURSE / "docs" / "lesson-3.svg"
LESSON = 3
COLORS = {"You:": "bold green", "Assistant:": "bold cyan", "tool-call:": "magenta", "tool-success:": "blue"}


def draw() -> str:
    """Lesson 2 and lesson 3 on the scenario of lesson 3, as SVG."""
    # Imported here: drawing is the one thing in the course that wants rich's console.
    from rich.columns import Columns
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    panels = []
    for number in (LESSON - 1, LESSON):
        text = Text(transcript(number, LESSON).strip())
        text.highlight_regex(r"^<\w+ \d+>$", "dim")
        for label, style in COLORS.items():
            text.highlight_words([label], style)
        panels.append(Panel(text, title=f"lesson {number}: {find_lesson(number).title}", width=62, height=13))
    console = Console(record=True, width=126, file=StringIO())
    console.print(Columns(panels))
    svg = console.export_svg(title="the same questions, the same model, one patch apart", unique_id="lesson")
    # rich names a font to be fetched from elsewhere; a page of an offline workshop fetches nothing.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def refresh_picture() -> bool:
    """Draw the picture again; says whether it changed."""
    new = draw()
    changed = not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != new
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(new.encode())
    return changed
