"""The extents and strides with which host code encodes tensor maps, where they are not those of the matrices."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import FailingProgram, InvalidKernel
from mmcore.kernel.arguments import SIZES, TensorMap
from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.problem import DType, Problem
from mmcore_cuda.cuda_source.tree import Node, identifiers
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.encoded_maps import Encoded
from mmcore_sources.cuda_file.inference.expressions import evaluate, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.fixed_sizes import FixedSizes
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.host_sizes import HostSizes
from mmcore_sources.cuda_file.inference.map_types import element_of, map_type, other_size, unit_of
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.roles import ELEMENTS, Roles
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_TRIED = ({"m": 7 << 12, "n": 11 << 12, "k": 13 << 12}, {"m": 5 << 14, "n": 3 << 12, "k": 17 << 13})

_STRIDE = "steps by {encoded} bytes from row to row, and a row of the matrix has {usual}"
_EXTENTS = ("has rows of {encoded} elements, and the matrix rows of {usual}",
            "has {encoded} rows, and the matrix {usual}")  # fmt: skip
_EXTENT = "has an extent of {encoded} elements, and the matrix one of {usual}"


@dataclass(frozen=True)
class EncodedLayout:
    """Extents and strides of a tensor map in elements, slowest axis first, as expressions of the sizes.

    Attributes:
        extents, strides: those of the map.
        usual: those of the matrix.
        kind: "wrong-extent", "wrong-stride" or "wrong-type"; empty if the map is right, with elements of another size.
        fault: how they differ, in words.
        cure: those of the matrix as the host code would encode them, in words.
        line, file: the line where they are encoded, and its file if it is another than the source.
        is_of_program: whether they differ at the sizes of the program.
    """

    extents: str
    strides: str
    usual: tuple[str, str]
    kind: str
    fault: str
    cure: str
    line: int
    is_of_program: bool
    file: str = ""

    def __call__(self, problem: Problem, config: Config, /) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return _numbers(self.extents, problem), _numbers(self.strides, problem)

    def differs(self, problem: Problem) -> bool:
        """Return whether the map is not that of the matrix at some sizes."""
        pairs = zip((self.extents, self.strides), self.usual, strict=True)
        return any(_numbers(one, problem) != _numbers(other, problem) for one, other in pairs)


def _numbers(text: str, problem: Problem) -> tuple[int, ...]:
    values = {name: getattr(problem, name) for name in SIZES}
    return tuple(int(evaluate(each, values)) for each in parse_expressions(text, "the tensor map"))


@dataclass(frozen=True)
class _Axis:
    """An extent in elements, or a stride in bytes, as it is encoded; ``usual`` is that of the matrix in elements."""

    words: str
    encoded: ast.expr
    usual: ast.expr
    itemsize: int  # of an element if it is a stride
    is_literal: bool

    @property
    def number(self) -> ast.expr:
        """The number in elements."""
        unit = ast.Constant(self.itemsize)
        return ast.BinOp(self.encoded, ast.FloorDiv(), unit) if self.itemsize > 1 else self.encoded

    @property
    def is_stride(self) -> bool:
        return self.words == _STRIDE

    @property
    def cure(self) -> str:
        """The number of the matrix as host code encodes it."""
        return _shown(self.usual, self.itemsize, None)

    @property
    def is_constant(self) -> bool:
        return not names_in(self.encoded) and bool(names_in(self.usual))

    def differs(self, values: Mapping[str, int]) -> bool:
        return bool(evaluate(self.number, values) != evaluate(self.usual, values))

    def fault(self, values: Mapping[str, int] | None) -> str:
        """Return how it differs from the matrix, at some sizes if they are given."""
        encoded, usual = (
            _shown(each, scale, values) for each, scale in ((self.encoded, 1), (self.usual, self.itemsize))
        )
        return self.words.format(encoded=encoded, usual=usual)


def with_layouts(
    kernel: SourceKernel, roles: Roles, fixed: Iterable[Constraint], columns: str, types: Mapping[str, Any]
) -> tuple[Roles, list[Note]]:
    """Return roles whose maps have the extents and strides of the host code, and a note for each that is not read.

    ``fixed`` may contain the sizes that the source fixes. Raises FailingProgram for a map that the driver refuses.
    """
    launch, function, arguments, notes = kernel.launch, kernel.function, list(roles.arguments), list[Note]()
    encoded = [kernel.maps.get(each.name) for each in function.parameters]
    if launch is None or not any(encoded):
        return roles, []
    program = _program(kernel.launched, roles, fixed)
    names = [each.name for each in function.parameters]
    sizes = HostSizes.of(launch, names, roles.sizes, program, equal_sizes=roles.equal)
    for position, (argument, found) in enumerate(zip(roles.arguments, encoded, strict=True)):
        if isinstance(argument, TensorMap) and found is not None and found.line:
            element = element_of(argument.matrix, types)
            unit = unit_of(found, element)
            if problem := _refused(found, unit.itemsize):
                place = f"{found.file or kernel.file}:{found.line}"
                problem += f"; {other_size(found, argument.matrix, element)}" if unit != element else ""
                raise FailingProgram(f"{place}: cuTensorMapEncodeTiled fails for {argument.matrix}: {problem}")
            arguments[position] = argument = replace(argument, dtype=unit.name if unit != element else "")
            try:
                layout = encoded_layout(found, argument.matrix, columns, element, sizes)
            except InvalidKernel:
                what, why = f"rows of {argument.matrix}'s tensor map", f"{found.place} encodes what cannot be read"
                notes.append(Note(what, "as the matrix has them", why, "", guessed=True))
            else:
                arguments[position] = replace(argument, layout=layout)
    return replace(roles, arguments=tuple(arguments)), notes


def _refused(encoded: Encoded, itemsize: int) -> str:
    """Return why the driver makes no map with the box and the swizzle, and a cure; empty if it does."""
    from mmcore_emulator.machine.asynchronous.tensor_maps import KINDS, SPANS, TensorLayout

    kind, count = next(kind for kind, size in KINDS.items() if size == itemsize), len(encoded.box)
    strides = (itemsize, *[1 << 20] * (count - 1))
    problems = TensorLayout(0, kind, (1 << 20,) * count, strides, encoded.box[::-1], encoded.swizzle).problems()
    if not problems:
        return ""
    row = encoded.box[-1] * itemsize
    larger = f"CU_TENSOR_MAP_SWIZZLE_{row}B, or " if row in SPANS else ""
    cure = f"; use {larger}boxes of {encoded.swizzle // itemsize} columns" if 0 < encoded.swizzle < row else ""
    return problems[0] + cure


def encoded_layouts(arguments: Iterable[Any]) -> Iterator[EncodedLayout]:
    """Yield the layouts among a kernel's arguments that are not those of the matrices at all sizes."""
    for each in arguments:
        if isinstance(each, TensorMap) and isinstance(each.layout, EncodedLayout) and each.layout.kind:
            yield each.layout


