"""``mmcore prove``: a proof that a kernel computes the product for all values, from one run on the emulator."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from mmcore.cell import Cell
from mmcore.cli.answers import Answer, answered
from mmcore.cli.kernel_param import KernelsParam
from mmcore.cli.options import device_option, launch_options, requested_cell, sized, timeout_option
from mmcore.cli.output import fields, indented, json_option, loaded_registry, quiet_option
from mmcore.cli.source_quote import quoted
from mmcore.devices.violations import Violation
from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.registry import registry
from mmcore.verdict import warnings_of_file
from mmcore_emulator.adapter.api import checked, proved, refilled, value_dependences
from mmcore_emulator.adapter.proof import NOT_PROVED, PROVED, WRONG, Proof
from mmcore_emulator.adapter.small_product import small_product
from mmcore_emulator.adapter.unusual_reading import unusual_reading
from mmcore_emulator.adapter.views import proof_view

USUAL_SIZE = 64
"""Several tiles along each axis for most kernels; a proof holds for its size alone."""

_SECONDS = 10.0  # of the search for hazards of a wrong kernel
_EXIT = {PROVED: 0, WRONG: 1, NOT_PROVED: 2}
_STYLES = {PROVED: "bold green", WRONG: "bold red", NOT_PROVED: "bold yellow"}


@click.command()
@click.argument("kernel", type=KernelsParam())
@launch_options(USUAL_SIZE)
@device_option("auto: the emulator.")
@timeout_option("everything together")
@quiet_option
@json_option
def prove(kernel: tuple[KernelReference, ...], device: str, quiet: bool, as_json: bool, **options: Any) -> int:
    """Prove that C is the product, for all values.

    Exit status: 0 = proved, 1 = wrong, 2 = not proved, or could not run.
    """
    loaded_registry()

    def about(reference: KernelReference) -> Answer:
        declaration = registry().kernel(reference)
        requested = requested_cell(declaration, device, options, USUAL_SIZE)
        requested = requested if sized(options) else refilled(requested)
        proof = _with_hazards(proved(requested), requested, declaration)
        warnings = (*_at_other_sizes(proof, requested), *warnings_of_file(declaration.name))
        status, details = _EXIT[proof.outcome], answer(proof, declaration, warnings)
        heading = facts(proof, declaration, auto=device == "auto")
        document, view = {**proof.to_json(), "warnings": [*warnings]}, proof_view(proof, warnings)
        return Answer(status, proof.outcome.upper(), document, heading, details, details, view)

    return answered(kernel, about, options["timeout"], quiet=quiet, as_json=as_json)


def _with_hazards(proof: Proof, cell: Cell, kernel: Kernel) -> Proof:
    """Return a proof with the hazards of a small product, which may be why a kernel is wrong.

    A kernel that has one is not proved, nor is one that is right only in an unusual reading of its source.
    """
    if proof.outcome == NOT_PROVED:
        return proof
    emulated = cell.on("emulator")
    small = small_product(emulated, kernel, proof.launched.config, proof.launched.launches)
    if proof.outcome == PROVED:
        hazards = checked(small, remember=True, quiet=True, wrong=False).violations if small else ()
        reasons = hazards or unusual_reading(small or emulated, kernel)
        return replace(proof, outcome=NOT_PROVED, reasons=reasons) if reasons else proof
    if small is None:
        return proof
    with suppress(MmcoreError):  # the kernel is wrong, whether or not there is time to find out why
        proof = replace(proof, reasons=checked(replace(small, timeout=_SECONDS), quiet=True, wrong=True).violations)
    return proof


def _at_other_sizes(proof: Proof, cell: Cell) -> list[str]:
    """Return why a proof does not hold at other sizes: code, not run at its own, that a value of A or B decides about.

    A proof against the constraints asks for no other sizes.
    """
    if proof.outcome != PROVED or cell.force:
        return []
    with suppress(MmcoreError):  # the proof holds, whether or not other sizes can be run
        return [str(each) for each in value_dependences(replace(cell, config=proof.launched.config))]
    return []


def facts(proof: Proof, kernel: Kernel, *, auto: bool) -> list[RenderableType]:
    """Return the launches and the bound of the error; ``auto``: mmcore chose the device."""
    rows = [*proof.launched.facts(auto), ("error", proof.error)]
    return [f"{kernel.name}: {kernel.title}\n", fields(rows), ""]


def answer(proof: Proof, kernel: Kernel, warnings: Iterable[str] = ()) -> list[RenderableType]:
    """Return the reasons with their source lines, warnings, and the result; a proof holds at its size alone."""
    lines = [line for reason in proof.reasons for line in _lines(reason, kernel)]
    lines += [*proof.sentences, *(f"warning: {each}" for each in warnings)]
    return [*lines, Text(proof.verdict, _STYLES[proof.outcome])]


def _lines(reason: Violation, kernel: Kernel) -> list[RenderableType]:
    """Return a reason as a heading, the line of source, the lines that call it, a sentence, and what to try."""
    place = f" at {reason.source}:{reason.line}" if reason.line else ""
    of_c = reason.array == "C" and reason.count is not None
    count = f", {reason.count:,} element{'s' * (reason.count != 1)} of C" if of_c else ""
    below = [reason.message, *([f"try {reason.hint}"] if reason.hint else [])]
    return [f"{reason.kind}{place}{count}", *quoted(kernel, reason), *map(indented, below), ""]
