"""Runs a translated kernel over a grid, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from mmcore.errors import KernelError
from mmcore.deadline import Deadline
from mmcore.devices.violations import Violation
from mmcore.kernel.geometry import Dim3
from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, batches
from mmcore_emulator.lockstep import BatchRun
from mmcore_emulator.memory import DeviceMemory
from mmcore_emulator.observation import Observer, WatchedBatchRun
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.translate import Translation


class OutOfTime(KernelError):
    """The time limit was reached while a kernel was running.

    Attributes:
        violation: where it was.
    """

    def __init__(self, violation: Violation) -> None:
        self.violation = violation
        super().__init__(violation.message)


@dataclass
class Run:
    """One launch on the emulator, and what came of it.

    Attributes:
        translation: the kernel.
        grid, block: the launch's geometry.
        shared_bytes: dynamic shared memory of a block.
        parameters: the content of parameter memory.
        device_memory: the arrays that pointers lead into.
        deadline: when what is still running is stopped.
        observers: who is told of everything that happens.
        violations: by kind, array and line; the first occurrence of each.
        thread_instructions: PTX instructions executed, counted once per thread.
    """

    translation: Translation
    grid: Dim3
    block: Dim3
    shared_bytes: int
    parameters: NDArray[np.uint8]
    device_memory: DeviceMemory
    deadline: Deadline
    observers: tuple[Observer, ...] = ()
    violations: dict[tuple[Any, ...], Violation] = field(default_factory=dict)
    thread_instructions: int = 0

    def execute(self, chosen: Iterable[Batch] | None = None) -> None:
        """Run the blocks of the ``chosen`` batches; every block of the grid when None.

        Raises:
            OutOfTime: the time limit was reached.
        """
        with np.errstate(all="ignore"):
            for batch in self.batches() if chosen is None else chosen:
                run = WatchedBatchRun(self, batch, self.observers) if self.observers else BatchRun(self, batch)
                run.execute()

    def batches(self) -> Iterable[Batch]:
        """The whole grid, in batches that fit the host's cache."""
        return batches(self.grid, self.block, self._block_bytes())

    def _block_bytes(self) -> int:
        """Shared and local memory of a block."""
        layout = self.translation.layout
        return sum(layout.shared_sizes) + self.shared_bytes + layout.local_bytes * self.block.size

    def stop(self, at: Instruction | None, batch: Batch, lanes: Values) -> NoReturn:
        """End the run, as its time is over.

        Args:
            at: the instruction that was to be executed next.
            batch: the batch that was running.
            lanes: the lanes that were to execute it.
        """
        line = at.line if at is not None and at.line else None
        source = at.source if at is not None and at.source else None
        block, thread = batch.position(batch.first_of(lanes))
        where = f" at {source}:{line}" if line else ""
        message = f"{place(block, thread)} was still running after {self.deadline.limit:g} s{where}"
        raise OutOfTime(Violation("timeout", message, None, source, line, block, thread, fatal=True))

    def report(
        self,
        kind: str,
        array: str | None,
        at: Instruction | None,
        batch: Batch,
        lanes: Values,
        text: Callable[[tuple[int, ...]], str],
    ) -> None:
        """Note a violation, unless this line has committed it already.

        Args:
            kind, array: as in :class:`~mmcore.devices.violations.Violation`.
            at: the instruction.
            batch: the batch it ran in.
            lanes: the lanes at violation.
            text: what one of them did, by its index along the six axes.
        """
        line = at.line if at is not None and at.line else None
        source = at.source if at is not None and at.source else None
        if (kind, array, source, line) in self.violations:
            return
        first = batch.first_of(lanes)
        block, thread = batch.position(first)
        where = f" at {source}:{line}" if line else ""
        message = f"{place(block, thread)} {text(first)}{where}"
        self.violations[kind, array, source, line] = Violation(kind, message, array, source, line, block, thread)


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
