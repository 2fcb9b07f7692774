"""The views of checks and proofs in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mmcore.devices.violations import Violation
from mmcore.view import View, source_of
from mmcore_emulator.adapter.launch_facts import Launched

if TYPE_CHECKING:
    from mmcore_emulator.adapter.check import Check
    from mmcore_emulator.adapter.proof import Proof

NOTHING = "no hazard found; mmcore run verifies the product"
"""The answer of a check without violations and warnings."""


def check_verdict(check: Check, limit: str = "") -> str:
    """Return the answer in two words, with the ``limit`` that kept further sizes from being run."""
    if check.violations:
        return "CHECK FAIL"
    return f"CHECK PASS{f'; not tried at other sizes: {limit}' if limit else ''}"


def check_view(
    check: Check,
    further: Sequence[tuple[str, str]] = (),
    nothing: str = NOTHING,
    limit: str = "",
    warnings: Iterable[str] = (),
) -> View:
    """Return the view of a check, with ``further`` facts, and ``warnings`` about the source.

    ``nothing`` is its message where it found nothing.
    """
    found = [*_counted(check.violations, "thread"), *(f"warning: {each}" for each in check.warnings)]
    messages = [*(found or [nothing]), *(f"warning: {each}" for each in warnings)]
    return launched_view(check.launched, check_verdict(check, limit), not check.violations, messages, further)


def proof_view(proof: Proof, warnings: Iterable[str] = ()) -> View:
    """Return the view of a proof, with warnings."""
    right = {"proved": True, "wrong": False}.get(proof.outcome)
    messages = [*_counted(proof.reasons, "element"), *proof.sentences, *(f"warning: {each}" for each in warnings)]
    return launched_view(proof.launched, proof.outcome.upper(), right, messages, [("error", proof.error)])


def launched_view(
    launched: Launched, verdict: str, right: bool | None, messages: Sequence[str], further: Sequence[tuple[str, str]]
) -> View:
    """Return the view of launches, with ``further`` facts about them."""
    sizes = "×".join(str(size) for size in launched.problem.values())
    title, facts = f"{launched.kernel} {sizes} on {launched.device}", [*launched.facts(auto=False), *further]
    file, text = source_of(launched.kernel)
    return View(verdict, right, title, facts, messages, file, text)


def _counted(violations: Iterable[Violation], what: str) -> list[str]:
    """Return violations with the number of threads or elements that are concerned."""
    return [
        f"{each} ({each.count:,} {what}{'s' * (each.count != 1)})" if each.count else str(each) for each in violations
    ]
