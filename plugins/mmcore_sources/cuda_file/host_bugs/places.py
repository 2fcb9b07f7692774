"""The memory of arrays in host code, and bugs of code that uses them on the wrong side."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, pointed, text_of, walk, within_parentheses
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode, name_of

_ON_DEVICE = ("cudaMalloc", "cudaMallocAsync")
_ON_BOTH = ("cudaMallocManaged", "cudaHostAlloc", "cudaMallocHost", "cudaHostRegister")
_ON_HOST = ("malloc", "calloc", "aligned_alloc")
_UNEVALUATED = ("sizeof_expression", "decltype", "alignof_expression")


class Places:
    """The memory in which a program allocates its arrays."""

    def __init__(self, host: HostCode) -> None:
        self._host = host
        self._places: dict[tuple[str, int], set[str]] = {}
        for call in host.calls:
            place = "device" if call.name in _ON_DEVICE else "both" if call.name in _ON_BOTH else ""
            if place and call.arguments and pointed(call.arguments[0]).type != "subscript_expression":
                self._add(name_of(call.arguments[0]), call.scope, place)
        for function in host.functions:
            for name, value in host.values(function):
                place = "host" if _is_of_host(value) else "device or another" if name.isidentifier() else ""
                variable = host.variable(name, function)
                if place == "host" or (place and variable is not None and variable.stars):
                    self._add(name, function, place)

    def of(self, name: str, scope: Node) -> str:
        """Return the place of an array: "device" or "host"; empty if it is unknown, or both."""
        variable = self._host.variable(name, scope)
        if variable is not None and variable.array and self._is_local(name, scope):
            return "host"
        places = self._places.get(self._key(name, scope), set())
        return min(places) if len(places) == 1 and places <= {"device", "host"} else ""

    def _add(self, name: str, scope: Node, place: str) -> None:
        self._places.setdefault(self._key(name, scope), set()).add(place)

    def _key(self, name: str, scope: Node) -> tuple[str, int]:
        """Return a variable's name and its function's position; 0 for a variable of the file."""
        return name, scope.start_byte if self._is_local(name, scope) else 0

    def _is_local(self, name: str, scope: Node) -> bool:
        return self._host.declares(name, scope)


def _is_of_host(value: Node) -> bool:
    """Return whether a value is memory of the host, as ``malloc`` and ``new`` return it."""
    while value.type in ("cast_expression", "parenthesized_expression") and value.named_children:
        value = value.named_children[-1]
    if value.type == "call_expression":
        return text_of(value.children[0]).removeprefix("std::") in _ON_HOST
    return value.type == "new_expression" and "[" in text_of(value)


def wrong_side(host: HostCode) -> Iterator[Bug]:
    """Find an array of the device that the host indexes, and one of the host that a kernel gets."""
    places, known = Places(host), set[str]()
    for function in host.functions:
        for node in walk(function):
            name = name_of(node) if node.type == "subscript_expression" else ""
            is_element = name and name not in known and not _is_row(node, name, function)
            if is_element and places.of(name, function) == "device" and _is_evaluated(node):
                known.add(name)
                message = f"the host accesses {text_of(node)}, an element of an array of the device"
                yield Bug("wrong-side", node.start_point.row + 1, message)
    for call in host.calls:
        target = text_of(call.arguments[0]).rpartition("&")[2] if call.name in _ON_DEVICE and call.arguments else ""
        if target.endswith("]") and places.of(target.partition("[")[0], call.scope) == "device":
            stored = f"{call.name} stores an address in {target}, an element of an array of the device"
            yield Bug("wrong-side", call.line, f"{stored}, which the host cannot access")
    for launch in host.launches:
        for argument in launch.arguments:
            if places.of(name_of(argument), launch.scope) == "host" and host.is_pointer(argument, launch.scope):
                message = f"{launch.name} gets {name_of(argument)}, which is an array of the host"
                yield Bug("wrong-side", launch.line, message)
                break


def _is_row(node: Node, name: str, function: Node) -> bool:
    """Return whether a subscript is a row of ``float (*name)[N]``, whose place is known without access to it."""
    of_rows = re.search(rf"\(\s*\*\s*{re.escape(name)}\s*\)\s*\[", text_of(function)) is not None
    return of_rows and node.children[0].type != "subscript_expression"


def _is_evaluated(node: Node) -> bool:
    """Return whether an element is read or written: its address and its size access nothing."""
    above = within_parentheses(node)
    if above is not None and above.type == "pointer_expression" and text_of(above).startswith("&"):
        return False
    while above is not None and above.type != "function_definition":
        if above.type in (*_UNEVALUATED, "lambda_expression") or _declares_rows(above):
            return False
        above = above.parent
    return True


def _declares_rows(node: Node) -> bool:
    """Return whether a statement declares pointers to rows, as ``float (*a)[N], (*b)[N]``, which looks like a call."""
    first = node if node.type == "expression_statement" else None
    while first is not None and first.children:
        first = first.children[0]
    return first is not None and first.type == "primitive_type"


def wrong_address(host: HostCode) -> Iterator[Bug]:
    """Find ``cudaMalloc`` of a pointer instead of its address, and ``cudaMemcpy`` of a pointer's address."""
    for call in host.calls:
        allocates = call.name in _ON_DEVICE
        if not allocates and not call.name.startswith("cudaMemcpy"):
            continue
        for argument in call.arguments[: 1 if allocates else 2]:
            node = argument
            while node.type in ("cast_expression", "parenthesized_expression"):
                node = node.named_children[-1]
            of_address = node.type == "pointer_expression" and text_of(node).startswith("&")
            inner = node.named_children[0] if of_address else node
            variable = host.variable(text_of(inner), call.scope) if inner.type == "identifier" else None
            if variable is None or variable.stars != 1 or variable.array or of_address == allocates:
                continue
            wanted = f"&{text_of(inner)}" if allocates else text_of(inner)
            yield Bug("wrong-address", call.line, f"{call.name} gets {text_of(argument)} instead of {wanted}")
            break
