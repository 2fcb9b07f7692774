"""Kernels of a test's own: one launch of a few lines of CUDA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem
from mmcore.kernel.geometry import Shape

FIRST_LINE = 3
"""Where the body stands in the file."""


def own(
    path: Path,
    body: str,
    *,
    grid: Shape = (1,),
    block: Shape = (32,),
    over_read: dict[str, int] | None = None,
    declarations: str = "",
    **declared: Any,
) -> Kernel:
    """Return a kernel with arguments A, B, C and n; ``body`` begins on line :data:`FIRST_LINE` of the file."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=grid, block=config.block, over_read=over_read or {})

    element = {"float64": "double"}.get(declared.get("dtype", "float32"), "float")
    signature = f"const {element}* A, const {element}* B, {element}* C, int n"
    path.write_text(f'{declarations}\nextern "C" __global__ void own({signature}) {{\n{body}\n}}\n')
    usual: dict[str, Any] = {
        "name": "tests.own",
        "source": path,
        "entry": "own",
        "launch": launch,
        "configs": [{"block": block}],
    }
    return Kernel(**usual | declared)
