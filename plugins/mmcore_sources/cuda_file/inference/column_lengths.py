"""The storage of matrices by columns, as the lengths of the columns show that a kernel steps by."""

from __future__ import annotations

from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strided_by_blocks, strides_of

_BY_ROWS = (True, False)


def steps_by_columns(kernel: SourceKernel, roles: Roles) -> bool:
    """Return whether the steps over A, B and C have the lengths of their columns, although an index may be wrong.

    A leading dimension has the length that the launch passes. Where A and B are indexed by rows, it is wrong instead.
    """
    if strided_by_blocks(kernel.body, roles.pointers, {*roles.sizes}) in (_BY_ROWS, None):
        return False
    pairs = zip(kernel.function.parameters, kernel.launch.arguments if kernel.launch else (), strict=False)
    passed = {each.name: text_of(argument) for each, argument in pairs if not each.pointer}
    for matrix, sides in SIDES.items():
        names = strides_of(kernel.body, roles.pointers[matrix], {*roles.sizes})
        lengths = {_role(name, passed, roles) for name in names}
        if lengths != {sides[0]}:
            return False
    return True


def _role(name: str, passed: dict[str, str], roles: Roles) -> str:
    """Return the size that a name has; of a leading dimension, the only one that the launch passes for it."""
    role = roles.sizes[name]
    sizes = {roles.sizes[each] for each, text in passed.items() if text == passed.get(name) and each in roles.sizes}
    sizes = {each for each in sizes if not each.startswith("ld")}
    return next(iter(sizes)) if role.startswith("ld") and len(sizes) == 1 else role
