"""A GPU as a device of mmcore, on cuda.core."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, NoReturn

import numpy as np

from cuda.bindings import driver
from cuda.core import Buffer as CudaBuffer
from cuda.core import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    ObjectCode,
    Stream,
    launch,
    system,
)
from cuda.core.graph import GraphBuilder
from cuda.core.utils import StridedMemoryView
from mmcore.compile.module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import BoundLaunch, Buffer, HostArray, MatrixMap, Refresh
from mmcore.devices.cuda.event_timer import DifferenceTimer, GraphTimer, StreamTimer, Work
from mmcore.devices.cuda.memory import GUARD_BYTES, BorrowedBuffer, OwnedBuffer, host_view
from mmcore.devices.cuda.tensor_map import tensor_map
from mmcore.devices.timer import Timer
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError, DeviceLost, InvalidProblem, KernelError, MmcoreError
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.peaks import Peaks, peaks

# What the driver calls a kernel's misdeeds. After any of these the process can use no GPU any more.
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


def describe(index: int) -> str:
    """One line on a GPU: name, compute capability, memory, driver."""
    device = Device(index)
    capability = ".".join(map(str, device.compute_capability))
    _, version = driver.cuDriverGetVersion()
    _, memory = driver.cuDeviceTotalMem(index)
    return f"{device.name}, compute capability {capability}, {memory / 1e9:.1f} GB, driver for CUDA {_dotted(version)}"


def _driver_version() -> str | None:
    """The driver's own version ("580.65.06"), where NVIDIA's management library tells it."""
    try:
        return ".".join(map(str, system.get_kernel_mode_driver_version()))
    except Exception:
        return None


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


class CudaDevice:
    """GPU number ``index``."""

    supports_timing = True

    def __init__(self, index: int) -> None:
        self.name = f"cuda:{index}"
        self._index = index
        self._device = Device(index)
        self._device.set_current()
        self._stream = self._device.create_stream()
        self._lost = ""
        # A process cannot stop its own kernel, but NVRTC.
        self.deadline = Deadline()
        self._scratch: CudaBuffer | None = None

    @property
    def description(self) -> str:
        return str(self._device.name)

    @property
    def identity(self) -> str:
        return f"cuda-{self._device.uuid}"

    @property
    def facts(self) -> dict[str, Any]:
        properties = self._device.properties
        _, version = driver.cuDriverGetVersion()
        return {
            "name": self.description,
            "compute_capability": list(self._device.compute_capability),
            "multiprocessors": properties.multiprocessor_count,
            "clock_mhz": properties.clock_rate // 1000,
            "driver": _driver_version(),
            "cuda": _dotted(version),
            "clock": GraphTimer.method,
        }

    @property
    def peaks(self) -> Peaks | None:
        properties = self._device.properties
        return peaks(
            tuple(self._device.compute_capability),
            multiprocessors=properties.multiprocessor_count,
            clock_hz=properties.clock_rate * 1e3,
            # Two transfers in a clock of the memory, each as wide as its bus.
            bytes_per_second=2 * properties.memory_clock_rate * 1e3 * properties.global_memory_bus_width / 8,
            cache_bytes=properties.l2_cache_size,
        )

    @property
    def architecture(self) -> str:
        major, minor = self._device.compute_capability
        return f"{major}{minor}"

    @property
    def properties(self) -> DeviceProperties:
        self.use()
        properties = self._device.properties
        _, free, _ = driver.cuMemGetInfo()
        return DeviceProperties(
            compute_capability=tuple(self._device.compute_capability),
            threads_per_block=properties.max_threads_per_block,
            block=Dim3(properties.max_block_dim_x, properties.max_block_dim_y, properties.max_block_dim_z),
            grid=Dim3(properties.max_grid_dim_x, properties.max_grid_dim_y, properties.max_grid_dim_z),
            shared_bytes=properties.max_shared_memory_per_block,
            shared_bytes_optin=properties.max_shared_memory_per_block_optin,
            registers_per_block=properties.max_registers_per_block,
            memory_bytes=int(free),
            multiprocessors=properties.multiprocessor_count,
        )

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> OwnedBuffer:
        self.use()
        size = GUARD_BYTES + nbytes + over_read_bytes + GUARD_BYTES
        with self.translating(f"the {size} bytes of {label} cannot be allocated"):
            return OwnedBuffer(label, self._device.allocate(size + size % 2, stream=self._stream), nbytes, self._stream)

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        self.use()
        try:
            # Giving our stream makes it wait for what the caller has put on theirs.
            view = StridedMemoryView.from_any_interface(array, stream_ptr=int(self._stream.handle))
        except Exception as error:
            raise InvalidProblem(f"{label} cannot be used where it lies: {error}") from None
        if view.device_id != self._index:
            raise InvalidProblem(f"{label} lies on cuda:{view.device_id}, not on {self.name}")
        if label == "C" and view.readonly:
            raise InvalidProblem("out is read-only")
        buffer = BorrowedBuffer(label, int(view.ptr), view)
        return buffer, tuple(view.shape), view.strides and tuple(view.strides), _dtype_name(view)

    def load(self, code: CompiledModule) -> CudaModule:
        self.use()
        with self.translating(f"the code compiled from {code.source} cannot be loaded"):
            return CudaModule(self, self._device, self._stream, code)

    def scratch(self) -> CudaBuffer:
        """Memory twice as large as the L2 cache, to write to when the cache is to hold nothing else."""
        if self._scratch is None:
            size = 2 * self._device.properties.l2_cache_size
            with self.translating(f"{size} bytes to empty the cache with cannot be allocated"):
                self._scratch = self._device.allocate(size, stream=self._stream)
        return self._scratch

    def close(self) -> None:
        if not self._lost:
            if self._scratch is not None:
                self._scratch.close(self._stream)
            self._stream.close()

    def use(self) -> None:
        """Make this GPU current for the calling thread.

        Raises:
            DeviceLost: a kernel destroyed the process's CUDA context.
        """
        if self._lost:
            raise DeviceLost(f"{self.name} cannot be used in this process any more: {self._lost}")
        self._device.set_current()

    def lose(self, reason: str) -> None:
        """Note that the context is gone."""
        self._lost = reason

    @property
    def lost(self) -> bool:
        """Whether the context is gone."""
        return bool(self._lost)

    @contextmanager
    def translating(self, failure: str) -> Iterator[None]:
        """Turn cuda.core's errors into a DeviceError that begins with ``failure``."""
        try:
            yield
        except MmcoreError:
            raise
        except Exception as error:
            _raise_error(failure, error)


