"""poznan.v4a: tiles in shared memory, the next ones prefetched into registers."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, SquareBlock, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has whole tiles."""
    n, b = problem.n, block.x
    # The last step asks for the tiles behind the last. In A they begin at column n: the last row's furthest element is
    # at index (n - 1)·n + n + b - 1, which is b behind the last one, n·n - 1. In B they begin at row n: the furthest
    # element is at (n + b - 1)·n + n - 1, which is b rows, b·n elements, behind it.
    return Launch(grid=(n // block.x, n // block.y), block=block, over_read={"A": b, "B": b * n})


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The report's version 4(a)."""
    return [
        Kernel(
            name="poznan.v4a",
            title="v3 with the next tiles prefetched into registers",
            lecture="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.4, page 16, listing 4",
            source=Path(__file__).with_suffix(".cu"),
            entry="v4a<{block.x}>",
            arguments=("C", "A", "B", "n"),
            launch=launch,
            blocks=((16, 16), (8, 8)),
            constraints=(Square(), Multiple("n", of="block.x"), SquareBlock(), Int32Index()),
        )
    ]
