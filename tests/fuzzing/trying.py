"""Runs of single cases on a device, compared with their known outcomes."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

from numpy.typing import NDArray

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import CompileError, ConstraintViolation
from mmcore.kernel.declaration import Kernel
from mmcore.measure import measure
from mmcore.result import Result
from mmcore.verify import verify_launches as launches
from mmcore.verify.inputs import Matrices
from mmcore.verify.mixed_inputs import draw_mixed
from mmcore.verify.outcome import Verification
from tests.fuzzing.damage import DAMAGES, HARMLESS, Launched, Poke, damaged
from tests.fuzzing.drawing import FORCED, PLAIN, Case
from tests.fuzzing.truth import truth_of
from tests.narrowing import wide

# A constraint violation's words for each breach.
_WORDS = {
    "sizes differ": r"it takes square matrices only, and m, n and k are",
    "not a multiple": r"not a multiple of",
    "block's shape": r"the block must (be|have)",
    "int index": r"the kernel's int indexes reach 2147483647",
    "threads": r"threads( along \w)?; the device allows",
}


class Disagreement(AssertionError):
    """A verdict of mmcore that contradicts the known outcome of a case."""

    def __init__(self, case: Case, words: str) -> None:
        super().__init__(f"{describe(case)}: {words}")


def try_case(case: Case, device: Device, folder: Path, rehearsal: Device | None = None) -> str:
    """Run a case, and return its outcome in words, with the kind of damage that was rejected.

    Args:
        case: the case.
        device: the device.
        folder: the folder for changed sources.
        rehearsal: a device for a first run of launches against the constraints, because an access out of bounds
            destroys the context of ``device``.

    Raises:
        Disagreement: mmcore contradicts the known outcome.
    """
    if case.kind == PLAIN:
        return _plain(case, device)
    if case.kind == FORCED:
        return _forced(case, device, rehearsal)
    return _damaged(case, device, folder)


def _plain(case: Case, device: Device) -> str:
    breaches = case.subject.rule.breaches(case.problem, case.block)
    try:
        result, _, wrong = _run(case, case.subject.kernel, device)
    except ConstraintViolation as refused:
        _check_sentence(case, refused, breaches)
        return "refused"
    if breaches:
        raise Disagreement(case, f"launched, although {breaches}")
    if not result.verified or wrong:
        raise Disagreement(case, f"a right kernel is not verified: {result.failures()}")
    return "verified"


def _check_sentence(case: Case, refused: ConstraintViolation, breaches: set[str]) -> None:
    """Require one sentence that describes the breaches and nothing else, with numbers of the case."""
    text = str(refused)
    named = {name for name, pattern in _WORDS.items() if re.search(pattern, text)}
    of_case = {*case.block, case.block.size, case.problem.m, case.problem.n, case.problem.k}
    quoted = [set(map(int, re.findall(r"\d+", reason))) for reason in refused.reasons]
    numbered = all(numbers & of_case or max(numbers, default=0) >= 2**31 for numbers in quoted)
    if named != breaches or "\n" in text or not text.startswith(f"{case.subject.kernel.name}: ") or not numbered:
        raise Disagreement(case, f"known to break {breaches or 'nothing'}, and rejected with: {text}")


def _forced(case: Case, device: Device, rehearsal: Device | None) -> str:
    breaches = case.subject.rule.breaches(case.problem, case.block)
    try:
        if rehearsal not in (None, device) and _run(case, case.subject.kernel, rehearsal)[0].violations:
            return "forced: faulty on the emulator, not launched"
        result, right, wrong = _run(case, case.subject.kernel, device)
    except (ConstraintViolation, CompileError) as error:
        if not breaches:
            raise Disagreement(case, f"nothing forbids this, but: {error}") from None
        return "forced: refused"
    if not breaches and not result.verified:
        raise Disagreement(case, f"a right kernel is not verified: {result.failures()}")
    if result.verified and wrong:
        raise Disagreement(case, "a wrong product is called verified")
    if not result.verified and not result.violations and right:
        raise Disagreement(case, f"a right product is refused: {result.failures()}")
    return "forced: verified" if result.verified else "forced: rejected"


def _damaged(case: Case, device: Device, folder: Path) -> str:
    problem, kernel = case.problem, case.subject.kernel
    (launch,) = kernel.launches(problem, kernel.config(case.block), device.properties)
    matrices = draw_mixed(problem, kernel.accumulator, case.seed)
    truth = truth_of(problem, kernel.accumulator, matrices)
    on_device = problem if kernel.strided else problem.packed
    at = Launched(on_device, matrices, truth, launch.over_read.get("A", 0))
    pokes: list[Poke] = list(DAMAGES[case.kind](random.Random(case.seed), at))
    result, right, _ = _run(case, damaged(kernel, pokes, folder), device)
    if case.kind in HARMLESS or not pokes:
        if not result.verified:
            raise Disagreement(case, f"a right product is refused: {result.failures()}")
        return "moved within the bound: verified" if pokes else "no room for damage: verified"
    # The product may still be right, if the missing term is zero or less than the rounding errors.
    if result.verified and not right:
        raise Disagreement(case, f"{pokes} went unnoticed")
    return f"damaged: {case.kind}" if not result.verified else "damage within the bound of a 16-bit C: verified"


def _run(case: Case, kernel: Kernel, device: Device) -> tuple[Result, bool, bool]:
    """Return mmcore's result, whether the product is right, and whether it is wrong."""
    problem, verify = case.problem, vars(launches)["verify_product"]
    products: list[NDArray[Any]] = []
    inputs: list[Matrices] = []

    def verify_product(*arguments: Any, **options: Any) -> Verification:
        products.append(arguments[3].copy())
        inputs.append(arguments[2])
        verification: Verification = verify(*arguments, **options)
        return verification

    leading = {name: getattr(problem, name) for name in ("lda", "ldb", "ldc")}
    config, force = {"block": list(case.block)}, case.kind == FORCED
    cell = Cell(kernel.name, problem.m, problem.n, problem.k, config, seed=case.seed, force=force, **leading)
    with patch.object(launches, "verify_product", verify_product):
        result = measure(cell, device, kernel)
    if not products:
        raise Disagreement(case, f"the device is lost: {result.failures()}")
    (c,) = products
    product = wide(c, problem.output)
    truth = truth_of(problem, kernel.accumulator, inputs[0])
    right, wrong = truth.right(product), truth.wrong(product)
    verification = result.verification
    if verification is None or (verification.verified and wrong) or (right and not verification.verified):
        raise Disagreement(case, f"the product is {'right' if right else 'wrong'}, but: {verification}")
    return result, right, wrong


def describe(case: Case) -> str:
    """Return a case as options of the command line."""
    words = [case.subject.kernel.name, *(f"-{name} {getattr(case.problem, name)}" for name in "mnk")]
    if case.problem != case.problem.packed:
        words += [f"--{name} {getattr(case.problem, name)}" for name in ("lda", "ldb", "ldc")]
    return " ".join([*words, "--block", "x".join(map(str, case.block)), f"--seed {case.seed} ({case.kind})"])
