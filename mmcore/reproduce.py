"""The command line that reproduces a result."""

from __future__ import annotations

import shlex

from mmcore.cell import Cell, referenced_kernel


def launch_command(command: str, cell: Cell) -> str:
    """The ``mmcore run`` or ``mmcore check`` (``command``) of a cell, seed included."""
    sizes = {f"-{name}": getattr(cell, name) for name in "mnk"}
    gaps = {f"--{name}": getattr(cell, name) for name in ("lda", "ldb", "ldc") if getattr(cell, name)}
    seed = {} if cell.seed is None else {"--seed": cell.seed}
    options = sizes | gaps | _config(cell) | {"--device": cell.device} | seed
    words = [str(word) for option in options.items() for word in option]
    return shlex.join(["mmcore", command, str(cell.kernel), *words, *["--force"] * cell.force])


def _config(cell: Cell) -> dict[str, str]:
    """A cell's config as options: the block, and the other parameters that follow from none."""
    if not cell.config:
        return {}
    config = referenced_kernel(cell.kernel).config(**cell.config)
    x, y, z = config.block
    block = {} if "block" in config.derived else {"--block": f"{x}x{y}" if z == 1 else f"{x}x{y}x{z}"}
    others = [f"{name}={config[name]}" for name in config if name != "block" and name not in config.derived]
    return block | ({"--config": ",".join(others)} if others else {})
