"""The command ``mmcore conform`` and its report."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from mmcore.cli.kernel_param import KernelParam
from mmcore.cli.options import block_option, config_option, device_option, requested_config, seed_type, timeout_option
from mmcore.cli.output import console, fields, json_option, loaded_registry, render, write_json
from mmcore.errors import MmcoreError, UnknownKernel
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.messages import say
from mmcore.registry import registry
from mmcore.verdict import NOT_EXECUTED, NOT_RUN, missing_lines, places, warnings_of_file, warnings_of_source
from mmcore_sources.cuda_file.repairs.edits import rest_left_out
from mmcore_sources.cuda_file.repairs.trial import sizes_of
from mmcore_tools.conform.conformance import Conformance, Progress, conform_kernel
from mmcore_tools.conform.fixed_sizes import tested_sizes
from mmcore_tools.conform.outcome import PASSED, PROPERTIES, SKIPPED, Outcome, are_remainders_of_k, groups
from mmcore_tools.conform.separating import separating_multiples

if TYPE_CHECKING:
    from rich.console import RenderableType

_SECONDS = 10.0  # between two lines of progress


@click.command()
@click.argument("kernel", type=KernelParam(), metavar="KERNEL...", nargs=-1, required=True)
@block_option
@config_option
@click.option("--all", "exhaustive", is_flag=True, help="Test every config of a space, however long it takes.")
@device_option()
@click.option("--seed", type=seed_type, metavar="S", help="Seed of the random inputs; fresh by default.")
@timeout_option("each case")
@click.option("-v", "--verbose", is_flag=True, help="Print every case.")
@click.option("-q", "--quiet", is_flag=True, is_eager=True, help="Print a line for each kernel, and no progress.")
@json_option
def conform(
    kernel: tuple[KernelReference, ...],
    block: str | None,
    configs: Sequence[Mapping[str, Any]],
    exhaustive: bool,
    device: str,
    seed: int | None,
    timeout: float,
    verbose: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Test whether kernels do what they declare.

    A KERNEL is a name, a .cu file, or a pattern such as 'acme.*', which leaves out kernels with known bugs. --block and
    --config select one config.
    """
    found, buggy = loaded_registry().matching(kernel)
    if buggy:
        say(f"left out for their known bugs unless named: {', '.join(each.name for each in buggy)}")
    if not found:
        raise UnknownKernel("no other kernel matches")
    made: list[Conformance] = []
    for each in found:
        with _progress(each.name, quiet=quiet) as progress:
            reference = registry().reference(each)
            one = requested_config(each, {"block": block, "configs": configs})
            tested = (one,) if one else tuple(each.all_configs) if exhaustive else ()
            made.append(conform_kernel(reference, device, tested, seed=seed, timeout=timeout, progress=progress))
        if not as_json:
            warnings = (f"warning: {warning}" for warning in warnings_of_file(each.name))
            blank = [""] if len(made) > 1 and not quiet else []
            render(*blank, *report(made[-1], quiet=quiet, verbose=verbose), *warnings)
    if as_json:
        write_json([{**each.to_json(), "warnings": [*warnings_of_file(each.kernel.name)]} for each in made])
    if any(each.failures for each in made):
        return 1
    # As in pytest, skipped cases are no failure.
    return 2 if any(each.stopped for each in made) else 0


@contextlib.contextmanager
def _progress(kernel: str, *, quiet: bool) -> Iterator[Progress]:
    """Yield a function that shows the current test on stderr: in a bar on a terminal, else in a line now and then."""
    from rich.progress import Progress as Bar

    if not (quiet or sys.stderr.isatty()):
        yield _lines_of_progress(kernel)
        return
    with Bar(console=console(), transient=True, disable=quiet) as bar:
        task = bar.add_task(kernel)
        yield lambda what, done, total: bar.update(task, description=f"{kernel}: {what}", completed=done, total=total)


def _lines_of_progress(kernel: str) -> Progress:
    """Return a function that prints the current test where the last line is old."""
    printed = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal printed
        if time.monotonic() >= printed + _SECONDS:
            printed = time.monotonic()
            say(f"{kernel}: {done} of {total} tests are done; next: {what}")

    return report


def report(conformance: Conformance, *, quiet: bool, verbose: bool) -> list[RenderableType]:
    """Return the result in a line and, unless quiet, the facts, the counts, and the failures with their commands."""
    result = summary(conformance)
    if quiet:
        return [result]
    others = conformance.left_out
    facts = [
        ("device", conformance.device),
        ("sanitizer", conformance.sanitizer),
        ("seed", str(conformance.seed)),
        ("tested", f"{conformance.configs}; --config selects another, --all every one" if conformance.configs else ""),
        ("left out", f"{others} more product{'s' * (others > 1)} that it allows" if others else ""),
        ("not executed", places(conformance.not_executed)),
    ]
    counts = [(name, _counts(conformance, name)) for name in PROPERTIES]
    conditions = " and ".join(each.description for each in separating_multiples(conformance.outcomes))
    failures = [line for name in PROPERTIES for line in _failures(conformance, name, conditions)]
    if conditions:
        failures.append(f"\nAll cases that passed, and none that failed, have this in common: {conditions}.")
    return [result, "", fields(facts), "", fields(counts), *failures, *(_cases(conformance) if verbose else ())]


