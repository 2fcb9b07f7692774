"""The roles of a Triton kernel's parameters: from the launch's arguments, and from the names of tutorials."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import FACTORS, SIZES, Argument, Scalar

_STRIDE = re.compile(r"(?:stride_?)?([abc])_?(?:stride_?)?([mnk01])|stride_?([abc])([mnk01])")
_MATRIX = re.compile(r"(?:d_)?([abc])(?:_?(?:ptr|pointer|desc|mat|matrix))?|(?:ptr_)([abc])")
_FIRST = {"a": "m", "b": "k", "c": "m"}  # the sizes along which a stride is the length of a row


def matrices_of(function: ast.FunctionDef) -> dict[str, str]:
    """Return the matrix of each parameter that is loaded from or stored to; fewer than three if it has fewer."""
    names = [each.arg for each in function.args.args]
    sources: dict[str, set[str]] = {name: {name} for name in names}
    # A local pointer is a parameter plus an offset.
    for node in ast.walk(function):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign | ast.AugAssign):
                sources.setdefault(target.id, set()).update(_pointer(node.value, sources))
    loaded, stored = list[str](), list[str]()
    for node in ast.walk(function):
        word = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and node.args and word in ("load", "store", "atomic_add"):
            # Of a descriptor, load and store are methods.
            owner = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
            of_tl = isinstance(owner, ast.Name) and owner.id not in sources
            pointer = _pointer(node.args[0] if of_tl else owner, sources)
            found = [name for name in names if name in pointer][:1]
            (loaded if word == "load" else stored).extend(found)
    outputs = list(dict.fromkeys(stored))
    inputs = [name for name in names if name in loaded and name not in outputs]
    if len(outputs) != 1 or len(inputs) != 2:
        return dict.fromkeys([*inputs, *outputs], "")
    letters = [match[1] or match[2] if (match := _MATRIX.fullmatch(name.casefold())) else "" for name in inputs]
    first, second = reversed(inputs) if letters == ["b", "a"] else inputs
    return {first: "A", second: "B", outputs[0]: "C"}


def _pointer(node: ast.expr, sources: Mapping[str, set[str]]) -> set[str]:
    """Return the parameters that the pointer of an address is: the first name in a sum."""
    while isinstance(node, ast.BinOp):
        node = node.left
    if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("tl.make_"):
        named = [each.value for each in node.keywords if each.arg == "base"]
        node = next(iter([*node.args, *named]), node)
    return sources.get(node.id, set()) if isinstance(node, ast.Name) else set()


def roles_of(
    function: ast.FunctionDef, names: Sequence[str], passed: Mapping[str, ast.expr], given: Sequence[str] | None
) -> dict[str, Argument | int]:
    """Return the argument of each parameter that is not ``tl.constexpr``. Raises InvalidKernel for an unknown role."""
    if given is not None:
        if len(given) != len(names):
            raise InvalidKernel(f"--args names {len(given)} arguments, but {function.name} takes {', '.join(names)}")
        return {name: int(word) if word.isdecimal() else word.strip() for name, word in zip(names, given, strict=True)}
    matrices = matrices_of(function)
    if sorted(matrices.values()) != ["A", "B", "C"]:
        raise InvalidKernel(f"{function.name} does not load two matrices and store a third; --args gives the roles")
    roles: dict[str, Argument | int] = dict(matrices)
    arrays = {ast.unparse(passed[name]): matrix for name, matrix in matrices.items() if name in passed}
    rest = [name for name in names if name not in roles]
    for name in rest:
        role = _of_stride(passed.get(name), arrays) or _named(name)
        if role is not None:
            roles[name] = role
    unknown = [name for name in rest if name not in roles]
    free = [role for role in "mnk" if role not in roles.values()]
    if len(unknown) == 1 and len(free) == 3:
        free = ["n"]
    if len(unknown) > len(free):
        raise InvalidKernel(f"the role of {unknown[0]} in {function.name} is unknown; --args gives all roles")
    roles |= dict(zip(unknown, free, strict=False))
    return {name: roles[name] for name in names}


def _of_stride(node: ast.expr | None, arrays: Mapping[str, str]) -> Argument | int | None:
    """Return the leading dimension that ``a.stride(0)`` is, or 1 for ``a.stride(1)``."""
    match node:
        case ast.Call(ast.Attribute(array, "stride"), [ast.Constant(value=int(axis))]):
            matrix = arrays.get(ast.unparse(array), "")
        case ast.Subscript(ast.Attribute(array, "strides"), ast.Constant(value=int(axis))):
            matrix = arrays.get(ast.unparse(array), "")
        case ast.Constant(value=1):
            return 1
        case _:
            return None
    return None if not matrix else f"ld{matrix.lower()}" if axis in (0, -2) else 1


def _named(name: str) -> Argument | int | None:
    word = name.casefold()
    if word in SIZES:
        return word
    if word in FACTORS:
        return Scalar(word, "float32")
    if match := _STRIDE.fullmatch(word):
        matrix, axis = match[1] or match[3], match[2] or match[4]
        return f"ld{matrix}" if axis in (_FIRST[matrix], "0") else 1
    return None
