"""How kernels are described, and the problem they are shown and run with when the user names none."""

from __future__ import annotations

from typing import Any

from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Argument, Scalar, TensorMap, Workspace
from mmcore.registry import Registered

USUAL_SIZE = 640
"""The lectures' own first example."""


def summary(registered: Registered) -> dict[str, Any]:
    """What ``list-kernels --json`` says of a kernel."""
    kernel = registered.kernel
    return {
        "name": kernel.name,
        "title": kernel.title,
        "lecture": kernel.lecture,
        "dtype": kernel.dtype,
        "operation": kernel.operation,
        "blocks": [list(dim3(block)) for block in kernel.blocks],
        "constraints": sentences(kernel),
        "known_bugs": list(kernel.known_bugs),
        "plugin": registered.plugin,
        "distribution": registered.distribution,
        "source": str(kernel.source),
    }


def sentences(kernel: Kernel) -> list[str]:
    """Its constraints in words."""
    return [constraint.sentence for constraint in kernel.constraints]


def blocks(kernel: Kernel) -> str:
    """The block shapes it is meant for, on one line."""
    return " ".join(str(dim3(block)) for block in kernel.blocks)


def typed_operation(kernel: Kernel) -> str:
    """Operation and types: "C=AB f32", or "C=AB f16→f32" where C's type is not that of A and B."""
    types = "→".join(dict.fromkeys((kernel.dtype, kernel.output)))
    return f"{kernel.operation} {types}{kernel.sums}".replace("float", "f")


def usual_size(kernel: Kernel, block: Dim3 | None = None, least: int = USUAL_SIZE) -> int:
    """The size m = n = k to take when the user gives none: ``least``, or the next that the block allows.

    Any declared block will do when ``block`` is None. It is ``least`` again where there is none such, so that the
    refusal can say why.
    """
    return kernel.square_problem(least, *([block] if block else [])).n


def argument_text(argument: Argument) -> str:
    """An argument of a kernel function, as its signature would have it."""
    if isinstance(argument, Scalar):
        return f"{argument.type} {argument.value}"
    if isinstance(argument, Workspace):
        return f"workspace {argument.name} ({argument.nbytes} bytes)"
    if isinstance(argument, TensorMap):
        return f"tensor map of {argument.matrix} in boxes of {Dim3(*argument.box)}"
    return argument
