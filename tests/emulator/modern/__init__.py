"""Kernels that ask of the plugin interface what the lectures never do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmcore import (
    Config,
    DeviceProperties,
    FlatBlock,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Struct,
    TensorMap,
    Workspace,
    ceil_div,
    hookimpl,
)
from mmcore.kernel.arguments import Argument

_HERE = Path(__file__).parent
_SPLITS = 4
_PANEL_ROWS = 32


def split_k_launches(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, Launch]:
    """Partial sums over quarters of k, then their sum."""
    block, count = config.block, problem.m * problem.n
    parts = Workspace("parts", 4 * _SPLITS * count)
    splits = Scalar(_SPLITS)
    return (
        Launch(
            grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y), _SPLITS),
            block=block,
            entry="partial",
            arguments=("A", "B", parts, "m", "n", "k", splits),
        ),
        Launch(
            grid=(ceil_div(count, 256),), block=(256,), entry="add_parts", arguments=(parts, "C", Scalar(count), splits)
        ),
    )


def panel_launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """One block for 32 rows and as many columns as it has threads; the rows of A stay in shared memory."""
    grid = (ceil_div(problem.n, config.block.x), ceil_div(problem.m, _PANEL_ROWS))
    return Launch(grid=grid, block=config.block, shared_bytes=2 * _PANEL_ROWS * problem.k)


def tensor_map_launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Whole tiles over C, two blocks side by side in a cluster."""
    grid = (2 * ceil_div(problem.n, 2 * config.TILE), ceil_div(problem.m, config.TILE))
    return Launch(grid=grid, block=config.block, cluster=(2, 1))


SPLIT_K = Kernel(
    name="modern.split_k",
    title="partial sums over quarters of k, added by a second launch",
    source=_HERE / "split_k.cu",
    entry="partial",
    launch=split_k_launches,
    configs=[{"block": (32, 8)}],
    constraints=(FlatBlock(),),
)

BF16_PANEL = Kernel(
    name="modern.bf16_panel",
    title="bfloat16 inputs, float32 sums, a panel of A in dynamic shared memory",
    source=_HERE / "bf16_panel.cu",
    arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc", Scalar(_PANEL_ROWS)),
    launch=panel_launch,
    configs=[{"block": (128,)}],
    dtype="bfloat16",
    accumulator="float32",
    min_compute_capability=(8, 0),
)

TENSOR_MAP = Kernel(
    name="modern.tensor_map",
    title="tiles brought in by bulk tensor copies, blocks in clusters",
    source=_HERE / "tensor_map.cu",
    arguments=(TensorMap("A", (16, 16)), TensorMap("B", (16, 16)), "C", "m", "n", "k"),
    launch=tensor_map_launch,
    configs=[{"block": (16, 16), "TILE": "{block.x}"}],
    constraints=(Multiple(("n", "k"), of=4),),
    architecture="90a",
    min_compute_capability=(9, 0),
)


def panel_maps(*, pointer: bool = False) -> Callable[[Problem], tuple[TensorMap, TensorMap]]:
    """The maps of panels.cu: A as panels of eight columns, B as it lies, by columns."""

    def maps(problem: Problem) -> tuple[TensorMap, TensorMap]:
        m, n, k = problem.m, problem.n, problem.k
        a = TensorMap("A", (2, 16, 8), extents=(k // 8, m, 8), strides=(8, problem.lda, 1), pointer=pointer)
        b = TensorMap("B", (1, 16, 16), extents=(1, n, k), strides=(n * problem.ldb, problem.ldb, 1), pointer=pointer)
        return a, b

    return maps


def _panels(entry: str, *rest: Argument, **map_options: Any) -> Kernel:
    maps = panel_maps(**map_options)

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        grid = ceil_div(problem.n, 16), ceil_div(problem.m, 16)
        return Launch(grid=grid, block=config.block, arguments=(*maps(problem), *rest), dependent=True)

    return Kernel(
        name=f"modern.{entry}",
        title="tiles brought in through tensor maps of three axes, B stored by columns",
        source=_HERE / "panels.cu",
        entry=entry,
        launch=launch,
        configs=[{"block": (16, 16)}],
        column_major="B",
        constraints=(Multiple("k", of=8),),
        min_compute_capability=(9, 0),
    )


PANELS = (
    _panels("by_value", "C", "m", "n", "k"),
    _panels("by_pointer", "C", "m", "n", "k", pointer=True),
    _panels("with_structure", Struct(("C", "m", "n", "k"))),
)

FROM_STRUCTURE = Kernel(
    name="modern.from_structure",
    title="pointers and sizes in a structure, by value",
    source=_HERE / "operands.cu",
    entry="from_structure",
    arguments=(Struct(("A", "m", "n", "k", "B", "C", b"x")),),
    configs=[{"block": (16, 16)}],
)

ADD_SLICES = Kernel(
    name="modern.add_slices",
    title="slices of k added to a C of zeros by blocks that wait for each other",
    source=_HERE / "operands.cu",
    entry="add_slices",
    arguments=("A", "B", "C", "m", "n", "k", Workspace("arrived", content=bytes(4))),
    launch=lambda problem, config, device: Launch(grid=(4,), block=config.block, cooperative=True),
    configs=[{"block": (128,)}],
    initial_c="zeros",
)

MODERN = (SPLIT_K, BF16_PANEL, TENSOR_MAP, FROM_STRUCTURE, ADD_SLICES, *PANELS)


@hookimpl
def mmcore_kernels() -> tuple[Kernel, ...]:
    """The modern kernels."""
    return MODERN
