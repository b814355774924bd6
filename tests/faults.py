"""A server on loopback that answers as a test's script says: well, late, in drips, half, or not at all.

``FaultServer([step, step, …])`` takes one step for each request; the last one repeats. A step is the bytes
to send, or a function that gets the connection and the request and does its worst. Raw sockets, because
a server library would mend what these tests want broken.
"""

import json
import select
import socket
import ssl
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    line: str
    headers: dict[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Fault = Callable[[socket.socket, Request], None]
Step = bytes | Fault


class FaultServer:
    """Listens on 127.0.0.1 while its context lasts; counts connections, keeps requests."""

    def __init__(self, steps: Sequence[Step], *, tls: ssl.SSLContext | None = None) -> None:
        self._steps = steps
        self._tls = tls
        self.requests: list[Request] = []
        self.connections = 0
        self.ended = threading.Semaphore(0)  # released for each connection that is over
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "FaultServer":
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.base_url = f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):  # shut first: it wakes whoever waits on the socket
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        self._listener.close()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, plain: socket.socket) -> None:
        with plain, suppress(OSError, EOFError, ValueError):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = plain
            if self._tls:
                connection = self._tls.wrap_socket(plain, server_side=True)
                self._open.append(connection)
            with connection, connection.makefile("rb") as stream:
                while True:
                    request = _read_request(stream)
                    step = self._steps[min(len(self.requests), len(self._steps) - 1)]
                    self.requests.append(request)
                    if isinstance(step, bytes):
                        connection.sendall(step)
                    else:
                        step(connection, request)
        self.ended.release()


def _read_request(stream: Any) -> Request:
    line = stream.readline()
    if not line:
        raise EOFError
    headers = {}
    while (header := stream.readline()) not in (b"\r\n", b""):
        name, _, value = header.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Request(line.decode().strip(), headers, stream.read(int(headers.get("content-length", 0))))


# Answers


def answer(status: int, body: bytes | str, content_type: str = "application/json", **headers: str) -> bytes:
    """A whole response; a header's underscores become hyphens."""
    body = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Some Reason'}"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if "Content_Length" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def says(text: object, finish_reason: object = "stop", **more: Any) -> bytes:
    """A chat completion. ``text`` is the message's content, or the whole message where it is a mapping."""
    message = text if isinstance(text, Mapping) else {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return answer(200, json.dumps({"choices": [choice], **more}))


def sends(value: object, status: int = 200, **headers: str) -> bytes:
    """Any value as JSON."""
    return answer(status, json.dumps(value), **headers)


def echo(connection: socket.socket, request: Request) -> None:
    """Replies with the request's headers, as JSON text."""
    connection.sendall(says(json.dumps(request.headers)))


# Faults


def hang(connection: socket.socket, _: Request) -> None:
    """Says nothing, until the client goes away."""
    with suppress(OSError):
        connection.recv(1)


def drip(start: bytes, every: float, repeat: bytes = b" ") -> Fault:
    """Sends ``start`` at once, and then a little every so many seconds, until the client goes away."""

    def step(connection: socket.socket, _: Request) -> None:
        connection.sendall(start)
        while not select.select([connection], [], [], every)[0]:  # readable: the client closed
            connection.sendall(repeat)

    return step


def cut(part: bytes) -> Fault:
    """Sends a part, and closes the connection."""

    def step(connection: socket.socket, _: Request) -> None:
        connection.sendall(part)
        raise EOFError

    return step


def gzip_bomb(unpacked: int) -> Fault:
    """Sends gzip that unpacks to so many bytes, a thousand times what goes over the wire."""

    def step(connection: socket.socket, _: Request) -> None:
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        piece = b" " * 1_000_000
        head = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
        again = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)  # after a full flush, all are equal
        length = len(head) + len(again) * (unpacked // len(piece))
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
            b"Content-Length: %d\r\n\r\n" % length + head
        )
        for _again in range(unpacked // len(piece)):
            connection.sendall(again)

    return step


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens: bound, so that nobody else gets it, and never listening."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
