"""NVIDIA GPUs as devices, through cuda.core: timing, compilation by NVRTC, occupancy, ncu and compute-sanitizer."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mmcore.errors import NoDevice
from mmcore.hookspecs import hookimpl

if TYPE_CHECKING:
    from mmcore.devices.base import Device, DeviceProvider
    from mmcore.kernel.properties import DeviceProperties


class CudaProvider:
    """The machine's GPUs; the driver is only called if it is installed."""

    name = "cuda"
    supports_timing = True
    auto_priority = 1
    dlpack_type = 2  # kDLCUDA

    def count(self) -> int:
        return _search()[0]

    def findings(self) -> Mapping[str, str]:
        count, absence = _search()
        if not count:
            return {"GPU": f"none: {absence}"}
        from mmcore_cuda.device import describe

        return {f"cuda:{index}": describe(index) for index in range(count)}

    def properties(self, index: int) -> DeviceProperties:
        _check(index)
        from mmcore_cuda.device import properties

        return properties(index)

    def open(self, index: int) -> Device:
        _check(index)
        from mmcore_cuda.device import CudaDevice

        return CudaDevice(index)


def _check(index: int) -> None:
    """Raise NoDevice unless there is a GPU with that number."""
    count, absence = _search()
    if not count:
        raise NoDevice(f"there is no GPU here: {absence}; the device emulator needs none")
    if index >= count:
        names = ", ".join(f"cuda:{each}" for each in range(count))
        raise NoDevice(f"cuda:{index} does not exist; this machine has {names}")


@functools.cache
def _search() -> tuple[int, str]:
    """Return the number of GPUs that the driver shows, and the reason if it shows none."""
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    # Without a driver, the first call of cuda.bindings fails and the second never returns.
    try:
        load_nvidia_dynamic_lib("cuda")
    except DynamicLibNotFoundError:
        return 0, "NVIDIA's driver is not installed (libcuda was not found)"
    from cuda.bindings import driver

    (error,) = driver.cuInit(0)
    if error != driver.CUresult.CUDA_SUCCESS:
        return 0, f"the driver does not start ({error.name})"
    error, count = driver.cuDeviceGetCount()
    if error != driver.CUresult.CUDA_SUCCESS or not count:
        return 0, "the driver shows no GPU"
    return int(count), ""


def in_gpu_memory(address: int) -> bool:
    """Return True for an address in memory that was allocated on a GPU."""
    if not _search()[0]:
        return False
    from cuda.bindings import driver

    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    error, kind = driver.cuPointerGetAttribute(attribute, address)
    return bool(error == driver.CUresult.CUDA_SUCCESS and kind == driver.CUmemorytype.CU_MEMORYTYPE_DEVICE)


@hookimpl
def mmcore_devices() -> list[DeviceProvider]:
    """Return the provider of NVIDIA GPUs."""
    return [CudaProvider()]
