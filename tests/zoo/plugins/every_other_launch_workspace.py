"""Every second launch does nothing; it remembers in a workspace."""

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, Workspace, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> tuple[Launch, Launch]:
    """The product, and a note that it has been made."""
    kept = Workspace("kept", 4)
    grid = (ceil_div(problem.n, block.x), ceil_div(problem.m, block.y))
    return (
        Launch(grid=grid, block=block, arguments=("A", "B", "C", "m", "n", "k", kept)),
        Launch(grid=(1,), block=(1,), entry="note", arguments=(kept,)),
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.every_other_launch_workspace",
            title="a thread for each element",
            lecture="the zoo",
            source=Path(__file__).with_name("kernel.cu"),
            entry="product",
            arguments=("A", "B", "C", "m", "n", "k"),
            launch=launch,
            blocks=((16, 16),),
            constraints=(FlatBlock(), Int32Index()),
        )
    ]
