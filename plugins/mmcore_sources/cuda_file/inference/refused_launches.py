"""Launches of a program at its own sizes whose grid is no whole number of thread block clusters."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint, Multiple
from mmcore.kernel.geometry import ceil_div
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, sides, text_of, walk
from mmcore_sources.cuda_file.inference.asserted_multiples import ASSERTS
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.launch_conditions import LaunchedIf
from mmcore_sources.cuda_file.inference.product import Product
from mmcore_sources.cuda_file.inference.program_numbers import passed_numbers
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.untried_instances import instance_launches
from mmcore_sources.cuda_file.inference.whole_tiles import WholeClusters

_OF_CONFIG = ".gridDim"  # the grid of cudaLaunchKernelEx
_K = 128  # of a program whose k is not known, which few grids depend on


class RefusedLaunch(NamedTuple):
    """A launch that CUDA refuses.

    Attributes:
        line: its line.
        file: its file, if that is not the kernel's; else empty.
        reason: the reason in a clause, with the size.
    """

    line: int
    file: str
    reason: str


def refused_launches(
    kernel: SourceKernel, product: Product, rule: LaunchText, config: Config, constraints: Sequence[Constraint]
) -> Iterator[RefusedLaunch]:
    """Yield the launches whose grid cannot be cut into clusters, at the first size of the program that shows it.

    Where the user of the program gives the sizes, some are tried, as multiples that the ``constraints`` ask for. The
    grid is the launch's own.
    """
    if not rule.blocks_per_cluster:
        return
    clusters = WholeClusters(rule, product.roles.equal)
    others = [each for each in constraints if not isinstance(each, WholeClusters)]
    steps = _steps(others, config)
    for launch in (each for each in instance_launches(kernel) if not _depends_on_blocks(each)):
        for numbers in passed_numbers(kernel.source, kernel.function, launch):
            sizes = {"k": _K, **product.roles.sizes_in({**numbers, **product.launched}), **product.roles.fixed}
            if not sizes.keys() >= {"m", "n"}:
                continue
            with contextlib.suppress(MmcoreError):
                m, n, k = (ceil_div(sizes[name], steps[name]) * steps[name] for name in "mnk")
                problem = Problem(m, n, k)
                reason = clusters.cut(problem, config)
                if reason and not any(each.violation(problem, config) for each in others):
                    at = f"at {problem.m}×{problem.n}×{problem.k}, {reason}: CUDA refuses the launch"
                    yield RefusedLaunch(launch.line, launch.file, f"{at}; {clusters.advice}")
                    break


def _steps(constraints: Sequence[Constraint], config: Config) -> Mapping[str, int]:
    """Return the numbers that m, n and k are multiples of."""
    multiples = [each for each in constraints if isinstance(each, Multiple)]
    multiples += [one for each in constraints if isinstance(each, LaunchedIf) for one in each.multiples]
    return {name: math.lcm(*(each.step(config) for each in multiples if name in each.sizes)) for name in "mnk"}


def _depends_on_blocks(launch: HostLaunch) -> bool:
    """Return whether the host compares or changes the blocks of a grid, which may make its clusters whole."""
    sizes = {name for each in launch.arguments for name in identifiers(each)}
    names, before = {*identifiers(launch.geometry[0])} - sizes if launch.geometry else set[str](), set[str]()
    nodes = list(walk(launch.scope))
    declared = [identifiers(each) for each in nodes if each.type in ("init_declarator", "function_declarator")]
    while names != before:
        before = names
        names = names.union(*(used for name, *used in filter(None, declared) if name in names)) - sizes
    looked = [each for node in nodes for each in _compared_or_changed(node)]
    return any(names & {*identifiers(each)} or _OF_CONFIG in text_of(each) for each in looked)


def _compared_or_changed(node: Node) -> Iterator[Node]:
    """Yield the comparisons of a branch or an assertion, and the target of a change to a variable."""
    asserts = node.type == "call_expression" and ASSERTS.fullmatch(text_of(node.children[0]))
    if asserts or node.type in ("if_statement", "conditional_expression"):
        asked = node.child_by_field_name("arguments" if asserts else "condition")
        binary = (each for each in walk(asked) if each.type == "binary_expression") if asked is not None else ()
        yield from (each for each in binary if not any(inner.type == "call_expression" for inner in walk(each)))
    elif node.type == "update_expression":
        yield node
    elif node.type == "assignment_expression":
        target, operator, value = sides(node)
        if text_of(operator) != "=" or {*identifiers(target)} & {*identifiers(value)}:
            yield target
