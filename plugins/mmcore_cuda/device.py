"""A GPU as a device of mmcore, on cuda.core."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver
from cuda.core import Buffer as CudaBuffer
from cuda.core import Device, Kernel, LaunchConfig, ObjectCode, Program, ProgramOptions, Stream, launch, system
from cuda.core.graph import GraphBuilder
from cuda.core.utils import StridedMemoryView

from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import BoundCall, BoundLaunch, Buffer, Call, HostArray, HostCopies, Products, Refresh, Timer
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError, DeviceLost, InvalidProblem, MmcoreError
from mmcore.kernel.geometry import Dim3, ceil_div
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks
from mmcore_cuda.arguments import bind
from mmcore_cuda.conditions import conditions
from mmcore_cuda.event_timer import GraphTimer, KernelTimer, Work, elapsed
from mmcore_cuda.guarded_memory import GUARD_BYTES, BorrowedBuffer, OwnedBuffer, host_view, pinned_copy, window
from mmcore_cuda.peaks import peaks

# The violations behind the driver's errors. After any of these the process can use no GPU any more.
_STICKY = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": ("illegal-address", "the kernel accessed memory that is not there"),
    "CUDA_ERROR_MISALIGNED_ADDRESS": ("misaligned", "the kernel accessed memory at a misaligned address"),
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": ("illegal-address", "the kernel used an address in the wrong memory"),
    "CUDA_ERROR_INVALID_PC": ("launch-failure", "the kernel jumped out of its code"),
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": ("launch-failure", "the kernel ran into an illegal instruction"),
    "CUDA_ERROR_HARDWARE_STACK_ERROR": ("launch-failure", "the kernel's stack overflowed"),
    "CUDA_ERROR_LAUNCH_TIMEOUT": ("timeout", "the kernel ran longer than the display driver lets it"),
    "CUDA_ERROR_ASSERT": ("launch-failure", "an assertion in the kernel failed"),
    "CUDA_ERROR_LAUNCH_FAILED": ("launch-failure", "the kernel failed"),
}
_DEFAULT_SHARED_BYTES = 48 * 1024
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
    """GPU number ``index``.

    Attributes:
        gpu, stream: cuda.core's device, and the stream of all work.
        lost: how a kernel destroyed the process's CUDA context; empty while it is intact.
    """

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
        # From 9.0 on a suffix adds what only this architecture has; the code runs on nothing else anyway.
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
            # Two transfers in a clock of the memory, each as wide as its bus.
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
        with _device_errors(f"the {size} bytes of {label} cannot be allocated"):
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
            with _device_errors("there is no memory for a reference"), ExitStack() as memory:
                made = [self.gpu.allocate(each.nbytes, stream=self.stream) for each in (product, magnitude)]
                for each in made:
                    memory.callback(each.close, self.stream)
                config = LaunchConfig(grid=grid, block=_REFERENCE_THREADS)
                matrices = np.uint64(a.address), np.uint64(b.address)
                launch(self.stream, config, self._reference(problem.dtype), *matrices, *made, *sizes)
                for each, out in zip(made, (product, magnitude), strict=True):
                    each.copy_to(host_view(out), stream=self.stream)
                self.stream.sync()
        except DeviceError:
            return None
        return product, magnitude

    def _reference(self, dtype: str) -> Kernel:
        """Return the kernel that computes the reference product for an element type."""
        if dtype not in self._references:
            source = Path(__file__).with_name("reference.cu").read_text(encoding="utf-8")
            options = ProgramOptions(arch=f"sm_{self.architecture}", define_macro=dtype.upper())
            self._references[dtype] = Program(source, "c++", options).compile("cubin").get_kernel("reference")
        return self._references[dtype]

    def load(self, compiled: CompiledModule) -> CudaModule:
        self.use()
        with _device_errors(f"the code compiled from {compiled.source} cannot be loaded"):
            return CudaModule(self, compiled)

    def conditions(self) -> AbstractContextManager[dict[str, Any]]:
        return conditions(self.gpu)

    def scratch(self) -> CudaBuffer:
        """Return memory twice as large as the L2 cache; writing to it empties the cache."""
        if self._scratch is None:
            size = 2 * self.gpu.properties.l2_cache_size
            with _device_errors(f"{size} bytes to empty the cache with cannot be allocated"):
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


@contextmanager
def _device_errors(failure: str) -> Iterator[None]:
    """Turn cuda.core's errors into a DeviceError that begins with ``failure``."""
    try:
        yield
    except MmcoreError:
        raise
    except Exception as error:
        raise DeviceError(f"{failure}: {_first_line(error)}") from error


