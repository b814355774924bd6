"""What a step costs: ChatClient beside a plain requests loop, http.client and a raw socket.

    python benchmarks/steps.py [--quick]

All four post the same arrays to the same server, which answers at once from another process, over
loopback, so that what is left is the cost of asking. An agent's step adds two messages: the model's call
and a tool's result of 4 kB. The raw socket encodes nothing twice and reads no header: it is the floor.
The rounds of the four are interleaved, so that a noisy machine is noisy for all of them, and the medians
of the rounds are compared. The last figure is the growth of a step in 1,000 steps of 100 B.
"""

import argparse
import gc
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import requests

from harness.client import ChatClient
from harness.messages import Message, assistant, system, user
from harness.settings import Settings

LIMITS = {10: 0.8, 100: 0.5, 1000: 0.2}  # CPU of a step of ours, as a share of bare requests'
GROWTH_LIMIT = 1.5  # the last 100 of 1,000 steps of 100 B, as a multiple of the first 100

CALL = 'TOOL_CALL {"name":"read_file","arguments":{"path":"notes.md"}}'
Ask = Callable[[list[Message]], str]


def serve() -> None:
    """Answer every request on one connection after another, in a single write (two would stall on Nagle)."""
    choice = {"index": 0, "message": {"role": "assistant", "content": CALL}, "finish_reason": "stop"}
    body = json.dumps({"id": "x", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 9}})
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = (head + body).encode()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection, connection.makefile("rb", 1 << 20) as stream:
                while stream.readline():
                    length = 0
                    while (line := stream.readline()) != b"\r\n":
                        if line[:15].lower() == b"content-length:":
                            length = int(line[15:])
                    while length:
                        length -= len(stream.read1(length))
                    connection.sendall(answer)


@contextmanager
def ours(port: int) -> Iterator[Ask]:
    client = ChatClient(Settings(f"http://127.0.0.1:{port}/v1", "m", "sk-bench"))
    yield lambda array: client.complete(array).text
    client.close()


def as_dict(array: list[Message]) -> dict[str, object]:
    return {"model": "m", "messages": [{"role": each.role, "content": each.content} for each in array]}


@contextmanager
def bare(port: int) -> Iterator[Ask]:
    """Keeps its array as dicts, as such a loop does, so it does not pay for making them here."""
    url, headers = f"http://127.0.0.1:{port}/v1/chat/completions", {"Authorization": "Bearer sk-bench"}
    payload = as_dict([])
    items: list[object] = payload["messages"]  # type: ignore[assignment]

    def ask(array: list[Message]) -> str:
        items.extend({"role": each.role, "content": each.content} for each in array[len(items) :])
        response = session.post(url, json=payload, headers=headers, timeout=60)
        return str(response.json()["choices"][0]["message"]["content"])

    with requests.Session() as session:
        yield ask


@contextmanager
def plain_http(port: int) -> Iterator[Ask]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    payload = as_dict([])
    items: list[object] = payload["messages"]  # type: ignore[assignment]
    headers = {"Content-Type": "application/json", "Authorization": "Bearer sk-bench"}

    def ask(array: list[Message]) -> str:
        items.extend({"role": each.role, "content": each.content} for each in array[len(items) :])
        connection.request("POST", "/v1/chat/completions", json.dumps(payload).encode(), headers)
        return str(json.loads(connection.getresponse().read())["choices"][0]["message"]["content"])

    yield ask
    connection.close()


@contextmanager
def raw_socket(port: int) -> Iterator[Ask]:
    body = bytearray(b'{"model":"m","messages":[')
    count = 0

    def ask(array: list[Message]) -> str:
        nonlocal count
        for each in array[count:]:
            body.extend(b"," * bool(count) + each.encoded())
            count += 1
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body) + 2}\r\n\r\n"
        connection.sendall(b"".join((head.encode(), body, b"]}")))
        reply = connection.recv(65_536)
        return str(json.loads(reply[reply.index(b"\r\n\r\n") :])["choices"][0]["message"]["content"])

    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield ask


WAYS = {"ChatClient": ours, "requests": bare, "http.client": plain_http, "raw socket": raw_socket}


def run(way: str, port: int, steps: int, size: int) -> tuple[list[float], list[float]]:
    """CPU and wall seconds of each step of one agent's run."""
    array = [system("You are a coding agent."), user("Read everything.")]
    result = ("line of a file that a tool has read\n" * (size // 36 + 1))[:size]
    cpu, wall = [], []
    with WAYS[way](port) as ask:
        ask(array)  # imports, connects
        gc.collect()
        for _ in range(steps):
            cpu_before, wall_before = time.process_time(), time.perf_counter()
            text = ask(array)
            cpu.append(time.process_time() - cpu_before)
            wall.append(time.perf_counter() - wall_before)
            array += [assistant(text), user(f"TOOL_RESULT SUCCESS\n{result}")]
    return cpu, wall


def compare(port: int, steps: int, rounds: int) -> float:
    """Print a table for runs of this length; return our CPU a step as a share of bare requests'."""
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    wall: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            for means, times in zip((cpu, wall), run(way, port, steps, 4000), strict=True):
                means[way].append(statistics.mean(times))
    print(f"\n{steps:,} steps of 4 kB, medians of {rounds} rounds")
    print(f"{'':12}{'CPU us':>10}{'ratio':>8}{'wall us':>10}{'ratio':>8}")
    base_cpu, base_wall = statistics.median(cpu["requests"]), statistics.median(wall["requests"])
    for way in WAYS:
        one, other = statistics.median(cpu[way]), statistics.median(wall[way])
        print(f"{way:12}{one * 1e6:10.0f}{one / base_cpu:8.2f}{other * 1e6:10.0f}{other / base_wall:8.2f}")
    return statistics.median(cpu["ChatClient"]) / base_cpu


def growth(port: int, rounds: int) -> float:
    """Print how a step of 100 B grows from the first hundred of a thousand to the last; return ours."""
    grown: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way in WAYS:
            cpu, _wall = run(way, port, 1000, 100)
            grown[way].append(statistics.median(cpu[-100:]) / statistics.median(cpu[:100]))
    print(f"\ngrowth of a step's CPU over 1,000 steps of 100 B, medians of {rounds} rounds")
    for way in WAYS:
        print(f"{way:12}{statistics.median(grown[way]):10.2f} x")
    return statistics.median(grown["ChatClient"])


def main() -> int:
    """Print the tables. Returns 1 where a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds: under a minute instead of three")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            port = int(server.stdout.readline())
            rounds = {10: 15, 100: 5, 1000: 1} if options.quick else {10: 60, 100: 15, 1000: 5}
            results = [
                (f"CPU a step, {steps:,} steps", compare(port, steps, rounds[steps]), limit)
                for steps, limit in LIMITS.items()
            ]
            results.append(("growth over 1,000 steps", growth(port, 1 if options.quick else 5), GROWTH_LIMIT))
        finally:
            server.terminate()
    print()
    for name, value, limit in results:
        print(f"{'holds' if value <= limit else 'FAILS'}  {name}: {value:.2f} (at most {limit})")
    return int(any(value > limit for _, value, limit in results))


if __name__ == "__main__":
    sys.exit(main())
