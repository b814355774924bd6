"""How fast the program starts: `--help` beside a click hello-world, a lesson beside bare vcr + requests.

    python benchmarks/start.py [--rounds 15]

Whole processes, in turn, so that a noisy machine is noisy for both; medians and their ratios.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELLO = """
import click
@click.command()
@click.option("--name", default="you", help="Whom to greet.")
def hello(name): click.echo(f"hello {name}")
hello()
"""
BARE = """
import tempfile, vcr, requests, yaml, json
from pathlib import Path
tape = Path(tempfile.mkdtemp()) / "t.yaml"
body = {"messages": [{"role": "user", "content": "hi"}]}
raw = json.dumps(body)
tape.write_text(yaml.safe_dump({"version": 1, "interactions": [{
    "request": {"method": "POST", "uri": "http://x.invalid/v1", "body": raw, "headers": {}},
    "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": "{}"}}}]}))
with vcr.use_cassette(str(tape), record_mode="none", match_on=["method", "uri"]):
    requests.post("http://x.invalid/v1", data=raw).json()
print("reply", flush=True)
"""


def first_line(command: list[str], marker: str) -> tuple[float, float]:
    """Seconds until any line, and until the line that holds ``marker``."""
    started = time.perf_counter()
    first = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            first = first or time.perf_counter() - started
            if marker in line:
                marked = time.perf_counter() - started
                process.stdout.read()
                return first, marked
    raise SystemExit(f"{command} never printed {marker!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    python = [sys.executable]
    commands = {
        "click hello --help": ([*python, "-c", HELLO, "--help"], "Options"),
        "harness --help": ([*python, "-m", "harness", "--help"], "Commands"),
        "bare vcr + requests": ([*python, "-c", BARE], "reply"),
        "harness lesson 3": ([*python, "-m", "harness", "lesson", "3", "--replay"], "Assistant:"),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, (command, marker) in commands.items():
            times[name].append(first_line(command, marker))
    medians = {name: statistics.median(marked for _, marked in found[1:]) for name, found in times.items()}
    for name, median in medians.items():
        print(f"{name:22} {1000 * median:6.0f} ms")
    line = statistics.median(first for first, _ in times["harness lesson 3"][1:])
    print(f"{'  its first line':22} {1000 * line:6.0f} ms")
    print(f"--help: {medians['harness --help'] / medians['click hello --help']:.2f} x hello   (hold: 1.3)")
    first = medians["harness lesson 3"] / medians["bare vcr + requests"]
    print(f"first reply: {first:.2f} x bare   (hold: 1.2)")


if __name__ == "__main__":
    main()
