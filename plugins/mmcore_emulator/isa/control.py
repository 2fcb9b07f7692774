"""Jumps, calls, traps, printing, and requests to the multiprocessor.

``printf`` and ``assert`` are functions that the driver provides. Reference: PTX ISA, "Control Flow Instructions" and
"Miscellaneous Instructions"; CUDA C++ Programming Guide, "Formatted Output" and "Assertion"; PTX Writer's Guide to
Interoperability, "System Calls".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.isa.entries import IGNORED, Effect, Entry, Execute, Family, Jump, OperandSpec, nothing
from mmcore_emulator.machine.formatted_output import Conversion, Format, format_of
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.memory.arrays import Array, StrayAccess
from mmcore_emulator.machine.observer import LaneViolation
from mmcore_emulator.numerics.types import Flags, Values
from mmcore_emulator.ptx.instructions import Instruction, names

LONGEST = 1 << 16
"""The most bytes of a string that are read."""

Texts: TypeAlias = Values
"""A string for each lane, along all axes in full; None for a lane without one."""
_NO_FORMAT = -1
_CONTROL = ("bar", "barrier", "brkpt", "exit", "fence", "membar", "trap")


def is_control(at: Instruction) -> bool:
    """Return whether an instruction ends threads, or orders them or their accesses."""
    return at.opcode[0] in _CONTROL


def reads_parameter(at: Instruction) -> bool:
    """Return whether an instruction loads a parameter of the kernel."""
    return "param" in at.opcode


def texts(machine: Machine, address: Values, mask: Mask | None, at: Instruction) -> Texts:
    """Return the string at each lane's generic address, None at 0; report a string that does not end in its array."""
    strings = np.full(machine.batch.shape, None, object)
    for _, space, addresses, lanes in machine.memory.resolved(
        "generic", address, machine.batch.narrow(mask, address != 0)
    ):
        places, rest = np.broadcast_to(addresses, machine.batch.shape), machine.batch.spread(lanes).copy()
        while rest.any():
            array = space.at(int(places[rest][0]))
            near = rest & (places >> np.uint64(space.range_bits) == places[rest][0] >> np.uint64(space.range_bits))
            endless = near if array is None else _read(array, places, near, strings)
            if endless.any():
                past = places if array is None else np.full_like(places, array.base + array.readable)
                machine.memory.reporter(at, lanes)(StrayAccess("out-of-bounds-read", space, array, endless, past, 1))
            rest &= ~near
    return strings


def _read(array: Array, places: NDArray[np.uint64], lanes: Flags, strings: Texts) -> Flags:
    """Read the strings of lanes in one array's address range; return the lanes whose string does not end in it."""
    offsets = places[lanes].astype(np.int64) - array.base
    starts = np.broadcast_to(array.index(places, 1), places.shape)[lanes]
    different, first, which = np.unique(starts, return_index=True, return_inverse=True)
    read: list[bytes | None] = []
    ends: list[bool] = []
    for start, offset in zip(different.tolist(), offsets[first].tolist(), strict=True):
        left = min(array.readable - offset, LONGEST) if offset >= 0 else 0
        text, zero, _ = array.content[start : start + max(left, 0)].tobytes().partition(b"\0")
        read.append(text)
        ends.append(bool(zero) or left >= LONGEST)
    strings[lanes] = np.array([*read, None], object)[which]
    endless = np.zeros(places.shape, np.bool_)
    endless[lanes] = ~np.array(ends, np.bool_)[which]
    return endless


def _stop(text: str) -> Execute:
    return Execute(lambda execution: _report(execution, "trap", lambda lane: text))


def _report(execution: Execution, kind: str, text: Callable[[tuple[int, ...]], str]) -> None:
    machine, mask, at = execution
    if not execution.idle:
        machine.observers.report(LaneViolation(kind, None, at, machine.batch.spread(mask), text))


