"""Macros that a build or a tuner such as Kernel Tuner defines, and values with which a kernel compiles and fits."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmcore.errors import CompileError, InvalidKernel, LacksOption
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import Node, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable, parse_expression
from mmcore_sources.cuda_file.inference.expressions import evaluate, names_in
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.shared_tiles import accesses, block_of_tiles, shared_arrays

_ARITHMETIC = ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "<<", ">>")
_OPERANDS = ("binary_expression", "array_declarator", "assignment_expression", "update_expression")
_CUDA = ("warpSize",)
# Other names may be misspelt variables, or constants of CUDA's headers.
_TILES = re.compile(r"(?i:tile|block|thread|warp|unroll|vector|stage)|^[BTWMNK]{1,2}(?:WG|DIM)?[MNKST]?$")
# The first values to try, by name.
_VALUES = {
    r"per|work|unroll|vec": (2, 4, 1, 8),
    r"(block|thread|group).*(z|_2)$": (1,),
    r"(block|thread|group).*(y|_1)$": (8, 16, 4, 32, 2, 1),
    r"block|thread|group": (32, 16, 64, 128, 8, 256),
    r"use|pad|flag|is_|enable": (0, 1),
    r"tile.*[xy]$": (2, 4, 1, 8, 16, 32),
    "": (16, 8, 32, 4, 64, 2, 1),
}
_BLOCK = re.compile(r"block_?(?:size|dim)_?[xyz]", re.IGNORECASE)
_MOST_CHOICES, _MOST_THREADS, _MOST_SHARED, _ELEMENT = 10_000, 1024, 48 << 10, 4


class UndefinedMacros(CompileError, LacksOption):
    """A file that uses macros without defining them.

    Attributes:
        names: the macros.
        values: values with which the file may compile, as examples except for those of ``places``.
        places: the files of the project that define some of the values, by macro.
    """

    def __init__(
        self, file: str, names: Sequence[str], values: Mapping[str, int], places: Mapping[str, str] | None = None
    ) -> None:
        self.file, self.names, self.values, self.places = file, names, values, dict(places or {})
        known = [f"{place} has {name} = {values[name]}" for name, place in self.places.items()]
        invented = ", ".join(name for name in values if name not in self.places)
        examples = [f"the value suggested for {invented} is only an example"] if invented else []
        what = f"{file} does not define {', '.join(names)}, which a build or a tuner defines; --config gives values"
        listed = ",".join(f"{name}={value}" for name, value in values.items())
        super().__init__("; ".join([what, *known, *examples]), f"--config {listed}")


def refuse_undefined(
    file: str,
    source: Program,
    body: Body,
    launch: HostLaunch | None,
    values: Mapping[str, Any],
    known: Mapping[str, Any],
) -> None:
    """Raise UndefinedMacros if a kernel uses macros that have no value."""
    names = sorted(undefined_macros(source, body.function))
    if missing := [name for name in names if name not in values]:
        numbers = {name: int(value) for name, value in known.items() if str(value).isdecimal()}
        fitting = fitting_values(source, body, launch, [name for name in names if name not in known], numbers)
        raise UndefinedMacros(file, missing, fitting)


def undefined_macros(source: Program, function: Function) -> list[str]:
    """Return the names of numbers that a kernel uses, and that neither the source nor CUDA declares."""
    named = {text_of(each) for each in walk(function.body) if each.type == "identifier"}
    macros = (source.macros[name].text for name in sorted(named & source.macros.keys()))
    found = list(_operands(function.body))
    for text in macros:
        try:
            found += _operands(parse_expression(text))
        except Unreadable:
            continue
    declared = {*source.declared, *source.macros, *source.constants, *_CUDA}
    return [name for name in dict.fromkeys(found) if name not in declared and _TILES.search(name)]


def _operands(node: Node) -> Iterator[str]:
    """Yield the identifiers that are operands of arithmetic, or extents of arrays."""
    for each in walk(node):
        above = each.parent
        if each.type == "identifier" and above is not None and above.type in _OPERANDS:
            declares = above.type == "array_declarator" and above.children[0] == each
            if not declares and (above.type == "array_declarator" or text_of(above.children[1]) in _ARITHMETIC):
                yield text_of(each)


def fitting_values(
    source: Program, body: Body, launch: HostLaunch | None, names: Sequence[str], given: Mapping[str, int]
) -> dict[str, int]:
    """Return values of macros for which the shared arrays fit each other and the device, as far as that is known."""
    meant = {name: ast.Name(name) for name in (*names, *given)}
    conditions = _Conditions(Reader.of(source, launch, meant), body, launch)
    several = [next(found for word, found in _VALUES.items() if re.search(word, name, re.IGNORECASE)) for name in names]
    choices = [{**given, **dict(zip(names, each, strict=True))} for each in _choices(several)]
    return next(filter(conditions.hold, choices), choices[0])


def _choices(several: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield the combinations of values, those of the first values first."""
    most = max(1, int(_MOST_CHOICES ** (1 / len(several))))
    for each in sorted(
        itertools.product(*(enumerate(each[:most]) for each in several)),
        key=lambda choice: sum(rank for rank, _ in choice),
    ):
        yield tuple(value for _, value in each)


