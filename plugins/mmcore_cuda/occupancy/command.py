"""``mmcore occupancy``: how many blocks and warps a multiprocessor can keep active, and what limits them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import click

from mmcore.cli.kernel_param import KernelParam, refuse_file_options
from mmcore.cli.options import (
    USUAL_SIZE,
    block_option,
    complete_device,
    config_option,
    number_type,
    problem_options,
    requested_config,
    requested_sizes,
)
from mmcore.cli.output import json_option, loaded_registry, quiet_option, render, write_json
from mmcore.errors import ConstraintViolation
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3, dim3, parse_shape
from mmcore.kernel_reference import KernelReference
from mmcore_cuda.occupancy.theoretical import Occupancy, multiprocessor
from mmcore_cuda.occupancy.theoretical import occupancy as theoretical
from mmcore_emulator.machine.limits import MULTIPROCESSORS

_KNOWN = ", ".join(each.name for each in MULTIPROCESSORS.values())
_LOCAL_MEMORY = ("local_bytes", "spill_store_bytes", "spill_load_bytes")
_IN_GRID = ("active_blocks", "active_warps", "active_threads", "occupancy", "binding", "advice")


def _capability(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d{1,3})\.(\d)", text, re.ASCII)
    if not match:
        raise click.BadParameter(f"{text!r} is not a compute capability, such as 9.0; there are {_KNOWN}")
    return multiprocessor((int(match[1]), int(match[2]))).capability


@click.command()
@click.argument("kernel", type=KernelParam(), required=False)
@problem_options(USUAL_SIZE)
@block_option
@config_option
@click.option(
    "--device", metavar="D", help="auto, cuda, emulator, ...; auto by default.", shell_complete=complete_device
)
@click.option("--cc", type=_capability, metavar="X.Y", help=f"Compute capability, in place of a device: {_KNOWN}.")
@click.option("--registers", type=number_type(0), metavar="R", help="Registers per thread, in place of a kernel's.")
@click.option("--shared", type=number_type(0), metavar="S", help="Bytes of shared memory per block, likewise.")
@quiet_option
@json_option
def occupancy(
    kernel: KernelReference | None,
    device: str | None,
    cc: tuple[int, int] | None,
    quiet: bool,
    as_json: bool,
    **asked: Any,
) -> int:
    """Say how many warps fit at a time, and what limits them.

    Give a kernel, all of whose configs are shown by default, or bare numbers: --registers, --shared and --block.
    """
    if cc is not None and device is not None:
        raise click.UsageError("give either --device or --cc, not both")
    if kernel is None:
        refuse_file_options("none is named")
        block = _bare_block(asked)
        capability, name = _target(cc, device)
        registers, shared = asked["registers"], asked["shared"] or 0
        figures = theoretical(capability, threads=block.size, registers=registers, shared_bytes=shared)
        title, launches = "", {"configs": [_column(block, figures)], "refused": []}
    else:
        declared = loaded_registry().kernel(kernel)
        capability, name = _target(cc, device)
        kernel, title, launches = declared.name, declared.title, _of_kernel(declared, capability, asked)
    # The first column, which belongs to the default config, and all columns.
    document = {"kernel": kernel, "device": name.partition(" ")[0] or None, **launches["configs"][0], **launches}
    from mmcore_cuda.occupancy.report import facts, tables

    if as_json:
        write_json(document)
    else:
        render(*([] if quiet else facts(document, title, name)), *tables(document))
    return 0 if any(column["active_blocks"] for column in launches["configs"]) else 1


def _bare_block(asked: dict[str, Any]) -> Dim3:
    """Return the block given without a kernel: 16 is 16×16."""
    if any(asked[name] for name in ("size", "m", "n", "k", "configs")):
        raise click.UsageError("--size, -m, -n, -k and --config are a kernel's, and no kernel is named")
    if asked["registers"] is None or asked["block"] is None:
        raise click.UsageError("name a kernel, or give --registers, --block and, unless it is 0, --shared")
    extents = parse_shape(asked["block"])
    return dim3(extents * 2 if len(extents) == 1 else extents)


def _target(cc: tuple[int, int] | None, device: str | None) -> tuple[tuple[int, int], str]:
    """Return the requested compute capability, or a device's, and the device's name for the report, empty for none."""
    if cc is not None:
        return cc, ""
    from mmcore import executor
    from mmcore.executor.choose_device import device_name

    name = device_name(device or "auto")
    major, minor = executor.run(name, "mmcore_cuda.occupancy.compiled:device_capability")
    return multiprocessor((major, minor)).capability, f"{name}{' (chosen by auto)' if device in (None, 'auto') else ''}"


def _of_kernel(kernel: Kernel, capability: tuple[int, int], asked: dict[str, Any]) -> dict[str, Any]:
    """Return a column for every launch of every possible config, and the refused configs with the reasons."""
    from mmcore_cuda.occupancy.compiled import capability_target, compiled_occupancies, target_plan

    one, target = requested_config(kernel, asked), capability_target(capability)
    # Numbers given on the command line replace the compiled ones.
    replaced: dict[str, Any] = {"registers_per_thread": asked["registers"], "shared_per_block": asked["shared"]}
    replaced = {name: number for name, number in replaced.items() if number is not None}
    columns: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for config in kernel.usual_configs if one is None else (one,):
        named = {"config": config.to_json(), "config_id": config.id}
        try:
            problem = kernel.problem(*requested_sizes(kernel, asked, USUAL_SIZE, config))
            planned = target_plan(kernel, problem, config, target)
        except ConstraintViolation as violation:
            refused.append({**named, "reasons": violation.reasons})
            continue
        module, compiled = compiled_occupancies(planned, target)
        sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
        architecture = module.architecture if len(replaced) < 2 else None
        for launch, compiled_launch in zip(planned.launches, compiled, strict=True):
            function = module.functions[planned.entry(launch)]
            local = {name: getattr(function, name) for name in _LOCAL_MEMORY}
            about = {**named, "problem": sizes, "entry": planned.entry(launch), "architecture": architecture, **local}
            columns.append(_column(launch.block_dim, replace(compiled_launch, **replaced), launch.grid_dim, **about))
    if not columns:
        raise ConstraintViolation(kernel.name, refused[0]["reasons"])
    return {"configs": columns, "refused": refused}


def _column(block: Dim3, figures: Occupancy, grid: Dim3 | None = None, **about: Any) -> dict[str, Any]:
    """Return the figures of one launch, or of numbers given without a kernel, which have no grid."""
    in_grid = (figures if grid is None else figures.in_grid(grid.size)).to_json()
    return {
        **dict.fromkeys(("problem", "config", "config_id", "entry", "architecture", *_LOCAL_MEMORY)),
        **about,
        "block": list(block),
        "grid": grid and list(grid),
        **figures.to_json(),
        "in_grid": {name: in_grid[name] for name in _IN_GRID},
    }
