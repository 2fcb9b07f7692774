"""Kernels that use parts of the plugin interface that the lectures' kernels do not use."""

from __future__ import annotations

from pathlib import Path

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
)
from mmcore.kernel.arguments import Argument

_HERE = Path(__file__).parent
_SPLITS = 4
_PANEL_ROWS = 32


def split_k_launches(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, Launch]:
    """Return a launch for the sums over quarters of k, and one that adds these."""
    block, count = config.block, problem.m * problem.n
    parts, splits = Workspace("parts", 4 * _SPLITS * count), Scalar(_SPLITS)
    grid = ceil_div(problem.n, block.x), ceil_div(problem.m, block.y), _SPLITS
    return (
        Launch(grid, block, entry="partial", arguments=("A", "B", parts, "m", "n", "k", splits)),
        Launch((ceil_div(count, 256),), (256,), entry="add_parts", arguments=(parts, "C", Scalar(count), splits)),
    )


def panel_launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Return a launch whose blocks compute 32 rows, a column in each thread, with A's rows in shared memory."""
    grid = ceil_div(problem.n, config.block.x), ceil_div(problem.m, _PANEL_ROWS)
    return Launch(grid, config.block, shared_bytes=2 * _PANEL_ROWS * problem.k)


def tensor_map_launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Return a launch of tiles of C in clusters of two blocks side by side."""
    grid = 2 * ceil_div(problem.n, 2 * config.TILE), ceil_div(problem.m, config.TILE)
    return Launch(grid, config.block, cluster=(2, 1))


SPLIT_K = Kernel(
    name="modern.split_k",
    source=_HERE / "split_k.cu",
    entry="partial",
    launch=split_k_launches,
    configs=[{"block": (32, 8)}],
    constraints=(FlatBlock(),),
)

BF16_PANEL = Kernel(
    name="modern.bf16_panel",
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
    source=_HERE / "tensor_map.cu",
    arguments=(TensorMap("A", (16, 16)), TensorMap("B", (16, 16)), "C", "m", "n", "k"),
    launch=tensor_map_launch,
    configs=[{"block": (16, 16), "TILE": "{block.x}"}],
    constraints=(Multiple(("n", "k"), of=4),),
    architecture="90a",
    min_compute_capability=(9, 0),
)


def _panels(entry: str, *rest: Argument, pointer: bool = False) -> Kernel:
    """Return a kernel that reads A as panels of eight columns, and B by columns, through tensor maps of three axes."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        m, n, k, lda, ldb = problem.m, problem.n, problem.k, problem.lda, problem.ldb
        a = TensorMap("A", (2, 16, 8), extents=(k // 8, m, 8), strides=(8, lda, 1), pointer=pointer)
        b = TensorMap("B", (1, 16, 16), extents=(1, n, k), strides=(n * ldb, ldb, 1), pointer=pointer)
        return Launch((ceil_div(n, 16), ceil_div(m, 16)), config.block, arguments=(a, b, *rest), dependent=True)

    return Kernel(
        name=f"modern.{entry}",
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
    source=_HERE / "operands.cu",
    entry="from_structure",
    arguments=(Struct(("A", "m", "n", "k", "B", "C", b"x")),),
    configs=[{"block": (16, 16)}],
)

ADD_SLICES = Kernel(
    name="modern.add_slices",
    source=_HERE / "operands.cu",
    entry="add_slices",
    arguments=("A", "B", "C", "m", "n", "k", Workspace("arrived", content=bytes(4))),
    launch=lambda problem, config, device: Launch((4,), config.block, cooperative=True),
    configs=[{"block": (128,)}],
    initial_c="zeros",
)
