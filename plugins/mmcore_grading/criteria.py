"""The criteria of a rubric, judged by the answers on a submission."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import TypeAlias

from mmcore.kernel.sizes import Sizes, size_text
from mmcore_emulator.adapter.proof import PROVED, Proof
from mmcore_grading.answers import (
    COMPILE,
    GRIDS,
    NO_ANSWER,
    NOT_GRADED,
    OTHER_PRODUCTS,
    RUN,
    Answer,
    Answers,
    Document,
    check_at,
    run_at,
    with_limit,
)
from mmcore_grading.element_types import other_types
from mmcore_grading.task import Criterion, Task

NOT_RUN = "not run at "
"""The beginning of a message about a size for which the source, which fixes its sizes, could not be compiled."""

_FIXED = "the source fixes"
"""The beginning of the reason why no other sizes than those of a source were tried."""

_MISREAD = "not counted: it is right only as another product, such as C + A·B or the first of a batch"
_MISTYPED = "not counted: its types are not those of the task"
_UNLAUNCHED = "not counted: it cannot be launched as a product"
_WRONG_NUMBERS = ("wrong-product", "unwritten-output", "unrepeatable", *GRIDS, *OTHER_PRODUCTS)
"""Kinds of violations that are no hazards."""
_UNCOMPILED = ("host-syntax", "uncompiled-kernel")
"""Kinds of warnings on code beside the kernel that nvcc refuses."""
_MOST_FAULTS = 3
_NEXT_FAULT = re.compile(r"(?<!:)\n(?=\S)")  # a colon precedes a compiler's lines
_OF_RIGHT_ONES = ("no-hazards", "coalesced", "overlapped", "counts", "time")  # a kernel that does nothing meets them


@dataclass(frozen=True)
class Outcome:
    """The outcome of one criterion.

    Attributes:
        criterion: its name.
        points, most: the points earned, and the points possible.
        message: the reason for missing points, for the student; "" if all points were earned.
        hidden: further facts for the teacher alone, such as the hidden size.
    """

    criterion: str
    points: float
    most: float
    message: str = ""
    hidden: str = ""

    @property
    def faults(self) -> Sequence[str]:
        """The faults of the message, each with the indented lines below it."""
        return _NEXT_FAULT.split(self.message) if self.message else []


_Judgement: TypeAlias = tuple[float, str, str]  # the part of the points, and the messages of an Outcome
_Judge: TypeAlias = Callable[[Task, Criterion, Answers, Answers], _Judgement]  # the last has the reference's answers


def outcomes(task: Task, answers: Answers, reference: Answers) -> Sequence[Outcome]:
    """Return the outcome of each criterion; ``reference`` has the answers on the teacher's solution."""
    uncompiled, unlaunched = _uncompiled(answers), answers.get(COMPILE, NO_ANSWER).unlaunched
    other, further = (unlaunched, _UNLAUNCHED) if unlaunched else _of_another_product(answers, reference)
    reasons, found = chain([other], repeat(further)), []
    right = _right_at(task.shown, answers)[0] > 0
    has_run = answers.get(COMPILE, NO_ANSWER).status == 0
    for criterion in task.rubric:
        part, message, hidden = 0.0, uncompiled if uncompiled.startswith(NOT_GRADED) else "it does not compile", ""
        if criterion.name == "compiles":
            part, message = 0.0 if uncompiled else 1.0, uncompiled
        elif other:
            message = next(reasons)
        elif has_run and criterion.name in _OF_RIGHT_ONES and not right:
            message = "not counted: it is right at no shown size"
            if all(answers.get(run_at(size), NO_ANSWER).not_run for size in task.shown):
                message = "not counted: it was run at no shown size"
        elif has_run:
            part, message, hidden = _JUDGES[criterion.name](task, criterion, answers, reference)
        points = round(part * criterion.points, 2)
        found.append(Outcome(criterion.name, points, criterion.points, message, hidden))
    return found


def _uncompiled(answers: Answers) -> str:
    """Return why a submission does not compile, also beside the kernel, where mmcore compiles nothing; else ""."""
    compiled = answers.get(COMPILE, NO_ANSWER)
    if compiled.status and not compiled.unlaunched:
        return compiled.reason
    document = answers.get(RUN, NO_ANSWER).document or {}
    lines = [*document.get("warnings", ()), *compiled.unlaunched.splitlines()]
    return "\n".join(each for each in lines if each.startswith(_UNCOMPILED))


