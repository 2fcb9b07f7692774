"""``mmcore run``: run a kernel, verify its product and report it the way the lecture does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from mmcore.cell import BRIEFLY, WAYS, Timing
from mmcore.cli.options import USUAL_SIZE, device_option, launch_options, requested_cell, timeout_option
from mmcore.cli.output import fields, json_option, loaded_registry, render, write_json
from mmcore.executor import measure_cell
from mmcore.executor.choose import chosen
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.result import LaunchRecord, Result

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_LAUNCHES = 8


@click.command()
@click.argument("kernel")
@launch_options(USUAL_SIZE)
@device_option()
@click.option("--memory", type=click.Choice(WAYS["end-to-end"]), default="pageable", help="Host memory of copies.")
@timeout_option("everything together")
@click.option("-q", "--quiet", is_flag=True, help="Print the answer alone, and what is wrong.")
@json_option
def run(kernel: str, device: str, memory: str, quiet: bool, as_json: bool, **asked: Any) -> int:
    """Run a kernel, verify its product, and time it."""
    found = loaded_registry().kernel(kernel)
    timed = chosen(device)[0].supports_timing
    timings = (Timing("kernel", "warm", **BRIEFLY), Timing("end-to-end", memory, **BRIEFLY)) if timed else ()
    result = measure_cell(requested_cell(found, device, asked, USUAL_SIZE, timings=timings))
    if as_json:
        write_json(result.to_json())
    elif quiet:
        render(*_answer(result))
    else:
        render(*report(result, found, auto=device == "auto"))
    return 0 if result.verified else 2 if result.timed_out else 1


def report(result: Result, kernel: Kernel, *, auto: bool) -> list[RenderableType]:
    """The lecture's report: the launch, its times, the verification and the answer in two words.

    Args:
        result: what came of the cell.
        kernel: the kernel.
        auto: whether mmcore chose the device.
    """
    facts = fields([*_product(result, kernel, auto), *_geometry(result), *_outcome(result)])
    return [f"{kernel.name}: {kernel.title}\n", facts, "", *_answer(result)]


def _answer(result: Result) -> list[RenderableType]:
    from rich.text import Text

    answer = Text("TEST PASS", "bold green") if result.verified else Text("TEST FAIL", "bold red")
    if result.timed_out:
        answer = Text("NOT FINISHED: --timeout sets the limit", "bold yellow")
    return [*result.failures(), answer]


def _product(result: Result, kernel: Kernel, auto: bool) -> list[tuple[str, str]]:
    cell, description = result.cell, f": {result.device_description}" if result.device_description else ""
    product = f"{kernel.operation}, m×n×k = {cell.m}×{cell.n}×{cell.k}, {kernel.dtype}{kernel.sums}"
    if cell.lda or cell.ldb or cell.ldc:
        how = "as they lie" if result.strided else "packed, as the kernel takes no leading dimensions"
        product += f"; lda, ldb, ldc = {cell.lda or cell.k}, {cell.ldb or cell.n}, {cell.ldc or cell.n}, {how}"
    return [("device", f"{result.device}{' (chosen by auto)' if auto else ''}{description}"), ("problem", product)]


def _geometry(result: Result) -> list[tuple[str, str]]:
    forced = "; ".join(result.violated_constraints) or "against nothing: its constraints hold"
    config = ", ".join(f"{name}={value}" for name, value in result.config.items() if name != "block")
    return [
        ("forced", forced if result.cell.force else ""),
        ("config", config),
        ("block", _in_turn(result, lambda launch: _extent(launch.block, "thread"))),
        ("grid", _in_turn(result, lambda launch: _extent(launch.grid, "block"))),
        ("registers", f"{result.registers} per thread" if result.launched else ""),
        ("shared memory", f"{result.shared_bytes} bytes per block" if result.launched else ""),
    ]


def _in_turn(result: Result, text: Callable[[LaunchRecord], str]) -> str:
    """Those of a few launches; of many, how many more there are."""
    more = f", then {len(result.launched) - _MOST_LAUNCHES} more" if len(result.launched) > _MOST_LAUNCHES else ""
    return ", then ".join(map(text, result.launched[:_MOST_LAUNCHES])) + more


def _extent(extent: Dim3, what: str) -> str:
    return f"{extent} ({extent.size} {what}{'' if extent.size == 1 else 's'})"


def _outcome(result: Result) -> list[tuple[str, str]]:
    memory = next((time.timing.how for time in result.times if time.timing.what == "end-to-end"), "")
    verification = "none: the violation left no product"
    if result.timed_out:
        verification = "none: the time limit was reached"
    elif result.verification is not None:
        error = result.verification.max_error
        largest = "an element is not finite" if error is None else f"largest error {error:.3g}"
        verification = f"{result.verification.method}; {largest}"
    return [
        ("host memory", memory),
        ("kernel time", _time(result, result.kernel_seconds)),
        ("end-to-end time", _time(result, result.end_to_end_seconds)),
        ("seed", "" if result.cell.seed is None else str(result.cell.seed)),
        ("verification", verification),
    ]


def _time(result: Result, seconds: float | None) -> str:
    gflops = result.gflops(seconds)
    if seconds is not None and gflops is not None:
        return f"{seconds * 1e3:.4f} ms, {gflops:.{1 if gflops >= 10 else 4}f} GFLOP/s"
    return "none: the device supports no timing" if result.verified else "none: only a verified product is timed"
