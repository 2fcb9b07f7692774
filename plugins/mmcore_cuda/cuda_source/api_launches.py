"""Launches by calls of the runtime: ``cudaLaunchKernel(kernel, grid, block, arguments, bytes, stream)``.

``cudaLaunchKernelEx(&config, kernel, a, b, c)`` has grid, block and bytes as members of a structure.
"""

from __future__ import annotations

from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, initializers, instance_of, pointed, text_of, walk

_CALLS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_CONFIGURED = ("cudaLaunchKernelEx", "cudaLaunchKernelExC")
_MEMBERS = ("gridDim", "blockDim", "dynamicSmemBytes")


class ApiLaunch(NamedTuple):
    """The parts of a launch: the kernel's name, its template's arguments, grid, block and bytes, and the arguments."""

    name: str
    template: tuple[str, ...]
    geometry: tuple[Node, ...]
    arguments: tuple[Node, ...]


def api_launch(call: Node, scope: Node) -> ApiLaunch | None:
    """Return the launch that a call in a host function makes; None for other calls."""
    listed = call.child_by_field_name("arguments")
    passed = [] if listed is None else [each for each in listed.named_children if each.type != "comment"]
    if text_of(call.children[0]) in _CONFIGURED and len(passed) > 1:
        return _configured(passed, scope, in_array=text_of(call.children[0]).endswith("C"))
    if text_of(call.children[0]) not in _CALLS or len(passed) < 4:
        return None
    name, template = _kernel(passed[0])
    return ApiLaunch(name, template, (*passed[1:3], *passed[4:5]), _elements(text_of(passed[3]), scope))


def _configured(passed: list[Node], scope: Node, *, in_array: bool) -> ApiLaunch | None:
    """Return the launch of ``cudaLaunchKernelEx(&config, kernel, …)``; None if its structure is not read."""
    owner, values = text_of(passed[0]).lstrip("&"), dict[str, Node]()
    for node in walk(scope):
        if node.type == "assignment_expression":
            base, _, member = text_of(node.children[0]).replace("->", ".").rpartition(".")
            values |= {member: node.children[2]} if base == owner and member in _MEMBERS else {}
        elif node.type == "init_declarator" and text_of(node.children[0]) == owner:
            pairs = (each.children for each in walk(node) if each.type == "initializer_pair")
            values |= {text_of(pair[0]).lstrip("."): pair[-1] for pair in pairs}
    geometry = tuple(values[name] for name in _MEMBERS if name in values)
    if not {*_MEMBERS[:2]} <= values.keys():
        return None
    name, template = _kernel(passed[1])
    arguments = _elements(text_of(passed[2]), scope) if in_array and len(passed) > 2 else tuple(passed[2:])
    return ApiLaunch(name, template, geometry, arguments)


def cluster_extents(scope: Node) -> tuple[Node, ...]:
    """Return the extents of the cluster that a host function asks for; empty without one."""
    extents = dict[str, Node]()
    for node in walk(scope):
        if node.type == "assignment_expression":
            base, _, axis = text_of(node.children[0]).rpartition(".")
            extents |= {axis: node.children[2]} if base.endswith("clusterDim") and axis in ("x", "y", "z") else {}
    return tuple(extents[axis] for axis in "xyz" if axis in extents)


def _kernel(node: Node) -> tuple[str, tuple[str, ...]]:
    """Return the name of a kernel, which a cast may surround, and the arguments of its template."""
    names = [each for each in walk(node) if each.type in ("template_function", "qualified_identifier", "identifier")]
    return instance_of(next(iter(names), node))


def _elements(array: str, scope: Node) -> tuple[Node, ...]:
    """Return the variables whose addresses an array of a host function contains."""
    for node in walk(scope):
        for name, value in initializers(node) if node.type == "declaration" else ():
            if name.partition("[")[0] == array:
                return tuple(map(pointed, value.named_children))
    return ()
