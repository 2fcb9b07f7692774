"""The sizes at which a kernel's launch rule fails, or has more blocks than a GPU allows, found without running it."""

from __future__ import annotations

import bisect
import itertools

from mmcore.errors import InvalidKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan
from mmcore_emulator.adapter.allowed_sizes import with_fixed_sides

_LARGEST, _MOST_ELEMENTS = 1 << 30, 1 << 35  # what a GPU's memory may hold
_USUAL = ((41, 21, 35), (17, 18, 1), (1, 17, 131), (17, 1, 131))
_OTHERS = (1, 8, 16, 64, 128, 256)  # the other two sizes


def failing_size(kernel: Kernel, config: Config, device: DeviceProperties) -> str:
    """Return the error of a launch rule at a usual size that the constraints allow; "" if there is none."""
    for size in _USUAL:
        problem = with_fixed_sides(kernel, config, *size)
        try:
            if not kernel.violations(problem, config):
                Plan(kernel, problem, config, kernel.launches(problem, config, device))
        except InvalidKernel as error:
            return str(error)
    return ""


def refused_size(kernel: Kernel, config: Config, device: DeviceProperties, base: Problem) -> str:
    """Return the least m or n that a kernel allows and whose launch a GPU refuses, in a clause; "" if there is none.

    Args:
        kernel: the kernel.
        config: its config.
        device: its ``grid`` has the most blocks along each axis.
        base: a product that the kernel allows.

    Raises:
        MmcoreError: the launch rule or a constraint fails.
    """

    def product(axis: str, size: int, other: int) -> Problem:
        sizes = {name: size if name == axis else other for name in "mnk"}
        return kernel.problem(sizes["m"], sizes["n"], sizes["k"])

    def exceeded(problem: Problem) -> str:
        """Return the axis of the grid that has too many blocks."""
        grids = [launch.grid_dim for launch in kernel.launches(problem, config, device)]
        over = (name for name in Dim3._fields for grid in grids if getattr(grid, name) > getattr(device.grid, name))
        return next(over, "")

    for axis, other in itertools.product("mn", _OTHERS):
        step = size = getattr(base, axis)
        problem = product(axis, size, other)
        while size < _LARGEST and not kernel.violations(problem, config) and not exceeded(problem):
            size, problem = 2 * size, product(axis, 2 * size, other)
        elements = problem.m * problem.k + problem.k * problem.n + problem.m * problem.n
        if size >= _LARGEST or elements > _MOST_ELEMENTS or kernel.violations(problem, config):
            continue
        sizes = range(size // 2, size + 1, 1 if not kernel.violations(product(axis, size - 1, other), config) else step)
        first = sizes[bisect.bisect_left(sizes, True, key=lambda each: bool(exceeded(product(axis, each, other))))]
        blocks = exceeded(problem)
        most = getattr(device.grid, blocks)
        return f"from {axis} = {first:,} on, a GPU refuses the launch: more than {most:,} blocks along {blocks}"
    return ""
