"""Conversions between the emulator's own types and mmcore's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from mmcore import errors
from mmcore.devices.base import BoundLaunch, MatrixMap
from mmcore.devices.violations import Violation
from mmcore.kernel import geometry
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import dtype_named
from mmcore.kernel.properties import DeviceProperties
from mmcore_emulator.api.geometry import cluster_of
from mmcore_emulator.errors import EmulatorError, LaunchError, PtxError, TimeLimit, UnsupportedInstruction, WorkLimit
from mmcore_emulator.executor import scheduler
from mmcore_emulator.executor.kernel_launch import KernelLaunch
from mmcore_emulator.executor.translation.translate import Translation
from mmcore_emulator.machine import violations
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.limits import MULTIPROCESSORS, BlockResources, Dim3
from mmcore_emulator.ptx.instructions import Function

_CLUSTERS_SINCE = (9, 0)
_ERRORS: dict[type[EmulatorError], type[errors.MmcoreError]] = {
    PtxError: errors.MmcoreError,
    UnsupportedInstruction: errors.UnsupportedInstruction,
    LaunchError: errors.DeviceError,
    TimeLimit: errors.TimeLimit,
    WorkLimit: errors.WorkLimit,
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


def mmcore_violations(emulated: Iterable[violations.Violation]) -> list[Violation]:
    """Return the emulator's violations as mmcore's, which have the same fields."""
    return [
        Violation(**{**vars(violation), "block": _index(violation.block), "thread": _index(violation.thread)})
        for violation in emulated
    ]


def _index(index: Dim3 | None) -> geometry.Dim3 | None:
    return None if index is None else geometry.Dim3(*index)


def capability_properties(capability: tuple[int, int]) -> DeviceProperties:
    """Return the properties of the largest device of a known compute capability, with 1 TiB of memory."""
    limits = MULTIPROCESSORS[capability]
    return DeviceProperties(
        compute_capability=capability,
        threads_per_block=limits.threads_per_block,
        block=geometry.Dim3(*limits.largest_block),
        grid=geometry.Dim3(*limits.largest_grid),
        shared_bytes=limits.shared_bytes_per_block,
        shared_bytes_optin=limits.shared_bytes_per_block_optin,
        registers_per_block=limits.registers,
        multiprocessors=limits.multiprocessors,
    )


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


def resident_blocks(call: BoundLaunch, translation: Translation, properties: DeviceProperties) -> int:
    """Return how many blocks of a launch the emulated device holds at once.

    Raises:
        LaunchError: the launch is cooperative and its grid has more blocks.
    """
    launch, shared = call.launch, translation.layout.shared_bytes + call.launch.shared_bytes
    limits = MULTIPROCESSORS[properties.compute_capability]
    resident = BlockResources(limits, launch.block_dim.size, call.function.registers, shared).resident_on_device
    if launch.cooperative and launch.grid_dim.size > resident:
        blocks = f"{launch.grid_dim.size} blocks cannot wait for each other"
        raise LaunchError(f"{blocks}: the device has room for {resident} at once")
    return resident


def check_arguments(function: Function, arguments: Sequence[bytes]) -> None:
    """Raise an error for arguments that do not fit a function's parameters."""
    parameters, sizes = [parameter.nbytes for parameter in function.parameters], [len(value) for value in arguments]
    if parameters != sizes:
        raise PtxError(f"PTX function {function.name} takes parameters of {parameters} bytes, not of {sizes}")


def launch_cluster(launch: Launch, function: Function, properties: DeviceProperties) -> Dim3:
    """Return the blocks of a cluster, as the launch or the source requests them.

    Raises:
        LaunchError: launch and source disagree, or the grid is not made of whole clusters.
        Unsupported: the device has no clusters.
    """
    requested = Dim3(*launch.cluster) if launch.cluster else None
    cluster = cluster_of(function, requested, Dim3(*launch.grid_dim))
    if cluster.size > 1 and properties.compute_capability < _CLUSTERS_SINCE:
        capability = ".".join(map(str, properties.compute_capability))
        needs = f"{function.name} is launched in clusters of {cluster}"
        raise errors.Unsupported(f"{needs}, which compute capability {capability} lacks")
    return cluster
