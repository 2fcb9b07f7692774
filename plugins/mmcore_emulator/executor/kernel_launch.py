"""One launch of a translated kernel: its geometry, its memory, and what it did wrong."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import TimeLimit
from mmcore_emulator.executor.translate import Translation
from mmcore_emulator.machine.accesses import LaneViolation
from mmcore_emulator.machine.dim3 import Dim3
from mmcore_emulator.machine.formatted_output import PrintBuffer
from mmcore_emulator.machine.lanes import LANES_PER_BATCH, ONE_BLOCK, Batch, batches
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory, poisoned
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.floats import Values
from mmcore_emulator.ptx.instructions import Instruction


def to_stderr(text: str) -> None:
    """Write to the standard error stream, where the printf of a GPU goes too."""
    sys.stderr.write(text)


class Deadline(Protocol):
    """When a launch is stopped; both attributes may change while it runs.

    Attributes:
        limit: seconds from when the deadline was set; None without a limit.
        end: when it is over, by :func:`time.monotonic`.
    """

    limit: float | None
    end: float


@dataclass
class Progress:
    """How much of some launches has run."""

    threads: int  # of all launches
    done: int = 0  # threads of the blocks that have ended
    began: float = field(default_factory=time.perf_counter)  # when the first launch began, by ``time.perf_counter``

    def estimate(self, running: int, output: Array | None) -> str:
        """How much has run, and how long everything would take, where ``running`` threads have not ended."""
        what, share, about = "its blocks had run", self.done / self.threads, "about"
        if not self.done and running < self.threads:
            share, about = running / self.threads, "at least"
        elif not self.done and output is not None:
            what, share = "C had been written", output.written
        if not 0 < share < 1:
            return "none of its blocks had ended, so how long it would take is not known"
        spent, less = time.perf_counter() - self.began, "less than " if about != "about" else ""
        done = f"{less}{min(100 * share, 99):.2g} % of {what} in {_duration(spent)}"
        return f"{done}, so all of it would take {about} {_duration(spent / share)}"


def _duration(seconds: float) -> str:
    for unit, name in ((3600, "hours"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.2g} s"


@dataclass
class KernelLaunch:
    """One launch on the emulator, and what came of it.

    Attributes:
        translation: the kernel.
        grid, block: the launch's geometry.
        shared_bytes: dynamic shared memory of a block.
        parameters: the content of parameter memory.
        device_memory: the arrays that pointers lead into.
        deadline: when what is still running is stopped.
        observers: who is told of everything that happens.
        progress: of all the launches that this one belongs to.
        resident_blocks: how many blocks the device holds at once; the others begin when one of these has ended.
        alone: whether each block runs by itself, until it waits for others.
        cluster: blocks of a cluster.
        multiprocessors: of the device.
        registers: of a thread, where the assembler knows how many it is launched with; else 0.
        fresh: makes the content of so many bytes of shared or local memory.
        violations: by kind, array and line; the first occurrence of each.
        thread_instructions: PTX instructions executed, counted once per thread.
        approximate_operations: results whose bits are not specified, counted once per thread.
        printed: what its threads have printed.
        write: takes the printed text when the launch ends.
    """

    translation: Translation
    grid: Dim3
    block: Dim3
    shared_bytes: int
    parameters: NDArray[np.uint8]
    device_memory: DeviceMemory
    deadline: Deadline
    observers: tuple[Observer, ...]
    progress: Progress
    resident_blocks: int = 1
    fresh: Callable[[int], NDArray[np.uint8]] = poisoned
    alone: bool = False
    cluster: Dim3 = ONE_BLOCK
    multiprocessors: int = 132
    registers: int = 0
    violations: dict[tuple[Any, ...], Violation] = field(default_factory=dict)
    thread_instructions: int = 0
    approximate_operations: int = 0
    printed: PrintBuffer = field(default_factory=PrintBuffer)
    write: Callable[[str], object] = to_stderr

    def batches(self) -> Iterable[Batch]:
        """The whole grid, in batches that fit the host's cache."""
        layout = self.translation.layout
        own = layout.shared_bytes + self.shared_bytes + layout.local_bytes * self.block.size
        lanes = LANES_PER_BATCH if not self.alone else 1
        return batches(self.grid, self.block, own, lanes, self.cluster, self.multiprocessors)

    def stop(self, at: Instruction | None, batch: Batch, lanes: Values) -> NoReturn:
        """End the run, as its time is over: ``lanes`` of the batch that runs were to execute ``at`` next.

        Raises:
            TimeLimit: always; the last violation says the same.
        """
        text = f"was still running after {self.deadline.limit or 0:g} s"
        output = self.device_memory.labelled("C")
        estimate = self.progress.estimate(batch.lanes, output)
        self.report(LaneViolation("timeout", None, at, lanes, lambda lane: text), batch, f"; {estimate}")
        raise TimeLimit([*self.violations.values()][-1].message)

    def report(self, found: LaneViolation, batch: Batch, further: str = "") -> None:
        """Note a violation in a batch, unless its line has committed it already; ``further`` goes behind the place."""
        source, line = place_in_source(found.at)
        key = (found.kind, found.array, source, line)
        if key in self.violations:
            return
        first = batch.first_of(found.lanes)
        block, thread = batch.position(first)
        where = f" at {source}:{line}" if line else ""
        message = f"{place(block, thread)} {found.text(first)}{where}{further}"
        fatal = found.kind == "timeout"
        self.violations[key] = Violation(found.kind, message, found.array, source, line, block, thread, fatal=fatal)


def place_in_source(at: Instruction | None) -> tuple[str | None, int | None]:
    """File and line of an instruction; None for what it has not."""
    return (None, None) if at is None else (at.source or None, at.line or None)


def place(block: Dim3, thread: Dim3) -> str:
    """A thread, in words."""
    return f"thread {_index(thread)} of block {_index(block)}"


def _index(index: Dim3) -> str:
    return f"({', '.join(map(str, index if index.z else index[:2]))})"


def parameter_bytes(translation: Translation, values: Sequence[bytes]) -> NDArray[np.uint8]:
    """Parameter memory holding ``values`` in the kernel's order, each as long as its parameter."""
    content = np.zeros(translation.layout.parameter_bytes + 64, np.uint8)
    for offset, value in zip(translation.layout.parameters.values(), values, strict=True):
        content[offset : offset + len(value)] = np.frombuffer(value, np.uint8)
    return content
