"""Arguments of a launch for cuda.core, and launches with structures by value, which cuda.core does not support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import Buffer as CudaBuffer
from cuda.core import (
    Device,
    Kernel,
    LaunchConfig,
    Program,
    ProgramOptions,
    Stream,
    TensorMapDescriptor,
    TensorMapDescriptorOptions,
    launch,
)
from cuda.core.graph import GraphBuilder
from cuda.core.utils import StridedMemoryView

from mmcore.devices.base import BoundArgument, MatrixMap
from mmcore.errors import DeviceError
from mmcore.kernel.problem import dtype_named
from mmcore_cuda.event_timer import Work
from mmcore_cuda.guarded_memory import host_view

_MAP_BYTES = 128
_Swizzle = type(TensorMapDescriptorOptions.swizzle)


def tensor_map(argument: MatrixMap) -> TensorMapDescriptor:
    """Return the descriptor of one matrix in device memory."""
    dtype, asked = dtype_named(argument.dtype), argument.map
    last = sum((extent - 1) * stride for extent, stride in zip(argument.extents, argument.strides, strict=True))
    memory = CudaBuffer.from_handle(argument.buffer.address, (last + 1) * dtype.itemsize, owner=argument.buffer)
    # A copy moves bits, so types that numpy lacks are moved as integers of the same size.
    storage = np.dtype("uint8" if dtype.itemsize == 1 else dtype.storage)
    view = StridedMemoryView.from_buffer(memory, argument.extents, argument.strides, dtype=storage)
    swizzle = getattr(_Swizzle, f"SWIZZLE_{asked.swizzle}B" if asked.swizzle else "NONE")
    try:
        return view.as_tensor_map(options=TensorMapDescriptorOptions(box_dim=asked.box, swizzle=swizzle))
    except Exception as error:
        shape = "×".join(map(str, argument.extents))
        raise DeviceError(f"{asked.matrix} as {shape} has no tensor map with boxes of {asked.box}: {error}") from error


def bind(device: Device, stream: Stream, kernel: Kernel, config: LaunchConfig, bound: Sequence[BoundArgument]) -> Work:
    """Return a launch with its arguments, for a stream or a graph."""
    arguments = [_argument(each) for each in bound]
    for index, each in enumerate(bound):
        if isinstance(each, MatrixMap) and each.map.pointer:
            arguments[index] = _in_memory(device, stream, arguments[index])
    if not any(isinstance(each, np.void) for each in arguments):

        def made(target: Stream | GraphBuilder) -> None:
            launch(target, config, kernel, *arguments)

        return made
    contents = [_content(device, stream, each) for each in arguments]
    return _launch_of_bytes(kernel, config, contents, arguments)


def _argument(argument: BoundArgument) -> Any:
    if isinstance(argument, MatrixMap):
        return tensor_map(argument)
    return argument if isinstance(argument, np.generic) else np.uint64(argument.address)


def _content(device: Device, stream: Stream, argument: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if isinstance(argument, TensorMapDescriptor):
        memory, copy = _in_memory(device, stream, argument), np.empty(_MAP_BYTES, np.uint8)
        memory.copy_to(host_view(copy), stream=stream)
        stream.sync()
        return copy
    content = np.uint64(int(argument.handle)) if isinstance(argument, CudaBuffer) else argument
    return np.frombuffer(content.tobytes(), np.uint8)


def _in_memory(device: Device, stream: Stream, map: TensorMapDescriptor) -> CudaBuffer:
    """Return device memory with a copy of a tensor map; only a kernel can read the bytes of cuda.core's object."""
    memory = device.allocate(_MAP_BYTES, stream=stream)
    architecture = "".join(str(number) for number in device.compute_capability)
    source = Path(__file__).with_name("store_map.cu").read_text(encoding="utf-8")
    store = Program(source, "c++", ProgramOptions(arch=f"sm_{architecture}")).compile("cubin").get_kernel("store_map")
    launch(stream, LaunchConfig(grid=1, block=1), store, map, memory)
    stream.sync()
    return memory


def _launch_of_bytes(kernel: Kernel, config: LaunchConfig, contents: list[Any], keep: object) -> Work:
    """Return a launch through the driver whose arguments are bytes by value."""
    pointers = np.array([content.ctypes.data for content in contents], np.uint64)
    function = driver.CUfunction(int(kernel.handle))
    launch_config = driver.CUlaunchConfig()
    blocks = [count * each for count, each in zip(config.grid, config.cluster or (1, 1, 1), strict=True)]
    launch_config.gridDimX, launch_config.gridDimY, launch_config.gridDimZ = blocks
    launch_config.blockDimX, launch_config.blockDimY, launch_config.blockDimZ = config.block
    launch_config.sharedMemBytes = config.shmem_size
    attributes: list[driver.CUlaunchAttribute] = []

    def added(name: str) -> Any:
        attributes.append(driver.CUlaunchAttribute())
        attributes[-1].id = getattr(driver.CUlaunchAttributeID, f"CU_LAUNCH_ATTRIBUTE_{name}")
        return attributes[-1].value

    if config.cluster:
        dimension = added("CLUSTER_DIMENSION").clusterDim
        dimension.x, dimension.y, dimension.z = config.cluster
    if config.is_cooperative:
        added("COOPERATIVE").cooperative = 1
    if config.programmatic_stream_serialization:
        added("PROGRAMMATIC_STREAM_SERIALIZATION").programmaticStreamSerializationAllowed = 1
    launch_config.attrs, launch_config.numAttrs = attributes, len(attributes)

    def launched(target: Stream | GraphBuilder) -> None:
        stream = target.stream if isinstance(target, GraphBuilder) else target
        launch_config.hStream = stream.handle
        (error,) = driver.cuLaunchKernelEx(launch_config, function, int(pointers.ctypes.data), 0)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"{error.name}: the launch failed")

    launched.keeps = (contents, keep)  # type: ignore[attr-defined]
    return launched
