"""poznan.v5: a 2×2 patch of C per thread, the next tiles prefetched into registers."""

from __future__ import annotations

from pathlib import Path

from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, Problem, Square, SquareBlock, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as C has whole tiles twice as wide and high as the block."""
    n, b = problem.n, block.x
    # The last step asks for the tiles behind the last. In A they begin at column n: the last row's furthest element is
    # at index (n - 1)·n + n + b - 1, which is b behind the last one, n·n - 1. In B they begin at row n: the furthest
    # element is at (n + b - 1)·n + n - 1, which is b rows, b·n elements, behind it.
    return Launch(grid=(n // (2 * block.x), n // (2 * block.y)), block=block, over_read={"A": b, "B": b * n})


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The report's version 5."""
    return [
        Kernel(
            name="poznan.v5",
            title="v4a with a 2×2 patch of C per thread: half the global loads per flop",
            lecture="Politechnika Poznańska, Programowanie CUDA na NVIDIA GPU, section 3.5, page 25, listing 6",
            source=Path(__file__).with_suffix(".cu"),
            entry="v5<{block.x}>",
            arguments=("C", "A", "B", "n"),
            launch=launch,
            blocks=((16, 16), (8, 8)),
            constraints=(Square(), Multiple("n", of="block.x", times=2), SquareBlock(), Int32Index()),
        )
    ]
