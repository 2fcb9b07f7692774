"""Wrong: launches eight times the threads that it was asked for, which no device allows."""

from pathlib import Path

from mmcore import Config, DeviceProperties, FlatBlock, Int32Index, Kernel, Launch, Problem, ceil_div, hookimpl


def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """As many blocks as cover C, each eight layers deep."""
    grid = (ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y))
    return Launch(grid=grid, block=(config.block.x, config.block.y, 8))


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.too_many_threads",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        launch=launch,
        constraints=(FlatBlock(), Int32Index()),
    )
