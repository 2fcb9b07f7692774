"""From a kernel, a problem and a config to the launches that compute it, or to the reasons why not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mmcore.cell import Cell
from mmcore.errors import ConstraintViolation, InvalidKernel, InvalidProblem, MmcoreError, SharedMemoryExceeded
from mmcore.kernel.arguments import MATRICES, Argument, Scalar, Workspace, flattened, scalar_of, scalar_value
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3, ceil_div
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.registry import referenced_kernel, registry

DEFAULT = "the kernel's default"
"""Where a config comes from that is not tuned."""

_STATIC = re.compile(r"(?<!extern )\b__shared__\s")
_SHARED_MEMORY = "shared memory"


@dataclass(frozen=True)
class Plan:
    """A launch that nothing forbids.

    Attributes:
        kernel, config: the kernel, and its config.
        problem: the product as the device sees it (packed, unless the kernel takes leading dimensions).
        launches: the launches, in order; none where a library is called.
        forced: whether the kernel's own constraints were passed over.
        config_origin: the origin of the config; empty if the user named it.
    """

    kernel: Kernel
    problem: Problem
    config: Config
    launches: tuple[Launch, ...]
    forced: bool = False
    config_origin: str = ""

    def arguments(self, launch: Launch) -> tuple[Argument, ...]:
        """Return the arguments of one of the launches."""
        return self.kernel.arguments_of(self.entry(launch)) if launch.arguments is None else launch.arguments

    def entry(self, launch: Launch) -> str:
        """Return the name expression of one launch's kernel function."""
        return self.kernel.expand(self.kernel.entry_named(launch.entry), self.problem, self.config)

    @property
    def entries(self) -> tuple[str, ...]:
        """Every name expression the launches need, each once."""
        return tuple(dict.fromkeys(self.entry(launch) for launch in self.launches))

    @property
    def workspaces(self) -> dict[str, Workspace]:
        """The extra device memory that the launches ask for, by name."""
        arguments = [argument for launch in self.launches for argument in self.arguments(launch)]
        return {each.name: each for each in flattened(arguments) if isinstance(each, Workspace)}

    def over_read(self, matrix: str) -> int:
        """Return the elements past ``matrix`` that some launch may load but never use."""
        return max((launch.over_read.get(matrix, 0) for launch in self.launches), default=0)

    @property
    def device_bytes(self) -> int:
        """Device memory for the matrices, their over-read room and the workspaces, in bytes."""
        elements = {matrix: self.problem.span(matrix) + self.over_read(matrix) for matrix in MATRICES}
        matrices = sum(count * self.problem.dtype_of(matrix).itemsize for matrix, count in elements.items())
        return matrices + sum(workspace.nbytes for workspace in self.workspaces.values())


def plan_cell(cell: Cell, device: DeviceProperties, kernel: Kernel | None = None) -> Plan:
    """Return the plan of a cell; ``kernel`` is given if the cell cannot name it. Raises what :func:`plan` does."""
    kernel = kernel or referenced_kernel(cell.kernel)
    problem = cell.problem(kernel)
    config, origin = (kernel.config(**cell.config), "") if cell.config else usual_config(kernel, problem, device)
    return replace(plan(kernel, problem, config, device, force=cell.force), config_origin=origin)


def usual_config(kernel: Kernel, problem: Problem, device: DeviceProperties) -> tuple[Config, str]:
    """Return the config of a product that names none, and its origin: why it is tuned, or the kernel's default."""

    def fits(config: Config) -> bool:
        try:
            plan(kernel, problem, config, device)
        except MmcoreError:
            return False
        return True

    tuned = registry().hook.mmcore_tuned_config(kernel=kernel, problem=problem, device=device, fits=fits)
    return (tuned.item.config, tuned.item.why) if tuned else (kernel.fitting_config(problem), DEFAULT)


