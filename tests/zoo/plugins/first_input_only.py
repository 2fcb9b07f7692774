"""From the second launch on it computes something else; it remembers in a device variable."""

from pathlib import Path

from mmcore import Config, DeviceProperties, FlatBlock, Int32Index, Kernel, Launch, Problem, ceil_div, hookimpl


def launch(problem: Problem, config: Config, device: DeviceProperties) -> tuple[Launch, Launch]:
    """The product, and a note that it has been made."""
    grid = (ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y))
    return (Launch(grid=grid, block=config.block), Launch(grid=(1,), block=(1,), entry="note", arguments=()))


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.first_input_only",
        source=Path("kernel.cu"),
        entry="product",
        configs=[{"block": (16, 16)}],
        launch=launch,
        constraints=(FlatBlock(), Int32Index()),
    )
