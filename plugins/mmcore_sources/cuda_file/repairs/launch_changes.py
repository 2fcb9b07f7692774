"""Changes of the launches of a registered kernel: exchanged axes or sizes, more threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan

_Change: TypeAlias = Callable[[Launch], Launch]


def launch_changes(planned: Plan) -> Iterator[tuple[Kernel, str]]:
    """Yield kernels of which one launch differs from a plan's, each with the change in words."""
    kernel = planned.kernel
    grid, rule = ("grid=", "") if kernel.launch is None else ("launch=", "launch=")
    for number, launch in enumerate(planned.launches):
        of = f" of {planned.entry(launch)}" if len(planned.launches) > 1 else ""
        if launch.grid_dim.x != launch.grid_dim.y:
            yield _with(kernel, number, _exchanged_axes), f"x and y of the grid{of} exchanged in {grid}"
        for one, other in itertools.combinations("mnk", 2):
            exchanged = _exchanged_sizes({one: other, other: one})
            if exchanged(launch) != launch:
                yield (
                    _with(kernel, number, exchanged),
                    f'"{one}" and "{other}" exchanged in the arguments{of} in {rule}',
                )
        for axis in "yx":
            where = rule or '"block" of configs='
            yield _with(kernel, number, _doubled(axis)), f"twice as many threads{of} along {axis} in {where}"


def renamed(argument: Argument, names: Mapping[str, str]) -> Argument:
    """Return an argument, a size among them by its new name."""
    if isinstance(argument, Scalar):
        return replace(argument, value=names.get(str(argument.value), argument.value))
    return names.get(argument, argument) if isinstance(argument, str) else argument


def _with(kernel: Kernel, number: int, change: _Change) -> Kernel:
    """Return a kernel whose launch of a number is changed."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        launches = kernel.launches(problem, config, device)
        return [change(each) if at == number else each for at, each in enumerate(launches)]

    return replace(kernel, launch=rule, grid=None, shared_bytes=0, over_read=None)


def _exchanged_axes(launch: Launch) -> Launch:
    x, y, z = launch.grid_dim
    return replace(launch, grid=(y, x, z))


def _exchanged_sizes(names: Mapping[str, str]) -> _Change:
    def change(launch: Launch) -> Launch:
        arguments = launch.arguments and tuple(renamed(each, names) for each in launch.arguments)
        return replace(launch, arguments=arguments)

    return change


def _doubled(axis: str) -> _Change:
    def change(launch: Launch) -> Launch:
        return replace(launch, block=launch.block_dim._replace(**{axis: 2 * getattr(launch.block_dim, axis)}))

    return change
