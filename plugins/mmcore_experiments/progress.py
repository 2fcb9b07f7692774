"""The progress of a run on stderr, with the time left."""

from __future__ import annotations

import shutil
import sys
import time
from datetime import timedelta


class Progress:
    """On a terminal one line that changes, elsewhere a line for each cell."""

    def __init__(self) -> None:
        self._cells = self._done = self._before = 0
        self._begin = time.monotonic()
        self._changing = sys.stderr.isatty()

    def begin(self, device: str, cells: int, measured: int) -> None:
        """So many cells in all, so many of them measured before."""
        self._cells, self._done, self._before = cells, measured, measured
        self._begin = time.monotonic()
        self.note(f"{device}, {cells} cells{f'; {measured} of them measured before' if measured else ''}")

    def cell(self, name: str, result: str) -> None:
        """One more is done."""
        self._done += 1
        each = (time.monotonic() - self._begin) / (self._done - self._before)
        left = timedelta(seconds=round(each * (self._cells - self._done)))
        line = f"[{self._done}/{self._cells}] {left} left; {name}: {result}"
        self.end()
        if self._changing:
            line = line[: shutil.get_terminal_size().columns - 1]
        print(line, end="" if self._changing else "\n", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Something else to know."""
        self.end()
        print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line that changes."""
        if self._changing:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
