"""The unusual reading of a file's kernel, which is right only as another product than the usual one."""

from __future__ import annotations

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.verdict import judged


def unusual_reading(cell: Cell, kernel: Kernel) -> tuple[Violation, ...]:
    """Return the violations of a file's kernel that is right only in an unusual reading of its source."""
    if isinstance(cell.kernel, str):
        return ()
    found = judged(measure_cell(cell), kernel, "hazards").violations
    return tuple(each for each in found if each.kind == "unusual-reading")
