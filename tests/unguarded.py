"""Run lecture kernels on a GPU with no guard zones, so that a memory checker sees every access outside the matrices.

``python -m tests.unguarded [NAME …]`` runs all kernels, or the named ones. ``--without-over-read`` removes the memory
that they may read past their matrices. ``--size N`` forces them to a size, in blocks of 32. ``--without-barrier N``
removes the N-th ``__syncthreads()`` of their source.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import mmcore
from mmcore import Cell, Kernel
from mmcore.executor.choose_device import open_device
from mmcore.measure import measure
from mmcore_cuda import guarded_memory as memory


def without_barrier(kernel: Kernel, number: int) -> Kernel:
    """Return the kernel without one ``__syncthreads()`` of its source; ``number`` counts from 1."""
    parts = kernel.source_text().split("__syncthreads();")
    source = Path(tempfile.mkdtemp()) / kernel.source.name
    source.write_text("__syncthreads();".join(parts[:number]) + ";" + "__syncthreads();".join(parts[number:]))
    return replace(kernel, source=source)


def main(arguments: list[str]) -> None:
    """Run the kernels in all their configs, at a size with remainders where they allow one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--without-over-read", action="store_true")
    parser.add_argument("--without-barrier", type=int)
    parser.add_argument("--size", type=int)
    options = parser.parse_args(arguments)
    memory.GUARD_BYTES = 0
    device, kernels = open_device("cuda"), mmcore.kernels()
    sound = [name for name, kernel in kernels.items() if not (kernel.known_bugs or kernel.is_code or kernel.call)]
    for name in options.names or sound:
        kernel = kernels[name]
        if options.without_over_read:
            kernel = replace(kernel, over_read=None)
        if options.without_barrier:
            kernel = without_barrier(kernel, options.without_barrier)
        for config in [kernel.config(block=32)] if options.size else kernel.usual_configs:
            n = options.size or kernel.square_problem(97, config).n
            cell = Cell(name, n, n, n, config=config.to_json(), force=bool(options.size))
            verified = measure(cell, device, kernel).verified
            print(f"{name} {n}×{n}×{n} {config.block}: {'verified' if verified else 'WRONG'}")


if __name__ == "__main__":
    main(sys.argv[1:])
