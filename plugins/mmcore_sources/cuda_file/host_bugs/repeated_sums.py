"""Launches of a kernel that adds to C, which a program repeats without setting C to 0 between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import LOOPS, Node, identifiers, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode

_FILLS = ("cudaMemset", "cudaMemcpy", "memset", "fill")  # beginnings of names


def repeated_sums(host: HostCode, launches: Sequence[HostLaunch], c: str) -> Iterator[Bug]:
    """Find the first launch that adds to the sums of an equal one before it; ``c`` is the array of C in host code."""
    before: HostLaunch | None = None
    for launch in sorted(launches, key=lambda each: each.line):
        loop = _loop(launch)
        again = before is not None and _is_equal(before, launch) and not _fills(host, c, before.line, launch.line)
        if loop is not None and not _fills(host, c, loop.start_point.row + 1, loop.end_point.row + 1):
            again = True
        if again:
            what = f"{launch.name} adds to C in each of several launches, so that C becomes a multiple of the product"
            yield Bug("repeated-sum", launch.line, f"{what}; set C to 0 before each")
            return
        before = launch


def _is_equal(one: HostLaunch, other: HostLaunch) -> bool:
    return one.scope == other.scope and [*map(text_of, one.arguments)] == [*map(text_of, other.arguments)]


def _loop(launch: HostLaunch) -> Node | None:
    """Return the innermost loop around a launch that repeats it with the same arguments; None without one."""
    node, used = launch.geometry[0].parent, {name for each in launch.arguments for name in identifiers(each)}
    while node is not None and node.type not in LOOPS:
        node = node.parent
    changed = None if node is None else node.child_by_field_name("update")
    return node if changed is not None and not used & {*identifiers(changed)} else None


def _fills(host: HostCode, c: str, first: int, last: int) -> bool:
    """Return whether a call between two lines sets or copies the array of C, or its own loop of the host does."""
    calls = (each for each in host.calls if first <= each.line <= last and each.name.startswith(_FILLS))
    return any(c in identifiers(argument) for each in calls for argument in each.arguments)
