"""The tensor maps that a kernel takes: their boxes and swizzles, as host code encodes them or as ``--args`` says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmcore.errors import InvalidKernel, LacksOption
from mmcore.kernel.arguments import TensorMap, Workspace
from mmcore.kernel.constraints import Multiple
from mmcore.kernel.problem import dtype_named
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import root_of, text_of
from mmcore_sources.cuda_file.inference.encoded_maps import Encoded, encoded_map
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.multiplied_types import multiplied_type
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.reached_code import reached_code
from mmcore_sources.cuda_file.inference.roles import Roles

_WORD = re.compile(r"([A-Za-z]):((?:[0-9]+[x×]){1,4}[0-9]+)(?::([0-9]+))?")
_WORDS_OF_TYPE = (("bfloat16|bf16", "__nv_bfloat16"), ("half|fp16", "__half"))
_BY_DESCRIPTORS = re.compile("wgmma|tcgen05")  # reads tiles in shared memory as a map's swizzle places them
_EDGES = {"A": ("BM", "BK"), "B": ("BN", "BK"), "C": ("BM", "BN")}


def with_maps(
    source: Program, function: Function, launch: HostLaunch | None, given: Mapping[str, Any]
) -> tuple[Function, dict[str, Encoded], dict[str, Any]]:
    """Return a function whose maps are pointers, its maps by parameter, and ``given`` without boxes.

    Raises InvalidKernel for a box in ``--args`` of a parameter that is no map.
    """
    maps = {each.name: Encoded() for each in function.parameters if each.is_tensor_map}
    if launch is not None:
        for name, argument in zip((each.name for each in function.parameters), launch.arguments, strict=False):
            if name in maps:
                maps[name] = encoded_map(source, argument, launch.scope, launch.call) or Encoded()
    if "args" in given:
        given, words = dict(given), list(given["args"])
        for position, (word, parameter) in enumerate(zip(words, function.parameters, strict=False)):
            if (match := _WORD.fullmatch(word.strip())) is None:
                continue
            if parameter.name not in maps:
                raise InvalidKernel(f"--args passes {word} as {str(parameter)!r}, which is no CUtensorMap")
            box = tuple(map(int, re.split("[x×]", match[2])))
            maps[parameter.name] = replace(maps[parameter.name], box=box, swizzle=int(match[3] or 0), line=0)
            words[position] = match[1]
        given["args"] = words
    parameters = (replace(each, pointer=True) if each.name in maps else each for each in function.parameters)
    return replace(function, parameters=tuple(parameters)), maps, dict(given)


def of_elements(
    source: Program, function: Function, roles: Roles, maps: Mapping[str, Encoded]
) -> tuple[Function, dict[str, str]]:
    """Return a function whose maps are pointers to elements of their type, and what shows the type, by matrix.

    That is the type of the host's pointer or, of A and B, the one that tensor cores multiply, or else the map's own.
    """
    if not maps:
        return function, {}
    usual = next((kind for words, kind in _WORDS_OF_TYPE if re.search(words, source.text)), "float")
    multiplied = multiplied_type(reached_code(source, function))
    types, reasons = dict[str, str](), dict[str, str]()
    for matrix, name in roles.pointers.items():
        if (found := maps.get(name)) is not None:
            of_host = found.pointed, f"the type of the host's pointer in {found.place}"
            of_map = found.type, f"the type of the tensor map in {found.place}"
            several = (of_host, *([multiplied] if matrix != "C" else []), of_map)
            types[name], reasons[matrix] = next((each for each in several if each[0]), (usual, ""))
    parameters = (replace(each, type=types.get(each.name, each.type)) for each in function.parameters)
    return replace(function, parameters=tuple(parameters)), {each: why for each, why in reasons.items() if why}


def with_boxes(
    source: Program, original: Function, roles: Roles, maps: Mapping[str, Encoded], values: Mapping[str, Any]
) -> tuple[Roles, list[Note]]:
    """Return roles whose arguments contain the maps, and a note for each that host code encodes.

    ``original`` still has the maps as parameters. Raises LacksOption for a map whose box is unknown, and InvalidKernel
    for one of a fourth matrix.
    """
    if not maps:
        return roles, []
    names = [each.name for each in original.parameters]
    file = text_of(root_of(original.body))
    matrix_of = {name: matrix for matrix, name in roles.pointers.items()}
    for name, encoded in maps.items():
        if name not in matrix_of:
            maps_of = ", ".join(maps)
            raise InvalidKernel(f"{original.name} takes {len(maps)} tensor maps ({maps_of}); a declaration passes them")
        if not encoded.box:
            words = (
                _suggested(source, matrix_of[each], maps[each], values, file) if each in maps else _word(argument)
                for each, argument in zip(names, roles.arguments, strict=True)
            )
            raise LacksOption(
                f"no host code that can be read encodes the tensor map {name}; --args gives the box of each map, "
                "slowest axis first, and its swizzle in bytes",
                f"--args {','.join(words)}",
            )
    arguments, notes = list(roles.arguments), []
    for position, parameter in enumerate(original.parameters):
        if (found := maps.get(parameter.name)) is not None:
            matrix = matrix_of[parameter.name]
            arguments[position] = TensorMap(matrix, found.box, found.swizzle, pointer=parameter.pointer)
            swizzle = f", a swizzle of {found.swizzle} bytes" if found.swizzle else ""
            text = f"boxes of {'×'.join(map(str, found.box))}{swizzle}"
            if found.line:
                notes.append(Note(f"tensor map of {matrix}", text, f"encoded in {found.place}", "--args"))
    return replace(roles, arguments=tuple(arguments)), notes


def aligned_rows(roles: Roles, types: Mapping[str, Any]) -> Iterator[Multiple]:
    """Yield the constraint of each matrix with a map: rows, or columns, are multiples of 16 bytes or of pieces."""
    for each in roles.arguments:
        if isinstance(each, TensorMap):
            element = dtype_named(types["output" if each.matrix == "C" else "dtype"])
            step = each.box[-1] if len(each.box) > 2 else 16 // element.itemsize  # whole pieces of rows
            yield Multiple(f"ld{each.matrix.lower()}", step)


def _word(argument: Any) -> str:
    if isinstance(argument, Workspace):
        return "0"
    return str(getattr(argument, "value", getattr(argument, "name", argument)))


def _suggested(source: Program, matrix: str, found: Encoded, values: Mapping[str, Any], file: str) -> str:
    """Return a map as ``--args`` takes it, with the edges of the source's tiles if those have the usual names.

    ``file`` is the text of the kernel's own file, which may be a header.
    """
    box, swizzle = found.box or tuple(_edge(source, each, values) for each in _EDGES[matrix]), found.swizzle
    if not found.box:
        row = box[-1] * {"float": 4, "double": 8}.get(found.type, 2)
        swizzled = row in (32, 64, 128) and matrix != "C" and _BY_DESCRIPTORS.search(file)
        swizzle = row if swizzled else 0
    return f"{matrix}:{'x'.join(map(str, box))}:{swizzle}"


def _edge(source: Program, name: str, values: Mapping[str, Any]) -> int:
    return int(values.get(name) or Reader(source).whole(name) or 64)
