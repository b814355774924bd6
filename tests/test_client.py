"""The client against a server that misbehaves in every way that somebody has reported."""

import email.utils
import gzip
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import vcr
from faults import (
    FaultServer,
    Request,
    Step,
    answer,
    closed_port,
    cut,
    drip,
    echo,
    gzip_bomb,
    hang,
    says,
    sends,
)

from harness.client import LONGEST_WAIT, ChatClient, Reply, Usage
from harness.errors import ModelError, SettingsError
from harness.messages import Message, assistant, system, user
from harness.settings import Settings, load_settings

KEY = "sk-TOPSECRET-0123456789"
HELLO = [user("hello")]
SOON = 20.0  # seconds for a reply that is due at once: long for a busy machine, short for a hung one


class Sleeps:
    """Stands in for time.sleep, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().endswith("_PROXY") or name in ("NETRC", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.delenv(name)


@contextmanager
def talking_to(
    *steps: Step,
    key: str | None = KEY,
    timeout: float = SOON,
    tls: ssl.SSLContext | None = None,
    **options: Any,
) -> Iterator[tuple[ChatClient, FaultServer]]:
    options.setdefault("notice", lambda line: None)
    options.setdefault("sleep", Sleeps())
    with FaultServer(steps, tls=tls) as server:
        client = ChatClient(Settings(server.base_url, "tiny", key, timeout), **options)
        try:
            yield client, server
        finally:
            client.close()


def fails(step: Step, *more: Step, **options: Any) -> ModelError:
    """The error that a script ends in, after the checks that hold for every error a user sees."""
    with talking_to(step, *more, **options) as (client, _), pytest.raises(ModelError) as caught:
        client.complete(HELLO)
    text = str(caught.value)
    assert len(text) <= 500
    assert text.isprintable()
    everything = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "TOPSECRET" not in everything
    return caught.value


# What is sent and what comes back


def test_one_post_of_the_whole_array() -> None:
    array = [system("be brief"), user("héllo ☃"), assistant("hi"), user("again")]
    with talking_to(says("fine")) as (client, server):
        assert client.complete(array) == Reply("fine", "stop")
    [request] = server.requests
    assert request.line == "POST /v1/chat/completions HTTP/1.1"
    assert request.json == {
        "model": "tiny",
        "messages": [{"role": each.role, "content": each.content} for each in array],
    }
    assert "héllo ☃".encode() in request.body
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_without_a_key_no_authorization_is_sent() -> None:
    with talking_to(echo, key=None) as (client, _):
        assert "authorization" not in json.loads(client.complete(HELLO).text)


def test_a_lone_surrogate_in_the_array_or_the_model_leaves_valid_utf_8() -> None:
    with FaultServer([says("ok")]) as server:
        client = ChatClient(Settings(server.base_url, "m\udce9", None))
        client.complete([user("caf\udce9")])
        client.close()
    assert json.loads(server.requests[0].body.decode("utf-8"))["messages"][0]["content"] == "caf\ufffd"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", ""),
        (None, ""),
        ([], ""),
        ("two\nlines", "two\nlines"),
        (
            [
                {"type": "thinking", "thinking": "draft TOOL_CALL {}"},
                {"type": "text", "text": "Reading.\n"},
                {"type": "image_url", "text": "no"},
                {"type": "text", "text": "TOOL_CALL {}"},
            ],
            "Reading.\nTOOL_CALL {}",
        ),
        (["plain ", "strings"], "plain strings"),
        ([{"type": "text"}, {"type": "text", "text": None}, None, 3], ""),
        ({"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function"}]}, ""),
        ({"role": "assistant", "content": None, "reasoning_content": "hmm", "reasoning": "hmm"}, ""),
        ({"role": "assistant"}, ""),
        ("half \ud83d", "half \ufffd"),
        ("whole \ud83d\ude00", "whole \U0001f600"),
    ],
)
def test_the_text_of_a_reply(content: object, text: str) -> None:
    with talking_to(says(content)) as (client, server):
        assert client.complete(HELLO).text == text
    assert len(server.requests) == 1


def test_finish_reason_and_usage() -> None:
    counted = says("a", "length", usage={"prompt_tokens": 7, "completion_tokens": 3})
    with talking_to(counted, says("b", None, usage={"prompt_tokens": "7"}), says("c", 5, usage=[])) as (
        client,
        _,
    ):
        assert client.complete(HELLO) == Reply("a", "length", Usage(7, 3))
        assert client.complete(HELLO) == Reply("b")
        assert client.complete(HELLO) == Reply("c")


@pytest.mark.parametrize("content_type", ["", "text/plain", "text/html", "application/json; charset=utf-8"])
def test_good_json_counts_whatever_it_is_labelled(content_type: str) -> None:
    body = "\ufeff" + json.dumps({"error": None, "choices": [{"message": {"content": "ok"}}]})
    with talking_to(answer(200, body, content_type)) as (client, _):
        assert client.complete(HELLO).text == "ok"


def test_a_packed_answer_is_unpacked() -> None:
    _, _, body = says("packed").partition(b"\r\n\r\n")
    with talking_to(answer(200, gzip.compress(body), Content_Encoding="gzip")) as (client, _):
        assert client.complete(HELLO).text == "packed"


# The bytes: encoded once, over one connection


def test_a_hundred_steps_encode_each_message_once_over_one_connection() -> None:
    array = [system("be brief")]
    with talking_to(says("x" * 100)) as (client, server):
        for step in range(100):
            array += [
                user(f"{step} " + "y" * 400),
                assistant(client.complete(array + [user("unused")] * 0).text),
            ]
            assert server.requests[-1].json["messages"][-1]["content"] == array[-3].content
        final = sum(len(message.encoded()) for message in array)
        assert client.encoded_bytes <= 1.1 * final
        assert server.connections == 1
        assert len(server.requests) == 100


@pytest.mark.parametrize(
    "arrays",
    [
        ["ab", "abc", "abcd"],
        ["abc", "ab", "abx"],  # the last step was taken back
        ["abc", "axc"],  # rewritten in the middle, as compaction does
        ["abc", "xyz", "", "a"],
        ["ab", "ab"],
    ],
)
def test_an_array_that_is_cut_or_rewritten_is_sent_as_it_is(arrays: list[str]) -> None:
    with talking_to(says("ok")) as (client, server):
        for letters in arrays:
            client.complete(tuple(user(letter) for letter in letters))
            assert "".join(item["content"] for item in server.requests[-1].json["messages"]) == letters


def test_an_interrupt_while_encoding_leaves_no_half_message() -> None:
    class Interrupting(Message):
        def encoded(self) -> bytes:
            raise KeyboardInterrupt

    with talking_to(says("ok")) as (client, server):
        client.complete([user("a")])
        with pytest.raises(KeyboardInterrupt):
            client.complete([user("a"), user("b"), Interrupting("user", "c")])
        client.complete([user("a"), user("b"), user("d")])
    assert [item["content"] for item in server.requests[-1].json["messages"]] == ["a", "b", "d"]


def test_a_connection_that_the_server_closed_meanwhile_is_opened_again() -> None:
    with talking_to(cut(says("one")), says("two")) as (client, server):
        assert client.complete(HELLO).text == "one"
        assert server.ended.acquire(timeout=5)
        assert client.complete(HELLO).text == "two"
        assert server.connections == 2


def test_close_closes_and_the_next_request_opens_again() -> None:
    with talking_to(says("ok")) as (client, server):
        client.complete(HELLO)
        client.close()
        assert server.ended.acquire(timeout=5)
        client.close()
        assert client.complete(HELLO).text == "ok"
        assert server.connections == 2


# Trouble that passes


@pytest.mark.parametrize(
    "trouble",
    [
        sends({"error": {"message": "slow down"}}, 429),
        answer(
            502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "text/html"
        ),
        answer(503, ""),
        sends({"error": {"code": 429, "message": "Provider overloaded"}}),
        sends({"error": {"code": "502", "message": "Provider overloaded"}}),
        sends({"choices": [{"error": {"code": 502, "message": "Upstream"}, "message": {"content": ""}}]}),
        sends({"id": "x", "object": "chat.completion", "choices": []}),
        answer(200, ""),
        answer(200, '{"choices": [{"mess'),
        cut(answer(200, '{"choices": [{"mess', Content_Length="400")),
        cut(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"cho\r\n'),
        cut(b"HTTP/1.1 200 O"),
        cut(b""),
    ],
)
def test_what_may_pass_is_asked_again_and_said(trouble: Step) -> None:
    notices: list[str] = []
    with talking_to(
        trouble,
        says("at last"),
        notice=notices.append,
        sleep=(sleeps := Sleeps()),
    ) as (client, server):
        assert client.complete(HELLO).text == "at last"
    assert len(server.requests) == 2
    assert server.requests[0].body == server.requests[1].body
    assert len(notices) == 1
    assert "try 2 of 4" in notices[0]
    assert 0 < sleeps.seconds[0] < 1


def test_it_gives_up_after_four_tries_and_says_so() -> None:
    with talking_to(answer(503, ""), sleep=(sleeps := Sleeps())) as (client, server):
        with pytest.raises(ModelError, match=r"503.*tried 4 times") as caught:
            client.complete(HELLO)
        assert caught.value.retryable
        assert len(server.requests) == 4
    assert sleeps.seconds == sorted(sleeps.seconds)  # backs off
    assert len(sleeps.seconds) == 3


@pytest.mark.parametrize("asked", ["7", " 7.0 "])
def test_retry_after_in_seconds_is_honoured(asked: str) -> None:
    with talking_to(answer(429, "", Retry_After=asked), says("ok"), sleep=(sleeps := Sleeps())) as (
        client,
        _,
    ):
        assert client.complete(HELLO).text == "ok"
    assert sleeps.seconds == [7.0]


def test_retry_after_as_a_date_is_honoured() -> None:
    def busy(connection: Any, _: Request) -> None:
        date = email.utils.formatdate(time.time() + 12, usegmt=True)
        connection.sendall(answer(503, "", Retry_After=date))

    with talking_to(busy, says("ok"), sleep=(sleeps := Sleeps())) as (client, _):
        assert client.complete(HELLO).text == "ok"
    assert 8 < sleeps.seconds[0] <= 12


@pytest.mark.parametrize(
    "garbage",
    ["soon", "-5", "nan", "1e3", "", "Wed, 21 Oct 2015 07:28:00 GMT", "0", "5, 5", "31 Feb", "é", "٣"],
)
def test_a_retry_after_that_says_nothing_usable_falls_back_to_a_short_pause(garbage: str) -> None:
    step = answer(429, "", Retry_After=garbage.encode().decode("latin-1"))
    with talking_to(step, says("ok"), sleep=(sleeps := Sleeps())) as (client, _):
        assert client.complete(HELLO).text == "ok"
    assert 0.1 < sleeps.seconds[0] < 1


@pytest.mark.parametrize("asked", ["999999", "61", "9" * 400, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_retry_after_beyond_patience_fails_at_once_and_names_it(asked: str) -> None:
    with talking_to(answer(429, "", Retry_After=asked), timeout=300, sleep=(sleeps := Sleeps())) as (
        client,
        server,
    ):
        with pytest.raises(ModelError, match="asks to wait") as caught:
            client.complete(HELLO)
        assert len(server.requests) == 1
    assert sleeps.seconds == []
    assert caught.value.retryable
    assert len(asked) > 10 or asked in str(caught.value)


def test_it_never_waits_longer_than_the_call_may_last() -> None:
    assert LONGEST_WAIT > 30
    error = fails(answer(429, "", Retry_After="30"), timeout=5)
    assert "asks to wait 30 s" in str(error)
    with talking_to(answer(503, ""), timeout=0.3, sleep=(sleeps := Sleeps())) as (client, server):
        with pytest.raises(ModelError, match="503"):
            client.complete(HELLO)
        assert len(server.requests) == 1
    assert sleeps.seconds == []


def test_the_notice_is_given_outside_of_the_spinner() -> None:
    log: list[str] = []

    @contextmanager
    def spinner() -> Iterator[None]:
        log.append("on")
        yield
        log.append("off")

    options: dict[str, Any] = {"waiting": spinner, "notice": lambda line: log.append("notice")}
    with talking_to(answer(500, ""), says("ok"), **options) as (client, _):
        client.complete(HELLO)
    assert log == ["on", "off", "notice", "on", "off"]


# Trouble that stays


def refused(status: int, message: str) -> bytes:
    return sends({"error": {"message": message, "code": None}}, status)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (refused(400, "System role not supported"), ["400", "System role not supported"]),
        (refused(401, f"Incorrect API key provided: {KEY}."), ["401", "LLM_API_KEY", "Incorrect API key"]),
        (refused(401, "Incorrect API key provided: sk-TOPS*****6789."), ["401"]),
        (refused(403, "no"), ["403", "LLM_API_KEY"]),
        (sends({"detail": "Not Found"}, 404), ["404", "/v1/chat/completions", "/v1", "Not Found"]),
        (sends({"detail": [{"loc": ["body"], "msg": "field required"}]}, 422), ["422", "field required"]),
        (sends({"object": "error", "message": "too long", "code": 40303}, 400), ["400", "too long"]),
        (sends([{"error": {"code": 400, "message": "API key not valid"}}], 400), ["API key not valid"]),
        (sends({"error": "model 'x' not found"}, 404), ["model 'x' not found"]),
        (sends({"error": {"message": "no credit", "code": "insufficient_quota"}}, 429), ["429", "no credit"]),
        (answer(400, "plain words", "text/plain"), ["400", "plain words"]),
        (answer(405, "<html><title>Not Allowed</title>" + "x" * 9999, "text/html"), ["405", "Not Allowed"]),
        (answer(418, b"\x1b[2J\xff\xfe\x00\r\nboo", ""), ["418", "\\x1b[2J", "boo"]),
        (sends({"error": {"message": "\u202egnp.\x9b31m" * 200}}, 400), ["400", "\\u202e", "\\x9b"]),
        (sends({"error": {"code": 400, "message": "Bad model"}}), ["400", "Bad model"]),
        (sends({"error": {"type": "x"}, "choices": []}), ['"type": "x"']),
        (sends({"error": True}), ["error"]),
        (answer(302, "", Location="https://elsewhere.test/login"), ["302", "https://elsewhere.test/login"]),
        (answer(308, "x" * 99, Location="/v2"), ["308", "/v2", "not followed"]),
        (answer(307, ""), ["307"]),
        (answer(200, "<!doctype html><title>Hi</title>", "text/html; charset=utf-8"), ["text/html", "/v1"]),
        (answer(200, "\n <HTML>log in", ""), ["HTML", "/v1"]),
        (answer(200, 'data: {"choices":[]}\n\ndata: [DONE]\n\n', "text/event-stream"), ["event-stream"]),
        (answer(200, "data: {}\n\n", ""), ["event-stream"]),
        (answer(200, "ok", "text/plain"), ["text/plain", "ok"]),
        (answer(200, b"\x1f\x8bnot gzip", Content_Encoding="gzip"), ["unpacked"]),
        (answer(200, b"x" * 99, "image/png"), ["image/png"]),
    ],
)  # fmt: skip
def test_what_stays_is_asked_once_and_explained(step: bytes, words: list[str]) -> None:
    with talking_to(step, sleep=(sleeps := Sleeps())) as (client, server):
        with pytest.raises(ModelError) as caught:
            client.complete(HELLO)
        assert len(server.requests) == 1
    assert sleeps.seconds == []
    assert not caught.value.retryable
    text = str(fails(step))
    assert "sk-" not in text
    for each in words:
        assert each in text
    assert server.base_url.partition(":")[0] in text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"id": "x", "object": "chat.completion", "choices": []}, "id, object, choices"),
        ({"choices": None}, "choices"),
        ({}, "none"),
        ([], "[]"),
        (None, "null"),
        ("ok", '"ok"'),
        (12, "12"),
        ({"choices": {"0": {}}}, "choices"),
        ({"choices": [None]}, "choices"),
        ({"choices": [{"text": "legacy"}]}, "choices"),
        ({"choices": [{"delta": {"content": "x"}}]}, "choices"),
        ({"choices": [{"message": "text"}]}, "choices"),
        ({"choices": [{"message": {"content": 5}}]}, "choices"),
        ({"choices": [{"message": {"content": {"text": "x"}}}]}, "choices"),
    ],
)
def test_json_that_is_no_chat_completion(value: object, words: str) -> None:
    error = fails(sends(value))
    assert "choices" in str(error)
    assert words in str(error)
    assert error.retryable


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 100_000,
        '"\\ud800',
        b'{"a": "\xff"}',
        "{'choices': []}",
        "NaN,",
    ],
)
def test_json_that_breaks_parsers_is_one_clear_line(body: str | bytes) -> None:
    assert "application/json" in str(fails(answer(200, body)))


@pytest.mark.parametrize("depth", range(900, 1000, 7))
def test_nested_json_is_an_error_at_any_depth(depth: int) -> None:
    nested = '{"error":' * depth + "1" + "}" * depth
    assert "error" in str(fails(answer(200, nested), answer(200, nested)))


def test_a_key_in_an_answer_is_never_shown() -> None:
    key = "gsk_TOPSECRET"  # without the shape of other keys
    for step in (
        refused(401, f"no such key {key}"),
        refused(400, "x" * 320 + key),
        answer(400, "x" * 140 + key, "text/plain"),
        answer(200, "x" * 140 + key, "text/plain"),
        answer(200, "x", "text/" + "x" * 70 + key),
        answer(302, "", Location=f"https://elsewhere.test/?key={key}"),
        answer(200, key, f"text/{key}"),
        sends({key: 1}),
        cut(b"Bearer " + key.encode() + b"\r\n\r\n"),
        cut(answer(200, "", Content_Length=key)),
    ):
        assert "gsk_" not in str(fails(step, key=key))


# Time


@pytest.mark.parametrize(
    "silence",
    [
        hang,
        drip(b"", 0.05, b"H"),
        drip(b"HTTP/1.1 200 O", 0.05, b"K"),
        drip(b"HTTP/1.1 200 OK\r\nX-Drip: ", 0.05),
        drip(b"HTTP/1.1 200 OK\r\n", 0.05, b"X-Drip: drop\r\n"),
        drip(b"HTTP/1.1 100 Continue\r\n\r\n", 0.05, b"HTTP/1.1 100 Continue\r\n\r\n"),
        drip(answer(200, "{", Content_Length="100000"), 0.05),
        drip(answer(200, "{", Content_Length="100000", Connection="close"), 0.05),
        drip(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{", 0.05),
        drip(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 0.05, b"1\r\n \r\n"),
        drip(answer(429, "{", Content_Length="100000"), 0.05),
        drip(answer(302, "{", Content_Length="100000", Location="/x"), 0.05),
    ],
)
def test_a_server_that_drips_or_is_silent_is_cut_at_the_deadline(silence: Step) -> None:
    begun = time.monotonic()
    error = fails(silence, timeout=0.2)
    assert "timeout" in str(error)
    assert "0.2 s" in str(error)
    assert error.retryable
    assert 0.15 < time.monotonic() - begun < 3


def test_after_a_cut_the_client_is_as_good_as_new() -> None:
    with talking_to(drip(b"HTTP/1.1 200", 0.05), says("one"), says("two"), timeout=0.5) as (client, server):
        with pytest.raises(ModelError, match="timeout"):
            client.complete(HELLO)
        assert [client.complete(HELLO).text, client.complete(HELLO).text] == ["one", "two"]
        assert server.connections == 2
        time.sleep(0.6)  # past the deadline of both: nothing may be cut now
        assert client.complete(HELLO).text == "two"
        assert server.connections == 2


def test_a_reply_that_comes_slowly_but_in_time_is_taken() -> None:
    def slowly(connection: Any, _: Request) -> None:
        for byte in (whole := says("there")):
            connection.sendall(bytes([byte]))
            time.sleep(0.3 / len(whole))

    with talking_to(slowly) as (client, _):
        assert client.complete(HELLO).text == "there"


def test_one_thread_watches_and_ends() -> None:
    def watchers() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "deadline"} - before

    before: set[threading.Thread] = set()
    before = watchers()
    with talking_to(says("ok"), timeout=0.5) as (client, _):
        for _again in range(20):
            client.complete(HELLO)
        [watcher] = watchers()
        watcher.join(5)  # there is nothing to watch any more
        assert not watcher.is_alive()
        assert client.complete(HELLO).text == "ok"
    with talking_to(says("ok"), timeout=60) as (client, _):
        client.complete(HELLO)
        watcher = (watchers() - {watcher}).pop()
        client.close()
        watcher.join(5)  # long before its time
        assert not watcher.is_alive()


def test_a_connect_that_nobody_takes() -> None:
    client = ChatClient(  # TEST-NET-1 leads nowhere; where the network says so at once, that is as good
        Settings("http://192.0.2.1/v1", "m", None, 1.0), notice=lambda line: None, connect_timeout=0.3
    )
    begun = time.monotonic()
    with pytest.raises(ModelError, match=r"192\.0\.2\.1"):
        client.complete(HELLO)
    client.close()
    assert time.monotonic() - begun < 4


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to itself")
@pytest.mark.parametrize(
    "step", [hang, drip(b"HTTP/1.1 2", 0.05), drip(answer(200, "{", Content_Length="99"), 0.05)]
)
def test_ctrl_c_drops_the_connection_and_the_next_request_works(step: Step) -> None:
    with talking_to(step, says("ok")) as (client, server):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            client.complete(HELLO)
        assert client.complete(HELLO).text == "ok"
        assert server.connections == 2


# Size


def test_an_answer_that_is_too_large_is_refused_while_it_comes() -> None:
    big = answer(200, '{"a": "' + "x" * 300_000)
    error = fails(big, max_bytes=100_000)
    assert "too much" in str(error)
    assert not error.retryable
    endless = drip(b"HTTP/1.1 200 OK\r\n\r\n", 0, b"x" * 65_536)
    assert "too much" in str(fails(endless, max_bytes=1_000_000))


def test_a_gzip_bomb_is_left_before_it_fills_the_memory() -> None:
    pytest.importorskip("resource")
    script = (
        "import resource, sys; from harness.client import *; from harness.settings import *;"
        "from harness.messages import *; client = ChatClient(Settings(sys.argv[1], 'm', None))\n"
        "try: client.complete([user('x')])\n"
        "except Exception as error: print(error)\n"
        "client.close(); print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    with FaultServer([gzip_bomb(10_000_000_000)]) as server:
        done = subprocess.run(
            [sys.executable, "-c", script, server.base_url],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
    error, peak = done.stdout.splitlines()
    assert "too much" in error
    assert int(peak) / (1e6 if sys.platform == "darwin" else 1e3) < 150


# Where it goes and as whom


@pytest.mark.parametrize(
    "form", ["", "/", "/v1", "/v1/", "/v1/chat/completions", "/v1/chat/completions/", "/v2"]
)
def test_forms_of_a_base_url(form: str) -> None:
    def only_v1(connection: Any, request: Request) -> None:
        there = request.line == "POST /v1/chat/completions HTTP/1.1"
        connection.sendall(says("ok") if there else answer(404, ""))

    with FaultServer([only_v1]) as server:
        origin = server.base_url.removesuffix("/v1")
        client = ChatClient(load_settings(origin + form, "m", env={}))
        if form == "/v2":
            with pytest.raises(ModelError, match=f"{origin}/v2/chat/completions answered 404"):
                client.complete(HELLO)
        else:
            assert client.complete(HELLO).text == "ok"
        client.close()


def test_netrc_does_not_replace_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password other\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with talking_to(echo) as (client, _):
        assert json.loads(client.complete(HELLO).text)["authorization"] == f"Bearer {KEY}"
    with talking_to(echo, key=None) as (client, _):
        assert "authorization" not in json.loads(client.complete(HELLO).text)


def test_a_redirect_takes_the_key_nowhere() -> None:
    with FaultServer([says("stolen")]) as other:
        error = fails(answer(307, "", Location=other.base_url))
        assert other.base_url in str(error)
        assert other.requests == []


def test_a_query_stays_in_the_address_and_out_of_messages() -> None:
    with FaultServer([says("ok"), answer(400, "")]) as server:
        client = ChatClient(load_settings(server.base_url + "?api-version=1&key=hidden", "m", env={}))
        client.complete(HELLO)
        with pytest.raises(ModelError) as caught:
            client.complete(HELLO)
        client.close()
    assert server.requests[0].line == "POST /v1/chat/completions?api-version=1&key=hidden HTTP/1.1"
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "key", "warned"),
    [
        ("http://example.invalid/v1", KEY, True),
        ("http://127.evil.invalid/v1", KEY, True),
        ("http://example.invalid/v1", None, False),
        ("https://example.invalid/v1", KEY, False),
        ("http://127.0.0.1:1/v1", KEY, False),
        ("http://localhost:1/v1", KEY, False),
        ("http://[::1]:1/v1", KEY, False),
    ],
)
def test_a_key_over_plain_http_to_another_machine_is_said(
    base_url: str, key: str | None, warned: bool
) -> None:
    notices: list[str] = []
    client = ChatClient(Settings(base_url, "m", key, 0.2), notice=notices.append, connect_timeout=0.1)
    with pytest.raises(ModelError):
        client.complete(HELLO)
    client.close()
    assert any("plain http" in line for line in notices) is warned
    assert not any("TOPSECRET" in line for line in notices)


def test_nobody_listens() -> None:
    with closed_port() as port:
        client = ChatClient(
            Settings(f"http://127.0.0.1:{port}/v1", "m", KEY),
            notice=lambda line: None,
            sleep=(sleeps := Sleeps()),
        )
        with pytest.raises(
            ModelError, match=rf"no connection to http://127.0.0.1:{port}/v1.*running"
        ) as caught:
            client.complete(HELLO)
        client.close()
    assert caught.value.retryable
    assert len(str(caught.value)) < 200
    assert len(sleeps.seconds) == 3


def test_a_base_url_that_makes_no_address() -> None:
    client = ChatClient(Settings("http://*.test/v1", "m", KEY))
    with pytest.raises(SettingsError, match="base URL"):
        client.complete(HELLO)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key."""
    openssl = shutil.which("openssl")
    if not openssl:
        pytest.skip("makes its certificate with openssl")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run(
        [openssl, *command.split(), "-keyout", path, "-out", path.with_suffix(".crt")],
        check=True,
        capture_output=True,
    )
    path.write_bytes(path.read_bytes() + path.with_suffix(".crt").read_bytes())
    return path


