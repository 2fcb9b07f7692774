"""``mmcore occupancy``: how many blocks and warps fit on a multiprocessor at a time, what binds, what would lift it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import click

from mmcore.cli.kernels import USUAL_SIZE, usual_size
from mmcore_occupancy.report import Column, Report
from mmcore.cli.options import problem_options
from mmcore.cli.output import json_option, loaded_registry, render, write_json
from mmcore.errors import ConstraintViolation
from mmcore.kernel.geometry import Dim3, dim3, parse_shape
from mmcore.kernel.declaration import Kernel
from mmcore.planning.capabilities import MULTIPROCESSORS, multiprocessor
from mmcore_occupancy.theoretical import occupancy as theoretical
from mmcore.kernel.problem import three_sizes

if TYPE_CHECKING:
    from mmcore.devices.base import Device
    from mmcore_occupancy.compiled import Target
    from mmcore.kernel.problem import Problem

Sizes: TypeAlias = tuple[int | None, int | None, int | None, int | None]
_KNOWN = ", ".join(each.name for each in MULTIPROCESSORS.values())


def _capability(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,3})\.(\d)", text, re.ASCII)
    if not found:
        raise click.BadParameter(f"{text!r} is not a compute capability, such as 9.0; there are {_KNOWN}")
    capability = int(found[1]), int(found[2])
    multiprocessor(capability)
    return capability


@click.command()
@click.argument("kernel", required=False)
@problem_options(USUAL_SIZE)
@click.option(
    "--block",
    metavar="BX[xBY]",
    help="Threads per block: 16 is 16x16, 256x1 a row of 256; every block the kernel declares by default.",
)
@click.option("--device", metavar="D", help="auto, cuda, cuda:1, emulator, ...; auto by default.")
@click.option("--cc", type=_capability, metavar="X.Y", help=f"Compute capability, in place of a device: {_KNOWN}.")
@click.option("--registers", type=click.IntRange(0), metavar="R", help="Registers per thread, in place of a kernel's.")
@click.option("--shared", type=click.IntRange(0), metavar="S", help="Bytes of shared memory per block, likewise.")
@json_option
def occupancy(
    kernel: str | None,
    size: int | None,
    m: int | None,
    n: int | None,
    k: int | None,
    block: str | None,
    device: str | None,
    cc: tuple[int, int] | None,
    registers: int | None,
    shared: int | None,
    as_json: bool,
) -> int:
    """Say how many warps fit at a time, and what limits them.

    Give a kernel, or bare numbers: --registers, --shared and --block.
    """
    if cc is not None and device is not None:
        raise click.UsageError("give either --device or --cc, not both")
    if kernel is None:
        if (size, m, n, k) != (None, None, None, None):
            raise click.UsageError("--size, -m, -n and -k are a kernel's, and no kernel is named")
        if registers is None or block is None:
            raise click.UsageError("name a kernel, or give --registers, --block and, unless it is 0, --shared")
        report = _bare(_shape(block), registers, shared or 0, cc, device)
    else:
        report = _of_kernel(loaded_registry().kernel(kernel), (size, m, n, k), block, cc, device, registers, shared)
    if as_json:
        write_json(report.to_json())
    else:
        render(*report.parts())
    return 0 if any(column.occupancy.active_blocks for column in report.columns) else 1


def _shape(text: str) -> Dim3:
    """A block as it is written for most kernels: 16 is 16×16."""
    extents = parse_shape(text)
    return dim3(extents * 2 if len(extents) == 1 else extents)


def _bare(block: Dim3, registers: int, shared: int, cc: tuple[int, int] | None, device: str | None) -> Report:
    called = ""
    if cc is None:
        opened = _open(device)
        cc, called = opened.limits.compute_capability, _called(opened, device)
    found = theoretical(cc, threads=block.size, registers=registers, shared_bytes=shared)
    return Report(None, cc, (Column(block, found),), device=called)


def _of_kernel(
    kernel: Kernel,
    sizes: Sizes,
    block: str | None,
    cc: tuple[int, int] | None,
    device: str | None,
    registers: int | None,
    shared: int | None,
) -> Report:
    blocks = tuple(dim3(shape) for shape in kernel.blocks) if block is None else (kernel.block(block),)
    problem_in = _problems(kernel, sizes)
    from mmcore_occupancy.compiled import capability_target, device_target

    if cc is None:
        opened = _open(device)
        target, called = device_target(opened), _called(opened, device)
    else:
        target, called = capability_target(cc), ""
    columns: list[Column] = []
    refusals: list[tuple[Dim3, ConstraintViolation]] = []
    for shape in blocks:
        try:
            columns += _columns(kernel, problem_in(shape), shape, target, registers, shared)
        except ConstraintViolation as refusal:
            refusals.append((shape, refusal))
    if not columns:
        raise refusals[0][1]
    refused = tuple((shape, refusal.reasons) for shape, refusal in refusals)
    return Report(kernel, target.capability, tuple(columns), refused, called)


def _problems(kernel: Kernel, sizes: Sizes) -> Callable[[Dim3], Problem]:
    """The product to take for a block: the one that was asked for, else of the usual size."""
    if sizes == (None, None, None, None):
        return lambda block: kernel.problem(*[usual_size(kernel, block)] * 3)
    problem = kernel.problem(*three_sizes(*sizes))
    return lambda block: problem


def _columns(
    kernel: Kernel, problem: Problem, block: Dim3, target: Target, registers: int | None, shared: int | None
) -> list[Column]:
    """One for each launch; what the user gives takes the place of what was compiled."""
    from mmcore_occupancy.compiled import compiled_occupancies, target_plan

    planned = target_plan(kernel, problem, block, target)
    code, compiled = compiled_occupancies(planned, target)
    architecture = code.architecture if registers is None or shared is None else ""
    columns = []
    for launch, found in zip(planned.launches, compiled, strict=True):
        found = theoretical(
            target.capability,
            threads=found.threads_per_block,
            registers=found.registers_per_thread if registers is None else registers,
            shared_bytes=found.shared_per_block if shared is None else shared,
        )
        entry = planned.entry(launch)
        columns.append(Column(launch.block_dim, found, planned.problem, launch.grid_dim, entry, architecture))
    return columns


def _open(device: str | None) -> Device:
    from mmcore.devices.choose import open_device

    return open_device("auto" if device is None else device, loaded_registry().providers)


def _called(opened: Device, asked: str | None) -> str:
    """The device as the report names it."""
    return opened.name if asked not in (None, "auto") else f"{opened.name} (chosen by auto)"
