"""Changes of a Triton kernel, each of one kind of mistake: sums, masks, loops, strides, programs."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mmcore_sources.python_file.changes import Change, added

_SIDES = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}
_NARROW = ("float16", "bfloat16")
_ROUNDED = tuple(f"{each})" for each in _NARROW)
_DEEPEST = 4


@dataclass(frozen=True)
class _Loop:
    """A loop along k: its number of steps as a node, the size, the step, and the elements that are left in a step."""

    variable: str
    bound: ast.expr
    size: str
    step: str
    left: str
    rounds_down: bool


@dataclass
class TritonEdits:
    """The changes of a function whose parameters have ``roles``: "A", "m", "lda", or "1" for the other stride."""

    function: ast.FunctionDef
    roles: Mapping[str, str]
    _values: dict[str, ast.expr] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Change]:
        """Yield changes, likely ones first."""
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self._values.setdefault(node.targets[0].id, node.value)
        yield from self._sums()
        yield from added(self.function, (ast.Call,))
        yield from self._masks()
        yield from self._programs()
        yield from self._steps()
        yield from self._strides()

    def _sums(self) -> Iterator[Change]:
        """Yield sums in float32, and tiles that are not rounded."""
        for call in self._calls("zeros", "dot", "full"):
            for node in ast.walk(call):
                if isinstance(node, ast.Attribute) and node.attr in _NARROW:
                    yield Change(((node, "tl.float32"),))
        for call in self._calls("to"):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call).endswith(_ROUNDED):
                yield Change(((call, ast.unparse(call.func.value)),))

    def _calls(self, *words: str) -> Iterator[ast.Call]:
        for node in ast.walk(self.function):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in words:
                yield node

    def _masks(self) -> Iterator[Change]:
        """Yield loads and stores with masks of both axes, and loops that round up."""
        loop = self._loop()
        if loop is None:
            return
        masked = [(call, self._masked(call, loop)) for call in self._calls("load", "store")]
        wrong = [(call, text) for call, text in masked if text not in ("", ast.unparse(call))]
        loads = [each for each in wrong if ast.unparse(each[0].func).endswith("load")]
        for some in [*([each] for each in wrong), loads, wrong]:
            yield from [Change(tuple(some), "a mask of both axes")] * bool(some)
        if loop.rounds_down:
            steps = (loop.bound, f"tl.cdiv({loop.size}, {loop.step})")
            yield Change((steps,))
            yield Change((steps, *wrong), "masks of both axes and tl.cdiv")

    def _loop(self) -> _Loop | None:
        for node in ast.walk(self.function):
            match node:
                case ast.For(ast.Name(variable), ast.Call(ast.Name("range") | ast.Attribute(_, "range"), bounds)):
                    end = bounds[min(1, len(bounds) - 1)]
                    if len(bounds) == 3:
                        size, step = ast.unparse(end), ast.unparse(bounds[2])
                        return _Loop(variable, end, size, step, f"{size} - {variable}", rounds_down=False)
                    value = self._values.get(end.id, end) if isinstance(end, ast.Name) else end
                    match value:
                        case ast.Call(_, [one, other]) | ast.BinOp(one, ast.FloorDiv(), other):
                            size, step = ast.unparse(one), ast.unparse(other)
                            left = f"{size} - {variable} * {step}"
                            return _Loop(variable, value, size, step, left, isinstance(value, ast.BinOp))
        return None

    def _masked(self, call: ast.Call, loop: _Loop) -> str:
        """Return a load or store with a mask of both axes; empty if its pointer is not understood."""
        if not call.args:
            return ""
        rows, columns = self._indexes(call.args[0])
        matrix = next((self.roles[name] for name in self._names(call.args[0]) if self.roles.get(name) in _SIDES), "")
        if not rows or not columns or not matrix:
            return ""
        sides = _SIDES[matrix]
        along = [self._is_along(each, loop) for each in (rows, columns)]
        if matrix != "C" and along.count(True) == 1 and sides[along.index(True)] != "k":
            sides = (sides[1], sides[0])  # the tile is loaded transposed
        sizes = {role: name for name, role in self.roles.items()}
        bounds = []
        for index, side in zip((rows, columns), sides, strict=True):
            if side != "k" and side not in sizes:
                return ""
            moves = re.search(rf"\b{loop.variable}\b", self._expanded(index))
            bounds.append((loop.size if moves else loop.left) if side == "k" else sizes[side])
        mask = f"({rows} < {bounds[0]}) & ({columns} < {bounds[1]})"
        arguments = ", ".join(map(ast.unparse, call.args[: 1 if ast.unparse(call.func).endswith("load") else 2]))
        other = ", other=0.0" if ast.unparse(call.func).endswith("load") else ""
        return f"{ast.unparse(call.func)}({arguments}, mask={mask}{other})"

    def _indexes(self, pointer: ast.expr, depth: int = 0) -> tuple[str, str]:
        """Return the texts of a pointer's indexes along rows and columns of a tile, such as "rm[:, None]"."""
        rows = columns = ""
        for node in ast.walk(pointer):
            match node:
                case ast.Subscript(_, ast.Tuple([ast.Slice(), ast.Constant(value=None)])):
                    rows = rows or ast.unparse(node)
                case ast.Subscript(_, ast.Tuple([ast.Constant(value=None), ast.Slice()])):
                    columns = columns or ast.unparse(node)
                case ast.Name(name) if depth < _DEEPEST and name in self._values:
                    inner = self._indexes(self._values[name], depth + 1)
                    rows, columns = rows or inner[0], columns or inner[1]
        return rows, columns

    def _names(self, node: ast.expr, depth: int = 0) -> Iterator[str]:
        for each in ast.walk(node):
            if isinstance(each, ast.Name):
                yield each.id
                if depth < _DEEPEST and each.id in self._values:
                    yield from self._names(self._values[each.id], depth + 1)

    def _expanded(self, text: str) -> str:
        """Return the text of an index with the definitions of its names."""
        names = [each for each in re.findall(r"\w+", text) if each in self._values]
        return " ".join([text, *(ast.unparse(self._values[each]) for each in names)])

    def _is_along(self, index: str, loop: _Loop) -> bool:
        """Return whether an index counts the elements of a step along k."""
        return f"arange(0, {loop.step})" in self._expanded(index)

    def _steps(self) -> Iterator[Change]:
        """Yield pointers that move by a step along k in the loop, where they stay."""
        loop = self._loop()
        moved = {ast.unparse(each.target) for each in ast.walk(self.function) if isinstance(each, ast.AugAssign)}
        for node in ast.walk(self.function) if loop is not None else ():
            match node:
                case ast.Assign(_, ast.Call(_, [ast.Name(pointer), *_])) if loop is not None and pointer not in moved:
                    text = ast.unparse(node)
                    for stride in self._stride_names() if "load(" in text else ():
                        step = f"{pointer} += {loop.step} * {stride}"
                        yield Change(((node, f"{text}; {step}"),), step)

    def _stride_names(self) -> list[str]:
        return [name for name, role in self.roles.items() if role in ("lda", "ldb", "ldc", "1")]

    def _strides(self) -> Iterator[Change]:
        """Yield pointers with two strides exchanged, then with another stride at one place."""
        strides = self._stride_names()
        statements = [
            each for each in ast.walk(self.function) if isinstance(each, ast.Assign | ast.AugAssign | ast.Expr)
        ]
        places = [
            [each for each in ast.walk(statement) if isinstance(each, ast.Name) and each.id in strides]
            for statement in statements
        ]
        for several in places:
            for one, other in itertools.combinations(several, 2):
                if one.id != other.id:
                    yield Change(((one, other.id), (other, one.id)), f"{one.id} and {other.id} exchanged")
        for statement in statements:
            match statement:
                case ast.AugAssign(ast.Name(), ast.Add(), ast.Name(step)) if "ptr" in ast.unparse(statement.target):
                    yield from (Change(((statement.value, f"{step} * {stride}"),)) for stride in strides)
        for place in itertools.chain.from_iterable(places):
            yield from (Change(((place, stride),)) for stride in strides if stride != place.id)

    def _programs(self) -> Iterator[Change]:
        """Yield the axes of programs exchanged, quotient for remainder, and other numbers of programs."""
        ids = list(self._calls("program_id"))
        if len(ids) == 2:
            (one, first), (other, second) = ((each, ast.unparse(each)) for each in ids)
            yield Change(((one, second), (other, first)), "the axes of tl.program_id exchanged")
        counts = [name for name, value in self._values.items() if "cdiv(" in ast.unparse(value)]
        divided = [
            each for each in ast.walk(self.function)
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod | ast.FloorDiv)
            and isinstance(each.right, ast.Name) and each.right.id in counts
        ]  # fmt: skip
        for other_count in counts:
            changes = tuple((each.right, other_count) for each in divided if ast.unparse(each.right) != other_count)
            yield from [Change(changes)] * bool(changes)
        if len(divided) == 2:
            signs = [("//" if isinstance(each.op, ast.Mod) else "%") for each in divided]
            new = (
                (each, f"{ast.unparse(each.left)} {sign} {ast.unparse(each.right)}")
                for each, sign in zip(divided, signs, strict=True)
            )
            yield Change(tuple(new), "quotient and remainder exchanged")