def test_tls_that_is_not_trusted_names_the_remedy_and_the_remedy_works(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    error = fails(says("ok"), tls=context)
    assert "REQUESTS_CA_BUNDLE" in str(error)
    assert "certificate verify failed" in str(error)
    assert "no connection" not in str(error)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        with monkeypatch.context() as patch, talking_to(says("ok"), tls=context) as (client, _):
            patch.setenv(name, str(certificate.with_suffix(".crt")))
            assert client.complete(HELLO).text == "ok"
            assert client.complete(HELLO).text == "ok"
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate.with_suffix(".missing")))
    assert "invalid path" in str(fails(says("ok"), tls=context))


def test_a_drip_under_tls_is_cut_too(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate.with_suffix(".crt")))
    for start in (b"HTTP/1.1 200 O", answer(200, "{", Content_Length="999"), b"HTTP/1.0 200 OK\r\n\r\n{"):
        begun = time.monotonic()
        assert "timeout" in str(fails(drip(start, 0.05), tls=context, timeout=0.2))
        assert time.monotonic() - begun < 3


def test_tls_to_a_server_that_speaks_plainly() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(answer(400, ""))
                connection.recv(9999)

        threading.Thread(target=greet, daemon=True).start()
        client = ChatClient(Settings(f"https://127.0.0.1:{listener.getsockname()[1]}/v1", "m", KEY, SOON))
        with pytest.raises(ModelError, match=r"TLS failed.*http://"):
            client.complete(HELLO)
        client.close()


