"""The command line that reproduces a result."""

from __future__ import annotations

import shlex

from mmcore.cell import Cell, KernelReference, referenced_kernel
from mmcore.registry import registry


def launch_command(command: str, cell: Cell) -> str:
    """The ``mmcore run`` or ``mmcore check`` (``command``) of a cell, seed included."""
    sizes = {f"-{name}": getattr(cell, name) for name in "mnk"}
    gaps = {f"--{name}": getattr(cell, name) for name in ("lda", "ldb", "ldc") if getattr(cell, name)}
    seed = {} if cell.seed is None else {"--seed": cell.seed}
    config: dict[str, str] = {}
    if cell.config:
        parameters = referenced_kernel(cell.kernel).config(**cell.config)
        given = [name for name in parameters if name not in parameters.derived]
        if "block" in given:
            config["--block"] = parameters.block.spec
        if others := [f"{name}={parameters[name]}" for name in given if name != "block"]:
            config["--config"] = ",".join(others)
    inputs = {} if cell.inputs == "usual" else {"--inputs": cell.inputs}
    options = sizes | gaps | config | {"--device": cell.device} | seed | inputs
    words = [str(word) for option in options.items() for word in option]
    return shlex.join(["mmcore", command, *reference_words(cell.kernel), *words, *["--force"] * cell.force])


def reference_words(reference: KernelReference) -> tuple[str, ...]:
    """A kernel as a command line names it: its name, or its file and the options that say what was said of that."""
    return (reference,) if isinstance(reference, str) else registry().files[referenced_kernel(reference).name].words