def _program(launched: Mapping[str, int], roles: Roles, fixed: Iterable[Constraint]) -> dict[str, int]:
    """Return the sizes of a program by role, as far as they are known."""
    for each in fixed:
        if isinstance(each, FixedSizes):
            return {"m": each.m, "n": each.n, "k": each.k}
    return roles.sizes_in(launched) | dict(roles.fixed)


def encoded_layout(
    encoded: Encoded, matrix: str, column_major: str, element: DType, sizes: HostSizes
) -> EncodedLayout | None:
    """Return the layout of a map if it is not that of its matrix, or if its elements have another size.

    Raises Unreadable if it cannot be read.
    """
    unit = unit_of(encoded, element)
    lengths = {
        f"ld{name.lower()}": side[0 if name in column_major else 1] for name, side in SIDES.items()
    }  # of stored rows
    axes = list(_axes(encoded, matrix, lengths[f"ld{matrix.lower()}"], element.itemsize, unit.itemsize, sizes))
    tried = [_values(each, lengths, sizes) for each in _TRIED]
    of_program = _values(sizes.program, lengths, sizes) if {*"mnk"} <= sizes.program.keys() else None
    differing = [each for each in axes if _differs(each, tried, of_program, sizes)]
    if not differing and unit == element:
        return None
    texts = [ast.unparse(each.number if each in differing else each.usual) for each in axes]
    count = len(encoded.box)
    faults = [each for each in differing if of_program is not None and each.differs(of_program)]
    extents, strides = _listed(texts, count)
    name, fault, cure = "", "", ""
    if differing and unit != element:
        name, fault, cure = "wrong-type", other_size(encoded, matrix, element), map_type(element)
    elif differing:
        first, values = next(iter(faults), differing[0]), of_program if faults else None
        name = "wrong-stride" if first.is_stride else "wrong-extent"
        fault = f"the tensor map of {matrix} {first.fault(values)}"
        cure = _cure(axes, differing)
    return EncodedLayout(
        extents,
        strides,
        _listed([ast.unparse(each.usual) for each in axes], count),
        name,
        fault,
        f"{cure} in the tensor map of {matrix}",
        encoded.line,
        bool(faults),
        encoded.file,
    )