def test_tls_that_never_shakes_hands() -> None:
    with FaultServer([hang]) as server:
        url = server.base_url.replace("http:", "https:")
        client = ChatClient(Settings(url, "m", KEY, 0.5), notice=lambda line: None, connect_timeout=0.2)
        with pytest.raises(ModelError, match="timeout"):
            client.complete(HELLO)
        client.close()


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultServer([says("by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        client = ChatClient(Settings("http://model.invalid/v1", "m", None, SOON))
        assert client.complete(HELLO).text == "by proxy"
        assert client.complete(HELLO).text == "by proxy"
        client.close()
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with talking_to(says("direct")) as (client, _):
            assert client.complete(HELLO).text == "direct"
    assert proxy.requests[0].line == "POST http://model.invalid/v1/chat/completions HTTP/1.1"
    assert proxy.connections == 1


def test_a_proxy_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with closed_port() as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        assert "proxy" in str(fails(says("ok")))


# Tapes


def test_vcrpy_records_and_plays_it(tmp_path: Path) -> None:
    tape = str(tmp_path / "tape.yaml")
    with talking_to(says("one"), sends({"error": "no"}, 400)) as (client, server), vcr.use_cassette(tape):
        assert client.complete(HELLO).text == "one"
        with pytest.raises(ModelError, match="400"):
            client.complete(HELLO)
        url = server.base_url
    client = ChatClient(Settings(url, "tiny", None))
    with vcr.use_cassette(tape, record_mode="none") as cassette:  # the server is gone
        assert client.complete(HELLO).text == "one"
        with pytest.raises(ModelError, match="400"):
            client.complete(HELLO)
        assert cassette.play_count == 2
    client.close()
    assert json.loads(cassette.requests[0].body)["messages"] == [{"role": "user", "content": "hello"}]


def test_a_drip_is_cut_while_recording(tmp_path: Path) -> None:
    for start in (b"HTTP/1.1 200 O", answer(200, "{", Content_Length="999")):
        with vcr.use_cassette(str(tmp_path / f"{len(start)}.yaml")):
            assert "timeout" in str(fails(drip(start, 0.05), timeout=0.2))


# Starting


def test_importing_and_making_a_client_imports_no_requests() -> None:
    code = (
        "import sys; from harness.client import ChatClient; from harness.settings import Settings;"
        "ChatClient(Settings('http://127.0.0.1:1/v1', 'm')).close();"
        "print([name for name in ('requests', 'urllib3', 'vcr', 'pydantic', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