def _raise_error(failure: str, error: Exception) -> NoReturn:
    raise DeviceError(f"{failure}: {str(error).splitlines()[0]}") from error


def _dtype_name(view: StridedMemoryView) -> str:
    try:
        return str(np.dtype(view.dtype).name)
    except (TypeError, NotImplementedError, ValueError):
        # numpy has no bfloat16 unless ml_dtypes brings it; what else it lacks is no type of a matrix.
        return "bfloat16"


class CudaModule:
    """A loaded module and its launches."""

    def __init__(self, owner: CudaDevice, device: Device, stream: Stream, code: CompiledModule) -> None:
        self._owner = owner
        self._device = device
        self._stream = stream
        self._module = ObjectCode.from_cubin(code.cubin, name=code.source)
        self._kernels = {
            function.symbol: self._module.get_kernel(function.symbol) for function in code.functions.values()
        }

    def run(self, calls: Sequence[BoundLaunch]) -> list[Violation]:
        self._owner.use()
        try:
            self.bind(calls)(self._stream)
            self._stream.sync()
        except Exception as error:
            return [self._violation(error)]
        return []

    def timer(
        self, calls: Sequence[BoundLaunch], *, cold: bool = False, refresh: Sequence[Refresh] = ()
    ) -> Timer:
        self._owner.use()
        work = self._after(refresh, self.bind(calls))
        with self._owner.translating("the kernel cannot be timed"):
            if cold:
                flush = self._owner.scratch()
                return self._watched(
                    DifferenceTimer(self._device, self._stream, work, lambda target: flush.fill(0, stream=target))
                )
            return self._watched(GraphTimer(self._device, self._stream, work))

    def _watched(self, timer: Timer) -> WatchedTimer:
        return WatchedTimer(timer, self._violation)

    @staticmethod
    def _after(refresh: Sequence[Refresh], launches: Work) -> Work:
        """The launches, each time after the next of the copies."""
        turns = itertools.cycle(refresh)

        def work(target: Stream | GraphBuilder) -> None:
            for copy in next(turns, ()):
                _window(copy.target, copy.nbytes).copy_from(_window(copy.source, copy.nbytes), stream=target)
            launches(target)

        return work

    def end_to_end_timer(
        self,
        calls: Sequence[BoundLaunch],
        uploads: Sequence[tuple[Buffer, HostArray]],
        downloads: Sequence[tuple[Buffer, HostArray]],
        *,
        pinned: bool,
    ) -> Timer:
        self._owner.use()
        launches = self.bind(calls)
        with ExitStack() as memory, self._owner.translating("the copies cannot be timed"):
            hosts = [array for _, array in (*uploads, *downloads)]
            staged = [memory.enter_context(self._staged(array)) if pinned else host_view(array) for array in hosts]
            windows = [_window(buffer, array.nbytes) for buffer, array in (*uploads, *downloads)]
            moves = list(zip(windows, staged, strict=True))

            def work() -> None:
                for on_device, on_host in moves[: len(uploads)]:
                    on_device.copy_from(on_host, stream=self._stream)
                launches(self._stream)
                for on_device, on_host in moves[len(uploads) :]:
                    on_device.copy_to(on_host, stream=self._stream)

            return self._watched(StreamTimer(self._device, self._stream, work, memory.pop_all().close))

    def bind(self, calls: Sequence[BoundLaunch]) -> Work:
        """The launches with everything prepared, so that making them costs what cuda.core's own ``launch`` costs."""
        bound = [(self._config(call), self._kernels[call.function.symbol], self._arguments(call)) for call in calls]

        def launches(target: Stream | GraphBuilder) -> None:
            for config, kernel, arguments in bound:
                launch(target, config, kernel, *arguments)

        return launches

    def close(self) -> None:
        self._kernels.clear()

    def _staged(self, array: HostArray) -> Any:
        """Pinned host memory holding a copy of ``array``."""
        buffer = LegacyPinnedMemoryResource().allocate(array.nbytes)
        np.from_dlpack(buffer).view(np.uint8)[:] = array.reshape(-1).view(np.uint8)
        return buffer

    def _config(self, call: BoundLaunch) -> LaunchConfig:
        made = call.launch
        kernel = self._kernels[call.function.symbol]
        if made.shared_bytes > _DEFAULT_SHARED_BYTES - call.function.static_shared_bytes:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (error,) = driver.cuKernelSetAttribute(attribute, made.shared_bytes, kernel.handle, self._device.device_id)
            if error != driver.CUresult.CUDA_SUCCESS:
                raise DeviceError(f"{made.shared_bytes} bytes of dynamic shared memory cannot be had: {error.name}")
        if made.cluster is None:
            return LaunchConfig(grid=tuple(made.grid), block=tuple(made.block), shmem_size=made.shared_bytes)
        cluster = Dim3(*made.cluster)
        # cuda.core counts the grid in clusters where there are any.
        clusters = tuple(blocks // each for blocks, each in zip(made.grid_dim, cluster, strict=True))
        return LaunchConfig(
            grid=clusters, cluster=tuple(cluster), block=tuple(made.block), shmem_size=made.shared_bytes
        )

    def _arguments(self, call: BoundLaunch) -> tuple[Any, ...]:
        return tuple(self._argument(argument) for argument in call.arguments)

    def _argument(self, argument: Buffer | MatrixMap | np.generic) -> Any:
        if isinstance(argument, MatrixMap):
            return tensor_map(argument)
        return argument if isinstance(argument, np.generic) else np.uint64(argument.address)

    def _violation(self, error: Exception) -> Violation:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        for name, (kind, message) in _STICKY.items():
            if name in text:
                self._owner.lose(message)
                return Violation(kind, f"{message} ({name})", fatal=True)
        return Violation("launch-failure", f"the launch failed: {text}", fatal=True)


def _window(buffer: Buffer, nbytes: int) -> Any:
    assert isinstance(buffer, (OwnedBuffer, BorrowedBuffer))
    return buffer.window(nbytes)


class WatchedTimer:
    """A timer whose failures are those of the kernel that it launches.

    Args:
        inner: the timer.
        violation: what an error of cuda.core's says of the kernel.
    """

    def __init__(self, inner: Timer, violation: Callable[[Exception], Violation]) -> None:
        self.method = inner.method
        self.resolution = inner.resolution
        self._inner = inner
        self._violation = violation

    def seconds(self, count: int) -> float:
        try:
            return self._inner.seconds(count)
        except Exception as error:
            raise KernelError(f"launched to be timed, {self._violation(error).message}") from error

    def close(self) -> None:
        with suppress(Exception):
            # What a lost context held is gone with it.
            self._inner.close()
