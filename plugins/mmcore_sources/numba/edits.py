"""Changes of a Numba kernel, each of one kind of mistake: axes, loops, shapes, comparisons, indexes."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from mmcore.kernel.arguments import SIZES
from mmcore_sources.numba.remainder_edits import guards
from mmcore_sources.python_file.changes import Change, added, comparisons


def edits(function: ast.FunctionDef, names: Mapping[str, str]) -> Iterator[Change]:
    """Yield changes of a function, likely ones first. ``names`` are its parameters by the matrix or size they get."""
    steps = list(_loops(function, names))
    yield from _axes(function)
    yield from steps
    yield from _stored(function, steps)
    yield from guards(function, names, steps)
    yield from _exchanged(function)
    yield from _shapes(function)
    yield from _sizes(function, [names[role] for role in SIZES if role in names])
    yield from added(function, (ast.BinOp,))
    yield from comparisons(function)


def _loops(function: ast.FunctionDef, arrays: Mapping[str, str]) -> Iterator[Change]:
    """Yield loops over tiles that round up, and that count the tiles of A instead of blocks."""
    values = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for loop in (each for each in ast.walk(function) if isinstance(each, ast.For)):
        match loop.iter:
            case ast.Call(ast.Name("range"), [*_, bound]):
                value = values.get(bound.id, bound) if isinstance(bound, ast.Name) else bound
                match value:
                    case ast.BinOp(size, ast.FloorDiv(), step) | ast.Call(
                        ast.Name("int"), [ast.BinOp(size, ast.Div(), step)]
                    ) if not isinstance(size, ast.BinOp):
                        text, tile = ast.unparse(size), ast.unparse(step)
                        yield Change(((bound, f"({text} + {tile} - 1) // {tile}"),))
                    case ast.Attribute() if "gridDim" in ast.unparse(value) and "A" in arrays:
                        for inner in (
                            each for each in ast.walk(loop) if isinstance(each, ast.For) and each is not loop
                        ):
                            if isinstance(inner.iter, ast.Call) and inner.iter.args:
                                tile = ast.unparse(inner.iter.args[-1])
                                side = f"{arrays['A']}.shape[1]"
                                yield Change(((bound, f"({side} + {tile} - 1) // {tile}"),))


def _stored(function: ast.FunctionDef, steps: Sequence[Change]) -> Iterator[Change]:
    """Yield stores of a sum alone, such as ``s`` for ``s % 2``, and each of these with one of the loops' ``steps``."""
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Subscript()], ast.BinOp(ast.Name(name), _, ast.Constant()) as value):
                yield Change(((value, name),))
                what = f"{name} instead of {ast.unparse(value)}, and {{}},"
                for step in steps:
                    pairs = " and ".join(f"{new} instead of {ast.unparse(old)}" for old, new in step.nodes)
                    yield Change(((value, name), *step.nodes), what.format(pairs))


def _shapes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield the other axis of a shape, at one place and at all places of an array."""
    places: dict[str, list[ast.Subscript]] = {}
    for node in ast.walk(function):
        match node:
            case ast.Subscript(ast.Attribute(ast.Name(name), "shape"), ast.Constant(value=0 | 1)):
                places.setdefault(name, []).append(node)
    for several in places.values():
        changes = tuple((each, _other_axis(each)) for each in several)
        if len({new for _, new in changes}) == 2:
            yield Change(changes, "the axes of the shape exchanged")
        yield from (Change((each,)) for each in changes)


def _sizes(function: ast.FunctionDef, sizes: Sequence[str]) -> Iterator[Change]:
    """Yield another size as a factor or divisor, such as ``i // n`` for ``i // m``."""
    for node in ast.walk(function):
        match node:
            case ast.BinOp(_, ast.Mult() | ast.FloorDiv() | ast.Mod(), ast.Name(name) as right) if name in sizes:
                yield from (Change(((right, other),)) for other in sizes if other != name)


def _other_axis(node: ast.Subscript) -> str:
    axis = ast.unparse(node.slice)
    return f"{ast.unparse(node.value)}[{1 - int(axis)}]"


def _axes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield the axes of ``cuda.grid(2)`` exchanged, and x for y."""
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Tuple([one, other]) as names], ast.Call(ast.Attribute(_, "grid"))):
                new = f"{ast.unparse(other)}, {ast.unparse(one)}"
                yield Change(((names, new),), f"{new} instead of {ast.unparse(one)}, {ast.unparse(other)}")
    for word in ("threadIdx", "blockIdx"):
        several = [
            (each, f"{ast.unparse(each.value)}.{'y' if each.attr == 'x' else 'x'}")
            for each in ast.walk(function)
            if isinstance(each, ast.Attribute) and each.attr in "xy" and ast.unparse(each.value).endswith(word)
        ]
        if len({new for _, new in several}) == 2:
            yield Change(tuple(several), f"{word}.x and {word}.y exchanged")


def _exchanged(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield two indexes of an array exchanged, and reads of an array first to which several lines store."""
    places = [each for each in ast.walk(function) if isinstance(each, ast.Subscript)]
    stores = Counter(ast.unparse(each.value) for each in places if isinstance(each.ctx, ast.Store))

    def is_last(node: ast.Subscript) -> bool:
        return isinstance(node.ctx, ast.Store) and stores[ast.unparse(node.value)] > 1

    for node in sorted(places, key=is_last):
        match node:
            case ast.Subscript(array, ast.Tuple([one, other])):
                yield Change(((node, f"{ast.unparse(array)}[{ast.unparse(other)}, {ast.unparse(one)}]"),))