def summary(conformance: Conformance) -> str:
    """Return the kernel and its result in a line."""
    stopped = f"; stopped: {conformance.stopped}" if conformance.stopped else ""
    if conformance.failures:
        failing = {each.property for each in conformance.failures}
        result = f"DOES NOT CONFORM: {', '.join(name for name in PROPERTIES if name in failing)}{stopped}"
        result += f"; its program uses only sizes where {used}" if (used := _program_sizes(conformance)) else ""
    elif conformance.stopped:
        result = f"NOT FINISHED{stopped}"
    else:
        lines = missing_lines(conformance.not_executed)
        fixed = tested_sizes(conformance.kernel, (each.case for each in conformance.of("product") if each.case))
        result = f"CONFORMS{conformance.configs and f' in {conformance.configs}'}{fixed and f' with {fixed}'}"
        not_run = [each for each in warnings_of_source(conformance.kernel.name) if each.startswith(NOT_RUN)]
        result = "; ".join([result, *([f"{NOT_EXECUTED}{lines}"] if lines else []), *not_run])
        result = f"NOT TESTED: {conformance.untested}" if conformance.untested else result
    return f"{conformance.kernel.name}: {result}"


def _program_sizes(conformance: Conformance) -> str:
    """Return the kind of sizes that a file's program uses, in words, if no case of that kind fails; else ""."""
    kernel, cells = conformance.kernel, [each.case and each.case.cell for each in conformance.failures]
    if not all(cell and not kernel.in_program(cell.problem(kernel), cell.config_of(kernel)) for cell in cells):
        return ""
    return " and ".join(each.description for each in kernel.program_sizes)


def _counts(conformance: Conformance, name: str) -> str:
    """Return the numbers of a property's outcomes with the reason of the skipped ones, or why there are none."""
    counts = Counter(each.outcome for each in conformance.of(name))
    if not counts:
        return f"not tested: {conformance.why_untested(name)}"
    reasons = dict.fromkeys(each.reason for each in conformance.of(name) if each.outcome == SKIPPED)
    why = f" ({next(iter(reasons))}{'; …' if len(reasons) > 1 else ''})" if reasons else ""
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + why


def _failures(conformance: Conformance, name: str, conditions: str) -> Iterator[str]:
    """Yield a paragraph for each group of a property's failures.

    ``conditions`` hold for all cases that passed and none that failed, if there are such. Failures of cases are then
    one group.
    """
    found = groups(conformance.of(name))
    of_cases = sorted((each for _, several in found for each in several if each.case), key=_work)
    if conditions and sum(several[0].case is not None for _, several in found) > 1:
        without = [each for each in found if each[1][0].case is None]
        found = [*without, (f"none where {conditions}", of_cases)]
    for common, failures in found:
        first = failures[0]
        where = common if common.startswith(("only with", "every case", "none")) else f"all with {common}"
        clause = f", {where}" if common else ""
        unexplained = name == "product" and not common
        remainders = unexplained and are_remainders_of_k(failures, conformance.of(name))
        cause = _steps_of_k(conformance.kernel) if remainders else ""
        subject = f"{len(failures)} cases{clause}; the smallest, {first.what}" if len(failures) > 1 else first.what
        yield f"\nFAIL {name}: {subject}: {first.reason}{cause and f'; {cause}'}\n  $ {first.reproduce}"


def _work(outcome: Outcome) -> int:
    return outcome.case.work if outcome.case else 0


def _steps_of_k(kernel: Kernel) -> str:
    """Return the line of a source that counts whole steps of k alone, in a clause; empty without one."""
    if kernel.is_code:
        return ""
    with contextlib.suppress(MmcoreError):
        entry = kernel.entry_named()
        named = replace(kernel, entry=entry, arguments=kernel.arguments_of(entry))
        return rest_left_out(kernel.source_text(), entry.partition("<")[0], sizes_of(named))
    return ""


def _cases(conformance: Conformance) -> Iterator[str]:
    """Yield a line for the passed properties of each case, and one for each failed or skipped property."""
    yield ""
    passed: dict[str, list[str]] = {}
    for each in conformance.outcomes:
        if each.outcome == PASSED:
            passed.setdefault(each.what, []).append(each.property + (f" ({each.reason})" if each.reason else ""))
    yield from (f"{PASSED:8} {what}: {', '.join(names)}" for what, names in passed.items())
    others = (each for each in conformance.outcomes if each.outcome != PASSED)
    yield from (f"{each.outcome:8} {each.what}: {each.property}: {each.reason}" for each in others)