def _fail(execution: Execution, text: list[Values], file: list[Values], line: list[Values]) -> None:
    """Report lanes whose assertion fails."""
    machine, mask, at = execution
    assertions, files = (texts(machine, address, mask, at) for address in (text[0], file[0]))
    lines = np.broadcast_to(line[0], machine.batch.shape)

    def failed(lane: tuple[int, ...]) -> str:
        assertion, name = ((strings[lane] or b"").decode(errors="replace") for strings in (assertions, files))
        written = f"{name.rpartition('/')[2]}:{lines[lane]}"
        where = "" if written == f"{at.source}:{at.line}" else f" of {written}"
        return f"fails the assertion {assertion!r}{where}"

    _report(execution, "assertion", failed)


def _print(execution: Execution, text: list[Values], arguments: list[Values]) -> Sequence[Values]:
    """Execute ``printf``; return the number of arguments of the format, or -1 without a format."""
    machine, mask, at = execution
    counts = np.full(machine.batch.shape, _NO_FORMAT, np.int32)
    formats = texts(machine, text[0], mask, at)
    for content in sorted({content for content in formats.flat if content is not None}):
        lanes, parts = formats == content, format_of(content)
        columns = _arguments(execution._replace(mask=machine.batch.narrow(mask, lanes)), parts, arguments[0])
        machine.print(lanes, parts, columns)
        counts[lanes] = len(columns)
    return [counts.view(np.uint32)]


def _arguments(execution: Execution, parts: Format, address: Values) -> list[Values]:
    """Return each argument of a format, as lanes; they are stored consecutively, each at a multiple of its size."""
    machine, mask, at = execution
    columns, offset = [], 0
    for conversion in parts:
        if not isinstance(conversion, Conversion):
            continue
        for kind in conversion.types:
            offset = -(-offset // kind.itemsize) * kind.itemsize
            (column,) = machine.memory.load("generic", address + np.uint64(offset), kind, 1, mask, at)
            columns.append(column)
            offset += kind.itemsize
        if conversion.takes_text:
            columns[-1] = texts(machine, columns[-1].view(np.uint64), mask, at)
    return columns


def _call(execution: Execution) -> None:
    """Refuse a call of an unknown function."""
    machine, mask, at = execution
    where = f" ({at.source}:{at.line})" if at.line else ""
    name = next(names(at), "")
    called = f"{at.mnemonic}{' of ' * bool(name)}{name}{where}"
    machine.refuse(mask, UnsupportedInstruction(f"the emulator does not know the instruction {called}"))


def _set_registers(execution: Execution, count: list[Values]) -> None:
    machine, mask, at = execution
    machine.register_pool.set(int(count[0].item()), mask, at)


def _active(execution: Execution) -> list[Values]:
    return [execution.machine.warps.active(execution.mask)]


_ADDRESS = OperandSpec("source", "b64")
FAMILY = Family(
    "Control flow and miscellaneous",
    (
        Entry("bra", Jump("branch", (IGNORED,))),
        Entry("brx.idx", Jump("branch by index", (OperandSpec("source", "u32"), IGNORED))),
        Entry("ret|exit", Jump("exit")),
        Entry("call", Execute(_call, (IGNORED,) * 8, 0), effect=Effect("control", writes=True)),
        Entry("trap", _stop("comes to a trap: __trap(), or an access through a null pointer"), "trap"),
        Entry("brkpt", _stop("comes to a breakpoint"), "brkpt"),
        Entry("assertfail", Execute(_fail, (_ADDRESS, _ADDRESS, OperandSpec("source", "b32"))), "assertfail"),
        Entry("vprintf", Execute(_print, (OperandSpec("result"), _ADDRESS, _ADDRESS)), "vprintf"),
        Entry(
            "nanosleep.u32",
            Execute(nothing, (OperandSpec("source", "u32"),)),
            r"nanosleep\.u32",
            Effect("control", polls="always"),
        ),
        Entry("pmevent", Execute(nothing, (IGNORED,)), r"pmevent(\.mask)?"),
        Entry(
            "setmaxnreg",
            Execute(_set_registers, (OperandSpec("source", "u32"),)),
            r"setmaxnreg\.(inc|dec)\.sync\.aligned\.u32",
        ),
        Entry("activemask.b32", Execute(_active, (OperandSpec("result", "u32"),)), r"activemask\.b32"),
    ),
    since=(((9, 0), r"setmaxnreg\..*"),),
)
