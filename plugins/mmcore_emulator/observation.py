"""Watching a launch: who wants to know is told of every basic block, access, barrier and violation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mmcore_emulator.floats import Values
from mmcore_emulator.lanes import Batch, Mask
from mmcore_emulator.lockstep import BatchRun
from mmcore_emulator.memory import Space
from mmcore_emulator.ptx import Instruction
from mmcore_emulator.step import Step

if TYPE_CHECKING:
    from mmcore_emulator.machine import Run


@dataclass(frozen=True)
class Access:
    """One instruction's access to one memory by the lanes of a batch.

    Attributes:
        kind: "load", "store" or "atomic".
        space: "global", "const", "shared", "local" or "param".
        memory: that memory.
        address: byte address of each lane (uint64), as lanes; it means nothing in lanes that do not take part.
        nbytes: bytes that each lane moves, a vector's elements together.
        mask: the lanes that take part; None for all.
        at: the instruction.
    """

    kind: str
    space: str
    memory: Space
    address: Values
    nbytes: int
    mask: Mask | None
    at: Instruction


class Observer:
    """Is told what happens, before it happens; overrides what it wants to know."""

    def begin(self, batch: Batch) -> None:
        """A batch of blocks begins."""

    def enter(self, step: Step, mask: Mask | None) -> None:
        """These lanes (None for all) execute a basic block."""

    def guarded(self, at: Instruction, mask: Mask | None) -> None:
        """Of the lanes that execute its block, only these execute a guarded instruction."""

    def access(self, access: Access) -> None:
        """Lanes access memory; the access may be a violation, of which :meth:`violation` is told."""

    def synchronise(self, step: Step, mask: Mask | None) -> None:
        """These lanes leave the barrier of the block that ends a basic block."""

    def meet(self, lanes: Values, named: Values) -> None:
        """These lanes leave barriers of their warps, at which each has named a mask of lanes."""

    def violation(
        self,
        kind: str,
        array: str | None,
        at: Instruction | None,
        lanes: Values,
        text: Callable[[tuple[int, ...]], str],
    ) -> None:
        """Lanes did what they must not do; ``text`` says what one of them did, by its index along the six axes."""

    def end(self) -> None:
        """The batch has ended."""


class WatchedBatchRun(BatchRun):
    """A batch that tells observers what it does."""

    def __init__(self, run: Run, batch: Batch, observers: Sequence[Observer]) -> None:
        super().__init__(run, batch)
        self._observers = observers

    def execute(self) -> None:
        for observer in self._observers:
            observer.begin(self._batch)
        super().execute()
        for observer in self._observers:
            observer.end()

    def _step(self, step: Step, index: int, mask: Mask | None) -> None:
        for observer in self._observers:
            observer.enter(step, mask)
        super()._step(step, index, mask)

    def _pass(self, step: Step, mask: Mask | None) -> None:
        for observer in self._observers:
            observer.synchronise(step, mask)

    def _meet(self, lanes: Values, named: Values) -> None:
        for observer in self._observers:
            observer.meet(lanes, named)

    def _report(
        self,
        kind: str,
        array: str | None,
        at: Instruction | None,
        lanes: Values,
        text: Callable[[tuple[int, ...]], str],
    ) -> None:
        super()._report(kind, array, at, lanes, text)
        for observer in self._observers:
            observer.violation(kind, array, at, lanes, text)

    def _tell(self, kind: str, space: str, address: Values, nbytes: int, mask: Mask | None, at: Instruction) -> None:
        for name, each, lanes in self._resolved(space, address, mask):
            access = Access(kind, name, self.spaces[name], each, nbytes, lanes, at)
            for observer in self._observers:
                observer.access(access)

    def load(self, space: str, address: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction) -> Values:
        self._tell("load", space, address, dtype.itemsize, mask, at)
        return super().load(space, address, dtype, mask, at)

    def store(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        self._tell("store", space, address, dtype.itemsize, mask, at)
        super().store(space, address, value, dtype, mask, at)

    def load_vector(
        self, space: str, address: Values, dtype: np.dtype[Any], count: int, mask: Mask | None, at: Instruction
    ) -> list[Values]:
        self._tell("load", space, address, count * dtype.itemsize, mask, at)
        return super().load_vector(space, address, dtype, count, mask, at)

    def store_vector(
        self,
        space: str,
        address: Values,
        values: Sequence[Values],
        dtype: np.dtype[Any],
        mask: Mask | None,
        at: Instruction,
    ) -> None:
        self._tell("store", space, address, len(values) * dtype.itemsize, mask, at)
        super().store_vector(space, address, values, dtype, mask, at)

    def accumulate(
        self, space: str, address: Values, value: Values, dtype: np.dtype[Any], mask: Mask | None, at: Instruction
    ) -> None:
        self._tell("atomic", space, address, dtype.itemsize, mask, at)
        super().accumulate(space, address, value, dtype, mask, at)

    def guarded(self, mask: Mask | None, at: Instruction) -> None:
        for observer in self._observers:
            observer.guarded(at, mask)
