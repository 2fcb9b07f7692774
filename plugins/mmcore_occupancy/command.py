"""``mmcore occupancy``: how many blocks and warps a multiprocessor can keep active, and what limits them."""

from __future__ import annotations

import re
from typing import Any

import click

from mmcore.cli.options import (
    USUAL_SIZE,
    block_option,
    config_option,
    problem_options,
    requested_config,
    requested_sizes,
)
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.errors import ConstraintViolation
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3, dim3, parse_shape
from mmcore_occupancy.capabilities import MULTIPROCESSORS, multiprocessor
from mmcore_occupancy.report import Column, Report
from mmcore_occupancy.theoretical import occupancy as theoretical

_KNOWN = ", ".join(each.name for each in MULTIPROCESSORS.values())


def _capability(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,3})\.(\d)", text, re.ASCII)
    if not found:
        raise click.BadParameter(f"{text!r} is not a compute capability, such as 9.0; there are {_KNOWN}")
    return multiprocessor((int(found[1]), int(found[2]))).capability


@click.command()
@click.argument("kernel", required=False)
@problem_options(USUAL_SIZE)
@block_option
@config_option
@click.option("--device", metavar="D", help="auto, cuda, cuda:1, emulator, ...; auto by default.")
@click.option("--cc", type=_capability, metavar="X.Y", help=f"Compute capability, in place of a device: {_KNOWN}.")
@click.option("--registers", type=click.IntRange(0), metavar="R", help="Registers per thread, in place of a kernel's.")
@click.option("--shared", type=click.IntRange(0), metavar="S", help="Bytes of shared memory per block, likewise.")
@json_option
def occupancy(
    kernel: str | None,
    device: str | None,
    cc: tuple[int, int] | None,
    registers: int | None,
    shared: int | None,
    as_json: bool,
    **asked: Any,
) -> int:
    """Say how many warps fit at a time, and what limits them.

    Give a kernel, all of whose configs are shown by default, or bare numbers: --registers, --shared and --block.
    """
    if cc is not None and device is not None:
        raise click.UsageError("give either --device or --cc, not both")
    if kernel is None:
        block = _bare_block(asked, registers)
        cc, name = (cc, "") if cc else _device_capability(device)
        found = theoretical(cc, threads=block.size, registers=registers or 0, shared_bytes=shared or 0)
        report = Report(None, cc, (Column(block, found),), device=name)
    else:
        declared = loaded_registry().kernel(kernel)
        cc, name = (cc, "") if cc else _device_capability(device)
        report = _of_kernel(declared, asked, cc, name, registers, shared)
    if as_json:
        write_json(report.to_json())
    else:
        render(*report.parts())
    return 0 if any(column.occupancy.active_blocks for column in report.columns) else 1


def _bare_block(asked: dict[str, Any], registers: int | None) -> Dim3:
    """The block of bare numbers: 16 is 16×16."""
    if any(value for name, value in asked.items() if name != "block"):
        raise click.UsageError("--size, -m, -n, -k and --config are a kernel's, and no kernel is named")
    if registers is None or asked["block"] is None:
        raise click.UsageError("name a kernel, or give --registers, --block and, unless it is 0, --shared")
    extents = parse_shape(asked["block"])
    return dim3(extents * 2 if len(extents) == 1 else extents)


def _device_capability(device: str | None) -> tuple[tuple[int, int], str]:
    """The compute capability of a device, and the device as the report names it."""
    from mmcore import executor
    from mmcore.executor.choose import device_name

    name = device_name(device if device is not None else "auto")
    major, minor = executor.run(name, "mmcore_occupancy.compiled:device_capability")
    return multiprocessor((major, minor)).capability, f"{name}{' (chosen by auto)' if device in (None, 'auto') else ''}"


def _of_kernel(
    kernel: Kernel,
    asked: dict[str, Any],
    capability: tuple[int, int],
    device: str,
    registers: int | None,
    shared: int | None,
) -> Report:
    """A column for every launch of every config that can be launched."""
    from mmcore_occupancy.compiled import capability_target, compiled_occupancies, target_plan

    one = requested_config(kernel, asked)
    target = capability_target(capability)
    columns: list[Column] = []
    refused: dict[Config, ConstraintViolation] = {}
    for config in kernel.usual_configs if one is None else (one,):
        try:
            problem = kernel.problem(*requested_sizes(kernel, asked, USUAL_SIZE, config))
            planned = target_plan(kernel, problem, config, target)
        except ConstraintViolation as violation:
            refused[config] = violation
            continue
        module, compiled = compiled_occupancies(planned, target)
        architecture = module.architecture if registers is None or shared is None else ""
        for launch, found in zip(planned.launches, compiled, strict=True):
            # What the user gives takes the place of what was compiled.
            found = theoretical(
                capability,
                threads=found.threads_per_block,
                registers=found.registers_per_thread if registers is None else registers,
                shared_bytes=found.shared_per_block if shared is None else shared,
            )
            made = (launch.block_dim, found, config, problem, launch.grid_dim, planned.entry(launch), architecture)
            columns.append(Column(*made))
    if not columns:
        raise next(iter(refused.values()))
    reasons = tuple((config, violation.reasons) for config, violation in refused.items())
    return Report(kernel, capability, tuple(columns), reasons, device)