def plan(kernel: Kernel, problem: Problem, config: Config, device: DeviceProperties, *, force: bool = False) -> Plan:
    """Apply the kernel's launch rule. ``force`` ignores the kernel's own constraints, but not the device's limits.

    Raises:
        InvalidProblem: the problem's types or operation are not the kernel's.
        ConstraintViolation: a constraint or a device limit forbids the launch; it quotes each with its numbers.
        InvalidKernel: the rule raised, or did not return launches.
    """
    asked_types, kernel_types = (problem.dtype, problem.output), (kernel.dtype, kernel.output)
    if asked_types != kernel_types:
        types = ("→".join(dict.fromkeys(each)) for each in (kernel_types, asked_types))
        raise InvalidProblem(f"{kernel.name} computes {', not '.join(types)}")
    if not kernel.computes(problem):
        raise InvalidProblem(f"{kernel.name} computes {kernel.operation} {kernel.types}")
    problem = problem.packed_except(kernel.strided)
    if device.compute_capability < kernel.min_compute_capability:
        pairs = kernel.min_compute_capability, device.compute_capability
        needed, available = (".".join(map(str, pair)) for pair in pairs)
        raise ConstraintViolation(kernel.name, [f"it needs compute capability {needed}; the device has {available}"])
    reasons = launch_violations(device, Dim3(1), config.block, 0)
    if not force:
        reasons += kernel.violations(problem, config)
    if reasons:
        raise ConstraintViolation(kernel.name, reasons)
    planned = Plan(kernel, problem, config, kernel.launches(problem, config, device), force)
    _check_arguments(planned)
    for launch in planned.launches:
        reasons += launch_violations(device, launch.grid_dim, launch.block_dim, launch.shared_bytes)
        if min(launch.grid_dim) < 1:
            reasons.append(f"its rule gives an empty {launch.grid_dim} grid for {problem} with {config}")
    if planned.device_bytes > device.memory_bytes:
        over_read = ["what may be read behind them"] if any(map(planned.over_read, MATRICES)) else []
        what = " and ".join(["the matrices", *over_read, *(["workspaces"] if planned.workspaces else [])])
        sizes = f"{planned.device_bytes / 1e9:.1f} GB; the device has {device.memory_bytes / 1e9:.1f} GB"
        reasons.append(f"{what} take {sizes}")
    if reasons:
        raise violation(kernel, reasons)
    return planned


def violation(kernel: Kernel, reasons: list[str]) -> ConstraintViolation:
    """Return the error with the reasons why a device cannot launch a kernel."""
    of_memory = all(_SHARED_MEMORY in reason for reason in reasons)
    return (SharedMemoryExceeded if of_memory else ConstraintViolation)(kernel.name, list(dict.fromkeys(reasons)))


def _check_arguments(planned: Plan) -> None:
    """Reject numbers that their parameters cannot hold, and a workspace that is declared in two ways."""
    workspaces: dict[str, Workspace] = {}
    arguments = [each for launch in planned.launches for each in planned.arguments(launch)]
    try:
        for each in flattened(arguments):
            if isinstance(each, Workspace) and (known := workspaces.setdefault(each.name, each)) != each:
                sizes = f"{known.nbytes} bytes and {each.nbytes}"
                raise InvalidKernel(f"its workspace {each.name!r} is declared with {sizes}")
            if isinstance(each, Scalar) or (isinstance(each, str) and each not in MATRICES):
                scalar_value(scalar_of(each, planned.problem), planned.problem, planned.config)
    except InvalidKernel as error:
        raise InvalidKernel(f"{planned.kernel.name}: {error}") from None


def launch_violations(device: DeviceProperties, grid: Dim3, block: Dim3, dynamic_shared_bytes: int) -> list[str]:
    """Return the reasons why this geometry cannot be launched on the device."""
    shared = f"a block asks for {dynamic_shared_bytes} bytes of dynamic {_SHARED_MEMORY}"
    return _exceeded(
        (block.size, device.threads_per_block, f"a {block} block has {block.size} threads"),
        *(
            (threads, most, f"a {block} block has {threads} threads along {axis}")
            for axis, threads, most in zip(Dim3._fields, block, device.block, strict=True)
            if threads <= device.threads_per_block
        ),
        *(
            (blocks, most, f"a {grid} grid has {blocks} blocks along {axis}")
            for axis, blocks, most in zip(Dim3._fields, grid, device.grid, strict=True)
        ),
        (dynamic_shared_bytes, device.shared_bytes_optin, shared),
    )


def resource_violations(device: DeviceProperties, block: Dim3, registers: int, shared_bytes: int) -> list[str]:
    """Return the reasons why blocks with such registers per thread and shared memory in bytes cannot run."""
    # The hardware hands registers to whole warps in units of 256.
    needed = ceil_div(block.size, 32) * ceil_div(registers * 32, 256) * 256
    threads = f"a {block} block of threads with {registers} registers each"
    return _exceeded(
        (needed, device.registers_per_block, f"{threads} takes {needed} registers"),
        (shared_bytes, device.shared_bytes_optin, f"a block uses {shared_bytes} bytes of {_SHARED_MEMORY}"),
    )


def static_memory_violations(static_shared_bytes: int, most: int, source: str = "") -> list[str]:
    """Return the reason why no block can have such arrays in shared memory, whose size the ``source`` declares.

    ``most`` are the device's bytes of static shared memory in a block.
    """
    lines = [number for number, line in enumerate(source.splitlines(), 1) if _STATIC.search(line)]
    where = f" (line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))})" if lines else ""
    declared = f"the source declares {static_shared_bytes} bytes of static {_SHARED_MEMORY}{where}"
    return _exceeded((static_shared_bytes, most, f"{declared}, and more must be dynamic"))


def _exceeded(*limits: tuple[int, int, str]) -> list[str]:
    return [f"{sentence}; the device allows {most}" for amount, most, sentence in limits if amount > most]
