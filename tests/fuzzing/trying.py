"""A case tried on a device, and the outcome held against what is known of it."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np

from mmcore.errors import CompileError, ConstraintViolation
from mmcore.experiment import Experiment, rows_of_product
from mmcore.verify.inputs import draw
from mmcore.devices.base import Device
from mmcore.outcome import Outcome
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.reproduce import block_text, leading_dimensions, sizes
from tests.fuzzing.damage import DAMAGES, HARMLESS, Launched, Poke, damaged
from tests.fuzzing.drawing import FORCED, PLAIN, Case
from tests.fuzzing.truth import truth_of, widened

# What a refusal says of each breach, and of no other.
_SAID = {
    "sizes differ": r"m, n and k must be equal, but are",
    "not a multiple": r"not a multiple of",
    "block's shape": r"the block must (be|have)",
    "int index": r"the kernel's int indexes reach 2147483647",
    "threads": r"threads( along \w)?; the device allows",
}

# What can come of a case. Damage has its own name for an outcome where it is rejected.
VERIFIED, REFUSED = "verified", "refused"
FORCED_VERIFIED, FORCED_REJECTED, FORCED_REFUSED = "forced: verified", "forced: rejected", "forced: refused"
UNSAFE = "forced: faulty on the emulator, not launched"
ACCEPTED = "moved within the bound: verified"
HIDDEN = "damage within the bound of a 16-bit C: verified"
NO_ROOM = "no room for damage: verified"
DAMAGED = "damaged: "


class Disagreement(AssertionError):
    """What mmcore says of a case is not what is known of it."""


def try_case(case: Case, device: Device, folder: Path, rehearsal: Device | None = None) -> str:
    """Try a case, and say what came of it: one of the outcomes above, or :data:`DAMAGED` and what was done to it.

    Args:
        case: what to try.
        device: where.
        folder: where changed sources go.
        rehearsal: a device on which launches against the constraints are made first, because ``device`` does not
            survive one that leaves its memory.

    Raises:
        Disagreement: the outcome is not the one that it must be.
    """
    if case.kind == PLAIN:
        return _plain(case, device)
    if case.kind == FORCED:
        return _forced(case, device, rehearsal)
    return _damaged(case, device, folder)


def _plain(case: Case, device: Device) -> str:
    breaches = case.subject.rule.breaches(case.problem, case.block)
    try:
        outcome, _, wrong = _run(case, case.subject.kernel, device)
    except ConstraintViolation as refused:
        _check_sentence(case, refused, breaches)
        return REFUSED
    if breaches:
        raise Disagreement(f"{describe(case)}: launched, although {breaches}")
    if not outcome.verified or wrong:
        raise Disagreement(f"{describe(case)}: a right kernel is not verified: {outcome.complaints()}")
    return VERIFIED


def _check_sentence(case: Case, refused: ConstraintViolation, breaches: set[str]) -> None:
    """One sentence that names each breach with numbers of this case, and nothing else."""
    text = str(refused)
    said = {name for name, pattern in _SAID.items() if re.search(pattern, text)}
    of_case = {*case.block, case.block.size, case.problem.m, case.problem.n, case.problem.k}
    quoted = [set(map(int, re.findall(r"\d+", reason))) for reason in refused.reasons]
    numbered = all(numbers & of_case or max(numbers, default=0) >= 2**31 for numbers in quoted)
    if said != breaches or "\n" in text or not text.startswith(f"{case.subject.kernel.name}: ") or not numbered:
        raise Disagreement(f"{describe(case)}: known to break {breaches or 'nothing'}, and refused with: {text}")


def _forced(case: Case, device: Device, rehearsal: Device | None) -> str:
    breaches = case.subject.rule.breaches(case.problem, case.block)
    try:
        if rehearsal not in (None, device) and _run(case, case.subject.kernel, rehearsal)[0].violations:
            return UNSAFE
        outcome, right, wrong = _run(case, case.subject.kernel, device)
    except (ConstraintViolation, CompileError) as error:
        if not breaches:
            raise Disagreement(f"{describe(case)}: nothing forbids this, but: {error}") from None
        return FORCED_REFUSED
    if not breaches and not outcome.verified:
        raise Disagreement(f"{describe(case)}: a right kernel is not verified: {outcome.complaints()}")
    if outcome.verified and wrong:
        raise Disagreement(f"{describe(case)}: a wrong product is called verified")
    if not outcome.verified and not outcome.violations and right:
        raise Disagreement(f"{describe(case)}: a right product is refused: {outcome.complaints()}")
    return FORCED_VERIFIED if outcome.verified else FORCED_REJECTED


def _damaged(case: Case, device: Device, folder: Path) -> str:
    problem, kernel = case.problem, case.subject.kernel
    launch = kernel.launch(problem, case.block, device.limits)
    assert isinstance(launch, Launch)
    problem_on_device = problem if kernel.strided else problem.packed
    matrices = draw(problem, case.seed)
    truth = truth_of(problem, kernel.accumulator, matrices)
    at = Launched(problem_on_device, matrices, truth, launch.over_read.get("A", 0))
    pokes: list[Poke] = list(DAMAGES[case.kind](random.Random(case.seed), at))
    outcome, right, _ = _run(case, damaged(kernel, pokes, folder), device)
    if case.kind in HARMLESS or not pokes:
        if not outcome.verified:
            raise Disagreement(f"{describe(case)}: a right product is refused: {outcome.complaints()}")
        return ACCEPTED if pokes else NO_ROOM
    # What is stored in 16 bits may hide a small difference in its own rounding; everything else must show.
    if outcome.verified and not (right and dtype_named(problem.output).itemsize == 2):
        raise Disagreement(f"{describe(case)}: {pokes} went unnoticed")
    return DAMAGED + case.kind if not outcome.verified else HIDDEN


def _run(case: Case, kernel: Kernel, device: Device) -> tuple[Outcome, bool, bool]:
    """What mmcore says of a case; whether its product is right, and whether it is wrong, as found out here."""
    force = case.kind == FORCED
    with Experiment(kernel, case.problem, case.block, device, seed=case.seed, force=force) as experiment:
        outcome = experiment.verify()
        if any(violation.fatal for violation in outcome.violations):
            raise Disagreement(f"{describe(case)}: the device is lost: {outcome.complaints()}")
        plan = experiment.prepared.plan
        flat = np.empty(plan.problem.span("C"), dtype_named(plan.problem.output).storage)
        experiment.prepared.buffers["C"].download(flat)
        product = widened(case.problem, rows_of_product(plan, flat))
    truth = truth_of(case.problem, kernel.accumulator, draw(case.problem, case.seed))
    right, wrong = truth.right(product), truth.wrong(product)
    verification = outcome.verification
    if verification is None or (verification.verified and wrong) or (right and not verification.verified):
        raise Disagreement(f"{describe(case)}: the product is {'right' if right else 'wrong'}, but: {verification}")
    return outcome, right, wrong


def describe(case: Case) -> str:
    """A case on one line, as options of the command line."""
    words = [case.subject.kernel.name, *sizes(case.problem), *leading_dimensions(case.problem)]
    return " ".join([*words, "--block", block_text(case.block), "--seed", str(case.seed), f"({case.kind})"])
