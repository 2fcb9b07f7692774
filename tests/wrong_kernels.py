"""Small kernels that are wrong in one way each, made from one that is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from mmcore import Config, DeviceProperties, FlatBlock, Int32Index, Kernel, Launch, Problem, ceil_div
from tests.kernel_sources import kernel_source

LaunchRule: TypeAlias = Callable[[Problem, Config, DeviceProperties], Launch]

RIGHT = kernel_source("right")
ROW_BY_ROW = kernel_source("row_by_row")
BROADCAST = kernel_source("broadcast")
SIXTY_FOUR_ROWS = kernel_source("sixty_four_rows")


def covering(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Launch as many blocks as cover C."""
    return covering_by(config.block.y)(problem, config, device)


def covering_by(rows: int) -> LaunchRule:
    """Return the rule that covers C with blocks of a number of rows."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(ceil_div(problem.n, config.block.x), ceil_div(problem.m, rows)), block=config.block)

    return launch


def reading_past(**over_read: int) -> LaunchRule:
    """Return the rule that covers C and declares an over-read."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(covering(problem, config, device).grid, config.block, over_read=over_read)

    return launch


def rounding_down(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Launch as many whole blocks as fit into C, and at least one."""
    grid = (max(1, problem.n // config.block.x), max(1, problem.m // config.block.y))
    return Launch(grid=grid, block=config.block)


def kernel(folder: Path, *changes: tuple[str, str], source: str = RIGHT, **declared: Any) -> Kernel:
    """Return the kernel of ``source`` with parts of its text and of its declaration replaced."""
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    path = folder / "own.cu"
    path.write_text(source)
    constraints = (FlatBlock(), Int32Index())
    usual: dict[str, Any] = {
        "name": "tests.own",
        "source": path,
        "configs": [{"block": (16, 8)}],
        "constraints": constraints,
    }
    return Kernel(**usual | declared)
