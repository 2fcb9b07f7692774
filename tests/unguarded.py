"""Run lecture kernels on a GPU with no guard zones, so that a memory checker sees every access outside the matrices.

``python -m tests.unguarded`` runs them all; names as arguments run those. ``--without-over-read`` takes away the room
that they declare to read past their matrices, ``--size N`` forces them to a size in blocks of 32, and
``--without-barrier N`` takes away the N-th ``__syncthreads()`` of their source.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import mmcore
from mmcore import Dim3, Kernel, Launch, DeviceProperties, Problem
from mmcore.experiment import Experiment
from mmcore.devices.choose import open_in_process
from mmcore.devices.cuda import memory
from mmcore.kernel.geometry import dim3
from mmcore.registry import registry


def without_over_read(kernel: Kernel) -> Kernel:
    """The kernel with a launch rule that declares no over-read."""

    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        made = kernel.launch(problem, block, limits)
        assert isinstance(made, Launch)
        return replace(made, over_read={})

    return replace(kernel, launch=launch)


def without_barrier(kernel: Kernel, number: int) -> Kernel:
    """The kernel without one ``__syncthreads()`` of its source, counted from 1."""
    parts = kernel.source_text().split("__syncthreads();")
    source = Path(tempfile.mkdtemp()) / kernel.source.name
    source.write_text("__syncthreads();".join(parts[:number]) + ";" + "__syncthreads();".join(parts[number:]))
    return replace(kernel, source=source)


def main(arguments: list[str]) -> None:
    """Run the kernels in all their blocks, at a size with remainders where they allow one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--without-over-read", action="store_true")
    parser.add_argument("--without-barrier", type=int)
    parser.add_argument("--size", type=int)
    options = parser.parse_args(arguments)
    memory.GUARD_BYTES = 0
    device, kernels = open_in_process("cuda", registry().providers), mmcore.kernels()
    for name in options.names or [name for name, kernel in kernels.items() if not kernel.known_bugs]:
        kernel = kernels[name]
        if options.without_over_read:
            kernel = without_over_read(kernel)
        if options.without_barrier:
            kernel = without_barrier(kernel, options.without_barrier)
        for block in [dim3((32, 32))] if options.size else [dim3(shape) for shape in kernel.blocks]:
            size = options.size
            problem = kernel.problem(size, size, size) if size else kernel.square_problem(97, block)
            with Experiment(kernel, problem, block, device, force=bool(size)) as experiment:
                verified = experiment.verify().verified
            print(f"{name} {problem} {block}: {'verified' if verified else 'WRONG'}")


if __name__ == "__main__":
    main(sys.argv[1:])
