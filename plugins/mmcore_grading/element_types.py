"""The element types of a submission, beside those of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mmcore.kernel.problem import accumulator_named, dtype_named
from mmcore_grading.answers import Answer, Answers, Document

_SUMS = "accumulator"
_GUESSED = re.compile(r"\barrays\s[^()]*\(a\s+guess:")  # of the arrays of a Python kernel, which may take any type
_ROUNDED = re.compile(r"\bproducts in (\w+) \((__\w+ in line \d+) rounds them\)")


def other_types(answers: Answers, reference: Answers) -> str:
    """Return how a submission's types differ from those of the reference; empty if they agree or are not known."""
    own, wanted = _typed(answers), _typed(reference)
    if own is None or wanted is None:
        return ""
    return "; ".join([*_other_elements(own, wanted)] or [*_less_precise(own, wanted, _rounded_products(answers))])


def options_of_types(answers: Answers, reference: Answers) -> Sequence[str]:
    """Return the options of ``mmcore run`` that give a submission of other types those of the reference."""
    own, wanted = _typed(answers), _typed(reference)
    if own is None or wanted is None or not other_types(answers, reference):
        return []
    return [f"--{name}={wanted[name]}" for name in ("dtype", "output", _SUMS) if own[name] != wanted[name]]


def _typed(answers: Answers) -> Document | None:
    """Return the document of a run, which has the types; None without one, or if its types are a guess."""
    answer = _typed_answer(answers)
    return None if answer is None else answer.document


def _typed_answer(answers: Answers) -> Answer | None:
    """Return the first answer whose document has the types; None if there is none, or if its types are a guess."""
    known = (each for each in answers.values() if not _GUESSED.search(each.message))
    return next((each for each in known if each.document is not None and _SUMS in each.document), None)


def _rounded_products(answers: Answers) -> str:
    """Return the clause that products are rounded before they are added; empty if the source does not show it."""
    answer = _typed_answer(answers)
    rounded = _ROUNDED.search(" ".join(answer.message.split())) if answer is not None else None
    return f"it rounds products to {rounded[1]}: {rounded[2]}" if rounded else ""


def _other_elements(own: Document, wanted: Document) -> Iterator[str]:
    """Yield a clause on the elements in memory that are of another type."""
    types = [(_stored(each["dtype"]), each["output"]) for each in (own, wanted)]
    (dtype, output), (wanted_dtype, wanted_output) = types
    if dtype == output != wanted_output == wanted_dtype:
        yield _clause("its elements are", dtype, wanted_dtype)
        return
    if dtype != wanted_dtype:
        yield _clause("the elements of A and B are", dtype, wanted_dtype)
    if output != wanted_output:
        yield _clause("the elements of C are", output, wanted_output)


def _less_precise(own: Document, wanted: Document, rounded: str) -> Iterator[str]:
    """Yield a clause on the products and the sums that are rounded more; ``rounded`` is that on rounded products."""
    if dtype_named(own["dtype"]).unit_roundoff > dtype_named(wanted["dtype"]).unit_roundoff:
        yield _clause("its tensor cores multiply", own["dtype"], wanted["dtype"])
    if accumulator_named(own[_SUMS]).unit_roundoff > accumulator_named(wanted[_SUMS]).unit_roundoff:
        yield rounded or _clause("it sums in", own[_SUMS], wanted[_SUMS])


def _stored(dtype: str) -> str:
    """Return the type of elements in memory."""
    return "float32" if dtype == "tf32" else dtype


def _clause(what: str, own: str, wanted: str) -> str:
    return f"{what} {own}, where the task has {wanted}"
