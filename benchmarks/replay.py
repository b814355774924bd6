"""What playing a tape costs: harness.replay beside bare vcrpy and requests, which match on the body.

    python benchmarks/replay.py [--quick]

Both play the same conversations, recorded here from a scripted model: 20 and 100 steps, each of which adds
a call and a tool's result of 4 kB (with --quick 400 B). The bare cassette of 100 steps takes a minute: its
cost is what a table from array to reply avoids. Then both are started afresh, in turns, up to the first
reply. Whether a step stays flat is asked of results of 100 B, where it isn't the bodies that grow.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import requests
import vcr

from harness.client import ChatClient
from harness.messages import Message, assistant, system, user
from harness.replay import playing, recording
from harness.scenario import Rule, Scenario
from harness.scripted_model import serving
from harness.settings import Settings

STEP_LIMIT = 1.1  # CPU milliseconds of a step of a tape of 100
GROWTH_LIMIT = 1.5  # a step of the last tenth of 200, as a multiple of one of the first
START_LIMIT = 1.2  # from starting Python to the first reply, as a multiple of bare

CALL = 'TOOL_CALL {"name":"read_file","arguments":{"path":"notes.md"}}'
SCENARIO = Scenario(Path(), "", (), (Rule({}, CALL),))
BODY = ("method", "uri", "body")
Ask = Callable[[Sequence[Message]], object]


def run(ask: Ask, steps: int, size: int) -> list[float]:
    """CPU milliseconds of each step of one agent's run, without the first, which imports and connects."""
    array, times = [system("You are a coding agent."), user("Read everything.")], []
    result = ("line of a file that a tool has read\n" * (size // 36 + 1))[:size]
    for step in range(steps):
        before = time.process_time()
        ask(array)
        times.append((time.process_time() - before) * 1e3)
        array += [assistant(CALL), user(f"TOOL_RESULT SUCCESS\n{step}\n{result}")]
    return times[1:]


def as_dict(array: Sequence[Message]) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": each.role, "content": each.content} for each in array]}


def bare(url: str, session: requests.Session) -> Ask:
    return lambda array: session.post(f"{url}/chat/completions", json=as_dict(array)).json()


def record(tape: Path, url: str, steps: int, size: int) -> None:
    with recording(tape, model="scripted", when="today"):
        client = ChatClient(Settings(url, "m"))
        run(client.complete, steps, size)
        client.close()


def compare(folder: Path, steps: int, size: int) -> float:
    """Record a conversation both ways, play it both ways; return CPU milliseconds of a step of ours."""
    tape, cassette = folder / f"ours_{steps}.yaml", folder / f"bare_{steps}.yaml"
    with serving(SCENARIO) as url, requests.Session() as session:
        record(tape, url, steps, size)
        with vcr.use_cassette(str(cassette), record_mode="all"):
            run(bare(url, session), steps, size)
    with playing(tape):
        ours = mean(run(ChatClient(Settings(url, "m")).complete, steps, size))
    with vcr.use_cassette(str(cassette), record_mode="none", match_on=BODY), requests.Session() as session:
        theirs = mean(run(bare(url, session), steps, size))
    kb = [path.stat().st_size / 1e3 for path in (tape, cassette)]
    print(f"{steps:4} steps{ours:10.2f}{theirs:10.2f}{ours / theirs:9.4f}{kb[0]:12,.0f}{kb[1]:10,.0f}")
    return ours


def growth(folder: Path, rounds: int) -> float:
    """How a step grows over a tape of 200 small ones."""
    tape = folder / "flat.yaml"
    with serving(SCENARIO) as url:
        record(tape, url, 200, 100)
    grown = []
    for _ in range(rounds):
        with playing(tape):
            times = run(ChatClient(Settings(url, "m")).complete, 200, 100)
        grown.append(median(times[-20:]) / median(times[:20]))
    return median(grown)


OURS_STARTS = """
import sys
from pathlib import Path
from harness.client import ChatClient
from harness.messages import system, user
from harness.replay import playing
from harness.settings import Settings
with playing(Path(sys.argv[1])):
    array = [system("You are a coding agent."), user("Read everything.")]
    print(ChatClient(Settings("http://tape.invalid/v1", "m")).complete(array).text)
"""
BARE_STARTS = f"""
import sys, requests, vcr
with vcr.use_cassette(sys.argv[1], record_mode="none", match_on={BODY}), requests.Session() as session:
    array = [{{"role": "system", "content": "You are a coding agent."}},
             {{"role": "user", "content": "Read everything."}}]
    reply = session.post(sys.argv[2] + "/chat/completions", json={{"model": "m", "messages": array}})
    print(reply.json()["choices"][0]["message"]["content"])
"""


def start(folder: Path, rounds: int) -> float:
    """Start both in turns on tapes of 20 steps; return how much longer ours takes to the first reply."""
    [uri] = {
        line.split()[1]
        for line in (folder / "bare_20.yaml").read_text().splitlines()
        if line.startswith("    uri:")
    }
    url = uri.removesuffix("/chat/completions")
    seconds: dict[str, list[float]] = {OURS_STARTS: [], BARE_STARTS: []}
    for _ in range(rounds):
        for code, name in ((OURS_STARTS, "ours_20.yaml"), (BARE_STARTS, "bare_20.yaml")):
            before = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", code, folder / name, url],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                cwd=Path(__file__).resolve().parent.parent,
            )
            seconds[code].append(time.perf_counter() - before)
            assert done.stdout.strip() == CALL
    ours, theirs = (median(seconds[code]) * 1e3 for code in (OURS_STARTS, BARE_STARTS))
    print(f"\nstart to first reply: {ours:.0f} ms, bare {theirs:.0f} ms (medians of {rounds})")
    return ours / theirs


def main() -> int:
    """Print the figures. Returns 1 where a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="smaller results and fewer rounds")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{'':10}{'CPU ms':>10}{'bare':>10}{'ratio':>9}{'tape kB':>12}{'bare':>10}")
        compare(folder, 20, 400 if quick else 4000)
        results = [
            ("CPU ms a step, 100 steps", compare(folder, 100, 400 if quick else 4000), STEP_LIMIT),
            ("growth over 200 steps of 100 B", growth(folder, 3 if quick else 9), GROWTH_LIMIT),
            ("start to first reply, by bare", start(folder, 5 if quick else 21), START_LIMIT),
        ]
    print()
    for label, value, limit in results:
        print(f"{'holds' if value <= limit else 'FAILS'}  {label}: {value:.2f} (at most {limit})")
    return int(any(value > limit for _, value, limit in results))


if __name__ == "__main__":
    sys.exit(main())
