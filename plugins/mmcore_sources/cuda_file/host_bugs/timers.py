"""Bugs of timing: a clock that is read while a kernel still runs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mmcore_cuda.cuda_source.tree import Node, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode

_CLOCKS = ("clock", "now", "gettimeofday", "clock_gettime", "omp_get_wtime", "MPI_Wtime", "timespec_get")
_WAITS = re.compile(r"cuda(?:(?:Device|Thread|Stream|Event)Synchronize|Memcpy(?:2D|3D|ToSymbol|FromSymbol)?|Free)")
_PRODUCTS = re.compile(r"cublas\w*[gG]emm\w*|cudaLaunch\w*Kernel\w*")
_HARMLESS = re.compile(
    r"cuda\w+|cublas\w+|printf|f?puts|fprintf|f?flush|assert|exit|size|data|c_str|count|min|max|ceilf?|dim3|sqrtf?|"
    r"duration\w*|time_since_epoch|fmod|s?rand|(?:static|reinterpret|const)_cast|move|setprecision|setw|string"
)


def unfinished_timing(host: HostCode) -> Iterator[Bug]:
    """Find a clock of the host that is read after a launch without waiting for it, as a launch returns at once."""
    for function in host.functions:
        started, launched = False, 0
        for call in (each for each in host.calls if each.scope == function):
            match _sort(host, call, {_name(function)}):
                case "clock" if started and launched:
                    waits = "cudaDeviceSynchronize() before it waits for the kernel"
                    message = f"the clock is read while the kernel launched in line {launched} may still run; {waits}"
                    yield Bug("unfinished-timing", call.line, message)
                    launched = 0
                case "clock":
                    started = True
                case "launch":
                    launched = call.line
                case "wait" | "unknown":
                    launched = 0


def unfinished_event(host: HostCode) -> Iterator[Bug]:
    """Find ``cudaEventElapsedTime`` without waiting for the event that ends it: it returns an error and no time."""
    for function in host.functions:
        recorded = 0
        for call in (each for each in host.calls if each.scope == function):
            if call.name.startswith("cudaEventRecord"):
                recorded = call.line
            elif call.name == "cudaEventElapsedTime" and recorded:
                waits = "cudaEventSynchronize() before it waits for that"
                message = f"cudaEventElapsedTime is called while the event of line {recorded} is not reached; {waits}"
                yield Bug("unfinished-timing", call.line, message)
            elif _sort(host, call, {_name(function)}) in ("wait", "unknown"):
                recorded = 0


def _sort(host: HostCode, call: Call, above: set[str]) -> str:
    """Return a call's effect on a timing: "clock", "launch", "wait", "unknown", or "" for none."""
    if call.is_launch or _PRODUCTS.fullmatch(call.name):
        return "launch"
    if call.name in _CLOCKS:
        return "clock"
    if _WAITS.fullmatch(call.name):
        return "wait"
    if _HARMLESS.fullmatch(call.name) or call.name in above:
        return ""
    bodies = [each for each in host.functions if _name(each) == call.name]
    if not bodies:
        return "unknown"
    return _combined({_sort(host, each, {*above, call.name}) for each in host.calls if each.scope in bodies})


def _combined(sorts: set[str]) -> str:
    """Return the effect of a function with calls of these effects."""
    return next((sort for sort in ("wait", "unknown", "launch", "clock") if sort in sorts), "")


def _name(function: Node) -> str:
    declarator = function.child_by_field_name("declarator")
    head = "" if declarator is None else text_of(declarator).partition("(")[0]
    return head.rpartition("::")[2].strip("*& ")
