"""Bugs of launches: blocks that no GPU runs, grids that leave a remainder out, and arguments of another type."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.tree import Node, text_of, walk, without_parentheses
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode, name_of
from mmcore_sources.cuda_file.inference.geometry import are_exchanged_by_name
from mmcore_sources.cuda_file.inference.roles import ELEMENTS

_MOST_THREADS = 1024
_PREFIX = re.compile(r"^(?:d|dev|device|h|host)_")
_REAL = ("float32", "float64", "float16", "bfloat16")
_CEILS = ("ceil", "ceilf")
_INTEGERS = ("int", "unsigned", "unsigned int", "size_t", "long", "long long", "int32_t", "uint32_t", "int64_t")


def too_many_threads(host: HostCode) -> Iterator[Bug]:
    """Find a block of more than 1,024 threads, or of none: the launch fails, and the kernel never runs."""
    for launch in host.launches:
        extents = host.extents(launch.geometry[1], launch.scope) if len(launch.geometry) > 1 else None
        threads = math.prod(extents or [1])
        if extents and not 1 <= threads <= _MOST_THREADS:
            shape = "×".join(map(str, extents)) + (f" = {threads}" if len(extents) > 1 else "")
            allowed = f"a GPU allows {_MOST_THREADS}, so that {launch.name} never runs"
            yield Bug("too-many-threads", launch.line, f"a block of {shape} threads is launched; {allowed}")


def empty_grid(host: HostCode) -> Iterator[Bug]:
    """Find a grid without blocks, such as ``n / 16`` for an n of 8."""
    for launch in host.launches:
        extents = host.extents(launch.geometry[0], launch.scope) if launch.geometry else None
        if extents and math.prod(extents) == 0:
            shape = f"{text_of(launch.geometry[0])} is {'×'.join(map(str, extents))}"
            yield Bug("empty-grid", launch.line, f"{shape}: a grid without blocks, so that {launch.name} never runs")


def exchanged_extents(host: HostCode) -> Iterator[Bug]:
    """Find a grid that a launch passes as the block, by its name, and the block in its place."""
    for launch in host.launches:
        if len(launch.geometry) < 2:
            continue
        if are_exchanged_by_name(launch):
            grid, block = map(text_of, launch.geometry[:2])
            what = f"the launch of {launch.name} has {grid} as its grid, and {block} as its block"
            yield Bug("exchanged-grid", launch.line, what)


def rounded_down_grid(host: HostCode) -> Iterator[Bug]:
    """Find a quotient in a grid that C rounds down although a remainder is left: 1000 / 16, or ``ceil(n / 16)``."""
    for launch in host.launches:
        kernel = host.kernel(launch)
        if not launch.geometry or (kernel is not None and "gridDim" in text_of(kernel.body)):
            continue  # blocks that go over the tiles of C in a loop leave nothing out
        nodes = [node for each in host.resolved(launch.geometry[0], launch.scope) for node in walk(each)]
        if host.changed(launch.scope) & {text_of(each) for each in nodes if each.type == "identifier"}:
            continue  # such as if (n % 16) grid.x++
        quotients = (each for each in nodes if each.type == "binary_expression")
        for node in quotients:
            if found := _remainder(host, node, launch.scope):
                line = node.start_point.row + 1 if host.contains(node) else launch.line
                yield Bug("rounded-down-grid", line, f"the grid of {launch.name} has {found[0]}", found[1], launch.line)
                break


def _remainder(host: HostCode, node: Node, scope: Node) -> tuple[str, str] | None:
    """Return a quotient that is rounded down and leaves a remainder, in words, and C if a part of it is left out."""
    above = node.parent
    while above is not None and above.type in ("parenthesized_expression", "argument_list", "cast_expression"):
        above = above.parent
    if text_of(node.children[1]) != "/" or _is_sum(node.children[0]):
        return None
    if above is not None and above.type == "binary_expression" and text_of(above.children[1]) in ("+", "*"):
        return None  # … + 1, or + (n % 16 != 0)
    try:
        quotient = host.reader(node, scope).number(node)
    except InvalidKernel:
        quotient = None
    if quotient is not None and not (isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.FloorDiv)):
        return None
    size, step = (host.value(each, scope) for each in (node.children[0], node.children[2]))
    if size and step and size > step > 1 and not _is_padded(host, node, scope, size, step):
        parts = _is_quotient(node.children[0])  # of which not each is an element of C
        left = f"with a remainder of {size % step}" if parts else f"and the last {size % step} are left out"
        shown = f"{size} / {step}"
        what = f"{text_of(node)}, which is {f'{shown} ' * (text_of(node) != shown)}rounded down, {left}"
        return (what, "" if parts else "C") if size % step else None
    rounds = above is not None and above.type == "call_expression" and text_of(above.children[0]).endswith(_CEILS)
    if rounds and all(_is_whole(host, each, scope) for each in (node.children[0], node.children[2])):
        return f"{text_of(above or node)}, where C rounds {text_of(node)} down before it calls ceil", ""
    return None


def _is_padded(host: HostCode, quotient: Node, scope: Node, size: int, step: int) -> bool:
    """Return whether a dividend's name stands for a sum that rounds up, such as ``padded = n + 15``."""
    sums = (each for each in host.resolved(quotient.children[0], scope) if _is_sum(each))
    terms = (host.value(term, scope) for each in sums for term in walk(each))
    return any(term is not None and 0 < size - term < step for term in terms)


