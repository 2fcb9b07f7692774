"""The emulator as a device of mmcore."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import BoundLaunch, Buffer, Call, Device, HostArray, MatrixMap, Refresh
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError, InvalidProblem, NoDevice, TimeLimit, Unsupported, UnsupportedInstruction
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore_emulator.launch_run import Progress, Run, parameter_bytes
from mmcore_emulator.memory import Array, DeviceMemory, leftover, poisoned
from mmcore_emulator.module_variables import ModuleMemory
from mmcore_emulator.observer import Observer
from mmcore_emulator.profiler.result_figures import Figures
from mmcore_emulator.ptx import Function, parse
from mmcore_emulator.ptx_types import PtxError
from mmcore_emulator.scheduler import execute
from mmcore_emulator.translate import Translation, translate
from mmcore_occupancy.capabilities import multiprocessor
from mmcore_occupancy.theoretical import Occupancy

# What a matrix takes besides its copy in emulated memory: the host's own, one to compare with, and the reference.
_COPIES = 4
# The run of a module in which memory that nobody wrote holds numbers instead of NaN, as it may on a GPU.
_LEFTOVER_RUN = 3


class EmulatedBuffer:
    """A matrix or workspace in the emulator's device memory; no access reaches beyond it."""

    def __init__(self, memory: DeviceMemory, array: Array) -> None:
        self._memory = memory
        self._array = array

    @property
    def label(self) -> str:
        return self._array.label

    @property
    def address(self) -> int:
        return self._array.base

    @property
    def array(self) -> Array:
        """The memory itself."""
        return self._array

    def upload(self, data: HostArray) -> None:
        self._array.content[: data.nbytes] = data.reshape(-1).view(np.uint8)
        self._array.uploaded = max(self._array.uploaded, data.nbytes)

    def download(self, out: HostArray) -> None:
        out.reshape(-1).view(np.uint8)[:] = self._array.content[: out.nbytes]

    def guard_zone_violations(self) -> list[Violation]:
        return []

    def close(self) -> None:
        self._memory.free(self._array)


class EmulatedModule:
    """Translated functions of one compiled source."""

    def __init__(self, memory: DeviceMemory, code: CompiledModule, deadline: Deadline) -> None:
        self._memory = memory
        self._deadline = deadline
        self._functions = parse(code.ptx)
        self._module_memory = ModuleMemory(memory)
        self._translations: dict[str, Translation] = {}
        self._run_number = 0
        #: PTX instructions executed by the last :meth:`run`, counted once per thread.
        self.thread_instructions = 0
        #: What the last :meth:`run` counted.
        self.figures = Figures()

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        violations: list[Violation] = []
        self._run_number += 1
        if self._run_number == _LEFTOVER_RUN:
            self._memory.fill_over_reads()
        self.thread_instructions, self.figures = 0, Figures()
        for run in self.runs(calls, lambda translation: self.figures):
            self.figures.begin_launch()
            try:
                execute(run)
            except TimeLimit:
                return violations + list(run.violations.values())
            violations += run.violations.values()
            self.thread_instructions += run.thread_instructions
        return violations

    def runs(self, calls: Sequence[Call], observer: Callable[[Translation], Observer]) -> Iterator[Run]:
        """The launches, each ready to execute and watched by an observer, which is made for its code."""
        launches = [call for call in calls if isinstance(call, BoundLaunch)]
        progress = Progress(sum(call.launch.grid_dim.size * call.launch.block_dim.size for call in launches))
        for call in launches:
            launch = call.launch
            if launch.cluster is not None:
                raise UnsupportedInstruction("the emulator does not know thread block clusters")
            translation = self._translation(call)
            _check_threads(self.function(call), launch.block_dim)
            values = [_argument_bytes(argument) for argument in call.arguments]
            _check_parameters(self.function(call), values)
            yield Run(
                translation,
                launch.grid_dim,
                launch.block_dim,
                launch.shared_bytes,
                parameter_bytes(translation, values),
                self._memory,
                self._deadline,
                (observer(translation),),
                progress,
                _resident_blocks(call, translation),
                leftover if self._run_number == _LEFTOVER_RUN else poisoned,
            )

    def function(self, call: BoundLaunch) -> Function:
        """The PTX of a launch."""
        symbol = call.function.symbol
        if symbol not in self._functions:
            raise PtxError(f"the PTX has no function {symbol}")
        return self._functions[symbol]

    def _translation(self, call: BoundLaunch) -> Translation:
        symbol = call.function.symbol
        if symbol not in self._translations:
            function = self.function(call)
            self._translations[symbol] = translate(function, self._module_memory.addresses(function))
        return self._translations[symbol]

    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> None:
        return None

    def end_to_end_timer(
        self,
        calls: Sequence[Call],
        uploads: Sequence[tuple[Buffer, HostArray]],
        downloads: Sequence[tuple[Buffer, HostArray]],
        *,
        pinned: bool,
    ) -> None:
        return None

    def close(self) -> None:
        self._translations.clear()
        self._module_memory.close()


