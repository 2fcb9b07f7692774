"""Commands that do again what was done once: a failure is reported with the one that shows it."""

from __future__ import annotations

import shlex

from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem


def launch_command(
    command: str, kernel: str, problem: Problem, block: Dim3, *, device: str, seed: int, force: bool = False
) -> str:
    """The ``mmcore run`` or ``mmcore check`` (``command``) of one kernel's launches, inputs included."""
    words = ["mmcore", command, kernel, *sizes(problem), *leading_dimensions(problem)]
    words += ["--block", block_text(block), "--device", device, "--seed", str(seed)]
    return shlex.join(words + ["--force"] * force)


def sizes(problem: Problem) -> list[str]:
    """The sizes of a product as options of the command line."""
    return [word for name in ("m", "n", "k") for word in (f"-{name}", str(getattr(problem, name)))]


def leading_dimensions(problem: Problem) -> list[str]:
    """The leading dimensions of a product as options, where there are gaps between rows."""
    if problem == problem.packed:
        return []
    return [word for name in ("lda", "ldb", "ldc") for word in (f"--{name}", str(getattr(problem, name)))]


def block_text(block: Dim3) -> str:
    """A block as the command line takes it, unmistakably."""
    return "x".join(map(str, block if block.z > 1 else block[:2]))
