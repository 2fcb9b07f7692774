"""The roles of a kernel's parameters as ``--args`` gives them."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import (
    FACTORS,
    LOGARITHMS,
    MATRICES,
    PITCHES,
    QUOTIENTS,
    SIZES,
    Argument,
    Scalar,
    Struct,
    Workspace,
)
from mmcore.kernel.constraints import Multiple
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.counted_columns import blocks_of_row
from mmcore_sources.cuda_file.inference.expressions import SizeRule, parse_expressions
from mmcore_sources.cuda_file.inference.roles import ZEROS, Roles, scalar_type, scalars_of
from mmcore_sources.cuda_file.inference.row_lengths import side_of_squares
from mmcore_sources.cuda_file.inference.structures import structure_of

_NAMES = (*MATRICES, *SIZES, *FACTORS, *LOGARITHMS, *PITCHES)


def given_arguments(words: list[str], function: Function) -> tuple[Argument, ...]:
    """Return the arguments that a user names: matrices, sizes in their parameters' types, and numbers.

    Raises InvalidKernel if a word is none of these, or if their number differs from the parameters'.
    """
    if len(words) != len(function.parameters):
        takes = ", ".join(map(str, function.parameters))
        raise InvalidKernel(
            f"--args names {len(words)} arguments, but {function.name} takes {len(function.parameters)}: {takes}"
        )
    return tuple(_given(*pair) for pair in zip(words, function.parameters, strict=True))


def _given(word: str, parameter: Parameter) -> Argument:
    name = word.strip()
    usual = {each.casefold(): each for each in (*_NAMES, *QUOTIENTS)}
    dtype = "" if parameter.pointer else scalar_type(parameter.type)
    if parameter.members and name in ("A", "B", "C"):
        return structure_of(parameter, name, scalars_of(parameter))[0]
    if parameter.pointer and name == "0":
        return Workspace(parameter.name, content=ZEROS)
    if (role := usual.get(name.casefold())) is not None:
        if (role in ("A", "B", "C")) != parameter.pointer:
            raise InvalidKernel(f"--args passes {role} as the parameter {str(parameter)!r}, which cannot hold it")
        return role if parameter.pointer or (role in SIZES and dtype == "int32") else Scalar(role, dtype or "float32")
    try:
        return Scalar(float(name) if "float" in dtype else int(name), dtype or "int32")
    except ValueError:
        pass
    with contextlib.suppress(InvalidKernel):
        (expression,) = parse_expressions(name, "the argument")
        if not isinstance(expression, ast.Name) and not parameter.pointer:
            return Scalar(SizeRule(name), dtype or "int32")
    raise InvalidKernel(f"--args: {name!r} is none of {', '.join(_NAMES)}, and no number")


def with_arguments(arguments: tuple[Argument, ...], body: Body) -> Roles:
    """Return the roles according to given arguments."""
    names = [str(getattr(each, "value", getattr(each, "name", each))) for each in arguments]
    pairs = list(zip(body.function.parameters, names, strict=True))
    sizes = {parameter.name: str(role) for parameter, role in pairs if role in SIZES}
    sizes |= {parameter.name: PITCHES[role] for parameter, role in pairs if role in PITCHES}
    sizes |= {parameter.name: QUOTIENTS[role][0] for parameter, role in pairs if role in QUOTIENTS}
    sizes |= {f"1<<{parameter.name}": LOGARITHMS[role] for parameter, role in pairs if role in LOGARITHMS}
    pointers = {str(role): parameter.name for parameter, role in pairs if parameter.pointer}
    for parameter, argument in zip(body.function.parameters, arguments, strict=True):
        if isinstance(argument, Struct):
            matrix = next(str(each) for each in argument.members if each in ("A", "B", "C"))
            pointers[matrix] = parameter.name
            sizes |= structure_of(parameter, matrix, scalars_of(parameter))[1]
    if missing := {"A", "B", "C"} - pointers.keys():
        raise InvalidKernel(f"--args leaves out {', '.join(sorted(missing))}")
    squares = bool(side_of_squares(sizes, body))
    blocks = bool(blocks_of_row(body, pointers, sizes))
    return Roles(arguments, sizes, pointers, "as given by --args", of_squares=squares, of_blocks=blocks)


def whole_vectors(arguments: Iterable[Argument]) -> tuple[Multiple, ...]:
    """Return the constraints that arguments such as n/4 imply."""
    values = dict.fromkeys(str(each.value) for each in arguments if isinstance(each, Scalar))
    return tuple(Multiple(*QUOTIENTS[each]) for each in values if each in QUOTIENTS)
