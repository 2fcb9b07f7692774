"""The sizes that a file's kernel needs, as a declaration says them: whole tiles, whole steps, a compute capability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore.kernel.arguments import SIZES
from mmcore.kernel.constraints import Constraint, Multiple
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.expressions import EXTENTS
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.whole_tiles import SomeBlock, tiles_of
from mmcore_sources.cuda_file.repairs.edits import whole_steps

_LATER = {
    (9, 0): re.compile(r"cp\.async\.bulk|CUtensorMap|barrier\.cluster|cluster_group|mbarrier\.try_wait"),
    (8, 0): re.compile(r"cp\.async|mma\.sync\.\S*(?:bf16|tf32|f64)|__pipeline_memcpy_async|memcpy_async"),
}
_OF_ONE_ARCHITECTURE = re.compile(r"\bwgmma\b|setmaxnreg")


def whole_tiles(constraints: tuple[Constraint, ...], config: Mapping[str, Any]) -> Iterator[Multiple]:
    """Yield the rows and columns of whole tiles, where a grid is rounded down."""
    block = config["block"]
    extents = dict(zip(EXTENTS, (*block, 1, 1), strict=False)) if isinstance(block, tuple) else {}
    parameters = {name: value for name, value in config.items() if isinstance(value, int)}
    for each in constraints:
        if isinstance(each, SomeBlock):
            found = tiles_of(each.rule, {**dict.fromkeys(SIZES, 64), **extents, **parameters})
            yield from (Multiple(size, tile) for size, tile in found.items() if tile > 1)


def steps_of_k(text: str, entry: str, roles: Mapping[str, str], config: Mapping[str, Any]) -> Iterator[Multiple]:
    """Yield the depth of the whole steps that a kernel takes along k."""
    bound = whole_steps(text, entry, roles)
    if bound is None:
        return
    depth = bound.children[2]
    word = (depth.text or b"").decode()
    if word in config:
        yield Multiple("k", word)
        return
    number = Reader(read_program(text)).whole(depth)
    if number is not None and number > 1:
        yield Multiple("k", number)


def compute_capability(text: str) -> dict[str, Any]:
    """Return the least compute capability that a source's instructions ask for, as attributes of a kernel."""
    if _OF_ONE_ARCHITECTURE.search(text):
        return {"min_compute_capability": (9, 0), "architecture": "90a"}
    least = next((least for least, signs in _LATER.items() if signs.search(text)), None)
    return {} if least is None else {"min_compute_capability": least}
