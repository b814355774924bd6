"""The pages say what a run says, and every command on them is one that works."""

import re
import shlex
import shutil
import subprocess

import pytest

from harness.lessons import COURSE, all_lessons
from workshop.pages import all_pages, refresh
from workshop.picture import PICTURE, draw

PAGES = pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(COURSE)))
BLOCK = re.compile(r"^(<!-- generated: [^>]*-->\n)?```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = ["What broke", "The patch", "Run it", "Try this", "What is still wrong", "Hints"]


def test_the_generated_parts_are_up_to_date():
    assert [str(page) for page in refresh(check=True)] == [], "run: make pages"


def test_the_picture_shows_what_a_run_shows():
    def words(svg):
        return re.findall(r">([^<>]+)</text>", svg)

    assert words(PICTURE.read_text(encoding="utf-8")) == words(draw()), "run: make picture"


@PAGES
def test_every_code_block_is_generated_or_a_command_that_works(page):
    for generated, language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if generated:
            continue
        assert language in ("sh", "text", "python"), f"a block of {language or 'no language'} in {page}"
        assert language != "python", f"include code from a file: <!-- generated: code FILE NAME --> in {page}"
        if language == "sh":
            for line in text.splitlines():
                check_command(line)
        elif page.name == "README.md":
            check_layout(
                text
            )  # elsewhere a text is what a real model once said, which no run here can repeat


def check_command(line):
    words = shlex.split(line, comments=True)
    if not words:
        return
    assert words[0] == "make", f"only make targets are shown as commands: {line}"
    if shutil.which("make"):
        done = subprocess.run(
            ["make", "-n", *words[1:]], cwd=COURSE, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stderr}"


def check_layout(text):
    for line in text.splitlines():
        path = line.split("  ")[0].strip()
        assert (COURSE / path).exists(), f"the layout names {path}"


@pytest.mark.parametrize("lesson", all_lessons(), ids=lambda lesson: lesson.folder.name)
def test_a_lessons_page_has_its_parts(lesson):
    text = (lesson.folder / "README.md").read_text(encoding="utf-8")
    assert text.startswith(f"# Lesson {lesson.number}: ")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == SECTIONS
    tail = {name: text.split(f"## {name}\n")[1].split("\n## ")[0] for name in SECTIONS}
    for name in ("Try this", "Hints"):
        assert re.findall(r"^(\d)\. ", tail[name], re.MULTILINE) == ["1", "2", "3"], f"three of: {name}"
    assert f"<!-- generated: transcript {lesson.number} on {lesson.number} -->" in tail["Run it"]
    if lesson.number > 1:
        assert f"<!-- generated: transcript {lesson.number - 1} on {lesson.number} -->" in tail["What broke"]


@PAGES
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_every_command_the_readme_names_exists():
    text = "\n".join(page.read_text(encoding="utf-8") for page in all_pages())
    makefile = (COURSE / "Makefile").read_text()
    for target in set(re.findall(r"`make ([a-z]+)(?:-\w+)?[ `]", text)):
        assert re.search(rf"^{target}(-%)?:", makefile, re.MULTILINE), target
