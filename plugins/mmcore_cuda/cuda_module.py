"""Compiled code on a GPU: its launches, their timing and their errors."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from cuda.bindings import driver
from cuda.core import Buffer as CudaBuffer
from cuda.core import Kernel, LaunchConfig, ObjectCode, Stream
from cuda.core.graph import GraphBuilder

from mmcore.compile.compiled_module import CompiledModule
from mmcore.devices.base import BoundCall, BoundLaunch, Call, HostArray, HostCopies, Refresh, Timer
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError, MmcoreError
from mmcore_cuda.arguments import bind
from mmcore_cuda.event_timer import GraphTimer, KernelTimer, Work, elapsed
from mmcore_cuda.guarded_memory import host_view, pinned_copy, window

if TYPE_CHECKING:
    from mmcore_cuda.device import CudaDevice

# The violations behind the driver's errors, after which the process cannot use a GPU any more.
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


class CudaModule:
    """A compiled module on a GPU."""

    def __init__(self, owner: CudaDevice, compiled: CompiledModule) -> None:
        self._owner, self._device, self._stream = owner, owner.gpu, owner.stream
        self._kernels: dict[str, Kernel] = {}
        if not compiled.functions:  # for a library, which contains its code
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
        with ExitStack() as memory, device_errors("the copies cannot be timed"):

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
        asked = call.launch
        if asked.shared_bytes > _DEFAULT_SHARED_BYTES - call.function.static_shared_bytes:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            (error,) = driver.cuKernelSetAttribute(attribute, asked.shared_bytes, kernel.handle, self._device.device_id)
            if error != driver.CUresult.CUDA_SUCCESS:
                raise DeviceError(f"{asked.shared_bytes} bytes of dynamic shared memory are refused: {error.name}")
        cluster = None if asked.cluster is None else tuple(asked.cluster)
        # cuda.core counts the grid in clusters, if there are any.
        grid = tuple(blocks // each for blocks, each in zip(asked.grid_dim, cluster or (1, 1, 1), strict=True))
        return LaunchConfig(
            grid=grid,
            cluster=cluster,
            block=tuple(asked.block),
            shmem_size=asked.shared_bytes,
            is_cooperative=asked.cooperative,
            programmatic_stream_serialization=asked.dependent,
        )

    def _violation(self, error: Exception) -> Violation:
        text = _first_line(error)
        for name, (kind, message) in _STICKY.items():
            if name in text:
                self._owner.lost = message
                return Violation(kind, f"{message} ({name})", fatal=True)
        return Violation("launch-failure", f"the launch failed: {text}", fatal=True)


@contextmanager
def device_errors(failure: str) -> Iterator[None]:
    """Turn cuda.core's errors into a DeviceError that begins with ``failure``."""
    try:
        yield
    except MmcoreError:
        raise
    except Exception as error:
        raise DeviceError(f"{failure}: {_first_line(error)}") from error


def _work(call: BoundCall) -> Work:

    def made(target: Stream | GraphBuilder) -> None:
        stream = target.stream if isinstance(target, GraphBuilder) else target
        call.enqueue(int(stream.handle))

    return made


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
