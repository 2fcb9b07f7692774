"""The geometry of a launch: what a caller may ask for, and what the kernel and the architecture allow."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias

from mmcore_emulator.errors import LaunchError
from mmcore_emulator.isa.architectures import CAPABILITIES, Capability
from mmcore_emulator.machine.limits import BLOCKS_PER_CLUSTER, MULTIPROCESSORS, Dim3
from mmcore_emulator.ptx.instructions import Function

Extent: TypeAlias = int | Sequence[int]
"""An extent as callers give it: one number, or one to three."""

_CLUSTERS_SINCE = (9, 0)


def capability_of(architecture: str) -> Capability:
    """Return the compute capability of an architecture such as "sm_90" or "sm_90a".

    Raises:
        LaunchError: the emulator does not know that architecture.
    """
    known = {f"sm_{major}{minor}": (major, minor) for major, minor in sorted(CAPABILITIES.values())}
    capability = known.get("sm_90" if architecture == "sm_90a" else architecture)
    if capability is None:
        raise LaunchError(f"the emulator has no architecture {architecture!r}; it has {', '.join(known)}")
    return capability


def extent(name: str, value: Extent) -> Dim3:
    """Return an extent along x, y and z: one to three numbers; the missing ones are 1.

    Raises:
        LaunchError: the value of this ``name`` is something else, or not positive.
    """
    try:
        numbers = [operator.index(each) for each in (value if isinstance(value, Sequence) else (value,))]
    except TypeError:
        numbers = []
    if not 1 <= len(numbers) <= 3 or min(numbers) < 1:
        raise LaunchError(f"{name}={value!r} is not one to three positive integers")
    return Dim3(*numbers)


def check_limits(grid: Dim3, block: Dim3, shared_bytes: int, capability: Capability) -> None:
    """Raise LaunchError for a launch that no kernel can have; ``shared_bytes`` are static and dynamic."""
    limits = MULTIPROCESSORS[capability]
    for name, size, most in (("grid", grid, limits.largest_grid), ("block", block, limits.largest_block)):
        if any(one > top for one, top in zip(size, most, strict=True)):
            raise LaunchError(f"a {name} of {size} is too large; {most} is the most along each axis")
    if block.size > limits.threads_per_block:
        raise LaunchError(f"a block of {block} has {block.size} threads; {limits.threads_per_block} is the most")
    if shared_bytes > limits.shared_bytes_per_block_optin:
        raise LaunchError(
            f"a block takes {shared_bytes} bytes of shared memory; {limits.shared_bytes_per_block_optin} is the most "
            f"of compute capability {limits.name}"
        )


def check_launch_bounds(function: Function, block: Dim3) -> None:
    """Raise LaunchError if a block has more threads than the source allows by ``__launch_bounds__``."""
    most, exactly = function.threads.get("maxntid", block.size), function.threads.get("reqntid", block.size)
    if block.size > most or block.size != exactly:
        bound = f"at most {most} threads by __launch_bounds__" if block.size > most else f"exactly {exactly} threads"
        raise LaunchError(f"{function.name} is made for blocks of {bound}; a {block} block has {block.size}")


def cluster_of(function: Function, asked: Dim3 | None, grid: Dim3) -> Dim3:
    """Return the blocks of a cluster, as the launch or the source says.

    Raises:
        LaunchError: the two contradict each other, or the grid is no whole number of clusters.
    """
    cluster = Dim3(*(asked or function.cluster or (1, 1, 1)))
    if function.cluster and cluster != function.cluster:
        raise LaunchError(f"{function.name} is made for clusters of {Dim3(*function.cluster)}, not of {cluster}")
    if any(blocks % inside for blocks, inside in zip(grid, cluster, strict=True)):
        raise LaunchError(f"a grid of {grid} blocks cannot be cut into clusters of {cluster}")
    return cluster


def check_cluster(cluster: Dim3, capability: Capability) -> None:
    """Raise LaunchError for clusters that a compute capability does not have."""
    if cluster.size > 1 and capability < _CLUSTERS_SINCE:
        raise LaunchError("compute capability {}.{} has no clusters; 9.0 has".format(*capability))
    if cluster.size > BLOCKS_PER_CLUSTER:
        raise LaunchError(f"a cluster of {cluster} has {cluster.size} blocks; {BLOCKS_PER_CLUSTER} is the most")
