"""The launch rule of a kernel, and the sizes that it fits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from mmcore.kernel.configs import Config
from mmcore.kernel.constraints import Constraint
from mmcore.kernel.geometry import dim3
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference import geometry
from mmcore_sources.cuda_file.inference.carved_memory import unsized_arrays
from mmcore_sources.cuda_file.inference.counted_tiles import counted_tile
from mmcore_sources.cuda_file.inference.expressions import EXTENTS, LaunchText
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.launch_conditions import LaunchedIf, launch_condition
from mmcore_sources.cuda_file.inference.launch_geometry import (
    LaunchGeometry,
    compiled_cluster,
    launch_geometry,
    launched_cluster,
)
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.one_block import ThreadSides, block_constraints, thread_sides
from mmcore_sources.cuda_file.inference.other_instance import other_instance
from mmcore_sources.cuda_file.inference.product import Product
from mmcore_sources.cuda_file.inference.program_numbers import program_numbers
from mmcore_sources.cuda_file.inference.program_sizes import program_sizes
from mmcore_sources.cuda_file.inference.refused_launches import RefusedLaunch, refused_launches
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.sized_blocks import halved_sizes, larger_blocks, whole_parts
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.untried_instances import instance_launches, untried_instances
from mmcore_sources.cuda_file.inference.user_input import numbers_of_user
from mmcore_sources.cuda_file.inference.whole_tiles import SomeBlock, WholeClusters

_COOPERATIVE = re.compile("Launch(Attribute)?Cooperative")


@dataclass(frozen=True)
class LaunchRule:
    """The block and the launch rule of a kernel.

    Attributes:
        block: the extents of the block, or a rule that depends on the other parameters of the config.
        text: the rule.
        constraints: constraints on the sizes that follow from the launch.
        program_sizes: the sizes of the kernel's own program.
        size_notes, notes: notes about the sizes, and about the launch.
        warnings: signs of a mistake in the launch.
        refused: the launches of the program that CUDA refuses.
    """

    block: Any
    text: LaunchText
    constraints: tuple[Constraint, ...]
    program_sizes: tuple[Constraint, ...]
    size_notes: tuple[Note, ...]
    notes: tuple[Note, ...]
    warnings: tuple[str, ...]
    refused: tuple[RefusedLaunch, ...]


def launch_rule(kernel: SourceKernel, product: Product) -> LaunchRule:
    """Return the launch rule of a kernel that computes a product. Raises InvalidKernel, LacksOption."""
    source, body, launch, given = kernel.source, kernel.body, kernel.launch, kernel.given
    roles, chosen = product.roles, product.chosen
    constraints, size_notes = list[Constraint](), list[Note]()
    columns = str(given.get("column_major", product.column_major))
    sides = thread_sides(body, roles, columns) if roles.sizes and "grid" not in given else None
    found = launch_geometry(source, body, roles, launch, chosen, given, sides.axes if sides is not None else {})
    if sides is not None and (usual := _usual_block(kernel, roles, sides, found)):
        found = launch_geometry(source, body, roles, launch, chosen, {**given, "block": usual}, sides.axes)
        size_notes.append(Note("block", str(dim3(usual)), f"one block covers {sides.parts} of C", "--block"))
    block, grid, shared, notes = found.block, found.grid, found.shared_bytes, [*found.notes]
    read = any(each.what == "grid" and each.why.startswith(geometry.LAUNCHED) for each in notes)
    shown = launch is not None and len(launch.geometry) > 1 and not {"block", "grid"} & given.keys()
    warnings = list[str]()
    if shown and launch is not None:
        reader = Reader.of(source, launch, {})
        warnings += geometry.unused_axes(reader, launch, body)
        if not read:
            warnings += geometry.unread_grid(reader, launch, roles, body, grid)
    # Blocks that wait for each other must all be resident, which <<<>>> does not ask for.
    ordinary = launch if source.cooperative and not _COOPERATIVE.search(kernel.text) else None
    if ordinary is not None:
        why = f"<<<>>> in {ordinary.place}; this_grid().sync() needs cudaLaunchCooperativeKernel"
        notes.append(Note("launch", "ordinary", why, ""))
    cooperative, cluster = source.cooperative and ordinary is None, launched_cluster(source, launch)
    guessed = any(note.what == "dynamic shared bytes" and note.guessed for note in notes)
    text = LaunchText(
        grid,
        str(shared),
        cooperative,
        cluster,
        compiled_cluster(kernel),
        guessed_array=next(iter(unsized_arrays(body)), "") if guessed else "",
        block=found.sized,
    )
    shape = block(Config({"block": (1, 1, 1), **chosen.values})) if callable(block) else block
    config = Config({"block": shape, **chosen.values})
    constraints += block_constraints(sides, text, product.constraints, config)
    if text.blocks_per_cluster:
        constraints.append(WholeClusters(text, roles.equal))
    if (text.rounds_down or text.vectors) and "gridDim" not in text_of(body.function.body):
        constraints.append(SomeBlock(text, roles.equal))
    if (condition := launch_condition(kernel, roles)) is not None:
        other = None if callable(block) else other_instance(kernel, chosen.entry, condition, text)
        if other is None:
            constraints.append(LaunchedIf(condition.multiples, condition.text))
            size_notes.append(Note("sizes", condition.sizes, condition.text, ""))
        else:
            text = replace(text, other=other)
            size_notes.append(Note("at other sizes", other.entry, condition.text, ""))
    warnings += untried_instances(kernel, condition.others if condition is not None else ())
    values = {**chosen.values, **dict(zip(EXTENTS, dim3(shape), strict=True))}
    numbers = {**program_numbers(source, kernel.function, instance_launches(kernel)), **product.launched}
    of_program = program_sizes(source, body, launch, roles, text, values, numbers, columns)
    if text.block:
        launched, of_user = roles.sizes_in(numbers), roles.sizes.keys() & numbers_of_user(kernel.function, launch)
        of_program += (*whole_parts(text.block, launched), *halved_sizes(body, text.block, launched))
        warnings += larger_blocks(text) if of_user or launched.keys() < {"m", "n", "k"} else ()
    allowed = (*product.constraints, *constraints, *of_program)
    return LaunchRule(
        block=block,
        text=replace(text, tile=counted_tile(kernel, roles, text)),
        constraints=tuple(constraints),
        program_sizes=of_program,
        size_notes=tuple(size_notes),
        notes=tuple(notes),
        warnings=tuple(warnings),
        refused=tuple(refused_launches(kernel, product, text, config, allowed)) if read else (),
    )


def _usual_block(kernel: SourceKernel, roles: Roles, sides: ThreadSides, found: LaunchGeometry) -> tuple[int, ...]:
    """Return a block in place of one that is a guess, small, or unfit for the kernel's sizes; () without one."""
    if "block" in kernel.given or found.sized or callable(found.block):
        return ()
    shown = any(each.what == "block" and each.why.startswith(geometry.LAUNCHED) for each in found.notes)
    passed = any(each.name in roles.sizes for each in kernel.function.parameters)  # else the source fixes the sizes
    if not shown:
        return sides.larger_block((1,), roles.equal)
    return sides.larger_block(found.block, roles.equal) if passed else ()
