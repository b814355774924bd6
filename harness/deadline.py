"""A deadline for a transfer: the one thing that a read timeout can't give."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watchdog:
    """Cuts a transfer that is still going on at its deadline.

    A timeout of requests is the longest silence between two bytes (urllib3's Timeout says so): a server
    that drips one now and then holds a client for ever, and in the headers no code of ours runs between
    two of them. A timer for each request would cost as much CPU as the request. So one thread sleeps until
    the deadline that it knows; when it wakes, there is a later one to sleep until, or something to cut, or
    nothing, and then it ends.
    """

    def __init__(self, cut: Callable[[], None]) -> None:
        """``cut`` ends the transfer, whatever it is waiting for. It runs in the watchdog's thread."""
        self._cut = cut
        self._deadline = 0.0  # of the last transfer, by time.monotonic()
        self._armed = False  # whether that transfer is going on
        self._running = False
        self._lock = threading.Lock()
        self._closed = threading.Event()

    @contextmanager
    def until(self, deadline: float) -> Iterator[None]:
        """Guard a transfer. No deadline may be before the one before it: the thread sleeps until that."""
        with self._lock:
            self._deadline, self._armed = deadline, True
            if not self._running:
                threading.Thread(target=self._watch, name="deadline", daemon=True).start()
                self._running = True
        try:
            yield
        finally:
            with self._lock:
                self._armed = False

    def close(self) -> None:
        """Let the thread end, if there is one."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(max(0.05, self._deadline - time.monotonic())):
            with self._lock:  # so that it never cuts a transfer that begins at this moment
                if time.monotonic() < self._deadline:
                    continue
                if not self._armed:
                    self._running = False
                    return
                self._cut()  # again every 0.05 s: in a TLS handshake there is nothing to take hold of yet