def _resident_blocks(call: BoundLaunch, translation: Translation) -> int:
    """How many blocks of a launch the emulated device holds at once."""
    properties = DeviceProperties()
    shared = translation.layout.shared_bytes + call.launch.shared_bytes
    one = multiprocessor(properties.compute_capability)
    fitting = Occupancy(one, call.launch.block_dim.size, call.function.registers, shared).active_blocks
    return properties.multiprocessors * max(1, fitting)


def _check_threads(function: Function, block: Dim3) -> None:
    """What the source says of its blocks (``__launch_bounds__``) holds on a GPU too."""
    most, exactly = function.threads.get("maxntid", block.size), function.threads.get("reqntid", block.size)
    if block.size > most or block.size != exactly:
        bound = f"at most {most}" if block.size > most else f"exactly {exactly}"
        raise DeviceError(f"{function.name} is made for blocks of {bound} threads; a {block} block has {block.size}")


def _check_parameters(function: Function, values: Sequence[bytes]) -> None:
    taken, given = [parameter.nbytes for parameter in function.parameters], [len(value) for value in values]
    if taken != given:
        raise PtxError(f"PTX function {function.name} takes parameters of {taken} bytes, not of {given}")


def _argument_bytes(argument: Buffer | MatrixMap | np.generic) -> bytes:
    if isinstance(argument, np.generic):
        return argument.tobytes()
    if isinstance(argument, MatrixMap):
        raise UnsupportedInstruction("the emulator does not know tensor maps")
    return argument.address.to_bytes(8, "little")


class Emulator:
    """A device that runs PTX on the host, checks every access and keeps no time."""

    name = identity = "emulator"
    supports_timing = False
    architecture = "90a"
    facts: Mapping[str, Any] = {"name": "emulator"}
    peaks = None

    def __init__(self) -> None:
        self._memory = DeviceMemory()
        self.deadline = Deadline()

    @property
    def description(self) -> str:
        return "runs the compiled PTX on the host's processor; no kernel times"

    @property
    def properties(self) -> DeviceProperties:
        return DeviceProperties(memory_bytes=host_memory_bytes() // _COPIES)

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> EmulatedBuffer:
        return EmulatedBuffer(self._memory, self._memory.allocate(label, nbytes, over_read_bytes))

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        raise InvalidProblem(f"{label} lives on a GPU; the emulator takes numpy arrays")

    def products(self, problem: Problem, a: Buffer, b: Buffer) -> None:
        return None

    def load(self, code: CompiledModule) -> EmulatedModule:
        if not (code.functions or code.ptx or code.cubin):
            raise Unsupported("a library is called, which runs on a GPU alone")
        if not code.ptx:
            raise UnsupportedInstruction(f"{code.source} has no PTX, and the emulator runs PTX")
        return EmulatedModule(self._memory, code, self.deadline)

    def conditions(self) -> AbstractContextManager[dict[str, Any]]:
        return nullcontext({})

    def close(self) -> None:
        self._memory = DeviceMemory()


def host_memory_bytes() -> int:
    """The host's physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_emulates(device: Device, what: str) -> None:
    """Raise NoDevice for any device but the emulator, which alone can do ``what``."""
    if not isinstance(device, Emulator):
        raise NoDevice(f"{device.name} cannot {what}; the device 'auto' is one that can")


def emulated_runs(loaded: LoadedKernel, observer: Callable[[Translation], Observer]) -> Iterator[Run]:
    """The launches of a kernel on the emulator, as :meth:`EmulatedModule.runs`."""
    assert isinstance(loaded.module, EmulatedModule)
    return loaded.module.runs(loaded.calls, observer)
