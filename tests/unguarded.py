"""Run lecture kernels on a GPU with no guard zones, so that a memory checker sees every access outside the matrices.

``python -m tests.unguarded`` runs them all; names as arguments run those, ``--without-over-read`` takes away the room
that they declare to read past their matrices.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import mmcore
from mmcore import Dim3, Kernel, Launch, Limits, Problem
from mmcore.api import device
from mmcore.experiment import run_kernel
from mmcore.launching.cuda import memory
from mmcore.planning.geometry import dim3


def without_over_read(kernel: Kernel) -> Kernel:
    """The kernel with a launch rule that declares no over-read."""

    def launch(problem: Problem, block: Dim3, limits: Limits) -> Launch:
        made = kernel.launch(problem, block, limits)
        assert isinstance(made, Launch)
        return replace(made, over_read={})

    return replace(kernel, launch=launch)


def main(arguments: list[str]) -> None:
    """Run the kernels in all their blocks, at a size with remainders where they allow one."""
    memory.GUARD_BYTES = 0
    kernels = mmcore.kernels()
    names = [argument for argument in arguments if not argument.startswith("--")]
    for name in names or [name for name, kernel in kernels.items() if not kernel.known_faults]:
        kernel = kernels[name]
        if "--without-over-read" in arguments:
            kernel = without_over_read(kernel)
        for shape in kernel.blocks:
            block = dim3(shape)
            problem = kernel.square_problem(97, block)
            outcome = run_kernel(kernel, problem, block, device("cuda"))
            print(f"{name} {problem} {block}: {'verified' if outcome.verified else 'WRONG'}")


if __name__ == "__main__":
    main(sys.argv[1:])
