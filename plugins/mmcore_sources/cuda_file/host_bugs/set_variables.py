"""Variables of the device that a kernel reads, and that code which is not run sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mmcore_cuda.cuda_source.tree import Node, ancestors, outside_functions, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.device_variables import DeviceVariable, device_variables, reached, uses
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of

_TO_SYMBOL, _ADDRESS = ("cudaMemcpyToSymbol", "cudaMemcpyToSymbolAsync"), "cudaGetSymbolAddress"


class _Setting(NamedTuple):
    """Code that sets a variable: a kernel, a function of the host, or one of the CUDA runtime that it calls."""

    code: str
    line: int
    variable: str
    certain: bool


def set_variables(host: HostCode, kernel: str) -> Iterator[Bug]:
    """Find other kernels and host code that set a variable of the device that a kernel reads.

    A run launches one kernel again and again; a program may keep a state between its launches in such a variable.
    """
    variables = device_variables(host.root)
    if not variables:
        return
    functions = reached(host.root, kernel)
    read = {use.name for each in functions for use in uses(host, each, variables) if use.reads}
    read_variables = {name: each for name, each in variables.items() if name in read}
    found: dict[str, list[_Setting]] = {}
    for setting in (*_by_kernels(host, functions, read_variables), *_by_host(host, read_variables)):
        found.setdefault(setting.code, []).append(setting)
    for code, settings in found.items():
        *first, last = dict.fromkeys(each.variable for each in settings)
        names = f"{', '.join(first)} and {last}" if first else last
        sets = "sets" if any(each.certain for each in settings) else "may set"
        why = f"it {sets} {names}, which {kernel} reads, so that the program's calls may compute something else"
        yield Bug("other-kernel", min(each.line for each in settings), f"{code} is not run: {why}")


def _by_kernels(host: HostCode, run: list[Node], variables: dict[str, DeviceVariable]) -> Iterator[_Setting]:
    """Yield the variables that kernels set which the host code may launch, except kernels that are run."""
    for kernel in functions_of(host.root):
        name = function_name(kernel)
        if kernel in run or not any(child.type == "__global__" for child in kernel.children):
            continue
        # Another file may launch a kernel unless this one is the whole program.
        line = _first_line(host, name) or (0 if host.has_main else kernel.start_point.row + 1)
        for function in reached(host.root, name) if line else ():
            for use in uses(host, function, variables):
                if use.sets:
                    yield _Setting(name, line, use.name, use.certain)


def _first_line(host: HostCode, name: str) -> int:
    """Return the first line of the host code that names or launches a kernel; 0 without one."""
    values = (each for each in outside_functions(host.root) if each.type == "init_declarator")
    named = (each for part in (*values, *host.functions) for each in walk(part) if each.type == "identifier")
    lines = [each.start_point.row + 1 for each in named if text_of(each) == name]
    lines += [each.line for each in host.launches if each.name.rpartition("::")[2] == name]
    return min(lines, default=0)


def _by_host(host: HostCode, variables: dict[str, DeviceVariable]) -> Iterator[_Setting]:
    """Yield the variables that host code sets: by functions of the CUDA runtime, or itself if they are managed."""
    for function in host.functions:
        for use in uses(host, function, variables):
            line = use.node.start_point.row + 1
            call = next((each for each in ancestors(use.node) if each.type == "call_expression"), None)
            called = "" if call is None else function_name(call)
            if called in _TO_SYMBOL and call is not None and _is_within(use.node, call.children[1].named_children[0]):
                yield _Setting(called, line, use.name, certain=True)
            elif called == _ADDRESS:
                yield _Setting(called, line, use.name, certain=False)
            elif use.sets and variables[use.name].managed:
                yield _Setting(function_name(function), line, use.name, use.certain)


def _is_within(node: Node, other: Node) -> bool:
    return other in (node, *ancestors(node))
