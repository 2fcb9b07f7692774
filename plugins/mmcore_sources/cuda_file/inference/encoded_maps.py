"""Tensor maps as host code encodes them, by calls of cuTensorMapEncodeTiled in functions that the launch calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mmcore_cuda.cuda_source.program import Program
from mmcore_cuda.cuda_source.tree import Node, initializers, pointed, root_of, text_of, walk
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.host_calls import arguments_of, called_function, parameter_names, passed
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.pointed_elements import element_pointed_to

_DEEPEST = 4
MAP_TYPE = "CU_TENSOR_MAP_DATA_TYPE_"
"""The beginning of the driver's names of element types."""
_TYPES = {
    "UINT8": "uint8_t",
    "UINT16": "uint16_t",
    "UINT32": "uint32_t",
    "INT32": "int",
    "UINT64": "uint64_t",
    "INT64": "int64_t",
    "FLOAT16": "__half",
    "FLOAT32": "float",
    "FLOAT64": "double",
    "BFLOAT16": "__nv_bfloat16",
    "FLOAT32_FTZ": "float",
    "TFLOAT32": "float",
    "TFLOAT32_FTZ": "float",
}
_NUMBERS = {f"{MAP_TYPE}{name}": number for number, name in enumerate(_TYPES)}
_NUMBERS |= {f"CU_TENSOR_MAP_SWIZZLE_{n}B": n for n in (32, 64, 128)} | {"CU_TENSOR_MAP_SWIZZLE_NONE": 0}
_FURTHER = re.compile(r" ?\+ ?1$")  # an array without its first element
_ENCODE = 12  # parameters of cuTensorMapEncodeTiled


@dataclass(frozen=True)
class Encoded:
    """A tensor map, as far as it is known."""

    box: tuple[int, ...] = ()  # slowest axis first, in elements; empty if unknown
    swizzle: int = 0
    kind: str = ""  # the driver's name of the map's element type, "FLOAT16"; empty if unknown
    pointed: str = ""  # the type in C of the elements at the host's pointer; empty if unknown
    rows: frozenset[str] = frozenset()  # the host's names in the tensor's last extent but one
    lengths: frozenset[str] = frozenset()  # the host's names in the step between these
    line: int = 0  # of the call that encodes it; 0 if ``--args`` gives it
    file: str = ""  # the name of the file that contains the call, if another than the source
    extents: tuple[tuple[Reader, Node], ...] = ()  # of the tensor in elements, fastest axis first
    strides: tuple[tuple[Reader, Node], ...] = ()  # in bytes, of each axis but the fastest

    @property
    def type(self) -> str:
        """The map's element type in C; empty if unknown."""
        return _TYPES.get(self.kind, "")

    @property
    def place(self) -> str:
        """The line of the call that encodes it, and its file if that is another."""
        return f"line {self.line} of {self.file}" if self.file else f"line {self.line}"


@dataclass(frozen=True)
class _Search:
    """A search for the encoding of maps: the program, and the function that launches the kernel."""

    source: Program
    outermost: Node


def encoded_map(source: Program, argument: Node, scope: Node, call: Node | None) -> Encoded | None:
    """Return the map that a launch in a host function passes; None if no call that can be read encodes it."""
    return _encoded(_Search(source, scope), text_of(argument), scope, () if call is None else (call,))


def _encoded(search: _Search, name: str, scope: Node, calls: tuple[Node, ...], depth: int = 0) -> Encoded | None:
    """Return the map in a variable of a host function, or of one that it calls; None if it cannot be read.

    ``calls`` are those of the function and of the ones around it, innermost first, as far as they are known.
    """
    name = name.lstrip("&*( ").rstrip(") ")
    if depth > _DEEPEST:
        return None
    for node in _calls(scope):
        arguments = arguments_of(node)
        if len(arguments) == _ENCODE and name in ("", text_of(pointed(arguments[0]))):
            return _read(search, arguments, scope, calls)
    others = [root for _, root in search.source.others]
    for node in _calls(scope):
        function, places = called_function(node, others), [text_of(pointed(each)) for each in arguments_of(node)]
        if function is None or function == scope:
            continue
        inside = None
        if name in places and places.index(name) < len(parameter_names(function)):
            inside = parameter_names(function)[places.index(name)]
        elif name == _assigned(node):
            inside = ""  # it returns a map
        if inside is not None and (found := _encoded(search, inside, function, (node, *calls), depth + 1)):
            return found
    if (argument := passed(scope, name, next(iter(calls), None))) is not None and argument.scope is not None:
        return _encoded(search, text_of(argument.value), argument.scope, calls[1:], depth + 1)
    return None


