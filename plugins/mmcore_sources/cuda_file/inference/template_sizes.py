"""Sizes that are parameters of a kernel's template, as in ``product<M, N, K><<<grid, block>>>(A, B, C)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from mmcore.kernel.arguments import SIZES
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.parameters import OF_TILE, Open
from mmcore_sources.cuda_file.inference.size_names import sure_role, usual_role
from mmcore_sources.cuda_file.inference.storage import strides_of

_FRAGMENT = re.compile(r"\bfragment\s*<")  # whose shape are template parameters, too
_TYPES = ("typename", "class")


def template_sizes(body: Body, matrices: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each template parameter that is a size: all of n, k and perhaps m, or that of squares."""
    if _FRAGMENT.search(text_of(body.function.body)):
        return {}
    numbers = [each.name for each in body.function.template if each.type not in _TYPES and each.name in body.names]
    sizes = {name: sure_role(name, matrices) or usual_role(name) for name in numbers}
    sizes = {name: role for name, role in sizes.items() if role in SIZES}
    if {"n", "k"} <= set(sizes.values()):
        return sizes
    others = {name for name in numbers if not OF_TILE.search(name)}
    strides = [strides_of(body, matrices[matrix], others) for matrix in "ABC"]
    return {next(iter(strides[0])): "n"} if len(strides[0]) == 1 and strides.count(strides[0]) == len(strides) else {}


def with_sizes(chosen: Open, sizes: Mapping[str, str]) -> Open:
    """Return the choices with sizes in place of template parameters of these names, which are then free."""
    entry = chosen.entry
    for name, role in sizes.items():
        entry = entry.replace(f"{{{name}}}", f"{{{role}}}")
    values = {name: value for name, value in chosen.values.items() if name not in sizes}
    notes = tuple(each for each in chosen.notes if each.what not in sizes)
    return replace(chosen, entry=entry, values=values, notes=notes, sizes=sizes)
