"""The spinner: one line at a terminal that says that somebody is being waited for, and for how long."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

ERASE_LINE = "\r\x1b[2K"


class Spinner:
    """Draws from a thread of its own; whoever else writes holds ``lock`` and calls ``erase`` first.

    A thread of our own: starting late and counting seconds takes one in any case, and rich.status would add
    70 ms of imports and hide the cursor, which stays hidden when the program is killed.
    """

    def __init__(self, write: Callable[[str], None]) -> None:
        self.lock = threading.Lock()
        self._write = write
        self._shown = False

    @contextmanager
    def spinning(self) -> Iterator[None]:
        """Spin until the end of the block, whatever ends it."""
        done = threading.Event()
        thread = threading.Thread(target=self._spin, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            with self.lock:
                self.erase()

    def erase(self) -> None:
        """Take the line away if it is there. The caller holds the lock."""
        if self._shown:
            self._shown = False
            self._write(ERASE_LINE)

    def _spin(self, done: threading.Event) -> None:
        frames = itertools.cycle("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
        started = time.monotonic()
        while not done.wait(0.15):  # a quick reply is there before anything is drawn
            text = f"{next(frames)} thinking… {int(time.monotonic() - started)} s"
            with self.lock, suppress(OSError):  # a terminal that is gone: whoever writes next will find out
                self._write(f"{ERASE_LINE}\x1b[2m{text}\x1b[0m")
                self._shown = True
