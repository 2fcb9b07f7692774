"""Kernels of a program that prepare A or B, or change C, and that a run of the matrix product leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmcore_cuda.cuda_source.program import HostLaunch, read_program
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode, name_of
from mmcore_sources.cuda_file.inference.choice import is_product


def other_kernels(host: HostCode, launch: HostLaunch, matrices: Mapping[str, str]) -> Iterator[Bug]:
    """Find launches, in the function of a launch, that compute its A or B from other arrays, or its C anew.

    Initialisers, which get one array, are left out; so are other matrix products. ``matrices`` has the host's names of
    the matrices that are passed.
    """
    several = [each for each in host.calls if each.is_launch and host.contains(each.node)]
    of_product = next((each for each in several if (each.line, each.name) == (launch.line, launch.name)), None)
    if of_product is None:
        return
    found: dict[tuple[str, bool], tuple[int, set[str]]] = {}
    for each in several:
        if each.scope == of_product.scope and each.name != launch.name:
            before, changed = each.node.start_byte < of_product.node.start_byte, _changed(host, each)
            _, roles = found.setdefault((each.name, before), (each.line, set()))
            roles |= {role for role in ("AB" if before else "C") if matrices.get(role) in changed}
    for (name, before), (line, roles) in found.items():
        if roles and before:
            inputs = " and ".join(f"{role} from {matrices[role]}" for role in sorted(roles))
            yield Bug("other-kernel", line, f"{name} is not run: {launch.name} reads {inputs}, which {name} computes")
        elif roles:
            yield Bug("other-kernel", line, f"{name} is not run: it gets {matrices['C']} after {launch.name}")


def _changed(host: HostCode, call: Call) -> set[str]:
    """Return the arrays that a launch may change; none if it gets one array, or computes a matrix product."""
    source = read_program(host.text)
    function = source.function(call.name)
    if function is None or is_product(function, source) or sum(each.is_array for each in function.parameters) < 2:
        return set()
    pairs = zip(function.parameters, call.arguments, strict=False)
    return {name_of(argument) for parameter, argument in pairs if parameter.is_array and not parameter.const}
