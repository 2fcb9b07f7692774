"""A GPU as a device of mmcore, on cuda.core."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import Buffer as CudaBuffer
from cuda.core import Device, Kernel, LaunchConfig, Program, ProgramOptions, launch, system
from cuda.core.utils import StridedMemoryView

from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import Buffer, Products
from mmcore.errors import DeviceError, DeviceLost, InvalidProblem
from mmcore.kernel.geometry import Dim3, ceil_div
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks
from mmcore_cuda.conditions import conditions, joules
from mmcore_cuda.cuda_module import CudaModule, device_errors
from mmcore_cuda.event_timer import GraphTimer
from mmcore_cuda.guarded_memory import GUARD_BYTES, BorrowedBuffer, OwnedBuffer, host_view
from mmcore_cuda.peaks import peaks

# The edge of a block's tile in reference.cu, and its threads.
_REFERENCE_TILE, _REFERENCE_THREADS = 64, 256


def describe(index: int) -> str:
    """Return one line about a GPU: name, compute capability, memory, driver."""
    device = Device(index)
    capability = ".".join(map(str, device.compute_capability))
    _, memory = driver.cuDeviceTotalMem(index)
    return f"{device.name}, compute capability {capability}, {memory / 1e9:.1f} GB, driver for CUDA {_cuda_version()}"


def properties(index: int) -> DeviceProperties:
    """Return a GPU's properties, with all of its memory, without a context."""
    device = Device(index)
    found = device.properties
    _, memory = driver.cuDeviceTotalMem(index)
    return DeviceProperties(
        compute_capability=tuple(device.compute_capability),
        threads_per_block=found.max_threads_per_block,
        block=Dim3(found.max_block_dim_x, found.max_block_dim_y, found.max_block_dim_z),
        grid=Dim3(found.max_grid_dim_x, found.max_grid_dim_y, found.max_grid_dim_z),
        shared_bytes=found.max_shared_memory_per_block,
        shared_bytes_optin=found.max_shared_memory_per_block_optin,
        registers_per_block=found.max_registers_per_block,
        memory_bytes=int(memory),
        multiprocessors=found.multiprocessor_count,
        clock_mhz=found.clock_rate // 1000,
        card=str(device.name),
    )


def _cuda_version() -> str:
    """Return the newest CUDA version that the driver supports ("13.0")."""
    _, version = driver.cuDriverGetVersion()
    return f"{version // 1000}.{version % 1000 // 10}"


def _driver_version() -> str | None:
    """Return the driver's own version ("580.65.06"); None without NVIDIA's management library."""
    try:
        return ".".join(map(str, system.get_kernel_mode_driver_version()))
    except Exception:
        return None


