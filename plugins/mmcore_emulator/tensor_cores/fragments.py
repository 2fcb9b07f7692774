"""Fragments: the distribution of a matrix over the registers of a warp's threads.

A register operand of W warps is an array ``[W, 32]``: of uint32, or of float64 for ``.f64``. A matrix that they hold
together is an array ``[W, rows, columns]`` of raw elements, as they are stored. Their type is uint8 for 4 and 8 bits,
uint16, uint32, or float64 for ``.f64``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.numerics.types import Values
from mmcore_emulator.tensor_cores.elements import BITS, join_parts, split_parts

Registers: TypeAlias = list[NDArray[np.generic]]
"""The registers of an operand, in the order in which PTX lists them: ``[W, 32]`` each."""


@dataclass(frozen=True)
class Fragment:
    """The distribution of a matrix over the registers of a warp, or of a warpgroup.

    The position of an element among registers, threads and parts of a register is a number of several digits, and so is
    its row, and its column. They share their digits. A letter names each digit, and ``sizes`` has the number of its
    values. The letters are in the order of their weight, the heaviest first.

    Attributes:
        type: PTX type of the elements.
        sizes: number of values of each digit.
        registers, threads, parts: digits of the register's number, of the thread's, and of the element's place in it.
        rows, columns: digits of an element's row and column; ``parts`` are the last of one of them.
        matrices: digits of the matrix's number, if a warp holds several.

    A digit of a register that is in no row or column counts copies of the same elements; it is the first.
    """

    type: str
    sizes: dict[str, int] = field(hash=False)
    registers: str
    threads: str
    parts: str
    rows: str
    columns: str
    matrices: str = ""

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return BITS[self.type]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self._count(self.rows), self._count(self.columns)

    @property
    def register_count(self) -> int:
        """Number of registers of each thread."""
        return self._count(self.registers)

    @property
    def thread_count(self) -> int:
        """Number of threads: 32 or 128."""
        return self._count(self.threads)

    @property
    def copies(self) -> int:
        """Number of copies of each element, all in the same thread."""
        return self._count(self._copied)

    @property
    def distinct(self) -> int:
        """Number of registers that are no copies; they come first."""
        return self.register_count // self.copies

    def unpack(self, registers: Sequence[NDArray[np.generic]]) -> Values:
        """Return the raw elements ``[W, rows, columns]`` of registers ``[W, threads]``; of copies, the first counts.

        If a warp holds several matrices, they are ``[W, matrices, rows, columns]``. The registers of a warpgroup may
        be ``[G, 4, 32]`` too.
        """
        held = np.stack(registers[: self.distinct], axis=1).reshape(-1, self.distinct * self.thread_count)
        lines = split_parts(np.take(held, self._places, axis=1), self.type).reshape(-1, *self._lines)
        return lines if self.along_rows else lines.swapaxes(-1, -2)

    def pack(self, raw: Values) -> Registers:
        """Return the registers ``[W, threads]`` of raw elements ``[W, rows, columns]``: the inverse of ``unpack``."""
        lines = raw if self.along_rows else raw.swapaxes(-1, -2)
        words = join_parts(lines.reshape(-1, len(self._places), self._count(self.parts)), self.type)
        held = np.take(words, self._words, axis=1)
        return [held[:, register] for register in range(self.register_count)]

    @cached_property
    def coordinates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Row and column of each element, ``[registers, threads, parts]`` each."""
        elements = np.arange(prod(self.shape)).reshape(self.shape)
        lines = np.broadcast_to(elements if self.along_rows else elements.T, self._lines)
        row, column = np.divmod(lines.reshape(-1, self._count(self.parts))[self._words], self.shape[1])
        return row, column

    @property
    def register_parts(self) -> int:
        """Number of elements in a register."""
        return self._count(self.parts)

    @property
    def along_rows(self) -> bool:
        """True if the parts of a register are neighbours in a row of the matrix, not in a column."""
        return self.columns.endswith(self.parts)

    @cached_property
    def _lines(self) -> tuple[int, ...]:
        """The shape of the matrices of a warp; transposed, unless a register's parts are along rows."""
        return (*self._sizes(self.matrices), *(self.shape if self.along_rows else self.shape[::-1]))

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        """The place of each word of the lines among a warp's distinct registers."""
        held = self.registers.removeprefix(self._copied) + self.threads
        lines = self.rows + self.columns if self.along_rows else self.columns + self.rows
        order = [held.index(digit) for digit in self.matrices + lines.removesuffix(self.parts)]
        return np.arange(self.distinct * self.thread_count).reshape(self._sizes(held)).transpose(order).reshape(-1)

    @cached_property
    def _words(self) -> NDArray[np.intp]:
        """The word of the lines in each register ``[registers, threads]``, copies included."""
        words = np.argsort(self._places).reshape(self.distinct, self.thread_count)
        return np.tile(words, (self.copies, 1))

    @property
    def _copied(self) -> str:
        return "".join(digit for digit in self.registers if digit not in self.rows + self.columns + self.matrices)

    def _count(self, digits: str) -> int:
        return prod(self._sizes(digits))

    def _sizes(self, digits: str) -> tuple[int, ...]:
        return tuple(self.sizes[digit] for digit in digits)
