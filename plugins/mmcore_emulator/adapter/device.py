"""The emulator as a device of mmcore."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import BoundLaunch, Buffer, Call, Device, HostArray, MatrixMap, Refresh
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidProblem, NoDevice, TimeLimit, Unsupported, UnsupportedInstruction
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import say_of_kernel
from mmcore_emulator.adapter import conversions
from mmcore_emulator.adapter.conversions import capability_properties, execute, mmcore_errors, mmcore_violations
from mmcore_emulator.api.geometry import check_launch_bounds
from mmcore_emulator.errors import LaunchError, PtxError
from mmcore_emulator.executor.coverage import Coverage
from mmcore_emulator.executor.kernel_launch import KernelLaunch, ModuleMemory, Progress, parameter_bytes
from mmcore_emulator.executor.translation.shadow_code import ShadowDomain
from mmcore_emulator.executor.translation.translate import Translation, translate
from mmcore_emulator.isa.architectures import CAPABILITIES, architecture, described, ptx_runs
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory, leftover, poisoned
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.profiler.result_figures import Figures
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.reader import parse

# A matrix needs its copy in emulated memory, the host's own, one to compare with, and the reference.
_COPIES = 4
# The run of a module in which unwritten memory holds numbers instead of NaN, as it may on a GPU.
_LEFTOVER_RUN = 3
_MOST_LINES = 10  # of what a launch prints

ObserverFactory: TypeAlias = Callable[[Translation], Observer]
"""A function that makes the observer of a launch of translated code."""


class EmulatedBuffer:
    """A matrix or workspace in the emulator's device memory; no access reaches beyond it."""

    def __init__(self, memory: DeviceMemory, array: Array) -> None:
        self._memory = memory
        self.array = array

    @property
    def label(self) -> str:
        return self.array.label

    @property
    def address(self) -> int:
        return self.array.base

    def upload(self, data: HostArray) -> None:
        self.array.content[: data.nbytes] = data.reshape(-1).view(np.uint8)
        self.array.uploaded = max(self.array.uploaded, data.nbytes)

    def download(self, out: HostArray) -> None:
        out.reshape(-1).view(np.uint8)[:] = self.array.content[: out.nbytes]

    def guard_zone_violations(self) -> list[Violation]:
        return []

    def close(self) -> None:
        self._memory.free(self.array)


_parsed = functools.lru_cache(maxsize=8)(parse)  # a source may be loaded many times


def functions_of(code: CompiledModule) -> Mapping[str, Function]:
    """Return the functions of a module by symbol.

    Raises:
        Unsupported: a library is called.
        UnsupportedInstruction: the module has no PTX, or PTX that is not known.
    """
    if not (code.functions or code.ptx or code.cubin):
        raise Unsupported("a library is called, which runs on a GPU alone")
    if not code.ptx:
        raise UnsupportedInstruction(f"{code.source} has no PTX, and the emulator runs PTX")
    with mmcore_errors():
        return _parsed(code.ptx)


@functools.lru_cache(maxsize=16)
def _translated(
    ptx: str,
    symbol: str,
    addresses: tuple[tuple[str, int], ...],
    capability: tuple[int, int],
    domain: ShadowDomain | None,
) -> Translation:
    """Return the translation of a function, which many loads share; ``addresses`` has its variables' by symbol."""
    return translate(_parsed(ptx)[symbol], dict(addresses), capability, domain)