class _Conditions:
    """The conditions on a kernel's macros."""

    def __init__(self, reader: Reader, body: Body, launch: HostLaunch | None) -> None:
        self.equal = list(_equal_extents(reader, body))
        self.shared = [sizes for _, several in shared_arrays(body) if (sizes := _numbers(reader, several))]
        named = [each for each in reader.names.values() if _BLOCK.fullmatch(ast.unparse(each))]
        self.blocks = [named, block_of_tiles(reader, body) or (), _launched(reader, launch)]

    def hold(self, values: Mapping[str, int]) -> bool:
        """Return whether values agree with all conditions."""
        try:
            numbers = [{evaluate(each, values) for each in several} for several in self.equal]
            extents = [[evaluate(each, values) for each in sizes] for sizes in self.shared]
            threads = max(math.prod(evaluate(each, values) for each in block) for block in self.blocks)
        except InvalidKernel:
            return False
        fits = _ELEMENT * sum(map(math.prod, extents)) <= _MOST_SHARED and threads <= _MOST_THREADS
        return fits and all(len(each) == 1 for each in numbers)


def _launched(reader: Reader, launch: HostLaunch | None) -> Sequence[ast.expr]:
    """Return the extents of a launch's block that depend on macros or are numbers; none if one is unknown."""
    try:
        return reader.extents(launch.geometry[1]) if launch is not None and len(launch.geometry) > 1 else ()
    except Unreadable:
        return ()


def _equal_extents(reader: Reader, body: Body) -> Iterator[list[ast.expr]]:
    """Yield the extents that are equal: those which one loop's variable indexes, and the end of that loop."""
    extents = {name: _numbers(reader, sizes) for name, sizes in shared_arrays(body)}
    for loop in walk(body.function.body):
        condition = loop.child_by_field_name("condition") if loop.type == "for_statement" else None
        if condition is None or condition.type != "binary_expression":
            continue
        variable, along = text_of(condition.children[0]), _numbers(reader, [condition.children[2]])
        for name, indexes in accesses(replace(body, function=replace(body.function, body=loop))):
            sizes = extents.get(name, [])
            for index, size in zip(indexes, sizes, strict=False):
                along += [_without_padding(size)] if text_of(index) == variable else []
        if len(along) > 1 and set().union(*map(names_in, along)):
            yield along


def _without_padding(size: ast.expr) -> ast.expr:
    """Return an extent without the elements that avoid bank conflicts, as in ``s[16][TILE + 1]``."""
    padded = isinstance(size, ast.BinOp) and isinstance(size.op, ast.Add) and not names_in(size.right)
    return size.left if isinstance(size, ast.BinOp) and padded else size


def _numbers(reader: Reader, nodes: Sequence[Node]) -> list[ast.expr]:
    """Return the arithmetic of expressions; none if one of them is unknown."""
    try:
        return [reader.number(each) for each in nodes]
    except Unreadable:
        return []
