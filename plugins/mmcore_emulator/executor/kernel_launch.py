"""One launch of a translated kernel: its geometry, memory and violations; and the variables of its module."""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import TimeLimit, UnsupportedInstruction, WorkLimit
from mmcore_emulator.executor.translation.layout import as_written, used_variables
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.machine.formatted_output import PrintBuffer
from mmcore_emulator.machine.lanes import LANES_PER_BATCH, ONE_BLOCK, Batch, batches
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory, poisoned
from mmcore_emulator.machine.observer import LaneViolation, Observer, always
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.numerics.types import Values
from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import Function, Instruction

# The driver's memory for each cooperative launch, as cooperative_groups.h uses it: its size, and a counter.
_GRID_BARRIER = Variable("the grid's barrier", "global", 8, 8, bytes(8))
_SURE_AFTER = 5.0  # seconds after which an estimate of the time counts
_HOPELESS = 4  # multiple of the time limit from which on the rest is not run
_KEYWORDS = {"global": "__device__", "const": "__constant__"}


def to_stderr(text: str) -> None:
    """Write to the standard error stream, which also receives the printf of a GPU."""
    sys.stderr.write(text)


Key: TypeAlias = tuple[str, str | None, tuple[str | None, int | None], tuple[tuple[str, int], ...]]
"""Kind and array of a violation, the file and line of its instruction, and those of calls that tell it from others."""


class Deadline(Protocol):
    """The time limit of a launch; its attributes may change while it runs."""

    limit: float | None  # seconds since the deadline was set; None for no limit
    end: float  # end of the limit, by :func:`time.monotonic`
    reached: str  # how the limit is reached, such as "after 60 s"


@dataclass
class Progress:
    """The progress of some launches."""

    threads: int  # threads of all launches
    done: int = 0  # threads of the blocks that have ended
    began: float = field(default_factory=time.perf_counter)  # start of the first launch, by ``time.perf_counter``

    def estimate(self, running: int, output: Array | None) -> str:
        """Return how much has run, and how long everything would take, while ``running`` threads have not ended."""
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
    """One launch on the emulator, and its results."""

    translation: Translation  # the kernel
    # The launch's geometry.
    grid: Dim3
    block: Dim3
    shared_bytes: int  # dynamic shared memory of a block
    parameters: NDArray[np.uint8]  # content of parameter memory
    device_memory: DeviceMemory  # arrays in global memory
    deadline: Deadline  # time limit
    observers: tuple[Observer, ...]  # observers of all events
    progress: Progress  # progress of all the launches that this one belongs to
    resident_blocks: int = 1  # number of blocks that the device holds at once; the others begin as these end
    # Creates the content of shared or local memory from its size in bytes.
    fresh: Callable[[int], NDArray[np.uint8]] = poisoned
    alone: bool = False  # true if each block runs by itself until it waits for others
    only: int | None = None  # number of the only batch that runs; None for all
    cluster: Dim3 = ONE_BLOCK  # blocks of a cluster
    multiprocessors: int = 132  # multiprocessors of the device
    registers: int = 0  # registers of a thread at the launch, if the assembler knows them; else 0
    # First occurrence of each violation, by kind, array and place.
    violations: dict[Key, Violation] = field(default_factory=dict)
    thread_instructions: int = 0  # executed PTX instructions, counted once per thread
    # An estimate of the time it took: instructions, counted once per thread, and as much for what each costs besides.
    work: float = 0
    most_work: float = math.inf  # work after which the launch is stopped, on every host in the same place
    entered: set[int] = field(default_factory=set)  # numbers of the basic blocks that were executed
    branched: set[tuple[int, int]] = field(default_factory=set)  # branches: the block, and the one that followed it
    approximate_operations: int = 0  # results whose bits are not specified, counted once per thread
    printed: PrintBuffer = field(default_factory=PrintBuffer)  # output of its threads
    write: Callable[[str], object] | None = to_stderr  # receives the output at the end of the launch; None drops it
    began: float = field(default_factory=time.monotonic)  # start, by ``time.monotonic``
    begun: int = 0  # threads of the blocks that have begun

    def batches(self) -> Iterable[Batch]:
        """Return the whole grid, or its only batch that runs, in batches that fit the host's cache."""
        layout = self.translation.layout
        copied_bytes = layout.shared_bytes + self.shared_bytes + layout.local_bytes * self.block.size
        lanes = LANES_PER_BATCH if not self.alone else 1
        every = batches(self.grid, self.block, copied_bytes, lanes, self.cluster, self.multiprocessors)
        return every if self.only is None else itertools.islice(every, self.only, self.only + 1)

    def stop(self, at: Instruction | None, batch: Batch, lanes: Values) -> NoReturn:
        """End the launch at its time limit or limit of work; ``lanes`` of the running batch would execute ``at`` next.

        Raises:
            TimeLimit: always, with the last violation; a WorkLimit for the work.
        """
        if exhausted := self.work > self.most_work:
            text, further = f"was still running after the work of {self.most_work:.1g} instructions", ""
        else:
            text = f"was still running {self.deadline.reached}"
            further = f"; {self.progress.estimate(batch.lanes, self.device_memory.labelled('C'))}"
        self.report(LaneViolation("timeout", None, at, lanes, lambda lane: text), batch, further)
        raise (WorkLimit if exhausted else TimeLimit)(str([*self.violations.values()][-1]))

    def ended(self, batch: Batch) -> None:
        """Count a batch whose blocks have ended.

        Raises:
            TimeLimit: the launch would take many times what is left of the time limit.
        """
        self.progress.done += batch.lanes
        now = time.monotonic()
        # Other batches that have begun may have run nearly as far: they wait for values in memory in turn.
        spent, share = now - self.began, self.begun / (self.grid.size * self.block.size)
        if spent > _SURE_AFTER and spent / share > _HOPELESS * (spent + self.deadline.end - now):
            last = always(f"is the last that was run, as the limit of {self.deadline.limit or 0:g} s is too short")
            estimate = self.progress.estimate(0, None)
            self.report(LaneViolation("timeout", None, None, np.array(True), last), batch, f"; {estimate}")
            raise TimeLimit(str([*self.violations.values()][-1]))

    def report(self, violation: LaneViolation, batch: Batch, further: str = "") -> None:
        """Record the first violation of its kind, array and line in a batch; ``further`` is appended to the message."""
        key = key_of(violation)
        if key not in self.violations:
            self.violations[key] = violation_of(violation, batch, further)


