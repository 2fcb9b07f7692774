"""upc.kernel11: tiles in shared memory and a tail tile; any size will do."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Problem, SquareBlock, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, rounded up. The loads go on to the edge of the last tile in every direction."""
    m, n, k = problem.m, problem.n, problem.k
    grid = Dim3(ceil_div(n, block.x), ceil_div(m, block.y))
    # Tiles cover A to row `rows` and column `depth`, and B to row `depth` and column `columns`, none of these included.
    rows, columns, depth = grid.y * block.y, grid.x * block.x, ceil_div(k, block.x) * block.x
    # The furthest load from A is at index (rows - 1)·k + depth - 1, the furthest from B at (depth - 1)·n + columns - 1.
    # One more than that, less the m·k (k·n) elements that there are, is what lies behind the matrix.
    over_read = {"A": (rows - 1) * k + depth - m * k, "B": (depth - 1) * n + columns - k * n}
    return Launch(grid=grid, block=block, over_read=over_read)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The lecture's last kernel."""
    return [
        Kernel(
            name="upc.kernel11",
            title="kernel10 for any size: a tail tile takes the rest of k, and the store is guarded",
            lecture="UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – Producto de Matrices, slides 21–29",
            source=Path(__file__).with_suffix(".cu"),
            entry="kernel11",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((32, 32), (16, 16), (8, 8)),
            constraints=(SquareBlock(), Int32Index()),
            defines={"TILE": "{block.x}"},
        )
    ]
