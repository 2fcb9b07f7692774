"""Matrices that a kernel takes as structures by value, such as ``{width, height, stride, elements}``."""

from __future__ import annotations

import re

from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import Scalar, Struct
from mmcore_cuda.cuda_source.parameters import Parameter

_ON_DEVICE = re.compile(r"dev|gpu|^d_|_d$", re.IGNORECASE)  # of two pointers, the name of the one that a kernel uses
_SIDES = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}  # the sizes of rows and columns
_ROWS = re.compile(r"(?:num|n)?(?:rows?|heights?|h|m)")
_COLUMNS = re.compile(r"(?:num|n)?(?:cols?|columns?|widths?|w|n)")
_LEADING = re.compile(r"stride|pitch|ld\w?|leading(?:dim(?:ension)?)?")


def structure_of(
    parameter: Parameter, matrix: str, scalars: dict[str, str], *, transposed: bool = False
) -> tuple[Struct, dict[str, str]]:
    """Return the structure of a matrix, and the role of each size in it by its name, such as "A.width".

    ``scalars`` are numpy's names of the members' types. A ``transposed`` matrix has its columns as rows. Raises
    InvalidKernel for a member without a known role.
    """
    members: list[str | Scalar] = []
    sizes: dict[str, str] = {}
    pointers = [each for each in parameter.members if each.pointer]
    elements = next((each for each in pointers if _ON_DEVICE.search(each.name)), next(iter(pointers), None))
    for member in parameter.members:
        if member.pointer:
            members.append(matrix if member is elements else Scalar(0, "int64"))
            continue
        word, dtype = member.name.casefold().replace("_", ""), scalars.get(member.type, "")
        rows, columns = reversed(_SIDES[matrix]) if transposed else _SIDES[matrix]
        role = rows if _ROWS.fullmatch(word) else columns if _COLUMNS.fullmatch(word) else ""
        role = f"ld{matrix.lower()}" if _LEADING.fullmatch(word) else role
        if not role or "int" not in dtype:
            raise InvalidKernel(f"the member {member} of {str(parameter)!r} is neither rows, columns nor a stride")
        members.append(role if dtype == "int32" else Scalar(role, dtype))
        sizes[f"{parameter.name}.{member.name}"] = role
    if matrix not in members:
        raise InvalidKernel(f"{str(parameter)!r} has no pointer to the elements of {matrix}")
    return Struct(tuple(members)), sizes
