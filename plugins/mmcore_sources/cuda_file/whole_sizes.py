"""The sizes that a file's kernel needs, as a declaration says them: whole tiles, whole steps, a compute capability."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from mmcore.kernel.arguments import SIZES, TensorMap
from mmcore.kernel.constraints import Multiple, equal_sizes
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.program_sizes import guards, loop_steps
from mmcore_sources.cuda_file.inference.whole_tiles import tiles_of
from mmcore_sources.cuda_file.repairs.edits import whole_steps

_LATER = {
    (9, 0): re.compile(r"cp\.async\.bulk|CUtensorMap|barrier\.cluster|cluster_group|mbarrier\.try_wait"),
    (8, 0): re.compile(r"cp\.async|mma\.sync\.\S*(?:bf16|tf32|f64)|__pipeline_memcpy_async|memcpy_async"),
}
_OF_ONE_ARCHITECTURE = re.compile(r"\bwgmma\b|setmaxnreg")


def is_unguarded(text: str, entry: str, roles: Mapping[str, str], attributes: Mapping[str, Any]) -> bool:
    """Return whether a kernel gets the rows and columns of C, and compares them with no thread's place.

    ``attributes`` are those of the inferred kernel. Copies by a tensor map of C leave remainders out themselves.
    """
    known = {*roles.values(), *equal_sizes(attributes["constraints"])}
    stores_tiles = any(isinstance(each, TensorMap) and each.matrix == "C" for each in attributes["arguments"])
    function = read_program(text).function(entry)
    if function is None or stores_tiles or not {"m", "n"} <= known:
        return False
    return not guards(Body(function), set(roles))


def whole_tiles(rule: LaunchText, config: Mapping[str, Any]) -> Iterator[Multiple]:
    """Yield the rows and columns of a grid's whole tiles, as the parameter that they follow if there is one."""
    block = config["block"]
    extents = dict(zip(EXTENTS, (*block, 1, 1), strict=False)) if isinstance(block, tuple) else {}
    parameters = {name: value for name, value in config.items() if isinstance(value, int)}
    values = {**dict.fromkeys(SIZES, 64), **extents, **parameters}
    for size, tile in tiles_of(rule, values).items():
        named = (name for name, value in parameters.items() if value == tile)
        edges = [name for name in named if tiles_of(rule, {**values, name: 2 * tile})[size] == 2 * tile]
        if tile > 1:
            yield Multiple(size, edges[0] if edges else tile)


def steps_of_k(
    text: str, entry: str, roles: Mapping[str, str], config: Mapping[str, Any], *, unguarded: bool
) -> Iterator[Multiple]:
    """Yield the depth of the whole steps that a kernel takes along k; of all steps, if it is unguarded."""
    function, bound = read_program(text).function(entry), whole_steps(text, entry, roles)
    depths = [bound.children[2]] if bound is not None else []
    if unguarded and function is not None and not depths:
        of_k = {name for name, role in roles.items() if role == "k"} or set(roles)
        depths = [*loop_steps(Body(function), of_k)]
    for word in dict.fromkeys(map(text_of, depths)):
        number = config[word] if word in config else Reader(read_program(text)).whole(word)
        if number is not None and number > 1:
            yield Multiple("k", word if word in config else number)


def compute_capability(text: str) -> dict[str, Any]:
    """Return the least compute capability that a source's instructions ask for, as attributes of a kernel."""
    if _OF_ONE_ARCHITECTURE.search(text):
        return {"min_compute_capability": (9, 0), "architecture": "90a"}
    least = next((least for least, signs in _LATER.items() if signs.search(text)), None)
    return {} if least is None else {"min_compute_capability": least}
