"""The plugin: the emulator as a device of mmcore, and its commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mmcore.errors import NoDevice
from mmcore.hookspecs import hookimpl, hookspec

if TYPE_CHECKING:
    from mmcore.devices.base import Device, DeviceProvider
    from mmcore.devices.loaded_kernel import LoadedKernel
    from mmcore.kernel.declaration import Kernel
    from mmcore.kernel.properties import DeviceProperties
    from mmcore.result import Result
    from mmcore.verdict import Findings
    from mmcore_emulator.adapter.device import Emulator

_APPROXIMATE = "approximate_operations"


class EmulatorProvider:
    """The provider of the emulator of one architecture; "emulator" has compute capability 9.0."""

    supports_timing = False

    def __init__(self, name: str = "emulator") -> None:
        self.name = name
        self.auto_priority = 0 if name == "emulator" else None

    def count(self) -> int:
        return 1

    def findings(self) -> Mapping[str, str]:
        emulator = self.open(0)
        size = f"{emulator.properties.memory_bytes / 1e9:.1f} GB"
        return {self.name: f"emulates {emulator.emulates}, with matrices of up to {size} in all"}

    def properties(self, index: int) -> DeviceProperties:
        return self.open(index).properties  # opening it only makes an object

    def open(self, index: int) -> Emulator:
        if index:
            raise NoDevice(f"{self.name}:{index} does not exist; there is one {self.name}")
        from mmcore_emulator.adapter.device import Emulator

        return Emulator(self.name)


@hookimpl
def mmcore_devices() -> list[DeviceProvider]:
    """Return the emulators, one of each architecture."""
    from mmcore_emulator.isa.architectures import CAPABILITIES

    return [EmulatorProvider(name) for name in CAPABILITIES]


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore check``, ``mmcore prove``, ``mmcore profile`` and ``mmcore explain``."""
    return {
        "check": "mmcore_emulator.adapter.check_command:check",
        "prove": "mmcore_emulator.adapter.prove_command:prove",
        "profile": "mmcore_emulator.adapter.profile_command:profile",
        "explain": "mmcore_emulator.adapter.explain_command:explain",
    }


@hookspec
def mmcore_checkers() -> Mapping[str, str]:  # type: ignore[empty-body]
    """Return the tools of ``mmcore check --with NAME`` by name, each as "module:function".

    The function takes a :class:`~mmcore.cell.Cell` and returns a :class:`~mmcore_emulator.adapter.check.Check`.
    """


@hookimpl
def mmcore_figures(kernel: LoadedKernel, device: Device) -> Mapping[str, float | None]:
    """Return the counts of a run on the emulator: warps' instructions, global sectors, flop per byte, bank conflicts.

    Operations whose bits are not specified on a GPU are counted too, if there are any.
    """
    from mmcore_emulator.adapter.device import EmulatedModule

    if not isinstance(kernel.module, EmulatedModule):
        return {}
    problem = kernel.plan.problem
    figures = kernel.module.figures.of(2 * problem.m * problem.n * problem.k)
    approximate = kernel.module.approximate_operations
    return {**figures, _APPROXIMATE: approximate} if approximate else figures


@hookimpl
def mmcore_findings(result: Result, kernel: Kernel, extent: str) -> Findings | None:
    """Return the hazards that the sanitizer finds, and the faults at the sizes that the code asks for."""
    from mmcore.verdict import UNSEARCHED
    from mmcore_emulator.adapter.findings import findings

    return None if extent in UNSEARCHED else findings(result, kernel, extent)


@hookimpl
def mmcore_hints(result: Result) -> Iterable[str]:
    """Return a hint that a GPU's bits may differ, for a product of approximate operations."""
    if number := result.figures.get(_APPROXIMATE):
        what = f"{number:,.0f} operations (such as div.approx or ex2.approx) are only approximate on a GPU"
        return [f"{what}: bits of C may differ there, within the bounds of the PTX manual"]
    return []
