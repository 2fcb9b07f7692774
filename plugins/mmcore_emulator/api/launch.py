"""A launch of any kernel on numpy arrays."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.api.arguments import Argument, HostArrays, argument_bytes, set_variables
from mmcore_emulator.api.geometry import (
    Extent,
    capability_of,
    check_cluster,
    check_launch_bounds,
    check_limits,
    cluster_of,
    extent,
)
from mmcore_emulator.api.report import Report
from mmcore_emulator.api.source import find_kernel
from mmcore_emulator.errors import LaunchError, TimeLimit
from mmcore_emulator.executor.kernel_launch import KernelLaunch, ModuleMemory, Progress, parameter_bytes
from mmcore_emulator.executor.scheduler import execute
from mmcore_emulator.executor.translation.translate import translate
from mmcore_emulator.machine.limits import MULTIPROCESSORS, BlockResources
from mmcore_emulator.machine.memory.arrays import DeviceMemory
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import total
from mmcore_emulator.sanitizer.array_access import least_access_bytes
from mmcore_emulator.sanitizer.hazards import Checking
from mmcore_emulator.sanitizer.recording import Recorder, hazards_and_warnings
from mmcore_emulator.sanitizer.shadow import GlobalShadows
from mmcore_emulator.sanitizer.undefined_values import UndefinedValues


@dataclass
class _Deadline:
    """When a launch is stopped, as :class:`KernelLaunch` reads it."""

    limit: float | None
    end: float
    reached: str

    @classmethod
    def within(cls, seconds: float | None) -> _Deadline:
        """Return the deadline that is so many seconds from now; None for none."""
        if seconds is not None and not seconds > 0:
            raise LaunchError(f"timeout={seconds!r} is no number of seconds above 0")
        end = math.inf if seconds is None else time.monotonic() + seconds
        return cls(seconds, end, f"after {seconds or 0:g} s")


def launch(
    source: str | Path,
    kernel: str,
    *,
    grid: Extent,
    block: Extent,
    args: Sequence[Argument] = (),
    shared_bytes: int = 0,
    cluster: Extent | None = None,
    cooperative: bool = False,
    variables: Mapping[str, NDArray[np.generic]] | None = None,
    architecture: str = "sm_90",
    options: Sequence[str] = (),
    check: bool = True,
    timeout: float | None = None,
) -> Report:
    """Run a kernel on numpy arrays and report what it did.

    Arrays are copied to the emulated device before the launch, and back into the same arrays when it has ended or its
    time is over. An array counts as written by the host. When an error is raised, no array changes.

    Args:
        source: PTX or CUDA C++, or the path of a file that holds either.
        kernel: the kernel's name, its symbol, or an instance of a template such as "scale<float>".
        grid: blocks along x, y and z; a single number is x.
        block: threads of a block, given in the same way.
        args: one argument for each parameter. A pointer takes a numpy array, or ``None``; a number takes a Python
            number or a numpy scalar; a structure takes ``bytes`` or ``numpy.void``, a tensor map a :class:`TensorMap`.
        shared_bytes: dynamic shared memory of a block.
        cluster: blocks of a cluster; by default what the source says.
        cooperative: whether the blocks of the grid may wait for each other (``grid.sync()``).
        variables: arrays for ``__device__`` and ``__constant__`` variables, by name; the former are copied back.
        architecture: what to emulate: "sm_75", "sm_80", "sm_86", "sm_89" or "sm_90".
        options: options of NVRTC for CUDA C++, such as "-DTILE=16", "-I/folder" or "-std=c++20".
        check: whether the sanitizer looks for races, uninitialised reads, and misused barriers and asynchronous copies;
            without it the launch takes less time.
        timeout: seconds after which the launch is stopped, and a hazard of the kind "timeout" is reported.

    Returns:
        The hazards, the counters and what the kernel printed.

    Raises:
        LaunchError: a launch that cannot be made: its geometry, its arguments, or a kernel that is not in the source.
        CompileError: the CUDA C++ does not compile, or NVRTC is not installed.
        PtxError: the PTX cannot be read.
        UnsupportedInstruction: the kernel uses what the emulator does not know; the text has its name and its line.
    """
    if shared_bytes < 0:
        raise LaunchError(f"shared_bytes={shared_bytes} is no number of bytes")
    deadline, capability = _Deadline.within(timeout), capability_of(architecture)
    blocks, threads = extent("grid", grid), extent("block", block)
    source_kernel = find_kernel(source, kernel, capability, options)
    function = source_kernel.function
    memory = DeviceMemory()
    addresses = ModuleMemory(memory).addresses(function, cooperative=cooperative)
    translation = translate(function, addresses, capability, UndefinedValues() if check else None)

    shared = translation.layout.shared_bytes + shared_bytes
    check_limits(blocks, threads, shared, capability)
    check_launch_bounds(function, threads)
    blocks_of_cluster = cluster_of(function, None if cluster is None else extent("cluster", cluster), blocks)
    check_cluster(blocks_of_cluster, capability)
    resident = BlockResources(MULTIPROCESSORS[capability], threads.size, 0, shared).resident_on_device
    if cooperative and blocks.size > resident:
        raise LaunchError(f"{blocks.size} blocks cannot wait for each other: the device holds {resident} at once")

    values, arrays = argument_bytes(function.parameters, source_kernel.parameters, args, memory)
    set_variables(function, addresses, memory, arrays, variables or {})
    counting, recorder, printed = Counting(translation.blocks), Recorder(), list[str]()
    # Shadows are as fine as the smallest element that the kernel, or TMA, accesses.
    shadows = GlobalShadows(min({least_access_bytes(function), *arrays.alignments}), inputs=arrays.inputs)
    checking = Checking(shadows, recorder, translation) if check else None
    run = KernelLaunch(
        translation,
        blocks,
        threads,
        shared_bytes,
        parameter_bytes(translation, values),
        memory,
        deadline,
        (counting,) if checking is None else (counting, checking),
        Progress(blocks.size * threads.size),
        resident,
        # Blocks that others wait for run late, so that missing waits show.
        alone=checking is not None and checking.reads_flags,
        cluster=blocks_of_cluster,
        multiprocessors=MULTIPROCESSORS[capability].multiprocessors,
        write=printed.append,
    )
    with suppress(TimeLimit):
        execute(run)
    violations = _violations(run, None if checking is None else recorder, arrays)
    arrays.download()
    lines = counting.lines
    return Report(
        source_kernel.name,
        blocks,
        threads,
        architecture,
        check,
        *hazards_and_warnings(violations),
        total(lines.values()),
        lines,
        "".join(printed),
        run.approximate_operations,
    )


def _violations(run: KernelLaunch, recorder: Recorder | None, arrays: HostArrays) -> list[Violation]:
    """Return what a launch has done wrong: what the sanitizer has recorded, or the launch itself without it."""
    if recorder is None:
        changed = arrays.changed_inputs()
        text = "the kernel changes {}, a read-only array"
        overwritten = [Violation("input-overwritten", text.format(label), label) for label in changed]
        return [*run.violations.values(), *overwritten]
    # The threads of blocks that were stopped are not counted.
    recorded = [replace(each, count=each.count or None) for each in recorder.violations]
    return recorded + [each for each in run.violations.values() if each.kind == "timeout"]
