"""A kernel of a third party. ``installation`` adds the errors of the other plugins of the zoo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import (
    Config,
    DeviceProperties,
    FlatBlock,
    Int32Index,
    Kernel,
    Launch,
    Problem,
    Workspace,
    ceil_div,
    hookimpl,
)
from mmcore.kernel.arguments import Argument


def tiles(problem: Problem) -> tuple[int, int]:
    """Return the grid that covers C with blocks of 16×16."""
    return ceil_div(problem.n, 16), ceil_div(problem.m, 16)


def noting(*arguments: str) -> Any:
    """Return a launch rule for the product and a note about it, which may keep data in the workspace "kept"."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, Launch]:
        kept = Workspace("kept", 4 * (problem.m * problem.n + 2))
        note: list[Argument] = [kept if each == "kept" else each for each in arguments]
        product: tuple[Argument, ...] | None = ("A", "B", "C", "m", "n", "k", kept) if kept in note else None
        return (
            Launch(tiles(problem), config.block, entry="product", arguments=product),
            Launch((1,), (1,), entry="note", arguments=tuple(note)),
        )

    return launch


@hookimpl
def mmcore_kernels() -> Kernel:
    """Return the kernel."""
    usual: dict[str, Any] = {"name": "zoo.good", "source": Path("kernel.cu"), "configs": [{"block": (16, 16)}]}
    usual["constraints"] = FlatBlock(), Int32Index()
    return Kernel(**usual)
