"""A kernel's launch rule, as its author wrote it and as it works out for example problems."""

from __future__ import annotations

import functools
import inspect
from dataclasses import replace

from mmcore.cli.kernels import USUAL_SIZE, argument_text, usual_size
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel, LaunchRule
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.capabilities import COMPUTE_9_0
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


def _function(kernel: Kernel) -> LaunchRule:
    rule = kernel.launch
    while isinstance(rule, functools.partial):
        rule = rule.func
    return rule


def entries(kernel: Kernel) -> list[str]:
    """The functions that are launched and what they take, in order, where a rule for the usual size tells."""
    try:
        planned = _planned(kernel, usual_size(kernel))
    except MmcoreError:
        called = [(kernel.entry, kernel.arguments)]
    else:
        called = [(launch.entry or kernel.entry, planned.arguments(launch)) for launch in planned.launches]
    texts = [f"{entry}({', '.join(map(argument_text, arguments))})" for entry, arguments in called]
    return list(dict.fromkeys(texts))


def examples(kernel: Kernel) -> list[str]:
    """What the rule makes of the usual size, and of one element more where the constraints allow that."""
    usual, more = usual_size(kernel), USUAL_SIZE + 1
    problem = kernel.problem(more, more, more)
    both = usual == USUAL_SIZE and not kernel.refusals(problem, kernel.fitting_block(problem))
    return [_example(kernel, size) for size in ((usual, more) if both else (usual,))]


def _example(kernel: Kernel, size: int) -> str:
    problem = kernel.problem(size, size, size)
    try:
        planned = _planned(kernel, size)
    except MmcoreError as error:
        return f"{problem} is refused: {error}"
    grids = ", then ".join(f"{launch.block_dim} blocks in a {launch.grid_dim} grid" for launch in planned.launches)
    return f"{problem}: {grids}, {_over_read(planned)}"


def _over_read(planned: Plan) -> str:
    reads = [f"{elements} elements past {matrix}" for matrix in "ABC" if (elements := planned.over_read(matrix))]
    return f"may read {' and '.join(reads)}" if reads else "reads nothing past the matrices"


def _planned(kernel: Kernel, size: int) -> Plan:
    problem = kernel.problem(size, size, size)
    return plan(kernel, problem, kernel.fitting_block(problem), _limits(kernel))


def _limits(kernel: Kernel) -> DeviceProperties:
    """DeviceProperties for an example, which must not need a device."""
    return replace(COMPUTE_9_0, compute_capability=max(COMPUTE_9_0.compute_capability, kernel.min_compute_capability))