class CudaDevice:
    """GPU number ``index``; its ``lost`` says how a kernel destroyed the process's CUDA context, if one did."""

    supports_timing = True

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self.lost = ""
        # Limits compilation only; a running kernel stops when the process ends.
        self.deadline = Deadline()
        self.gpu = Device(index)
        self.gpu.set_current()
        self.stream = self.gpu.create_stream()
        self._scratch: CudaBuffer | None = None
        self._references: dict[str, Kernel] = {}
        self.description = str(self.gpu.name)
        self.identity = f"cuda-{self.gpu.uuid}"
        # From 9.0 on, the suffix enables features of this architecture only; the code runs nowhere else anyway.
        capability = "".join(map(str, self.gpu.compute_capability))
        self.architecture = f"{capability}a" if self.gpu.compute_capability >= (9, 0) else capability

    @property
    def facts(self) -> dict[str, Any]:
        properties = self.gpu.properties
        return {
            "name": self.description,
            "compute_capability": list(self.gpu.compute_capability),
            "multiprocessors": properties.multiprocessor_count,
            "clock_mhz": properties.clock_rate // 1000,
            "driver": _driver_version(),
            "cuda": _cuda_version(),
            "clock": GraphTimer.method,
        }

    @property
    def peaks(self) -> Peaks | None:
        properties = self.gpu.properties
        return peaks(
            tuple(self.gpu.compute_capability),
            multiprocessors=properties.multiprocessor_count,
            clock_hz=properties.clock_rate * 1e3,
            # The memory transfers the width of its bus twice per clock.
            bytes_per_second=2 * properties.memory_clock_rate * 1e3 * properties.global_memory_bus_width / 8,
            cache_bytes=properties.l2_cache_size,
        )

    @property
    def properties(self) -> DeviceProperties:
        self.use()
        _, free, _ = driver.cuMemGetInfo()
        return replace(properties(self.gpu.device_id), memory_bytes=int(free))

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> OwnedBuffer:
        self.use()
        size = GUARD_BYTES + nbytes + over_read_bytes + GUARD_BYTES
        with device_errors(f"the {size} bytes of {label} cannot be allocated"):
            return OwnedBuffer(label, self.gpu.allocate(size + size % 2, stream=self.stream), nbytes, self.stream)

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        self.use()
        try:
            # This orders our stream after the caller's.
            view = StridedMemoryView.from_any_interface(array, stream_ptr=int(self.stream.handle))
        except Exception as error:
            raise InvalidProblem(f"{label} cannot be used in place: {error}") from None
        if view.device_id != self.gpu.device_id:
            raise InvalidProblem(f"{label} is on cuda:{view.device_id}, not on {self.name}")
        if label == "C" and view.readonly:
            raise InvalidProblem("out is read-only")
        buffer = BorrowedBuffer(label, int(view.ptr), view, self.stream)
        return buffer, tuple(view.shape), view.strides and tuple(view.strides), _dtype_name(view)

    def products(self, problem: Problem, a: Buffer, b: Buffer) -> Products | None:
        self.use()
        product, magnitude = (np.empty((problem.m, problem.n)) for _ in range(2))
        grid = ceil_div(problem.n, _REFERENCE_TILE), ceil_div(problem.m, _REFERENCE_TILE)
        strides = (*problem.strides("A"), *problem.strides("B"))
        sizes = *map(np.int32, (problem.m, problem.n, problem.k)), *map(np.int64, strides)
        try:
            with device_errors("there is no memory for a reference"), ExitStack() as memory:
                results = [self.gpu.allocate(each.nbytes, stream=self.stream) for each in (product, magnitude)]
                for each in results:
                    memory.callback(each.close, self.stream)
                config = LaunchConfig(grid=grid, block=_REFERENCE_THREADS)
                matrices = np.uint64(a.address), np.uint64(b.address)
                launch(self.stream, config, self._reference(problem.dtype), *matrices, *results, *sizes)
                for each, out in zip(results, (product, magnitude), strict=True):
                    each.copy_to(host_view(out), stream=self.stream)
                self.stream.sync()
        except DeviceError:
            return None
        return product, magnitude

    def _reference(self, dtype: str) -> Kernel:
        if dtype not in self._references:
            source = Path(__file__).with_name("reference.cu").read_text(encoding="utf-8")
            options = ProgramOptions(arch=f"sm_{self.architecture}", define_macro=dtype.upper())
            self._references[dtype] = Program(source, "c++", options).compile("cubin").get_kernel("reference")
        return self._references[dtype]

    def load(self, compiled: CompiledModule) -> CudaModule:
        self.use()
        with device_errors(f"the code compiled from {compiled.source} cannot be loaded"):
            return CudaModule(self, compiled)

    def conditions(self) -> AbstractContextManager[dict[str, Any]]:
        return conditions(self.gpu)

    def joules(self) -> float | None:
        return joules(self.gpu)

    def scratch(self) -> CudaBuffer:
        """Return memory twice as large as the L2 cache; writing to it empties the cache."""
        if self._scratch is None:
            size = 2 * self.gpu.properties.l2_cache_size
            with device_errors(f"{size} bytes to empty the cache with cannot be allocated"):
                self._scratch = self.gpu.allocate(size, stream=self.stream)
        return self._scratch

    def close(self) -> None:
        if not self.lost:
            if self._scratch is not None:
                self._scratch.close(self.stream)
            self.stream.close()

    def use(self) -> None:
        """Make this GPU current for the calling thread; raise :class:`DeviceLost` if the context is lost."""
        if self.lost:
            raise DeviceLost(f"{self.name} cannot be used in this process any more: {self.lost}")
        self.gpu.set_current()


def _dtype_name(view: StridedMemoryView) -> str:
    try:
        return str(np.dtype(view.dtype).name)
    except (TypeError, NotImplementedError, ValueError):
        # Without ml_dtypes numpy lacks bfloat16, the only type of a matrix that it lacks.
        return "bfloat16"
