"""The element types and shapes of a program's arrays, as far as its literals show."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.scopes import Scope

_TYPES = {
    **{name: name for name in ("float16", "float32", "float64", "bfloat16", "int8", "uint8", "int32", "int64")},
    **{name: name for name in ("float8_e4m3fn", "float8_e5m2")},
    "half": "float16",
    "float": "float64",
    "single": "float32",
    "double": "float64",
    "int": "int64",
    "f2": "float16",
    "f4": "float32",
    "f8": "float64",
    "f": "float32",
    "d": "float64",
    "i4": "int32",
}
_OF_TORCH = {**_TYPES, "float": "float32"}
_METHODS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
_SAME = (
    *("cuda", "cpu", "copy", "contiguous", "clone", "detach", "ravel", "flatten", "get", "copy_to_host"),
    "mark_layout_dynamic",  # of CuTe DSL
)
_ORDERED = {"contiguous": False, "copy": False, "ascontiguousarray": False, "asfortranarray": True}  # by columns?
_CONVERTED = (
    *("asarray", "array", "ascontiguousarray", "asfortranarray", "to_device", "to_gpu", "to_gpu_async", "tensor"),
    *("from_numpy", "from_dlpack", "as_cuda_array", "In", "Out", "InOut"),
)
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "device_array_like")
_SHAPED = {"zeros": 1, "ones": 1, "empty": 1, "full": 2, "device_array": 1, "pinned_array": 1, "eye": 3, "identity": 1}
_RANDOM = {"rand": 9, "randn": 9, "random": 1, "random_sample": 9, "standard_normal": 1, "uniform": 9, "normal": 9}
_INTEGERS = {"randint": 9, "integers": 9, "arange": 9}
_DEEPEST = 30


@dataclass(frozen=True)
class Array:
    """An array: its element type, and the expressions of its sides; each empty if unknown."""

    dtype: str = ""
    sides: tuple[ast.expr, ...] = ()
    by_columns: bool = False


@dataclass(frozen=True)
class ArrayReader:
    """The evaluation of expressions that make arrays."""

    program: PythonProgram
    _known: dict[tuple[int, Scope, int], Array] = field(default_factory=dict)

    def read(self, node: ast.expr, scope: Scope, line: int, depth: int = 0) -> Array:
        """Return the array of an expression in a line of a scope."""
        key = id(node), scope, line
        if key not in self._known:
            self._known[key] = self._read(node, scope, line, depth) if depth <= _DEEPEST else Array()
        return self._known[key]

    def _read(self, node: ast.expr, scope: Scope, line: int, depth: int) -> Array:
        match node:
            case ast.Name(name) | ast.Attribute(ast.Name("self"), name):
                name = ast.unparse(node)
                assigned = self.program.value_of(name, scope, line)
                if assigned is not None:
                    # The value sees earlier assignments only.
                    before = assigned.line - (assigned.scope == scope)
                    return self.read(assigned.value, assigned.scope, before, depth + 1)
                # The sides of a parameter keep its name, so that a launch holds for all sizes.
                passed = self.program.argument_at_calls(name, scope)
                array = Array() if passed is None else self.read(*passed, depth + 1)
                shape = ast.Attribute(node, "shape")
                return replace(array, sides=tuple(ast.Subscript(shape, ast.Constant(axis)) for axis in (0, 1)))
            case ast.Attribute(owner, "T"):
                array = self.read(owner, scope, line, depth + 1)
                return replace(array, sides=array.sides[::-1], by_columns=not array.by_columns)
            case ast.Attribute(owner, "data" | "ptr" | "gpudata" | "nbytes" | "real"):
                return self.read(owner, scope, line, depth + 1)
            case ast.BinOp(left, operator, right):
                return self._combined(left, operator, right, scope, line, depth + 1)
            case ast.Call():
                return self._called(node, scope, line, depth + 1)
        return Array()

    def _combined(
        self, left: ast.expr, operator: ast.operator, right: ast.expr, scope: Scope, line: int, depth: int
    ) -> Array:
        one, other = (self.read(each, scope, line, depth) for each in (left, right))
        if isinstance(operator, ast.MatMult):
            sides = (one.sides[0], other.sides[1]) if len(one.sides) == len(other.sides) == 2 else ()
            return Array(one.dtype if one.dtype == other.dtype else "", sides)
        if isinstance(left, ast.Constant) or isinstance(right, ast.Constant):
            return other if isinstance(left, ast.Constant) else one
        return one if one.dtype == other.dtype else Array("", one.sides)

    def _called(self, call: ast.Call, scope: Scope, line: int, depth: int) -> Array:
        name = self.program.full_name(call.func)
        word = name.rpartition(".")[2]
        keywords = keywords_of(call)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        given = self._dtype(keywords["dtype"], name) if "dtype" in keywords else ""

        def of(node: ast.expr) -> Array:
            return self.read(node, scope, line, depth)

        if word in ("astype", "to", "type", "view") and owner is not None:
            array = of(owner)
            types = [found for each in call.args if (found := self._dtype(each, "torch" if word != "astype" else ""))]
            return replace(array, dtype=given or next(iter(types), array.dtype if word == "to" else ""))
        if word in ("reshape", "transpose", "t") and owner is not None:
            sides = _sides(call.args) if word == "reshape" else of(owner).sides[::-1]
            return Array(of(owner).dtype, sides, word != "reshape")
        if word in _METHODS and owner is not None and not call.args:
            return replace(of(owner), dtype=_METHODS[word])
        in_place = word.endswith("_") and not word.startswith("_")  # PyTorch's "normal_"
        if owner is not None and (in_place or (word in _SAME and not call.args)):
            return replace(of(owner), by_columns=_ORDERED.get(word, of(owner).by_columns))
        if word == "mem_alloc" and call.args:
            return of(call.args[0])
        if word in _LIKE and call.args:
            return replace(of(call.args[0]), dtype=given or of(call.args[0]).dtype)
        if word in _CONVERTED and call.args:
            second = self._dtype(call.args[1], name) if len(call.args) > 1 else ""
            array = of(call.args[0])
            by_columns = _ORDERED.get(word, array.by_columns)
            return replace(array, dtype=given or second or array.dtype, by_columns=by_columns)
        return self._created(call, name, given)

    def _created(self, call: ast.Call, name: str, given: str) -> Array:
        word, in_torch = name.rpartition(".")[2], name.startswith("torch.")
        usual = "float32" if in_torch else "int64" if word in _INTEGERS else "float64"
        places = _SHAPED | _RANDOM | _INTEGERS
        if word not in places:
            return Array()
        if word == "full":
            value = call.args[1] if len(call.args) > 1 else None
            usual = usual if isinstance(value, ast.Constant) and isinstance(value.value, float) else ""
        if in_torch or word not in _SHAPED or len(call.args) <= places[word]:
            dtype = given or usual
        else:
            dtype = given or self._dtype(call.args[places[word]], name)
        keywords = keywords_of(call)
        shape = keywords.get("shape", keywords.get("size"))
        listed = call.args if in_torch or word in ("rand", "randn") else call.args[:1]
        listed = call.args[2:3] if word in ("uniform", "normal", "randint", "integers") else listed
        sides = _sides([shape] if shape is not None else listed)
        if word in ("eye", "identity") and len(sides) == 1:
            sides *= 2
        order = keywords.get("order")
        by_columns = isinstance(order, ast.Constant) and order.value == "F"
        return Array(dtype if given or "dtype" not in keywords else "", sides, by_columns)

    def _dtype(self, node: ast.expr, creator: str) -> str:
        """Return numpy's name of an element type; empty if it is unknown."""
        words = _OF_TORCH if creator.startswith("torch") else _TYPES
        if isinstance(node, ast.Constant):
            return _TYPES.get(str(node.value).lstrip("<>="), "") if isinstance(node.value, str) else ""
        if isinstance(node, ast.Call):
            return self._dtype(node.args[0], creator) if node.args else ""
        if isinstance(node, ast.Name):
            assigned = [each.value for each in self.program.assignments if each.name == node.id]
            if assigned and not isinstance(assigned[-1], ast.Name):
                return self._dtype(assigned[-1], creator)
        return words.get(self.program.full_name(node).rpartition(".")[2], "")


def _sides(arguments: Sequence[ast.expr]) -> tuple[ast.expr, ...]:
    """Return the sides in ``(rows, columns)`` or ``((rows, columns),)``."""
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple | ast.List):
        return tuple(arguments[0].elts)
    return tuple(arguments)
