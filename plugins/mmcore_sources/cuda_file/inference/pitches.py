"""Leading dimensions in bytes, such as the pitch of ``cudaMallocPitch``."""

from __future__ import annotations

from dataclasses import replace

from mmcore.kernel.arguments import PITCHES, Argument, Scalar
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.parameters import Parameter
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.row_lengths import is_in_bytes


def with_pitches(roles: Roles, function: Function) -> Roles:
    """Return roles with the leading dimensions in bytes: a kernel divides them by ``sizeof``, or adds them to bytes."""

    def in_bytes(argument: Argument, parameter: Parameter) -> Argument:
        role = roles.sizes.get(parameter.name, "")
        if role not in PITCHES.values() or not is_in_bytes(parameter.name, function):
            return argument
        return Scalar(f"bytes({role})", argument.type if isinstance(argument, Scalar) else "int32")

    return replace(roles, arguments=tuple(map(in_bytes, roles.arguments, function.parameters)))
