"""Bugs of allocations and copies: the wrong direction, a count that is not in bytes, values of another size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode, Variable, name_of
from mmcore_sources.cuda_file.host_bugs.places import Places
from mmcore_sources.cuda_file.inference.roles import ELEMENTS

_COPIES = ("cudaMemcpy", "cudaMemcpyAsync")
# The positions of the pointers and of the count in the arguments.
_COUNTS = {
    **dict.fromkeys(_COPIES, ((0, 1), 2)),
    **dict.fromkeys(("cudaMemset", "cudaMemsetAsync"), ((0,), 2)),
    **dict.fromkeys(("cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaMallocAsync"), ((0,), 1)),
}
_SIDES = {"HostToDevice": ("device", "host"), "DeviceToHost": ("host", "device"), "DeviceToDevice": ("device",) * 2}
_OF_BYTES = re.compile(r"size|byte|mem|len|sz|nb|amount|total", re.IGNORECASE)
_BYTES = {"float32": 4, "float64": 8, "float16": 2, "bfloat16": 2, "int32": 4}
_REAL = ("float32", "float64", "float16", "bfloat16")
_OF_TYPE = {"char": 1, "short": 2, "size_t": 8, "long long": 8}
_MOST_BYTES = 16  # of one element; larger numbers are counts


def wrong_direction(host: HostCode) -> Iterator[Bug]:
    """Find a copy whose direction contradicts where its arrays were allocated."""
    places = Places(host)
    for call in host.calls:
        if call.name not in _COPIES or len(call.arguments) < 4:
            continue
        kind = text_of(call.arguments[3]).rpartition("cudaMemcpy")[2]
        for argument, side, what in zip(call.arguments, _SIDES.get(kind, ()), ("destination", "source"), strict=False):
            name = name_of(argument)
            place = places.of(name, call.scope)
            if place not in (side, "") and not _is_stored_address(host, argument, call.scope):
                message = f"cudaMemcpy{kind} has the {what} {name}, which is an array of the {place}"
                yield Bug("copy-direction", call.line, message)
                break


def _is_stored_address(host: HostCode, argument: Node, scope: Node) -> bool:
    """Return whether an argument is an address in an array, as ``rows[i]`` of ``float *rows[8]``: not that array."""
    while argument.type in ("cast_expression", "parenthesized_expression", "binary_expression"):
        argument = argument.named_children[-1 if argument.type == "cast_expression" else 0]
    variable = host.variable(name_of(argument), scope)
    return argument.type == "subscript_expression" and variable is not None and variable.stars > 0


def wrong_size(host: HostCode) -> Iterator[Bug]:
    """Find a count without ``sizeof``, with the size of a pointer, or with one smaller than an element's.

    ``array`` is the host's name of the array on the device, in a program with main.
    """
    for call in host.calls:
        if call.name not in _COUNTS or len(call.arguments) <= _COUNTS[call.name][1]:
            continue
        positions, position = _COUNTS[call.name]
        count = call.arguments[position]
        for each in positions:
            variable = _pointer(host, call, each)
            why = _fault(host, call, count, variable, name_of(call.arguments[each])) if variable else ""
            if why:
                array = _of_device(call) if host.has_main and "Memset" not in call.name else ""
                yield Bug("wrong-size", call.line, f"{call.name} {why}", array)
                break


def _of_device(call: Call) -> str:
    """Return the name of the array of the device in a call: the source of a copy back, or else the destination."""
    *_, last = call.arguments
    return name_of(call.arguments[text_of(last).endswith("DeviceToHost")])


def _pointer(host: HostCode, call: Call, position: int) -> Variable | None:
    variable = host.variable(name_of(call.arguments[position]), call.scope)
    return variable if variable is not None and variable.stars == 1 and variable.type in ELEMENTS else None


def _fault(host: HostCode, call: Call, count: Node, variable: Variable, name: str) -> str:
    """Return the fault of a count of bytes for an array of numbers; empty if it has none, or is not understood."""
    size = _BYTES.get(ELEMENTS[variable.type], 0)
    parts = list(host.resolved(count, call.scope, _OF_BYTES))
    asked = [node for part in parts for node in walk(part) if node.type == "sizeof_expression"]
    for each in asked:
        word = text_of(each).removeprefix("sizeof").strip("() ")
        measured = host.variable(word, call.scope)
        if measured is not None and measured.stars and not measured.array:
            return f"counts {text_of(each)}, the size of a pointer, not of the array {word}"
        of_type = _BYTES.get(ELEMENTS.get(word, ""), _OF_TYPE.get(word, 0))
        if len(asked) == 1 and of_type and size and of_type < size and not _scaled(parts):
            return f"counts {text_of(each)} for {name}, whose elements are {variable.type}"
    if not asked and size > 1 and _counts_elements(host, parts, call):
        return f"counts {text_of(count)} bytes for {name}, without sizeof({variable.type})"
    return ""


def _scaled(parts: list[Node]) -> bool:
    """Return whether an expression multiplies by a number, which may make up for a size."""
    return any(node.type == "number_literal" for part in parts for node in walk(part))


def _counts_elements(host: HostCode, parts: list[Node], call: Call) -> bool:
    """Return whether an expression surely counts elements: its names have values, or it is a product of names."""
    nodes = [node for part in parts for node in walk(part)]
    if any(node.type in ("call_expression", "field_expression") for node in nodes):
        return False
    numbers = [text_of(node) for node in nodes if node.type == "number_literal"]
    if any(not each.isdecimal() or 1 < int(each) <= _MOST_BYTES for each in numbers):
        return False  # it may be the size of an element
    if any("sizeof" in text_of(value) for part in parts for value in host.resolved(part, call.scope)):
        return False
    names = [text_of(node) for node in nodes if node.type == "identifier"]
    unknown = [each for each in names if not host.definitions(each, call.scope)]
    factors = any(node.type == "binary_expression" for node in nodes)
    return not unknown or (factors and not any(map(_OF_BYTES.search, unknown)))


def other_elements(host: HostCode) -> Iterator[Bug]:
    """Find a copy between arrays of numbers of different types, which copies bytes and converts nothing."""
    for call in host.calls:
        if call.name in _COPIES and len(call.arguments) >= 3:
            to, source = (_pointer(host, call, position) for position in (0, 1))
            if to is None or source is None:
                continue
            one, other = ELEMENTS[to.type], ELEMENTS[source.type]
            if one != other and one in _REAL and other in _REAL:
                arrays = f"{source.type} {name_of(call.arguments[1])} to {to.type} {name_of(call.arguments[0])}"
                yield Bug("other-type", call.line, f"{call.name} copies the bytes of {arrays}, and converts nothing")


def filled_by_bytes(host: HostCode) -> Iterator[Bug]:
    """Find ``cudaMemset`` of numbers to 1, although it sets each byte."""
    for call in host.calls:
        if call.name == "cudaMemset" and len(call.arguments) == 3:
            variable = _pointer(host, call, 0)
            ones = host.value(call.arguments[1], call.scope) == 1
            if ones and variable is not None and ELEMENTS[variable.type] in _BYTES:
                filled = f"sets each byte of {name_of(call.arguments[0])} to 1, not each {variable.type}"
                yield Bug("wrong-size", call.line, f"cudaMemset {filled}")