_AT_BARRIERS = (
    *("deadlock", "divergent-barrier", "barrier-count", "skipped-barrier", "split-barrier"),
    *("mbarrier-misuse", "early-wait", "missed-phase", "phase-waited-twice"),
)
"""Kinds of violations at barriers and mbarriers, which often are in helper functions."""


def place_in_source(at: Instruction | None) -> tuple[str | None, int | None]:
    """Return file and line of an instruction; None if unknown."""
    return (None, None) if at is None else (at.source or None, at.line or None)


def key_of(violation: LaneViolation) -> Key:
    """Return the key of a violation; mistakes at barriers in a function that is called at several lines are apart."""
    at = violation.at
    callers = at.callers if at is not None and violation.kind in _AT_BARRIERS else ()
    return violation.kind, violation.array, place_in_source(at), callers


def violation_of(violation: LaneViolation, batch: Batch, further: str = "") -> Violation:
    """Return the violation of the first of some lanes; ``further`` is appended to its message."""
    source, line = place_in_source(violation.at)
    first = batch.first_of(violation.lanes)
    block, thread = batch.position(first)
    return Violation(
        violation.kind,
        f"{place(block, thread)} {violation.text(first)}{further}",
        violation.array,
        source,
        line,
        block,
        thread,
        fatal=violation.kind == "timeout",
        column=(violation.at.column or None) if violation.at else None,
        callers=violation.at.callers if violation.at else (),
        hint=violation.hint(first),
    )


def place(block: Dim3, thread: Dim3) -> str:
    """Return a description of a thread."""
    return f"thread {_index(thread)} of block {_index(block)}"


def _index(index: Dim3) -> str:
    return f"({', '.join(map(str, index if index.z else index[:2]))})"


def parameter_bytes(translation: Translation, values: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return parameter memory with ``values`` in the kernel's order, each as long as its parameter."""
    content = np.zeros(translation.layout.parameter_bytes + 64, np.uint8)
    for offset, value in zip(translation.layout.parameters.values(), values, strict=True):
        content[offset : offset + len(value)] = np.frombuffer(value, np.uint8)
    return content


class ModuleMemory:
    """The ``__device__`` and ``__constant__`` variables of one module, created when a function first needs them."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._arrays: dict[str, Array] = {}

    def addresses(self, function: Function, *, cooperative: bool = False) -> dict[str, int]:
        """Return the addresses of the module's variables that a function uses, by symbol.

        The address of the grid's barrier in a cooperative launch is added in two halves, as the registers ``%envreg1``
        and ``%envreg2``.

        Raises:
            UnsupportedInstruction: the initial value of a variable is not known; the message names the variable.
            LaunchError: there is no memory for one.
        """
        used = [variable for variable in used_variables(function) if variable.space in ("global", "const")]
        barrier = self._array(_GRID_BARRIER).base if cooperative else 0
        environment = {"%envreg1": barrier >> 32, "%envreg2": barrier & 0xFFFFFFFF}
        return {variable.name: self._array(variable).base for variable in used} | environment

    def close(self) -> None:
        """Free the variables; the next function that needs them finds their initial values."""
        for array in self._arrays.values():
            self._memory.free(array)
        self._arrays.clear()

    def _array(self, variable: Variable) -> Array:
        if variable.name not in self._arrays:
            self._arrays[variable.name] = self._made(variable)
        return self._arrays[variable.name]

    def _made(self, variable: Variable) -> Array:
        name = as_written(variable.name)
        if variable.unknown:
            raise UnsupportedInstruction(f"the emulator does not know variables like {name}, which {variable.unknown}")
        if self._memory.labelled(name):
            # Violations in it must differ from violations in the matrix of that name.
            name = f"{name} ({_KEYWORDS[variable.space]})"
        array = self._memory.define(name, variable.nbytes, variable.initial)
        array.read_only = variable.space == "const"
        return array
