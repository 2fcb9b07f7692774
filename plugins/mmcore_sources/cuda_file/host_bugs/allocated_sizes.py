"""Matrices that a program allocates with other sides than those that its kernel reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmcore.kernel.arguments import Argument
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode, name_of
from mmcore_sources.cuda_file.inference.size_names import SIDES

_ALLOCATIONS = ("cudaMalloc", "cudaMallocManaged", "cudaMallocAsync")


def other_sides(
    host: HostCode, launch: HostLaunch, arguments: tuple[Argument, ...], matrices: Mapping[str, str]
) -> Iterator[Bug]:
    """Find an allocation by two of a launch's three sizes that are not the sides of the matrix in the kernel.

    ``matrices`` are the host's names of A, B and C. Sizes that share a variable are not told apart.
    """
    pairs = zip(map(str, arguments), launch.arguments, strict=False)
    names = {role: text_of(node) for role, node in pairs if role in ("m", "n", "k") and node.type == "identifier"}
    if len({*names.values()}) < len("mnk"):
        return
    arrays = {name: matrix for matrix, name in matrices.items()}
    for call in host.calls:
        matrix = arrays.get(name_of(call.arguments[0]), "") if call.arguments else ""
        if call.name not in _ALLOCATIONS or call.scope != launch.scope or not matrix:
            continue
        parts = (call.arguments[1], *host.resolved(call.arguments[1], call.scope))
        counted = {name for part in parts for name in identifiers(part)} & {*names.values()}
        read = [names[side] for side in SIDES[matrix]]
        if len(counted) == len(read) and counted != {*read}:
            has = " · ".join(sorted(counted))
            message = f"{call.name} gives {matrix} {has} elements, and the kernel goes over {' · '.join(read)}"
            yield Bug("wrong-size", call.line, message, matrix if host.has_main else "", launch.line)
