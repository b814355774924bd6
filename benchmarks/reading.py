"""How long a reply takes to be read by the last lesson: typical ones, prose, and floods.

python benchmarks/reading.py
"""

import sys
import time

from harness.lessons import find_lesson, load_agent

READER = 16
CALL = 'TOOL_CALL {"name":"read_file","arguments":{"path":"README.md"}}'
TYPICAL = {
    "a call": CALL,
    "prose, then a call": f"Let me look at it.\n{CALL}",
    "an answer": "It is a kitchen timer for tea. The times live in data/teas.csv, one tea a line.",
}
MEGABYTE = 1_000_000
LONG = {
    "prose": "All is well with the tea. " * 40_000,
    "open braces": "TOOL_CALL " + "{" * MEGABYTE,
    "openers": 'TOOL_CALL {"name":"read_file","arguments":{"path":"a\n' * 20_000,
    "markers": "TOOL_CALL \n" * 95_000,
    "pairs": "TOOL_CALL {" + "[]" * 500_000,
    "fences": "```\n" * 250_000,
    "thoughts": "<think>" * 140_000,
    "blanks": " " * MEGABYTE + CALL,
    "results": "TOOL_RESULT SUCCESS\n" * 50_000,
}


def main() -> None:
    parse_reply = sys.modules[load_agent(find_lesson(READER).agent_path).__module__].parse_reply
    for name, reply in TYPICAL.items():
        best = min(timed(parse_reply, reply, 2000) for _ in range(7))
        print(f"{name:20} {1e6 * best:7.1f} us   (hold: 5)")
    for name, text in LONG.items():
        best = min(timed(parse_reply, text, 1) for _ in range(3))
        hold = 1 if name == "prose" else 300
        print(f"{name:20} {1e3 * best * MEGABYTE / len(text):7.1f} ms/MB   (hold: {hold})")


def timed(function, argument, times: int) -> float:
    started = time.process_time()
    for _ in range(times):
        function(argument)
    return (time.process_time() - started) / times


if __name__ == "__main__":
    main()
