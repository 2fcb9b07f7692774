"""How far an experiment is: a bar with the time left on a terminal, a line for each cell elsewhere; on stderr."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

from mmcore.devices.base import Device

if TYPE_CHECKING:
    from mmcore_experiments.recording import Watcher


@contextmanager
def progress(name: str) -> Iterator[Watcher]:
    """Watches an experiment of this name until the block ends."""
    stream = _stderr()
    try:
        if not stream.isatty():
            yield Lines(stream)
            return
        bar = Bar(name, stream)
        try:
            yield bar
        finally:
            bar.stop()
    finally:
        if stream is not sys.stderr:
            stream.close()


def _stderr() -> TextIO:
    """Stderr, also while pytest captures what the tests write to it."""
    try:
        return os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding, errors="backslashreplace")
    except (io.UnsupportedOperation, AttributeError):  # no file of the operating system's
        return sys.stderr


class Lines:
    """A line for each cell, with the time left."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._cells = self._done = self._before = 0
        self._begin = time.monotonic()

    def begin(self, device: Device, cells: int, measured: int) -> None:
        self._cells, self._done, self._before = cells, measured, measured
        self._begin = time.monotonic()
        self.note(_beginning(device, cells, measured))

    def cell(self, name: str, result: str) -> None:
        self._done += 1
        each = (time.monotonic() - self._begin) / (self._done - self._before)
        left = timedelta(seconds=round(each * (self._cells - self._done)))
        self.note(f"[{self._done}/{self._cells}] {name}: {result}; {left} left")

    def note(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class Bar:
    """A bar, the cells done and to do, the time left, and the last cell's result."""

    def __init__(self, name: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        # pytest has the process's own streams while it runs, by which rich would find out.
        width = os.get_terminal_size(stream.fileno()).columns
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            # It has what the others leave.
            TextColumn("{task.fields[last]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            expand=True,
            console=Console(file=stream, width=width or None, highlight=False, markup=False, emoji=False),
            redirect_stdout=False,
            redirect_stderr=False,
            # A cell may take longer than the half minute by which rich estimates.
            speed_estimate_period=600,
        )
        self._task = self._progress.add_task(name, total=None, last="")

    def begin(self, device: Device, cells: int, measured: int) -> None:
        self.note(_beginning(device, cells, measured))
        self._progress.reset(self._task, total=cells, completed=measured)
        self._progress.start()

    def cell(self, name: str, result: str) -> None:
        self._progress.update(self._task, advance=1, last=f"{name}: {result}")

    def note(self, text: str) -> None:
        self._progress.console.print(text)

    def stop(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()


def _beginning(device: Device, cells: int, measured: int) -> str:
    before = f"; {measured} of them measured before" if measured else ""
    return f"{device.name} ({device.description}), {cells} cells{before}"
