"""llama.cpp's own server around a model file, on this machine only: in this process, or in a child of it.

The server is the one of https://github.com/ggml-org/llama.cpp, out of the package xllamacpp; it speaks the
same chat/completions as everybody else, so that nothing in a lesson knows that the model is a local one.
"""

import importlib.util
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

from harness.errors import SettingsError
from harness.local_model import UnavailableError

START_TIMEOUT = 60.0  # seconds that a child may take until it listens; it takes one
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/v1")


@dataclass(frozen=True)
class Limits:
    """What the server grants."""

    context: int = 4096
    """Tokens that a request and its reply may have together; a longer request is refused (400)."""
    max_tokens: int = 256
    """Tokens of one reply. The lessons set no limit of their own, a small model may never stop, and the
    server writes a reply to its end even if nobody waits for it (ggml-org/llama.cpp, issue 24496)."""
    threads: int = max(1, (os.cpu_count() or 2) // 2)
    """Half of what the machine counts: llama.cpp's threads wait by spinning, so more than there are cores
    make it ten times slower, and a lesson runs beside it."""
    reuse: bool = False
    """Keep what was read of the last array, and read only what is new: a fraction of the time in a long
    conversation. Off, because a sum in another order can tip a token over: the same array may then get
    another reply."""


def check_server() -> None:
    """Whether there is a server to start, before anything is fetched for it.

    Raises:
        UnavailableError: it is not installed.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise UnavailableError("the server is not installed; in the project's folder: pip install '.[local]'")


def start_server(path: Path, name: str, port: int, limits: Limits) -> tuple[Any, str]:
    """Start the server in threads of this process.

    Same array, same reply: the likeliest token is taken each time (temperature 0), and without
    ``limits.reuse`` nothing of an earlier request is used again.

    Returns:
        The server, to be kept while it is needed, and the base URL.

    Raises:
        SettingsError: the port is taken.
        UnavailableError: the library can't be loaded here, or can't load the model.
    """
    try:  # the library would only say that it failed
        socket.create_server(("127.0.0.1", port)).close()
    except OSError as error:
        why = os.strerror(error.errno or 0)  # Python adds the address again
        raise SettingsError(f"--port {port}: {why}; --port 0 takes a free one") from error
    try:
        import xllamacpp
    except ImportError as error:  # no wheel for this system, or a C library older than the wheel asks for
        raise UnavailableError(f"the server does not run on this system: {error}") from error
    given = xllamacpp.CommonParams()
    given.model.path = str(path)
    given.model_alias = {name}
    if hasattr(given, "hostnames"):
        given.hostnames = ["127.0.0.1"]
    else:  # before 2026.10
        given.hostname = "127.0.0.1"
    given.port = port
    given.n_ctx = limits.context
    given.n_predict = limits.max_tokens
    given.n_parallel = 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = limits.threads
    given.sampling.temp = 0.0
    given.cache_prompt = limits.reuse
    given.cache_ram_mib = 0
    given.fit_params = (
        False  # measures how much memory there is: half a second, for a model that fits a phone
    )
    given.ui = False
    given.verbosity = 1  # errors only
    try:
        server = xllamacpp.Server(given)
    except RuntimeError as error:
        raise UnavailableError(f"the server could not start with {path}: {error}") from error
    return server, f"{server.listening_address}/v1"


@contextmanager
def serving_in_a_child(limits: Limits) -> Iterator[str]:
    """Serve the local model in a child process until the end of the block; gives the base URL.

    A process of its own, because Ctrl+C in a lesson must not reach it, and a crash in it must not reach the
    lesson. It ends when its standard input does, so it can't outlive this process, however that ends.

    Raises:
        UnavailableError: it did not start; the text ends with its last words.
    """
    command = [sys.executable, "-m", "harness", "model", "serve", "--port=0", "--until-input-ends"]
    command += [f"--context={limits.context}", f"--max-tokens={limits.max_tokens}"]
    command += [f"--threads={limits.threads}", *["--reuse"] * limits.reuse]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8"
        ) as child,
    ):
        watchdog = Timer(START_TIMEOUT, child.kill)
        watchdog.start()
        try:
            address = _address(child, errors)
            watchdog.cancel()
            yield address
        finally:
            watchdog.cancel()
            child.kill()  # it has nothing to save


def _address(child: subprocess.Popen[str], errors: Any) -> str:
    """Where a child listens, as soon as it says so."""
    assert child.stdout is not None  # it is a pipe
    for line in child.stdout:
        if found := _ADDRESS.search(line):
            return found[0]
    code = child.wait()
    errors.seek(0)
    words = errors.read().decode("utf-8", "replace").strip().splitlines() or ["nothing"]
    raise UnavailableError(f"the local server ended before it listened ({code}); it said: {words[-1]}")
