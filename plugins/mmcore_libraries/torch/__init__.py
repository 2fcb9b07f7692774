"""PyTorch's matmul as kernels, one for each type, as a Python program calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mmcore import Config, Kernel, Problem, Unsupported, hookimpl

if TYPE_CHECKING:
    from mmcore.devices.base import Operand

_TYPES = ("float32", "tf32", "float64", "float16", "bfloat16")


def _matmul(problem: Problem, config: Config, operands: Mapping[str, Operand]) -> Callable[[int], object]:
    try:
        import torch
    except ImportError:
        raise Unsupported("PyTorch is not installed; see https://pytorch.org") from None
    bfloat16 = problem.dtype == "bfloat16"
    a, b, c = (torch.as_tensor(operands[matrix], device="cuda") for matrix in "ABC")
    if bfloat16:
        a, b, c = (each.view(torch.bfloat16) for each in (a, b, c))

    def enqueue(stream: int) -> None:
        torch.backends.cuda.matmul.allow_tf32 = problem.dtype == "tf32"
        with torch.cuda.stream(torch.cuda.ExternalStream(stream)):
            torch.matmul(a, b, out=c)

    enqueue(torch.cuda.current_stream().cuda_stream)  # allocates memory, which is not allowed during a graph capture
    torch.cuda.synchronize()
    return enqueue


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return one kernel for each type."""
    return [
        Kernel(
            name=f"torch.{dtype}",
            title=f"torch.matmul of {dtype}",
            call=_matmul,
            dtype=dtype,
            output="float32" if dtype == "tf32" else dtype,
        )
        for dtype in _TYPES
    ]
