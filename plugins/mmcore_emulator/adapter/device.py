"""The emulator as a device of mmcore."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mmcore.compile.compiled_module import CompiledModule
from mmcore.deadline import Deadline
from mmcore.devices.base import BoundLaunch, Buffer, Call, Device, HostArray, MatrixMap, Refresh
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidProblem, NoDevice, TimeLimit, Unsupported, UnsupportedInstruction
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.messages import say
from mmcore_binaries.code import ptx_runs
from mmcore_emulator.adapter.conversions import execute, mmcore_errors, mmcore_violations, tensor_layout
from mmcore_emulator.api.geometry import check_launch_bounds, cluster_of
from mmcore_emulator.errors import LaunchError, PtxError
from mmcore_emulator.executor.kernel_launch import KernelLaunch, Progress, parameter_bytes
from mmcore_emulator.executor.module_variables import ModuleMemory
from mmcore_emulator.executor.shadow_domain import ShadowDomain
from mmcore_emulator.executor.translate import Translation, translate
from mmcore_emulator.isa.architectures import CAPABILITIES, architecture, described
from mmcore_emulator.machine import dim3
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory, leftover, poisoned
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.profiler.result_figures import Figures
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.reader import parse
from mmcore_occupancy.capabilities import capability_properties, multiprocessor
from mmcore_occupancy.theoretical import Occupancy

# What a matrix takes besides its copy in emulated memory: the host's own, one to compare with, and the reference.
_COPIES = 4
# The run of a module in which memory that nobody wrote holds numbers instead of NaN, as it may on a GPU.
_LEFTOVER_RUN = 3
_CLUSTERS_SINCE = (9, 0)


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

    def __init__(
        self, memory: DeviceMemory, code: CompiledModule, properties: DeviceProperties, deadline: Deadline
    ) -> None:
        self._memory = memory
        self._properties = properties
        self._deadline = deadline
        with mmcore_errors():
            self._functions = parse(code.ptx)
        self._module_memory = ModuleMemory(memory)
        self._translations: dict[tuple[str, bool, ShadowDomain | None], Translation] = {}
        self._run_number = 0
        # Tensor maps that are passed by pointer, by their content.
        self._maps: dict[bytes, Array] = {}
        #: PTX instructions executed by the last :meth:`run`, counted once per thread.
        self.thread_instructions = 0
        #: Results of the last :meth:`run` whose bits are not specified, counted once per thread.
        self.approximate_operations = 0
        #: What the last :meth:`run` counted.
        self.figures = Figures()

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        violations: list[Violation] = []
        self._run_number += 1
        if self._run_number == _LEFTOVER_RUN:
            self._memory.fill_over_reads()
        self.thread_instructions, self.approximate_operations, self.figures = 0, 0, Figures()
        for run in self.runs(calls, lambda translation: self.figures):
            self.figures.begin_launch()
            try:
                execute(run)
            except TimeLimit:
                return violations + mmcore_violations(run.violations.values())
            violations += mmcore_violations(run.violations.values())
            self.thread_instructions += run.thread_instructions
            self.approximate_operations += run.approximate_operations
        return violations

    def runs(
        self, calls: Sequence[Call], observer: Callable[[Translation], Observer], domain: ShadowDomain | None = None
    ) -> Iterator[KernelLaunch]:
        """Yield the launches, each ready to execute, with an observer that is made for its code.

        Args:
            calls: the calls; those of libraries are left out.
            observer: makes the observer.
            domain: what is computed beside each register and memory element.
        """
        launches = [call for call in calls if isinstance(call, BoundLaunch)]
        progress = Progress(sum(call.launch.grid_dim.size * call.launch.block_dim.size for call in launches))
        for call in launches:
            with mmcore_errors():
                launch = self._launch(call, observer, progress, domain)
            yield launch

    def _launch(
        self,
        call: BoundLaunch,
        observer: Callable[[Translation], Observer],
        progress: Progress,
        domain: ShadowDomain | None,
    ) -> KernelLaunch:
        launch, function = call.launch, self.function(call)
        translation = self._translation(call, domain)
        check_launch_bounds(function, dim3.Dim3(*launch.block_dim))
        values = [self._argument_bytes(argument) for argument in call.arguments]
        _check_parameters(function, values)
        resident = _resident_blocks(call, translation, self._properties)
        if launch.cooperative and launch.grid_dim.size > resident:
            blocks = f"{launch.grid_dim.size} blocks cannot wait for each other"
            raise LaunchError(f"{blocks}: the device has room for {resident} at once")
        return KernelLaunch(
            translation,
            dim3.Dim3(*launch.grid_dim),
            dim3.Dim3(*launch.block_dim),
            launch.shared_bytes,
            parameter_bytes(translation, values),
            self._memory,
            self._deadline,
            (observer(translation),),
            progress,
            resident,
            leftover if self._run_number == _LEFTOVER_RUN else poisoned,
            cluster=_cluster(launch, function, self._properties),
            multiprocessors=self._properties.multiprocessors,
            registers=call.function.registers if function.bounds_registers else 0,
            write=partial(say, end=""),
        )

    def function(self, call: BoundLaunch) -> Function:
        """The PTX of a launch."""
        symbol = call.function.symbol
        if symbol not in self._functions:
            raise PtxError(f"the PTX has no function {symbol}")
        return self._functions[symbol]

    def _argument_bytes(self, argument: Buffer | MatrixMap | np.generic) -> bytes:
        if isinstance(argument, np.generic):
            return argument.tobytes()
        if not isinstance(argument, MatrixMap):
            return argument.address.to_bytes(8, "little")
        layout = tensor_layout(argument)
        if problems := layout.problems():
            raise LaunchError(f"the tensor map of {argument.map.matrix} cannot be made: {problems[0]}")
        content = layout.encode()
        if not argument.map.pointer:
            return content
        if content not in self._maps:
            self._maps[content] = self._memory.define("a tensor map", len(content), content)
        return self._maps[content].base.to_bytes(8, "little")

    def _translation(self, call: BoundLaunch, domain: ShadowDomain | None) -> Translation:
        known_by = call.function.symbol, call.launch.cooperative, domain
        if known_by not in self._translations:
            function = self.function(call)
            addresses = self._module_memory.addresses(function, cooperative=call.launch.cooperative)
            self._translations[known_by] = translate(function, addresses, self._properties.compute_capability, domain)
        return self._translations[known_by]

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
        for array in self._maps.values():
            self._memory.free(array)
        self._module_memory.close()


def _resident_blocks(call: BoundLaunch, translation: Translation, properties: DeviceProperties) -> int:
    """How many blocks of a launch the emulated device holds at once."""
    shared = translation.layout.shared_bytes + call.launch.shared_bytes
    one = multiprocessor(properties.compute_capability)
    fitting = Occupancy(one, call.launch.block_dim.size, call.function.registers, shared).active_blocks
    return properties.multiprocessors * max(1, fitting)


def _check_parameters(function: Function, values: Sequence[bytes]) -> None:
    taken, given = [parameter.nbytes for parameter in function.parameters], [len(value) for value in values]
    if taken != given:
        raise PtxError(f"PTX function {function.name} takes parameters of {taken} bytes, not of {given}")


def _cluster(launch: Launch, function: Function, properties: DeviceProperties) -> dim3.Dim3:
    """Blocks of a cluster, of which the grid must have whole ones, as the launch or the source says."""
    asked = dim3.Dim3(*launch.cluster) if launch.cluster else None
    cluster = cluster_of(function, asked, dim3.Dim3(*launch.grid_dim))
    if cluster.size > 1 and properties.compute_capability < _CLUSTERS_SINCE:
        has = ".".join(map(str, properties.compute_capability))
        raise Unsupported(f"{function.name} is launched in clusters of {cluster}, which compute capability {has} lacks")
    return cluster


class Emulator:
    """A device that runs PTX on the host, checks every access and keeps no time.

    Args:
        name: which of the CAPABILITIES it has.

    Attributes:
        emulates: what it stands for, in words.
    """

    supports_timing = False
    peaks = None

    def __init__(self, name: str = "emulator") -> None:
        self._name = name
        self._capability = CAPABILITIES[name]
        self.architecture = architecture(self._capability)
        self.emulates = described(self._capability)
        self._memory = DeviceMemory()
        self.deadline = Deadline()

    @property
    def name(self) -> str:
        return self._name

    @property
    def identity(self) -> str:
        return self._name

    @property
    def facts(self) -> Mapping[str, Any]:
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
        if not (code.functions or code.ptx or code.cubin):
            raise Unsupported("a library is called, which runs on a GPU alone")
        if not code.ptx:
            raise UnsupportedInstruction(f"{code.source} has no PTX, and the emulator runs PTX")
        if not ptx_runs(code.architecture.removeprefix("sm_"), self.architecture):
            raise Unsupported(f"{code.source} is made for {code.architecture}; sm_{self.architecture} does not run it")
        return EmulatedModule(self._memory, code, capability_properties(self._capability), self.deadline)

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


def emulated_runs(
    loaded: LoadedKernel, observer: Callable[[Translation], Observer], domain: ShadowDomain | None = None
) -> Iterator[KernelLaunch]:
    """The launches of a kernel on the emulator, as :meth:`EmulatedModule.runs`."""
    assert isinstance(loaded.module, EmulatedModule)
    return loaded.module.runs(loaded.calls, observer, domain)
