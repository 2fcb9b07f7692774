"""Kernels that ask of the plugin interface what the lectures never do."""

from __future__ import annotations

from pathlib import Path

from mmcore import (
    Dim3,
    FlatBlock,
    Kernel,
    Launch,
    DeviceProperties,
    Multiple,
    Problem,
    Scalar,
    TensorMap,
    Workspace,
    ceil_div,
    hookimpl,
)

_HERE = Path(__file__).parent
_SPLITS = 4
_PANEL_ROWS = 32


def split_k_launches(problem: Problem, block: Dim3, limits: DeviceProperties) -> tuple[Launch, Launch]:
    """Partial sums over quarters of k, then their sum."""
    count = problem.m * problem.n
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


def panel_launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """One block for 32 rows and as many columns as it has threads; the rows of A stay in shared memory."""
    grid = (ceil_div(problem.n, block.x), ceil_div(problem.m, _PANEL_ROWS))
    return Launch(grid=grid, block=block, shared_bytes=2 * _PANEL_ROWS * problem.k)


def tensor_map_launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """Whole tiles over C, two blocks side by side in a cluster."""
    grid = (2 * ceil_div(problem.n, 2 * block.x), ceil_div(problem.m, block.y))
    return Launch(grid=grid, block=block, cluster=(2, 1))


SPLIT_K = Kernel(
    name="modern.split_k",
    title="partial sums over quarters of k, added by a second launch",
    lecture="mmcore's own tests",
    source=_HERE / "split_k.cu",
    entry="partial",
    arguments=(),
    launch=split_k_launches,
    blocks=((32, 8),),
    constraints=(FlatBlock(),),
)

BF16_PANEL = Kernel(
    name="modern.bf16_panel",
    title="bfloat16 inputs, float32 sums, a panel of A in dynamic shared memory",
    lecture="mmcore's own tests",
    source=_HERE / "bf16_panel.cu",
    entry="bf16_panel",
    arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc", Scalar(_PANEL_ROWS)),
    launch=panel_launch,
    blocks=((128,),),
    dtype="bfloat16",
    accumulator="float32",
    min_compute_capability=(8, 0),
)

TENSOR_MAP = Kernel(
    name="modern.tensor_map",
    title="tiles brought in by bulk tensor copies, blocks in clusters",
    lecture="mmcore's own tests",
    source=_HERE / "tensor_map.cu",
    entry="tensor_map",
    arguments=(TensorMap("A", (16, 16)), TensorMap("B", (16, 16)), "C", "m", "n", "k"),
    launch=tensor_map_launch,
    blocks=((16, 16),),
    constraints=(Multiple(("n", "k"), of=4),),
    defines={"TILE": "{block.x}"},
    architecture="90a",
    min_compute_capability=(9, 0),
)

MODERN = (SPLIT_K, BF16_PANEL, TENSOR_MAP)


@hookimpl
def mmcore_kernels() -> tuple[Kernel, ...]:
    """The modern kernels."""
    return MODERN
