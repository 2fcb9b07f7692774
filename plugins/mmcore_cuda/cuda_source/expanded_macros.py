"""The macros that stand for a list of parameters, or for the name of a kernel that is launched."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from mmcore_cuda.cuda_source.program import Function, HostLaunch, Macro, Parameter, Program, read_program

_NAME = re.compile(r"[A-Za-z_][\w:]*")


def with_expanded_macros(program: Program) -> Program:
    """Return a program whose kernels have the parameters, and whose launches the kernels, that its macros stand for."""
    return replace(
        program,
        functions=tuple(_with_parameters(each, program.macros) for each in program.functions),
        included=tuple(_with_parameters(each, program.macros) for each in program.included),
        launches=tuple(_of_kernel(each, program.macros) for each in program.launches),
    )


def _with_parameters(function: Function, macros: Mapping[str, Macro]) -> Function:
    parameters = (one for each in function.parameters for one in _listed(each, macros))
    return replace(function, parameters=tuple(parameters))


def _listed(parameter: Parameter, macros: Mapping[str, Macro]) -> tuple[Parameter, ...]:
    """Return the parameters that a macro lists; others as they are."""
    macro = None if parameter.name or parameter.pointer else macros.get(parameter.type)
    if macro is None or macro.parameters is not None:
        return (parameter,)
    listing = read_program(f"__global__ void f({macro.text}) {{}}")
    return listing.functions[0].parameters if listing.functions and not listing.error_line else (parameter,)


def _of_kernel(launch: HostLaunch, macros: Mapping[str, Macro]) -> HostLaunch:
    """Return a launch by the name that a macro stands for; others as they are."""
    macro = macros.get(launch.name)
    is_name = macro is not None and macro.parameters is None and _NAME.fullmatch(macro.text)
    return replace(launch, name=macro.text) if macro is not None and is_name else launch
