"""The kind of sizes that a file's program launches a kernel with: whole tiles, if nothing guards remainders."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint, multiples_of
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, ancestors, identifiers, text_of, walk
from mmcore_sources.cuda_file.inference.asserted_multiples import asserted_multiples
from mmcore_sources.cuda_file.inference.body import BUILT_IN, Body
from mmcore_sources.cuda_file.inference.expressions import (
    EXTENTS,
    LaunchText,
    SizeRule,
    evaluate,
    names_in,
    parse_expressions,
)
from mmcore_sources.cuda_file.inference.fragments import cast_vectors, whole_fragments
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, called_function, parameter_names
from mmcore_sources.cuda_file.inference.limits import conditions, words_of
from mmcore_sources.cuda_file.inference.loop_multiples import LoopMultiples
from mmcore_sources.cuda_file.inference.parameters import value_of
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.whole_tiles import covering_divisor_of_k, divisor_of_k, tiles_of
from mmcore_sources.cuda_file.repairs.loop_edits import quotients

_LARGE = 1024
_STEP = 128  # along k, which a grid does not divide
_STEPS = ("+=", "-=", "*=", "/=", "<<=", ">>=")
_COMPARES = re.compile(r"[<>]")


@dataclass(frozen=True)
class AtLeast:
    """A constraint: k is not less than a tile, as a pipeline may fill its stages before its loop along k.

    ``step`` is that of the loop, which is enough for a kernel without such a pipeline.
    """

    k: int
    step: int

    @property
    def description(self) -> str:
        return f"k is at least {self.k}"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return f"k = {problem.k} is less than {self.k}" if problem.k < self.k else None


def program_sizes(
    source: Program,
    body: Body,
    launch: HostLaunch | None,
    roles: Roles,
    rule: LaunchText,
    values: Mapping[str, Any],
    numbers: Mapping[str, int],
    by_columns: str,
) -> tuple[Constraint, ...]:
    """Return the multiples that the sizes of a kernel's own program are, if nothing guards remainders.

    A guard in a kernel guards none where the grid is rounded down, and only whole vectors and fragments of ``wmma``.

    ``values`` contains the extents of the block and the config, ``numbers`` those that the launch passes, by parameter,
    also of the template. ``by_columns`` are the matrices that are stored by columns. The result is what the host
    function asks for, if it does. It is empty if the program has remainders, or sizes that are not known.
    """
    large = {**values, **dict.fromkeys("mnk", _LARGE)}
    if launch is not None and (asked := _asserted(source, body, launch, roles, rule, large)):
        return asked
    sizes = roles.sizes_in(numbers)
    if roles.of_blocks:
        sizes = {**tiles_of(rule, large), **sizes}  # whole tiles at all sizes
    if "n" in sizes and "m" not in roles.sizes.values():
        # The kernel cannot see a remainder of rows whose number it does not get.
        sizes["m"] = sizes["n"]
    if sizes:
        sizes |= roles.fixed
    if launch is None or sizes.keys() < set("mnk") or _changes(launch):
        return ()
    values = {**values, **sizes}
    found = tiles_of(rule, values)
    # Blocks of a grid that fits every size count the tiles themselves.
    counted = {} if found else {role: _counted(source, body, launch, roles, role) for role in "mn"}
    steps = {role: found.get(role, 1) for role in "mn"} | counted
    down = any(names_in(each.left) & {"m", "n"} for each in rule.rounded_down)
    if not down and not any(each > 1 for each in counted.values()) and guards(body, set(roles.sizes)):
        vectors = rule.vectors | cast_vectors(body, roles.pointers, by_columns)
        fragments = {} if vectors else whole_fragments(source, body)
        if not fragments:
            vectors |= {"k": math.lcm(divisor_of_k(rule, values), vectors.get("k", 1))}
            return tuple(multiples_of(vectors)) if not any(sizes[role] % vectors[role] for role in vectors) else ()
        steps |= {role: fragments[role] for role in "mn" if role in fragments}
    multiple = _multiple_of_k(source, body, launch, roles, rule, values, numbers)
    tile = math.lcm(max(found.values(), default=1), multiple)
    steps["k"] = math.gcd(sizes["k"], multiple if multiple > 1 else min(tile, _STEP))
    steps |= dict.fromkeys(roles.equal, math.lcm(*(steps[role] for role in roles.equal)))
    if any(sizes[role] % step for role, step in steps.items()):
        return ()
    steps = {role: step for role, step in steps.items() if step > 1 and role not in roles.fixed}
    least = min(tile, _STEP, sizes["k"])
    step = steps.get("k", least)
    return (*multiples_of(steps), *([AtLeast(least, step)] if 1 < step < least else []))


def _asserted(
    source: Program, body: Body, launch: HostLaunch, roles: Roles, rule: LaunchText, values: Mapping[str, Any]
) -> tuple[Constraint, ...]:
    """Return the multiples that the host function asks for; none if tiles without a guard, or slices, are not whole."""
    pairs = zip(body.function.parameters, launch.arguments, strict=False)
    names = {text_of(passed): roles.sizes[each.name] for each, passed in pairs if each.name in roles.sizes}
    asked = asserted_multiples(source, launch, {name: role for name, role in names.items() if role in ("m", "n", "k")})
    asked |= dict.fromkeys(roles.equal, max((asked.get(role, 1) for role in roles.equal), default=1))
    tiles = tiles_of(rule, values).items()
    if any(asked.get(role, 1) % tile for role, tile in tiles) and not guards(body, set(roles.sizes)):
        return ()
    if asked.get("k", 1) % divisor_of_k(rule, values):
        return ()
    return tuple(multiples_of({role: asked[role] for role in "mnk" if role in asked}))


def _counted(source: Program, body: Body, launch: HostLaunch, roles: Roles, role: str) -> int:
    """Return the edge of the tiles that a kernel counts along a side of C, as in ``M / BM``; 1 if it counts none."""
    names = roles.names_of(role)
    divisors = (each.children[2] for each in quotients([*walk(body.function.body)]) if names & {*identifiers(each)})
    return math.lcm(*(value_of(text_of(each), source, launch) or 1 for each in divisors))


def _multiple_of_k(
    source: Program,
    body: Body,
    launch: HostLaunch,
    roles: Roles,
    rule: LaunchText,
    values: Mapping[str, Any],
    numbers: Mapping[str, int],
) -> int:
    """Return the multiple of k that the slices of a grid and the loops of a kernel leave no remainder of; else 1."""
    names = roles.names_of("k") or set(roles.sizes)
    limited = any(names & words_of(body, each) for each in conditions(body.function.body))
    slices = divisor_of_k(rule, values) if limited else covering_divisor_of_k(rule, values)
    passed = {name: number for name, number in numbers.items() if name not in roles.sizes}
    known = passed | _extents(rule, values)
    return math.lcm(slices, *LoopMultiples(source, body, launch, names, _parts(body, roles, values), known))


def _parts(body: Body, roles: Roles, values: Mapping[str, Any]) -> dict[str, int]:
    """Return the number that k is divided by, and rounded down, in what parameters get, such as 4 for ``k // 4``."""
    pairs = zip(body.function.parameters, roles.arguments, strict=False)
    rules = {each.name: role.value for each, role in pairs if isinstance(role, Scalar)}
    found = {name: divisor_of_k(LaunchText(str(rule)), values) for name, rule in rules.items()
             if isinstance(rule, SizeRule)}  # fmt: skip
    return {name: number for name, number in found.items() if number > 1}