def _calls(scope: Node) -> Iterator[Node]:
    return (each for each in walk(scope) if each.type == "call_expression")


def _assigned(call: Node) -> str:
    """Return the variable that gets the value of a call; empty without one."""
    above = call.parent
    if above is None or above.type not in ("init_declarator", "assignment_expression"):
        return ""
    return text_of(above.children[0]).lstrip("*& ")


def _read(search: _Search, arguments: Sequence[Node], scope: Node, calls: tuple[Node, ...]) -> Encoded | None:
    """Return the map of a call of cuTensorMapEncodeTiled; None if its box or swizzle cannot be read."""
    constants = {name: parse_expression(str(number)) for name, number in _NUMBERS.items()}
    line = arguments[0].start_point.row + 1
    source = replace(search.source, constants=search.source.constants | constants)
    reader = Reader(source, {}, scope, line, next(iter(calls), None), calls[1:])
    axes, swizzle = reader.whole(arguments[2]) or 0, reader.whole(arguments[9])
    box = [of.whole(each) for of, each in _elements(reader, arguments[6])][:axes]
    if swizzle is None or not all(box) or len(box) < 2:
        return None
    extents = _elements(reader, arguments[4])[:axes]
    rows = _names(*extents[1], search.outermost) if len(extents) == axes else frozenset()
    whole = tuple(int(each or 0) for each in reversed(box))
    numbers = [of.whole(each) for of, each in extents]
    if axes > 2 and [*numbers[:1], *numbers[3:]] != [whole[-1], *[1] * (axes - 3)]:
        return None  # a batch, perhaps; not pieces of rows
    strides = _elements(reader, arguments[5])[_FURTHER.search(text_of(arguments[5])) is not None :]
    kind = "" if (number := reader.whole(arguments[1])) is None else [*_TYPES][number]
    pointed_to = element_pointed_to(reader, arguments[3])
    lengths = _names(*strides[0], search.outermost) if strides else frozenset()
    file = next((name for name, root in search.source.others if root == root_of(scope)), "")
    sides = tuple(extents), tuple(strides[: axes - 1])
    return Encoded(whole, swizzle, kind, pointed_to, rows, lengths, line, file, *sides)


def _elements(reader: Reader, node: Node) -> list[tuple[Reader, Node]]:
    """Return the elements of an array of a host function, each with its reader."""
    scope, name = reader.scope, re.sub(r"(\.data\(\)| ?\+ ?1)$", "", text_of(pointed(node)))
    if node.type == "initializer_list":
        return [(reader, each) for each in node.named_children if each.type != "comment"]
    if scope is None:
        return []
    found: list[tuple[Reader, Node]] = []
    for each in walk(scope):
        if each.start_point.row >= reader.line:
            break
        for variable, value in initializers(each) if each.type == "declaration" else ():
            if variable.partition("[")[0].strip() == name:
                found = [(reader, part) for part in value.named_children if part.type != "comment"]
        if each.type == "assignment_expression" and (
            index := re.fullmatch(rf"{name} ?\[(\d)\]", text_of(each.children[0]))
        ):
            element = (reader, each.children[2])
            found = [*found, *[element] * (int(index[1]) + 1 - len(found))]
            found[int(index[1])] = element
    if not found and (argument := passed(scope, name, reader.call)) is not None:
        return _elements(reader.caller(argument), argument.value)
    return found


def _names(reader: Reader, node: Node, outermost: Node) -> frozenset[str]:
    """Return the names that an extent is made of in the function that launches the kernel."""
    found = set[str]()
    for each in walk(node):
        if each.type in ("identifier", "field_expression"):
            inside = reader.scope is not None and reader.scope != outermost
            argument = passed(reader.scope, text_of(each), reader.call) if inside and reader.scope is not None else None
            if argument is None:
                found.add(text_of(each))
            else:
                found |= _names(reader.caller(argument), argument.value, outermost)
    return frozenset(found)
