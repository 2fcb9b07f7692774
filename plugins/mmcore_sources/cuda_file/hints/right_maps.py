"""Hints that a wrong kernel is right with tensor maps of the matrices' extents and strides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.kernel.arguments import Argument, TensorMap
from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.hints.tried_cells import is_right, size_of
from mmcore_sources.cuda_file.inference.map_layouts import EncodedLayout, encoded_layouts
from mmcore_sources.cuda_file.repairs.trial import small_cells


def right_maps(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the extents and strides with which a kernel is right whose tensor maps alone are wrong."""
    kernel, layouts = file.kernel, [*encoded_layouts(file.kernel.arguments)]
    if result.verified or not layouts:
        return
    right = replace(kernel, arguments=tuple(map(_with_right_map, kernel.arguments)))
    cells = small_cells(result, kernel)
    if cells and all(is_right(each, right) for each in cells):
        cures = ", and ".join(each.cure for each in layouts)
        yield f"hint: with {cures}, the product is right at {' and at '.join(map(size_of, cells))}"


def _with_right_map(argument: Argument) -> Argument:
    if isinstance(argument, TensorMap) and isinstance(argument.layout, EncodedLayout):
        return replace(argument, layout=None)
    return argument
