"""What a multiprocessor holds of a compiled kernel's launches, on a device or on any compute capability."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmcore.compile.module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.deadline import Deadline
from mmcore.devices.base import Device
from mmcore.compile.nvrtc import nearest_architecture
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties, capability_properties
from mmcore.planning.capabilities import multiprocessor
from mmcore_occupancy.theoretical import Occupancy, occupancy
from mmcore.planning.plan import Plan, plan
from mmcore.kernel.problem import Problem


@dataclass(frozen=True)
class Target:
    """Where kernels are thought to run.

    Attributes:
        limits: what it allows a launch to ask for.
        architecture: what to compile for, without prefix: "90".
        device: the device's name; empty for a mere compute capability.
    """

    limits: DeviceProperties
    architecture: str
    device: str = ""

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, (major, minor)."""
        return self.limits.compute_capability

    @property
    def compiled_for_another(self) -> bool:
        """Whether NVRTC makes no code for this compute capability, so that another's stands in for it."""
        return self.architecture != "".join(map(str, self.capability))


def device_target(device: Device) -> Target:
    """A device.

    Raises:
        UnknownCapability: the limits of its compute capability are not known.
    """
    limits = device.limits
    multiprocessor(limits.compute_capability)
    return Target(limits, device.architecture, device.name)


def capability_target(capability: tuple[int, int]) -> Target:
    """Any device of a compute capability, (major, minor), here or not.

    Raises:
        UnknownCapability: its limits are not known.
        CompilerMissing: NVRTC cannot be loaded.
    """
    return Target(capability_properties(capability), nearest_architecture(capability))


def target_plan(kernel: Kernel, problem: Problem, block: Dim3, target: Target) -> Plan:
    """What the kernel's rule makes of a problem there; raises as :func:`mmcore.planning.plan.plan`.

    A kernel that asks for no more than NVRTC's oldest architecture does not ask for that on its own account, and is
    planned for still older ones too.
    """
    if target.compiled_for_another and kernel.min_compute_capability <= _capability(target.architecture):
        kernel = replace(kernel, min_compute_capability=min(kernel.min_compute_capability, target.capability))
    return plan(kernel, problem, block, target.limits)


def launch_occupancies(plan: Plan, code: CompiledModule, capability: tuple[int, int]) -> tuple[Occupancy, ...]:
    """The occupancy of each of a compiled plan's launches, in order, whatever the size of its grid.

    Raises:
        UnknownCapability: the limits of that compute capability are not known.
    """
    occupancies = []
    for launch in plan.launches:
        function = code.functions[plan.entry(launch)]
        shared_bytes = function.static_shared_bytes + launch.shared_bytes
        threads = launch.block_dim.size
        occupancies.append(
            occupancy(capability, threads=threads, registers=function.registers, shared_bytes=shared_bytes)
        )
    return tuple(occupancies)


def compiled_occupancies(
    plan: Plan, target: Target, deadline: Deadline | None = None
) -> tuple[CompiledModule, tuple[Occupancy, ...]]:
    """Compile a plan, and say what a multiprocessor of the target holds of each of its launches.

    Args:
        plan: what is compiled.
        target: what for.
        deadline: when NVRTC is stopped; never when None.

    Raises:
        CompileError, InvalidKernel: the source does not become code.
        CompilerMissing: NVRTC is not installed.
    """
    code = compile_plan(plan, target.architecture, deadline)
    return code, launch_occupancies(plan, code, target.capability)


def _capability(architecture: str) -> tuple[int, int]:
    return int(architecture[:-1]), int(architecture[-1])