def _extents(rule: LaunchText, values: Mapping[str, Any]) -> dict[str, int]:
    """Return the extents of the block, and of the grid where it is the same at all sizes, by name."""
    found = {f"blockDim.{axis}": values[name] for name, axis in EXTENTS.items() if name in values}
    for axis, part in zip("xyz", parse_expressions(rule.grid, "the grid"), strict=False):
        if not names_in(part) & {"m", "n", "k"}:
            with contextlib.suppress(InvalidKernel):
                found[f"gridDim.{axis}"] = int(evaluate(part, values))
    return found


def loop_steps(body: Body, sizes: set[str]) -> Iterator[Node]:
    """Yield the steps of a kernel's loops up to a size: 128 of ``t += 128``, 64 of ``t < K / 64``."""
    for quotient in quotients([*walk(body.function.body)]):
        if sizes & {*identifiers(quotient)}:
            yield quotient.children[2]
    for loop in walk(body.function.body):
        update = loop.child_by_field_name("update") if loop.type == "for_statement" else None
        if update is not None and update.type == "assignment_expression" and text_of(update.children[1]) == "+=":
            condition = loop.child_by_field_name("condition")
            if condition is not None and sizes & {*identifiers(condition)}:
                yield update.children[2]


def _changes(launch: HostLaunch) -> bool:
    """Return whether the host counts a size up other than by a loop around the launch, whose turns are known."""
    names = {name for each in launch.arguments for name in identifiers(each)}
    loops = (each for each in ancestors(launch.geometry[0]) if each.type == "for_statement") if launch.geometry else ()
    heads = [each.child_by_field_name("update") for each in loops]
    for node in walk(launch.scope):
        step = node.type == "update_expression"
        step |= node.type == "assignment_expression" and text_of(node.children[1]) in _STEPS
        target = node.child_by_field_name("left") or node.child_by_field_name("argument") if step else None
        if target is None or target.type not in ("identifier", "field_expression") or node in heads:
            continue
        if names & {*identifiers(target)}:
            return True
    return False


def guards(body: Body, sizes: set[str]) -> bool:
    """Return whether a kernel compares the place of a thread with a size, itself or in a function that it calls."""
    return any(_compares_places(body, each, sizes) for each in conditions(body.function.body)) or any(
        names & {*identifiers(each)} and _COMPARES.search(text_of(each))
        for function, names in _called(body, sizes)
        for each in conditions(function)
    )


def _compares_places(body: Body, condition: Node, sizes: set[str]) -> bool:
    words = words_of(body, condition)
    places = (kind for word in words for kind, _ in BUILT_IN.findall(word))
    return bool(words & sizes) and not {*places}.isdisjoint(("threadIdx", "blockIdx"))


def _called(body: Body, sizes: set[str]) -> Iterator[tuple[Node, set[str]]]:
    """Yield the file's functions that a kernel passes a size to, and the names of their parameters for it."""
    for call in walk(body.function.body):
        function = called_function(call) if call.type == "call_expression" else None
        if function is not None:
            pairs = zip(parameter_names(function), arguments_of(call), strict=False)
            if names := {name for name, argument in pairs if sizes & {*identifiers(argument)}}:
                yield function, names
