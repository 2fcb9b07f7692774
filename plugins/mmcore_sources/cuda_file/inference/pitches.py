"""Leading dimensions in bytes, such as the pitch of ``cudaMallocPitch``."""

from __future__ import annotations

import re
from dataclasses import replace

from mmcore.kernel.arguments import PITCHES, Argument, Scalar
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.roles import Roles

_BYTE = r"(?:char|u?int8_t|(?:std::)?byte)\s*(?:const\s*)?\*\s*"
_CAST = re.compile(rf"{_BYTE}[)>]")
_BYTES = re.compile(rf"{_BYTE}(?:const\s+)?(?:__restrict__\s*)?(\w+)\s*=")  # a variable that points to bytes


def with_pitches(roles: Roles, function: Function) -> Roles:
    """Return roles with the leading dimensions in bytes: a kernel divides them by ``sizeof``, or adds them to bytes."""
    text = text_of(function.body)
    statements = re.split("[;{}]", text)
    pointers = "|".join(_BYTES.findall(text)) or "(?!)"

    def is_in_bytes(name: str) -> bool:
        word = rf"\b{re.escape(name)}\b"
        added = re.compile(rf"(?:{_CAST.pattern}|\b(?:{pointers})\s*[+[]).*{word}", re.DOTALL)
        return bool(re.search(rf"{word}\s*/\s*sizeof\b", text)) or any(map(added.search, statements))

    def in_bytes(argument: Argument, parameter: Parameter) -> Argument:
        role = roles.sizes.get(parameter.name, "")
        if role not in PITCHES.values() or not is_in_bytes(parameter.name):
            return argument
        return Scalar(f"bytes({role})", argument.type if isinstance(argument, Scalar) else "int32")

    return replace(roles, arguments=tuple(map(in_bytes, roles.arguments, function.parameters)))