def _is_sum(node: Node) -> bool:
    return _operator(node) in ("+", "-")


def _is_quotient(node: Node) -> bool:
    return _operator(node) == "/"


def _operator(node: Node) -> str:
    """Return the operator of a binary expression, in parentheses or not; empty for others."""
    node = without_parentheses(node)
    return text_of(node.children[1]) if node.type == "binary_expression" else ""


def _is_whole(host: HostCode, node: Node, scope: Node) -> bool:
    if node.type == "number_literal":
        return text_of(node).isdecimal()
    variable = host.variable(text_of(node), scope) if node.type == "identifier" else None
    return variable is not None and variable.stars == 0 and variable.type in _INTEGERS


def other_types(host: HostCode) -> Iterator[Bug]:
    """Find an array of one type of numbers that is passed to a kernel as a pointer to another."""
    for launch in host.launches:
        kernel = host.kernel(launch)
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False) if kernel else ():
            variable = host.variable(name_of(argument), launch.scope)
            if variable is None or variable.stars != 1 or not parameter.pointer:
                continue
            of_array, of_kernel = ELEMENTS.get(variable.type), ELEMENTS.get(parameter.type)
            if of_array != of_kernel and of_array in _REAL and of_kernel in _REAL:
                passed = f"{name_of(argument)} holds {variable.type}, and {launch.name} reads it as {parameter.type}"
                refused = "" if argument.type == "cast_expression" else "; nvcc refuses it"
                yield Bug("other-type", launch.line, passed + refused)


def pitch_in_bytes(host: HostCode) -> Iterator[Bug]:
    """Find a pitch of ``cudaMallocPitch``, in bytes, that a kernel multiplies indexes of larger elements by."""
    pitches = {name_of(each.arguments[1]) for each in host.calls
               if each.name == "cudaMallocPitch" and len(each.arguments) > 1}  # fmt: skip
    for launch in host.launches:
        kernel = host.kernel(launch)
        if kernel is None or "char" in text_of(kernel.body):
            continue
        element = next((each.type for each in kernel.parameters if each.pointer), "float")
        for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
            divided = re.search(rf"\b{re.escape(parameter.name)} ?(?:/|>>)", text_of(kernel.body))
            if text_of(argument) in pitches and divided is None:
                pitch = (
                    f"{text_of(argument)} is a pitch in bytes, and {launch.name} goes {parameter.name} elements per row"
                )
                right = f"{pitch}; {text_of(argument)} / sizeof({element}) is right"
                yield Bug("pitch-in-bytes", launch.line, right, "C")


def exchanged_sizes(host: HostCode) -> Iterator[Bug]:
    """Find two sizes that a launch passes for each other, by their names: N as ``m`` and M as ``n``."""
    for launch in host.launches:
        kernel = host.kernel(launch)
        pairs = list(zip(kernel.parameters, launch.arguments, strict=False)) if kernel else []
        passed = {_plain(one.name): _plain(name_of(argument)) for one, argument in pairs}
        crossed = [each for each in pairs if _is_crossed(_plain(each[0].name), passed)]
        if len(crossed) != 2 or any(one.pointer for one, _ in crossed):
            continue  # if A and B are exchanged, too, this is the product of the transposes
        values = {host.value(argument, launch.scope) for _, argument in crossed}
        if len(values) > 1 or None in values:
            words = [f"{text_of(argument)} as {one.name}" for one, argument in crossed]
            yield Bug("exchanged-sizes", launch.line, f"{launch.name} is passed {' and '.join(words)}")


def _plain(name: str) -> str:
    return _PREFIX.sub("", name.casefold())


def _is_crossed(name: str, passed: dict[str, str]) -> bool:
    return passed[name] != name and passed.get(passed[name]) == name
