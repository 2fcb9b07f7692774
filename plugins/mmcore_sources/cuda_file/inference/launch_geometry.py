"""Block, grid and dynamic shared memory of a kernel, from its launch or else from its body."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel, LacksOption
from mmcore.kernel.arguments import SIZES
from mmcore.kernel.configs import Config
from mmcore.kernel.geometry import dim3, parse_shape
from mmcore_cuda.cuda_source.api_launches import cluster_extents
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference import body_geometry, geometry
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.carved_memory import carved_bytes, instance_sizes, may_use_dynamic_memory
from mmcore_sources.cuda_file.inference.copied_tiles import layout_of_copies
from mmcore_sources.cuda_file.inference.counted_columns import blocks_of_row
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, Derived, evaluate, names_in, parse_expressions
from mmcore_sources.cuda_file.inference.geometry import Geometry
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launch_names import guessed_numbers, unknown_extents
from mmcore_sources.cuda_file.inference.layout import layout_of
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.parameters import Open, parameter_names
from mmcore_sources.cuda_file.inference.quotients import constant
from mmcore_sources.cuda_file.inference.read_axes import layout_of_reads
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.shared_memory import launched_bytes
from mmcore_sources.cuda_file.inference.sized_blocks import example, sized_block
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.thread_limits import check_threads
from mmcore_sources.cuda_file.inference.warps import block_of_warps, threads_per_element

_MOST_SHARED = 48 << 10  # bytes that a block may have without further ado
_DYNAMIC = re.compile(r'\bextern\b[^;{"]*\b__shared__\b')
_OF_BLOCKS = re.compile(r'\b(blockIdx|ctaid|cooperative_groups)\b|#\s*include\s*"')  # or of a header, perhaps


@dataclass(frozen=True)
class LaunchGeometry:
    """The block, grid and dynamic shared memory of a kernel.

    Attributes:
        block: the extents of the block, or a rule that depends on the other parameters of the config.
        sized: the text of a block that depends on the sizes; "" for others. ``block`` is an example then.
        grid, shared_bytes: their texts.
        notes: the notes about them.
    """

    block: Any
    sized: str
    grid: str
    shared_bytes: str
    notes: tuple[Note, ...]


def launch_geometry(
    source: Program,
    body: Body,
    roles: Roles,
    launch: HostLaunch | None,
    chosen: Open,
    given: Mapping[str, Any],
    sides: Mapping[str, str],
) -> LaunchGeometry:
    """Return the geometry of a kernel's launch; ``sides`` are those of C that the threads of one block cover."""
    names, function = parameter_names(chosen), body.function
    by_columns = "C" in given.get("column_major", "ABC" if roles.by_columns else "")
    lengths = ("m" if by_columns and not roles.square else "n", "ldc")
    strides = {name for name, role in roles.sizes.items() if role in lengths}
    if launch is not None and roles.of_blocks:
        strides = {blocks_of_row(body, roles.pointers, roles.sizes)}
    layout = layout_of(body, roles.pointers["C"], strides, batch=roles.batch)
    layout = layout.turned() if layout is not None and by_columns else layout or layout_of_copies(body, roles.pointers)
    layout = layout_of_reads(layout, body, roles) if layout is not None else None
    block = grid = sized = None
    shared: ast.expr | None = None
    if launch is not None:
        reader = Reader.of(source, launch, names)
        reader = replace(reader, names={**guessed_numbers(reader, launch, roles.arguments), **reader.names})
        if "block" not in given:
            geometry.refuse_exchanged(reader, launch)
        hosts = geometry.host_sizes(launch, roles, [each.name for each in function.parameters])
        if "block" not in given:
            constants = {*source.macros, *source.constants} & body.names  # also of the kernel's tiles, perhaps
            free = {name: several for name, several in hosts.items() if name not in constants}
            along = {axis: geometry.sizes_along(free, axis, layout, sides) for axis in "xyz"}
            sized = sized_block(reader, launch, along)
        block, grid = geometry.launched(reader, launch, roles, body, layout, sized=sized is not None)
        if sized is not None and (extents := example(sized, block)):
            block = Geometry(tuple(map(ast.Constant, extents)), f"{geometry.LAUNCHED}{launch.place}")
        passed = {name: ast.Name(several[0]) for name, several in hosts.items() if len({*several}) == 1}
        instance = dict(zip((each.name for each in function.template), launch.template, strict=False))
        sizes_of_instance = instance_sizes(Reader(source, names), body, instance)
        known_names = {**passed, **unknown_extents(reader, launch), **reader.names, **sizes_of_instance}
        of_block = replace(reader, names=known_names)
        try:
            shared = None if "shared" in given else launched_bytes(of_block, launch)
        except LacksOption:
            if may_use_dynamic_memory(source, body):
                raise
    sizes: dict[str, ast.expr] = {name: ast.Name(role) for name, role in roles.sizes.items()}
    launched, launched_grid = block, grid
    if layout is not None and (block is None or grid is None):
        block_of_body, grid_of_body = body_geometry.by_body(
            Reader(source, {**sizes, **names}), body, layout, threads_per_element(body)
        )
        block, grid = block or block_of_body, grid or grid_of_body
    if block is None and grid is None and roles.sizes:
        block, grid = body_geometry.of_flat_tiles(Reader(source, names), body) or (None, None)
    block = block if launched is not None else body_geometry.by_names(names) or block
    reader = Reader(source, names)
    block = launched or body_geometry.within_bounds(reader, body, block, chosen.values)
    if launched is None and body_geometry.is_unclear(block, chosen.values, body):
        block = block_of_warps(reader, body) or block
    notes: list[Note] = []
    if block is None and "block" not in given and roles.sizes and not chosen.undefined:
        block = body_geometry.usual_block(reader, body)
    flat = body.thread_axes == {"x"} or (block is not None and len(block.extents) == 1)
    shape: Any = (
        parse_block(given["block"], flat=flat) if "block" in given else _shape(source, function, launch, block, chosen)
    )
    if "block" not in given and block is not None:
        extents = shape(Config({"block": (1, 1, 1), **chosen.values})) if callable(shape) else shape
        notes.append(Note("block", sized.text if sized else str(dim3(extents)), block.why, "--block", block.guessed))
    text = str(given.get("grid", ""))
    if not text and grid is None:
        usual = parse_expressions("ceil(n/bx), ceil(m/by)", "the grid")
        grid = Geometry(usual, "the source does not give it", guessed=True)
        if body.thread_axes and not _OF_BLOCKS.search(source.text):
            grid = Geometry(parse_expressions("1", "the grid"), "the source does not use blockIdx")
    if grid is not launched_grid and launch is not None:
        grid = geometry.along_x(grid, Reader.of(source, launch, names), launch)
    if not text and grid is not None:
        notes.append(Note("grid", (text := grid.text), grid.why, "--grid", grid.guessed))
    alone = len(source.functions) == 1
    extern = "shared" not in given and _DYNAMIC.search(source.text if alone else text_of(function.body))
    carved = carved_bytes(reader, body) if extern and launch is None else None
    unknown = extern and launch is None and carved is None
    usual_bytes = ast.Constant(_MOST_SHARED if unknown else 0)
    dynamic = str(given.get("shared", ast.unparse(shared or carved or usual_bytes)))
    if extern or ("shared" not in given and shared is not None):
        why = (
            "its extern array has no size"
            if unknown
            else "the structure in its extern array"
            if carved
            else "as launched"
        )
        notes.append(Note("dynamic shared bytes", dynamic, why, "--shared", bool(unknown)))
    for each, what in ((text, "the grid"), (dynamic, "the shared memory")):
        _check_names(each, what, chosen)
    return LaunchGeometry(shape, sized.text if sized is not None else "", text, dynamic, tuple(notes))


