"""Wrong: the launch rule divides by zero."""

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, if only it could count them."""
    return Launch(grid=(problem.n // 0, ceil_div(problem.m, block.y)), block=block)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.rule_raises",
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
