"""How the lessons read what real models wrote: 319 replies of three small ones to TOOL_CALL prompts.

The models are SmolLM2-135M, Qwen2.5-Coder-0.5B and -1.5B (instruct, temperature 0), under prompts of several
wordings; ``tests/cases/real_replies.jsonl`` holds each reply with its model, prompt and finish reason.
"""

import json
from collections import Counter

from harness.lessons import COURSE, find_lesson, load_agent
from workshop.trial import Trial, in_turn

REPLIES = COURSE / "tests" / "cases" / "real_replies.jsonl"
LESSONS = (2, 3, 8, 9)
"""Those that change the reading; 4 to 7 read as 3 does, and all later ones as 9."""


def reading_of(lesson: int, reply: str) -> str:
    """What a lesson's agent makes of a reply: ``call``, ``answer`` or ``error``."""
    seen = Trial(load_agent(find_lesson(lesson).agent_path)).run(["Go.", "Go on."], in_turn(reply))
    if "tool-call:" in seen.transcript:
        return "call"
    return "error" if seen.results else "answer"


def readings_table() -> str:
    """A row a lesson: how many of the replies it reads as what; of the answers, how many hold protocol."""
    replies = [json.loads(line)["reply"] for line in REPLIES.read_text(encoding="utf-8").splitlines()]
    rows = [
        "| lesson | a call | an answer | an error that the model is told | answers that show raw protocol |",
        "|---|--:|--:|--:|--:|",
    ]
    for lesson in LESSONS:
        kinds = [reading_of(lesson, reply) for reply in replies]
        raw = sum(
            kind == "answer"
            and any(line.startswith(("TOOL_CALL {", "TOOL_RESULT")) for line in reply.split("\n"))
            for kind, reply in zip(kinds, replies, strict=True)
        )
        count = Counter(kinds)
        rows.append(f"| {lesson} | {count['call']} | {count['answer']} | {count['error']} | {raw} |")
    return "\n".join(rows)