def launched_cluster(source: Program, launch: HostLaunch | None) -> tuple[int, ...] | None:
    """Return the extents of the cluster that a launch asks for; None without one, or if they are unknown."""
    extents = cluster_extents(launch.scope) if launch is not None else ()
    try:
        numbers = [constant(Reader.of(source, launch, {}).number(each)) for each in extents]
    except Unreadable:
        return None
    return tuple(each or 1 for each in numbers) or None


def compiled_cluster(kernel: SourceKernel) -> tuple[int, ...] | None:
    """Return the extents in a kernel's ``__cluster_dims__``; None without it, or if they are unknown."""
    name = re.escape(kernel.function.word)
    extents = re.search(rf"__cluster_dims__\s*\(([^()]*)\)[^{{;]*?\b{name}\s*\(", kernel.text)
    if extents is None:
        return None
    values: dict[str, ast.expr] = {name: ast.Constant(each) for name, each in kernel.values.items()}
    numbers = [Reader(kernel.source, values).whole(each) or 0 for each in extents[1].split(",")]
    return tuple(numbers) if all(numbers) else None


def parse_block(text: Any, *, flat: bool) -> tuple[int, ...]:
    """Return a block that a user gives: 32 is 32×32 unless the source's blocks are ``flat``."""
    extents = parse_shape(text) if isinstance(text, str) else tuple(text)
    return extents * 2 if len(extents) == 1 and isinstance(text, str) and not flat else extents


def _shape(source: Program, function: Function, launch: HostLaunch | None, block: Geometry | None, chosen: Open) -> Any:
    """Return the block of a config: numbers, or a rule that depends on the other parameters."""
    option = "--block 256" if Body(function).thread_axes == {"x"} else "--block 16x16"
    if block is None:
        reason = f"the block of {function.name} is unknown; give it, as in --block 16x16"
        names = ", ".join(chosen.undefined)
        reason += f", or --define for what the source does not define: {names}" * bool(names)
        raise LacksOption(reason, option)
    values = {name: value for name, value in chosen.values.items() if isinstance(value, int)}
    if unknown := {name for each in block.extents for name in names_in(each)} - values.keys():
        follows = f"follows from {', '.join(sorted(unknown))}; --block gives it in numbers"
        raise InvalidKernel(f"the block of {function.name} {follows}")
    extents = tuple(int(evaluate(each, values)) for each in block.extents)
    check_threads(block, extents, source, function, launch, option)
    return extents if all(constant(each) is not None for each in block.extents) else Derived(block.text)


def _check_names(text: str, what: str, chosen: Open) -> None:
    known = (*SIZES, *EXTENTS, *chosen.values)
    for name in sorted(set().union(*map(names_in, parse_expressions(text, what)))):
        if name not in known:
            raise InvalidKernel(f"{name!r} in {what} {text!r} is no value of a launch; there are {', '.join(known)}")
