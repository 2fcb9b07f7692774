"""Hints that a wrong kernel is right with tensor maps of the matrices' extents, strides and types."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from mmcore.errors import MmcoreError
from mmcore.kernel.arguments import Argument, TensorMap
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import FileKernel
from mmcore.registry import referenced_kernel
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.tried_cells import is_right, size_of
from mmcore_sources.cuda_file.inference.map_layouts import EncodedLayout, encoded_layouts
from mmcore_sources.cuda_file.repairs.trial import small_cells


def right_maps(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the extents, strides and types with which a kernel is right whose tensor maps alone are wrong.

    A map may also be that of another storage than the kernel's, which then reads it in the other order.
    """
    if result.verified:
        return
    if [*encoded_layouts(file.kernel.arguments)]:
        yield from _cured(result, file.kernel, "")
        return
    if result.verification is None or result.verification.verified:
        return
    for matrix in dict.fromkeys(each.matrix for each in file.kernel.arguments if isinstance(each, TensorMap)):
        columns = "".join(sorted({*file.kernel.column_major} ^ {matrix}))
        storage = "columns" if matrix in columns else "rows"
        with contextlib.suppress(MmcoreError):
            other = referenced_kernel({**file.reference, "column_major": columns})
            hints = [*_cured(result, other, f"{matrix} stored by {storage}, and ")]
            yield from hints
            if hints:
                return


def _cured(result: Result, kernel: Kernel, what: str) -> Iterator[str]:
    """Yield a hint if a kernel is right with the extents, strides and types of its matrices."""
    layouts = [*encoded_layouts(kernel.arguments)]
    right = replace(kernel, arguments=tuple(map(_with_right_map, kernel.arguments)))
    cells = small_cells(result, kernel) if layouts else []
    if cells and all(is_right(each, right) for each in cells):
        cures = ", and ".join(each.cure for each in layouts)
        yield f"hint: with {what}{cures}, the product is right at {' and at '.join(map(size_of, cells))}"


def _with_right_map(argument: Argument) -> Argument:
    if isinstance(argument, TensorMap) and isinstance(argument.layout, EncodedLayout):
        return replace(argument, layout=None, dtype="")
    return argument
