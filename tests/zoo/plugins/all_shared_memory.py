"""Wrong: asks for a little more shared memory than the device can give a block."""

from pathlib import Path

from mmcore import Config, DeviceProperties, FlatBlock, Int32Index, Kernel, Launch, Problem, ceil_div, hookimpl


def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """As many blocks as cover C, each with all the shared memory there is and sixteen bytes more."""
    grid = (ceil_div(problem.n, config.block.x), ceil_div(problem.m, config.block.y))
    return Launch(grid=grid, block=config.block, shared_bytes=device.shared_bytes_optin + 16)


@hookimpl
def mmcore_kernels() -> Kernel:
    """The kernel of a third party."""
    return Kernel(
        name="zoo.all_shared_memory",
        source=Path("kernel.cu"),
        configs=[{"block": (16, 16)}],
        launch=launch,
        constraints=(FlatBlock(), Int32Index()),
    )
