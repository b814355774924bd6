"""A scripted model: a pure function from the array to a reply, and a loopback server around it.

It is no language model and says so wherever it speaks. It has what matters here: it sees nothing but the
array it is sent, and it keeps nothing. ``python -m harness.scripted_model 7`` serves lesson 7's rules at an
OpenAI-compatible address, to try the live mode without a key.
"""

import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.scenario import Rule, Scenario

MODEL_NAME = "scripted"
NO_RULE = "I am a scripted model, and my script has no line for this. Use a real model to go off the script."


def scripted_reply(rules: Sequence[Rule], messages: Sequence[dict[str, str]]) -> Rule:
    """The first rule whose every pattern is found, with its captures filled into the reply.

    Args:
        rules: in the order in which they are tried.
        messages: the array, items with ``role`` and ``content``.
    """
    prompt = messages[0]["content"] if messages and messages[0]["role"] == "system" else ""
    later = [message["content"] for message in messages if message["role"] != "system"]
    parts = {"system": [prompt], "said": later[::-1], "last": later[-1:]}
    for rule in rules:
        found = [
            next(filter(None, map(pattern.search, parts[part])), None) for part, pattern in rule.when.items()
        ]
        if all(found) and tokens_of(messages) > rule.over:
            reply = rule.reply
            for match in filter(None, found):
                for name, value in match.groupdict().items():
                    reply = reply.replace("{{" + name + "}}", value or "")
            return Rule(rule.when, reply, rule.finish_reason, rule.over, rule.status)
    return Rule({}, NO_RULE)


def tokens_of(messages: Sequence[dict[str, str]]) -> int:
    """An estimate, four characters a token: nothing here has a tokenizer."""
    return -(-sum(len(message["content"]) for message in messages) // 4)


def completion(rule: Rule, messages: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The body of the HTTP answer, in the shape of the chat completions API."""
    if rule.status != 200:
        return {"error": {"message": rule.reply, "code": rule.status}}
    return {
        "object": "chat.completion",
        "model": MODEL_NAME,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": rule.reply},
                "finish_reason": rule.finish_reason,
            }
        ],
        "usage": {"prompt_tokens": tokens_of(messages), "completion_tokens": -(-len(rule.reply) // 4)},
    }


class Handler(BaseHTTPRequestHandler):
    """Answers POST …/chat/completions from the server's rules."""

    server: "ScriptedServer"
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one write a reply: headers and body in two writes wait 40 ms for each other (Nagle)

    def do_POST(self) -> None:  # noqa: D102 - the name is http.server's
        length = int(self.headers.get("Content-Length") or 0)
        try:
            messages = json.loads(self.rfile.read(length))["messages"]
            rule = scripted_reply(self.server.rules, messages)
            self.answer(rule.status, completion(rule, messages))
        except (ValueError, KeyError, TypeError) as error:
            self.answer(400, {"error": {"message": f"not a chat completion request: {error!r}"}})

    def do_GET(self) -> None:  # noqa: D102 - the name is http.server's
        self.answer(200, {"object": "list", "data": [{"id": MODEL_NAME, "object": "model"}]})

    def answer(self, status: int, body: dict[str, Any]) -> None:
        """Send one JSON body."""
        raw = json.dumps(body, ensure_ascii=False).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is http.server's
        """Stay silent: the console belongs to the lesson."""


class ScriptedServer(ThreadingHTTPServer):
    """The rules, at an address of this machine only."""

    daemon_threads = True

    def __init__(self, rules: Sequence[Rule], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.rules = rules
        self.base_url = f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(scenario: Scenario) -> Iterator[str]:
    """Serve a scenario's rules in a thread; gives the base URL."""
    with ScriptedServer(scenario.rules) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server.base_url
        finally:
            server.shutdown()
            thread.join()


def main(arguments: Sequence[str]) -> int:
    """Serve one lesson's rules until Ctrl+C: ``python -m harness.scripted_model LESSON [PORT]``."""
    from harness.errors import HarnessError
    from harness.lessons import find_lesson
    from harness.scenario import load_scenario

    try:
        number, port = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 8080
        server = ScriptedServer(load_scenario(find_lesson(number).scenario_path).rules, port)
    except (IndexError, ValueError):
        print("usage: python -m harness.scripted_model LESSON [PORT]", file=sys.stderr)
        return 2
    except (HarnessError, OSError) as error:
        print(f"scripted model: {error}", file=sys.stderr)
        return 1
    print(f"The scripted model of lesson {number} (not a language model) is at {server.base_url}", flush=True)
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
