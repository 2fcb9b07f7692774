"""The block of a file whose source does not say it, found by small products on the emulator."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mmcore.cell import Cell
from mmcore.kernel.configs import BLOCK
from mmcore.kernel_reference import FileKernel
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tile_blocks import blocks_of_tiles, more_warps
from mmcore_sources.cuda_file.hints.tried_cells import is_right, is_wrong, small_cell, unequal_cell

_SIZE = 128


def with_right_block(file: FileKernel) -> Mapping[str, Any]:
    """Return the reference of a file, with a block that makes a wrong product right if its own is a guess."""
    kernel, reference = file.kernel, file.reference
    if not any(note.what == BLOCK and note.guessed for note in inferred_of(reference).notes):
        return reference
    usual = Cell(kernel=reference, m=_SIZE, n=_SIZE, k=_SIZE, device="emulator", config=dict(kernel.usual_configs[0]))
    cell = small_cell(usual, kernel)
    if not is_wrong(cell):
        return reference
    for _, values in itertools.chain(more_warps(kernel), blocks_of_tiles(kernel)):
        other = {**reference, **values}
        config = {**cell.config, **({BLOCK: values[BLOCK]} if BLOCK in values else {})}
        cells = (replace(each, kernel=other, config=config) for each in (cell, unequal_cell(cell, kernel)))
        if all(map(is_right, cells)):
            return other
    return reference
