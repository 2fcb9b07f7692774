"""The reason against a proof whose bound of the rounding error is above the tolerance."""

from __future__ import annotations

from mmcore_emulator.isa.table import rounded_type
from mmcore_emulator.proof.domain import FieldDomain
from mmcore_emulator.proof.values import Reason

MOST_TOLERANCES = 20.0
"""The largest bound of a proof, in tolerances of the verification."""


def rounding_reason(domain: FieldDomain, bound: float | None, allowed: float, algorithm: str) -> Reason | None:
    """Return why a bound of the error is no proof, with the instruction that rounds too much; None if it is one."""
    excess = _excess(bound, allowed, algorithm)
    if not excess:
        return None
    unit = max(domain.roundings, default=0.0)
    coarsest = domain.roundings[unit] if unit > allowed else None
    narrow = rounded_type(coarsest) if coarsest is not None else ""
    return Reason("rounding", f"{excess}; the line rounds to {narrow}" if narrow else excess, coarsest)


def _excess(bound: float | None, allowed: float, algorithm: str) -> str:
    """Return why a bound of the error is no proof; "" if it is one."""
    if bound is None and algorithm == "strassen":
        return "the error of Strassen's algorithm is bounded by the norms of A and B, not by |A|·|B|"
    if bound is None:
        return "terms cancel on the way, so that the rounding error has no known bound"
    if bound > MOST_TOLERANCES * allowed:
        return f"the rounding error is only bounded by {bound:.2g}·|A|·|B|, and {allowed:.2g} is allowed"
    return ""
