"""The command line that reproduces a result."""

from __future__ import annotations

import shlex

from mmcore.cell import Cell, referenced_kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import Problem


def launch_command(command: str, cell: Cell) -> str:
    """The ``mmcore run`` or ``mmcore check`` (``command``) of a cell, seed included."""
    words = ["mmcore", command, str(cell.kernel), *sizes(cell)]
    words += [
        word
        for name in ("lda", "ldb", "ldc")
        if getattr(cell, name)
        for word in (f"--{name}", str(getattr(cell, name)))
    ]
    words += [*config_options(cell), "--device", cell.device]
    words += [] if cell.seed is None else ["--seed", str(cell.seed)]
    return shlex.join(words + ["--force"] * cell.force)


def sizes(product: Cell | Problem) -> list[str]:
    """The sizes of a product as options of the command line."""
    return [word for name in ("m", "n", "k") for word in (f"-{name}", str(getattr(product, name)))]


def config_options(cell: Cell) -> list[str]:
    """A cell's config as options: the block, and the other parameters that follow from none."""
    if not cell.config:
        return []
    config = referenced_kernel(cell.kernel).config(**cell.config)
    others = [f"{name}={config[name]}" for name in config if name != "block" and name not in config.derived]
    block = [] if "block" in config.derived else ["--block", block_text(config.block)]
    return block + (["--config", ",".join(others)] if others else [])


def block_text(block: Dim3) -> str:
    """A block as the command line takes it, unmistakably."""
    return "x".join(map(str, block if block.z > 1 else block[:2]))
