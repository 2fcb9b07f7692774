"""A kernel's launch rule, as its author wrote it and as it works out for example problems."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mmcore.cli.kernels import argument_text
from mmcore.cli.options import USUAL_SIZE
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel, covering_grid
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan, plan


def source(kernel: Kernel) -> str:
    """The rule's source code, or its docstring where Python cannot find the code."""
    try:
        return inspect.getsource(_function(kernel)).rstrip()
    except (OSError, TypeError):
        return in_words(kernel)


def in_words(kernel: Kernel) -> str:
    """The rule's docstring; empty when it has none."""
    return " ".join((inspect.getdoc(_function(kernel)) or "").split())


def _function(kernel: Kernel) -> Callable[..., Any]:
    rule: Callable[..., Any] = kernel.launch or kernel.grid or covering_grid
    while isinstance(rule, functools.partial):
        rule = rule.func
    return rule


def entries(kernel: Kernel) -> list[str]:
    """The functions that are launched and what they take, in order, as declared or as read off the source."""
    planned = _planned(kernel, kernel.square_problem(USUAL_SIZE).n)
    texts = [
        f"{planned.entry(launch)}({', '.join(map(argument_text, planned.arguments(launch)))})"
        for launch in planned.launches
    ]
    return list(dict.fromkeys(texts))


def inferred(kernel: Kernel) -> list[str]:
    """What the declaration leaves to be read off the source."""
    return [
        *([] if kernel.entry else ["entry"]),
        *([] if kernel.arguments else ["arguments"]),
        *([] if kernel.launch or kernel.grid else ["grid"]),
    ]


def examples(kernel: Kernel) -> list[str]:
    """What the rule makes of the usual size, and of one element more where the constraints allow that."""
    usual, more = kernel.square_problem(USUAL_SIZE).n, USUAL_SIZE + 1
    problem = kernel.problem(more, more, more)
    both = usual == USUAL_SIZE and not kernel.violations(problem, kernel.fitting_config(problem))
    return [_example(kernel, size) for size in ((usual, more) if both else (usual,))]


def _example(kernel: Kernel, size: int) -> str:
    problem = kernel.problem(size, size, size)
    try:
        planned = _planned(kernel, size)
    except MmcoreError as error:
        return f"{problem}: {error}"
    grids = ", then ".join(f"{launch.block_dim} blocks in a {launch.grid_dim} grid" for launch in planned.launches)
    return f"{problem}: {grids}, {_over_read(planned)}"


def _over_read(planned: Plan) -> str:
    reads = [f"{elements} elements past {matrix}" for matrix in "ABC" if (elements := planned.over_read(matrix))]
    return f"may read {' and '.join(reads)}" if reads else "reads nothing past the matrices"


def _planned(kernel: Kernel, size: int) -> Plan:
    """The plan on an example of a device, as no device must be needed."""
    problem = kernel.problem(size, size, size)
    properties = DeviceProperties(compute_capability=max((9, 0), kernel.min_compute_capability))
    return plan(kernel, problem, kernel.fitting_config(problem), properties)