def _work(call: BoundCall) -> Work:
    """Return a library call, for a stream or a graph."""

    def made(target: Stream | GraphBuilder) -> None:
        stream = target.stream if isinstance(target, GraphBuilder) else target
        call.enqueue(int(stream.handle))

    return made


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _dtype_name(view: StridedMemoryView) -> str:
    try:
        return str(np.dtype(view.dtype).name)
    except (TypeError, NotImplementedError, ValueError):
        # Without ml_dtypes numpy lacks bfloat16, the only type of a matrix that it lacks.
        return "bfloat16"


class CudaModule:
    """A compiled module on a GPU."""

    def __init__(self, owner: CudaDevice, compiled: CompiledModule) -> None:
        self._owner, self._device, self._stream = owner, owner.gpu, owner.stream
        self._kernels: dict[str, Kernel] = {}
        if not compiled.functions:  # a library contains its code
            return
        if compiled.cubin:
            module = ObjectCode.from_cubin(compiled.cubin, name=compiled.source)
        else:  # the driver compiles it
            module = ObjectCode.from_ptx(compiled.ptx.encode(), name=compiled.source)
        self._kernels = {each.symbol: module.get_kernel(each.symbol) for each in compiled.functions.values()}

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        self._owner.use()
        try:
            self.bind(calls)(self._stream)
            self._stream.sync()
        except Exception as error:
            return [self._violation(error)]
        return []

    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Timer:
        self._owner.use()
        launches = self.bind(calls)
        turns = itertools.cycle(refresh)

        def work(target: Stream | GraphBuilder) -> None:
            for copy in next(turns, ()):
                window(copy.target, copy.nbytes).copy_from(window(copy.source, copy.nbytes), stream=target)
            launches(target)

        timer = GraphTimer(self._device, self._stream, work)
        if cold:
            scratch = self._owner.scratch()
            timer = GraphTimer(self._device, self._stream, work, lambda target: scratch.fill(0, stream=target))
        return KernelTimer(timer.method, timer.seconds, timer.close, self._violation)

    def end_to_end_timer(
        self, calls: Sequence[Call], uploads: HostCopies, downloads: HostCopies, *, pinned: bool
    ) -> Timer:
        self._owner.use()
        launches = self.bind(calls)
        with ExitStack() as memory, _device_errors("the copies cannot be timed"):

            def on_host(array: HostArray) -> CudaBuffer:
                return memory.enter_context(pinned_copy(array)) if pinned else host_view(array)

            incoming = [(window(buffer, array.nbytes), on_host(array)) for buffer, array in uploads]
            outgoing = [(window(buffer, array.nbytes), on_host(array)) for buffer, array in downloads]

            def work() -> None:
                for matrix, host in incoming:
                    matrix.copy_from(host, stream=self._stream)
                launches(self._stream)
                for matrix, host in outgoing:
                    matrix.copy_to(host, stream=self._stream)

            method = "events around the copies and launches on a stream"
            seconds = functools.partial(elapsed, self._device, self._stream, work)
            return KernelTimer(method, seconds, memory.pop_all().close, self._violation)

    def bind(self, calls: Sequence[Call]) -> Work:
        """Return the launches, prepared so that enqueuing them costs as much as cuda.core's own ``launch``."""
        bound = []
        for call in calls:
            if isinstance(call, BoundCall):
                bound.append(_work(call))
                continue
            kernel = self._kernels[call.function.symbol]
            bound.append(bind(self._device, self._stream, kernel, self._config(call, kernel), call.arguments))

        def launches(target: Stream | GraphBuilder) -> None:
            for made in bound:
                made(target)

        return launches

    def close(self) -> None:
        self._kernels.clear()

    def _config(self, call: BoundLaunch, kernel: Kernel) -> LaunchConfig:
        made = call.launch
        if made.shared_bytes > _DEFAULT_SHARED_BYTES - call.function.static_shared_bytes:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (error,) = driver.cuKernelSetAttribute(attribute, made.shared_bytes, kernel.handle, self._device.device_id)
            if error != driver.CUresult.CUDA_SUCCESS:
                raise DeviceError(f"{made.shared_bytes} bytes of dynamic shared memory cannot be had: {error.name}")
        cluster = None if made.cluster is None else tuple(made.cluster)
        # cuda.core counts the grid in clusters where there are any.
        grid = tuple(blocks // each for blocks, each in zip(made.grid_dim, cluster or (1, 1, 1), strict=True))
        return LaunchConfig(
            grid=grid,
            cluster=cluster,
            block=tuple(made.block),
            shmem_size=made.shared_bytes,
            is_cooperative=made.cooperative,
            programmatic_stream_serialization=made.dependent,
        )

    def _violation(self, error: Exception) -> Violation:
        text = _first_line(error)
        for name, (kind, message) in _STICKY.items():
            if name in text:
                self._owner.lost = message
                return Violation(kind, f"{message} ({name})", fatal=True)
        return Violation("launch-failure", f"the launch failed: {text}", fatal=True)