def _listed(texts: Sequence[str], count: int) -> tuple[str, str]:
    """Return extents and strides, slowest axis first, of numbers in the order of host code."""
    return ", ".join(texts[:count][::-1]), ", ".join([*texts[count:][::-1], "1"])


def _cure(axes: Sequence[_Axis], differing: Sequence[_Axis]) -> str:
    """Return the extents of a matrix if one of them differs, and its strides in bytes if one does, as host code."""
    kinds = {each.is_stride for each in differing}
    return " and ".join(
        f"{'strides' if kind else 'extents'} {{{', '.join(each.cure for each in axes if each.is_stride == kind)}}}"
        for kind in sorted(kinds)
    )


def _shown(number: ast.expr, scale: int, values: Mapping[str, int] | None) -> str:
    """Return a multiple of a number in words: at some sizes, or as an expression of them."""
    text = ast.unparse(ast.BinOp(ast.Constant(scale), ast.Mult(), number) if scale > 1 else number)
    return text if values is None or not names_in(number) else f"{text} = {scale * evaluate(number, values)}"


def _values(lengths: Mapping[str, int], rows: Mapping[str, str], sizes: HostSizes) -> dict[str, int]:
    """Return the values of all sizes and leading dimensions."""
    values = sizes.equal(lengths)
    return values | {leading: values[role] for leading, role in rows.items()}


def _axes(encoded: Encoded, matrix: str, length: str, itemsize: int, unit: int, sizes: HostSizes) -> Iterator[_Axis]:
    """Yield the extents and then the strides of a map of elements of ``unit`` bytes, fastest axis first.

    Those of the matrix have ``itemsize`` bytes. Raises Unreadable.
    """
    box, count = encoded.box, len(encoded.box)
    if len(encoded.extents) != count or len(encoded.strides) != count - 1:
        raise Unreadable("a tensor map")
    usual = _usual(box, _in_units(length, itemsize, unit), next(each for each in SIDES[matrix] if each != length))
    for axis, (part, expected) in enumerate(zip((*encoded.extents, *encoded.strides), usual, strict=True)):
        reader, node = part
        number = expected if axis >= count + 2 else sizes.number(reader, node)  # no copy steps over several pieces
        scale = unit if count <= axis < count + 2 else 1
        words = _STRIDE if axis >= count else _EXTENTS[axis] if count == 2 else _EXTENT
        yield _Axis(words, number, expected, scale, _is_literal(reader, node))


def _is_literal(reader: Reader, node: Node) -> bool:
    """Return whether an expression has no names but those of types."""
    return all(reader.source.types.get(name, name) in ELEMENTS for name in identifiers(node))


def _in_units(length: str, itemsize: int, unit: int) -> ast.expr:
    """Return a length, which counts elements of a matrix, in units of other bytes."""
    if itemsize < unit:
        return ast.BinOp(ast.Name(length), ast.FloorDiv(), ast.Constant(unit // itemsize))
    if unit < itemsize:
        return ast.BinOp(ast.Name(length), ast.Mult(), ast.Constant(itemsize // unit))
    return ast.Name(length)


def _usual(box: Sequence[int], length: ast.expr, rows: str) -> list[ast.expr]:
    """Return the extents and strides of a matrix in elements, fastest axis first: of two axes, or of pieces of rows."""
    if len(box) == 2:
        return [length, ast.Name(rows), length]
    pieces, further = ast.BinOp(length, ast.FloorDiv(), ast.Constant(box[-1])), len(box) - 3
    one, piece, rest = ast.Constant(1), ast.Constant(box[-1]), ast.BinOp(ast.Name(rows), ast.Mult(), length)
    return [piece, ast.Name(rows), pieces, *[one] * further, length, piece, *[rest] * further]


def _differs(
    axis: _Axis, tried: Sequence[Mapping[str, int]], of_program: Mapping[str, int] | None, sizes: HostSizes
) -> bool:
    """Return whether an extent or a stride is not the matrix's at some sizes.

    A number may be a size of the program, whose name was not recognised. It is then right at the program's sizes.
    """
    role = min(names_in(axis.usual), default="")
    if axis.is_constant and not (axis.is_literal and sizes.is_named(role)):
        if of_program is None:
            raise Unreadable("a tensor map")
        return axis.differs(of_program)
    return any(map(axis.differs, tried))
