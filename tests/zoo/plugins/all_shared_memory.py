"""Wrong: asks for a little more shared memory than the device can give a block."""

from pathlib import Path

from mmcore import Dim3, FlatBlock, Int32Index, Kernel, Launch, DeviceProperties, Problem, ceil_div, hookimpl


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    """As many blocks as cover C, each with all the shared memory there is and sixteen bytes more."""
    return Launch(
        grid=(ceil_div(problem.n, block.x), ceil_div(problem.m, block.y)),
        block=block,
        shared_bytes=limits.shared_bytes_optin + 16,
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """The stranger's kernel."""
    return [
        Kernel(
            name="zoo.all_shared_memory",
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
