"""The occupancy of a compiled kernel's launches, on any compute capability."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.measure import Phases
from mmcore.planning.plan import Plan, plan
from mmcore_cuda.nvrtc.bindings import nvrtc_version
from mmcore_cuda.occupancy.theoretical import Occupancy, multiprocessor, occupancy
from mmcore_emulator.adapter.conversions import capability_properties


class Target(NamedTuple):
    """A compute capability, (major, minor), and the architecture to compile for: "90", or the nearest available.

    7.5 is the least architecture, because it is the oldest that mmcore runs on; CUDA 12's NVRTC knows older ones.
    """

    capability: tuple[int, int]
    architecture: str


def device_capability(device: Device, phases: Phases) -> tuple[int, int]:
    """Return the compute capability of a device, (major, minor)."""
    return device.properties.compute_capability


def capability_target(capability: tuple[int, int]) -> Target:
    """Return the target of a compute capability, with or without such a device.

    Raises UnknownCapability, or CompilerMissing if NVRTC cannot be loaded.
    """
    nvrtc_version()
    from cuda.bindings import nvrtc

    _, supported = nvrtc.nvrtcGetSupportedArchs()
    wanted = capability[0] * 10 + capability[1]
    major, minor = Kernel.min_compute_capability
    known = [number for number in supported if number >= 10 * major + minor]
    nearest = str(min(known, key=lambda number: abs(number - wanted)))
    return Target(multiprocessor(capability).capability, nearest)


def target_plan(kernel: Kernel, problem: Problem, config: Config, target: Target) -> Plan:
    """Return the plan of a problem on the target; it raises as :func:`mmcore.planning.plan.plan`.

    A kernel that asks for no more than the oldest architecture compiled for is planned for still older ones too.
    """
    compiled = int(target.architecture[:-1]), int(target.architecture[-1])
    if target.capability < kernel.min_compute_capability <= compiled:
        kernel = replace(kernel, min_compute_capability=target.capability)
    return plan(kernel, problem, config, capability_properties(target.capability))


def launch_occupancies(plan: Plan, module: CompiledModule, capability: tuple[int, int]) -> list[Occupancy]:
    """Return the occupancy of each launch of a compiled plan, for a grid of any size. Raises UnknownCapability."""
    occupancies = []
    for launch in plan.launches:
        function, threads = module.functions[plan.entry(launch)], launch.block_dim.size
        shared_bytes = function.static_shared_bytes + function.dynamic_shared_bytes + launch.shared_bytes
        figures = {"threads": threads, "registers": function.registers, "shared_bytes": shared_bytes}
        occupancies.append(occupancy(capability, **figures))
    return occupancies


def compiled_occupancies(plan: Plan, target: Target) -> tuple[CompiledModule, list[Occupancy]]:
    """Compile a plan for the target; return the module, and the occupancy of each launch."""
    module = compile_plan(plan, target.architecture)
    return module, launch_occupancies(plan, module, target.capability)
