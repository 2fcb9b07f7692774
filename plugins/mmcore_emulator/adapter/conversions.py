"""Conversions between the emulator's own types and mmcore's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from mmcore import errors
from mmcore.devices.base import MatrixMap
from mmcore.devices.violations import Violation
from mmcore.kernel import geometry
from mmcore.kernel.problem import dtype_named
from mmcore_emulator.errors import EmulatorError, LaunchError, PtxError, TimeLimit, UnsupportedInstruction
from mmcore_emulator.executor import scheduler
from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.machine import violations
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.dim3 import Dim3

_ERRORS: dict[type[EmulatorError], type[errors.MmcoreError]] = {
    PtxError: errors.MmcoreError,
    UnsupportedInstruction: errors.UnsupportedInstruction,
    LaunchError: errors.DeviceError,
    TimeLimit: errors.TimeLimit,
}


@contextmanager
def mmcore_errors() -> Iterator[None]:
    """Raise mmcore's errors in place of the emulator's."""
    try:
        yield
    except EmulatorError as error:
        raise _ERRORS[type(error)](str(error)) from None


def execute(launch: KernelLaunch) -> None:
    """Execute a launch; raises mmcore's errors."""
    with mmcore_errors():
        scheduler.execute(launch)


def mmcore_violations(found: Iterable[violations.Violation]) -> list[Violation]:
    """Return the emulator's violations as mmcore's."""
    return [
        Violation(
            *(each.kind, each.message, each.array, each.source, each.line),
            block=_index(each.block),
            thread=_index(each.thread),
            fatal=each.fatal,
            count=each.count,
        )
        for each in found
    ]


def _index(index: Dim3 | None) -> geometry.Dim3 | None:
    return None if index is None else geometry.Dim3(*index)


def tensor_layout(matrix_map: MatrixMap) -> TensorLayout:
    """Return the layout of a tensor map; its element type is the storage's, as on a GPU (uint16 for bfloat16)."""
    dtype, requested = dtype_named(matrix_map.dtype), matrix_map.map
    return TensorLayout(
        address=matrix_map.buffer.address,
        kind="uint8" if dtype.itemsize == 1 else dtype.storage,
        extents=matrix_map.extents[::-1],
        strides=tuple(stride * dtype.itemsize for stride in matrix_map.strides[::-1]),
        box=requested.box[::-1],
        swizzle=requested.swizzle,
    )