class EmulatedModule:
    """Translated functions of one compiled source."""

    def __init__(
        self, memory: DeviceMemory, code: CompiledModule, properties: DeviceProperties, deadline: Deadline
    ) -> None:
        self._memory = memory
        self._properties = properties
        self._deadline = deadline
        self._functions = functions_of(code)
        self._ptx = code.ptx
        self._module_memory = ModuleMemory(memory)
        self._run_number = 0
        self._maps: dict[bytes, Array] = {}  # tensor maps that are passed by pointer, by their content
        # Of the last :meth:`run`: PTX instructions and results with unspecified bits, counted once per thread.
        self.thread_instructions = self.approximate_operations = 0
        self.figures = Figures()  # the observer that counted the last :meth:`run`
        self.coverage = Coverage()  # of all launches
        self.write: Callable[[str], object] | None = _say_first_lines  # takes what kernels print; None drops it

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        violations: list[Violation] = []
        self._run_number += 1
        if self._run_number == _LEFTOVER_RUN:
            self._memory.fill_over_reads()
        self.thread_instructions, self.approximate_operations, self.figures = 0, 0, Figures()
        for launch in self.runs(calls, lambda translation: self.figures):
            self.figures.begin_launch()
            try:
                execute(launch)
            except TimeLimit:
                break
            finally:
                violations += mmcore_violations(launch.violations.values())
            self.thread_instructions += launch.thread_instructions
            self.approximate_operations += launch.approximate_operations
        return violations

    def runs(
        self, calls: Sequence[Call], observer: ObserverFactory, domain: ShadowDomain | None = None
    ) -> Iterator[KernelLaunch]:
        """Yield the launches, each ready to execute; calls of libraries are left out.

        ``observer`` makes the observer of a launch from its code; ``domain`` has the shadow values, None for none.
        """
        launches = [call for call in calls if isinstance(call, BoundLaunch)]
        progress = Progress(sum(call.launch.grid_dim.size * call.launch.block_dim.size for call in launches))
        for call in launches:
            with mmcore_errors():
                translation = self._translation(call, domain)
                launch = self._launch(call, translation, observer(translation), progress)
            yield launch
            self.coverage.add(launch)

    def _launch(
        self, call: BoundLaunch, translation: Translation, observer: Observer, progress: Progress
    ) -> KernelLaunch:
        launch, function = call.launch, self.function(call)
        check_launch_bounds(function, Dim3(*launch.block_dim))
        values = [self._argument_bytes(argument) for argument in call.arguments]
        conversions.check_arguments(function, values)
        return KernelLaunch(
            translation,
            Dim3(*launch.grid_dim),
            Dim3(*launch.block_dim),
            launch.shared_bytes,
            parameter_bytes(translation, values),
            self._memory,
            self._deadline,
            (observer,),
            progress,
            conversions.resident_blocks(call, translation, self._properties),
            leftover if self._run_number == _LEFTOVER_RUN else poisoned,
            cluster=conversions.launch_cluster(launch, function, self._properties),
            multiprocessors=self._properties.multiprocessors,
            registers=call.function.registers if call.function.reallocates_registers else 0,
            write=self.write,
        )

    def function(self, call: BoundLaunch) -> Function:
        """Return the PTX function of a launch."""
        symbol = call.function.symbol
        if symbol not in self._functions:
            raise PtxError(f"the PTX has no function {symbol}")
        return self._functions[symbol]

    def _argument_bytes(self, argument: Buffer | MatrixMap | np.generic) -> bytes:
        if isinstance(argument, np.generic):
            return argument.tobytes()
        if not isinstance(argument, MatrixMap):
            return argument.address.to_bytes(8, "little")
        layout = conversions.tensor_layout(argument)
        if problems := layout.problems():
            raise LaunchError(f"the tensor map of {argument.map.matrix} cannot be made: {problems[0]}")
        content = layout.encode()
        if not argument.map.pointer:
            return content
        if content not in self._maps:
            self._maps[content] = self._memory.define("a tensor map", len(content), content)
        return self._maps[content].base.to_bytes(8, "little")

    def _translation(self, call: BoundLaunch, domain: ShadowDomain | None) -> Translation:
        addresses = self._module_memory.addresses(self.function(call), cooperative=call.launch.cooperative)
        capability = self._properties.compute_capability
        return _translated(self._ptx, call.function.symbol, tuple(addresses.items()), capability, domain)

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
        for array in self._maps.values():
            self._memory.free(array)
        self._module_memory.close()


class Emulator:
    """A device that runs PTX on the host, checks every access and keeps no time; ``name`` is a key of CAPABILITIES."""

    supports_timing = False
    peaks = None

    def __init__(self, name: str = "emulator") -> None:
        self._name = name
        self._capability = CAPABILITIES[name]
        self.architecture = architecture(self._capability)
        self.emulates = described(self._capability)  # the emulated compute capability, in words
        self._memory = DeviceMemory()
        self.deadline = Deadline()

    @property
    def name(self) -> str:
        return self._name

    identity = name

    @property
    def facts(self) -> Mapping[str, object]:
        return {"name": self._name}

    @property
    def description(self) -> str:
        return f"{self.emulates}, emulated on the host's processor; no kernel times"

    @property
    def properties(self) -> DeviceProperties:
        return replace(capability_properties(self._capability), memory_bytes=host_memory_bytes() // _COPIES)

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> EmulatedBuffer:
        with mmcore_errors():
            return EmulatedBuffer(self._memory, self._memory.allocate(label, nbytes, over_read_bytes))

    def borrow(self, label: str, array: object) -> tuple[Buffer, tuple[int, ...], tuple[int, ...] | None, str]:
        raise InvalidProblem(f"{label} lives on a GPU; the emulator takes numpy arrays")

    def products(self, problem: Problem, a: Buffer, b: Buffer) -> None:
        return None

    def load(self, code: CompiledModule) -> EmulatedModule:
        if code.ptx and not ptx_runs(code.architecture.removeprefix("sm_"), self.architecture):
            raise Unsupported(f"{code.source} is made for {code.architecture}; sm_{self.architecture} does not run it")
        return EmulatedModule(self._memory, code, capability_properties(self._capability), self.deadline)

    def conditions(self) -> AbstractContextManager[dict[str, object]]:
        return nullcontext({})

    def joules(self) -> float | None:
        return None

    def close(self) -> None:
        self._memory = DeviceMemory()


def host_memory_bytes() -> int:
    """Return the size of the host's physical memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_emulates(device: Device, action: str) -> None:
    """Raise NoDevice for any device but the emulator, the only one that can do ``action``."""
    if not isinstance(device, Emulator):
        raise NoDevice(f"{device.name} cannot {action}; the device 'auto' is one that can")


def emulated_runs(
    loaded: LoadedKernel, observer: ObserverFactory, domain: ShadowDomain | None = None
) -> Iterator[KernelLaunch]:
    """Yield the launches of a kernel on the emulator, as :meth:`EmulatedModule.runs`."""
    assert isinstance(loaded.module, EmulatedModule)
    return loaded.module.runs(loaded.calls, observer, domain)


def _say_first_lines(text: str) -> None:
    """Write the first lines that a kernel printed to stderr, and the number of the others."""
    lines = text.splitlines(keepends=True)
    others = len(lines) - _MOST_LINES
    more = f"{others:,} further lines of printf are left out\n" if others > 0 else ""
    say_of_kernel("".join(lines[:_MOST_LINES]) + more)