def _of_another_product(answers: Answers, reference: Answers) -> tuple[str, str]:
    """Return why a submission computes another product than the task's, for the first criterion and for the others."""
    if types := other_types(answers, reference):
        return types, _MISTYPED
    misread = (fault for fault in answers.get(RUN, NO_ANSWER).faults if fault.startswith(OTHER_PRODUCTS))
    return next(misread, ""), _MISREAD


def _shown(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    part, wrong = _right_at(task.shown, answers)
    return part, "\n".join(wrong), ""


def _hidden(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    part, wrong = _right_at(task.hidden, answers)
    tried = [answers.get(run_at(size), NO_ANSWER) for size in task.hidden]
    return part, _reason_at_hidden(tried) if wrong else "", "\n".join(wrong)


def _reason_at_hidden(tried: Sequence[Answer]) -> str:
    """Return why answers at hidden sizes are not all right, without a size."""
    if any(each.faults and "violations" in (each.document or {}) for each in tried):
        return "it is not right at a size that is not shown"
    fixed = next((each.not_run for each in tried if each.not_run), "")
    return f"{NOT_RUN}a size that is not shown: {fixed}" if fixed else "it gave no result at a size that is not shown"


def _right_at(sizes: Sequence[Sizes], answers: Answers) -> tuple[float, Sequence[str]]:
    """Return the part of some sizes at which the product is right, and the first fault at each other one."""
    wrong = []
    for size in sizes:
        answer, shown = answers.get(run_at(size), NO_ANSWER), size_text(size._asdict())
        if answer.not_run:
            wrong.append(f"{NOT_RUN}{shown}: {answer.not_run}")
        else:
            wrong += [f"at {shown}: {fault}" for fault in answer.faults[:1]]
    return 1 - len(wrong) / len(sizes), wrong


def _counts(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    what = criterion.counter.replace("_", " ")
    values = (_count(each, criterion.counter) for each in (answers, reference))
    return _compared(criterion, what, task.shown[0], *values)


def _count(answers: Answers, counter: str) -> float | None:
    document = answers.get("profile", NO_ANSWER).document
    values = [launch.get(counter) for launch in document["launches"]] if document else []
    return sum(values) if values and None not in values else None


def _time(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    own, other = (each.get(run_at(task.shown[-1]), NO_ANSWER).document or {} for each in (answers, reference))
    return _compared(criterion, "ms", task.shown[-1], own.get("kernel_ms"), other.get("kernel_ms"))


def _compared(criterion: Criterion, what: str, size: Sizes, value: float | None, reference: float | None) -> _Judgement:
    """Return whether a value at a size is at most the criterion's multiple of the reference's."""
    if value is None or reference is None:
        return 0, f"its {what} are not known", ""
    if value <= criterion.most * reference:
        return 1, "", ""
    measured = f"{value:,.6g} {what} at {size_text(size._asdict())}, and the reference has {reference:,.6g}"
    return 0, f"{measured}; {criterion.most:g} times is allowed", ""


def _all_or_nothing(command: str, faults: Callable[[Answer, Document], Sequence[str]]) -> _Judge:
    """Return a judge that gives all points if a command has an answer, and the answer has no ``faults``."""

    def judge(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
        answer = answers.get(command, NO_ANSWER)
        found = [answer.reason] if answer.document is None else faults(answer, answer.document)
        return (0 if found else 1), "\n".join(found[:_MOST_FAULTS]), ""

    return judge


def _at_any_size(answer: Answer, document: Document) -> Sequence[str]:
    wrong_sizes = (each for each in document["sizes"] if not each["right"])
    unused = "" if answer.status else ", which its program does not use"
    wrong = (f"{_wrong_size(size_text(each), each['why'], answer.faults)}{unused}" for each in wrong_sizes)
    missed = [f"not tried at other sizes: {document['not_tried']}"] if document["not_tried"] else []
    wrong_numbers = [fault for fault in answer.faults if not _is_hazard(fault)]
    return wrong_numbers or [*islice(wrong, 1)] or answer.faults or missed


def _any_size(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    """Return whether a product is right at the sizes of the code.

    A source that fixes a size is compiled for each size of the task instead, if there are hidden ones.
    """
    run = answers.get(RUN, NO_ANSWER)
    is_fixed = run.document is not None and run.document["not_tried"].startswith(_FIXED)
    if not (is_fixed and run.status == 0 and task.asks("hidden-sizes")):
        return _all_or_nothing(RUN, _at_any_size)(task, criterion, answers, reference)
    for judge in (_shown, _hidden):
        part, message, hidden = judge(task, criterion, answers, reference)
        if part < 1:
            return 0.0, message, hidden
    return 1.0, "", ""


def _wrong_size(size: str, why: str, faults: Sequence[str]) -> str:
    """Return the sentence about a size that is not right, where no product is wrong."""
    hazards = (fault.partition(": ")[0] for fault in faults if f": at {size}, " in fault)
    return next((f"a hazard at {size}: {hazard}" for hazard in hazards), f"it is wrong at {size} ({why})")


def _no_hazards(task: Task, criterion: Criterion, answers: Answers, reference: Answers) -> _Judgement:
    """Return whether there is a hazard: at any size that was run if the rubric has "any-size", else at the task's."""
    if task.asks("any-size"):
        part, message, hidden = _all_or_nothing(RUN, _hazards)(task, criterion, answers, reference)
        if not part:
            return part, message, hidden
    at_shown, at_hidden = ([*_hazards_at(sizes, task, answers)] for sizes in (task.shown, task.hidden))
    if at_shown or not at_hidden:
        return 0.0 if at_shown else 1.0, "\n".join(at_shown[:_MOST_FAULTS]), ""
    return 0, "there is one at a size that is not shown", "\n".join(at_hidden)


def _hazards_at(sizes: Sequence[Sizes], task: Task, answers: Answers) -> Iterator[str]:
    """Yield the hazards that checks have found at some sizes, else the first one that the run of a product has shown.

    A check without an answer has the reason in place of a hazard.
    """
    for size in sizes:
        checked = answers.get(check_at(size), NO_ANSWER) if size in task.checked else None
        found = [] if checked is None or checked.not_run else [*_hazards_of(checked)]
        if checked is not None and checked.document is None and not checked.not_run:
            found = [checked.reason]
        found = found or [*islice(_hazards_of(answers.get(run_at(size), NO_ANSWER)), 1)]
        yield from (f"at {size_text(size._asdict())}: {fault}" for fault in found)


def _hazards_of(answer: Answer) -> Iterator[str]:
    """Yield the hazards of an answer that has a result."""
    if answer.document is not None and "violations" in answer.document:
        yield from filter(_is_hazard, answer.faults)


def _hazards(answer: Answer, document: Document) -> Sequence[str]:
    if "not looked for" in document["hazards"]:
        return [with_limit(document["hazards"])]
    return [fault for fault in answer.faults if _is_hazard(fault)]


def _is_hazard(fault: str) -> bool:
    return not fault.startswith(_WRONG_NUMBERS)


def _gaps_of_proof(answer: Answer, document: Document) -> Sequence[str]:
    proof = Proof.from_json(document)
    return [] if proof.outcome == PROVED else [*map(str, proof.reasons), *proof.sentences]


def _findings(kind: str) -> Callable[[Answer, Document], Sequence[str]]:
    """Return a function that lists the findings of a kind in an answer of ``mmcore why``."""

    def found(answer: Answer, document: Document) -> Sequence[str]:
        of_kind = (each for each in document["findings"] if each["kind"] == kind)
        return [f"{_place(each)}{each['sentence']}; {each['advice']}" for each in of_kind]

    return found


def _place(finding: Document) -> str:
    return f"line {finding['line']}: " if finding["line"] else ""


_JUDGES: Mapping[str, _Judge] = {
    "shown-sizes": _shown,
    "hidden-sizes": _hidden,
    "any-size": _any_size,
    "no-hazards": _no_hazards,
    "proved": _all_or_nothing("prove", _gaps_of_proof),
    "coalesced": _all_or_nothing("why", _findings("uncoalesced")),
    "overlapped": _all_or_nothing("why", _findings("no overlap")),
    "counts": _counts,
    "time": _time,
}
