"""The trial of repairs: the first change of a source that makes a wrong product right."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Protocol, runtime_checkable

from mmcore.cell import Cell
from mmcore.kernel.arguments import MATRICES, SIZES, Struct
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.signature import Signature, signatures
from mmcore.result import Result
from mmcore.verdict import judged
from mmcore_cuda.cuda_source.program import read_program
from mmcore_emulator.adapter.small_product import small_product
from mmcore_emulator.sanitizer.races import GUARD, ONE_WRITER, OTHER_INDEX
from mmcore_sources.cuda_file.hints.tried_cells import TRIED_SECONDS, allowed_at, at_sizes, is_right, measured, size_of
from mmcore_sources.cuda_file.hints.whole_cells import WHOLE, is_whole
from mmcore_sources.cuda_file.inference.free_sizes import freed_sizes
from mmcore_sources.cuda_file.repairs.edit import Edit, in_lines, numbered
from mmcore_sources.cuda_file.repairs.edits import device_nodes, edits, guards
from mmcore_sources.cuda_file.repairs.grids import rounded_up_grid
from mmcore_sources.cuda_file.repairs.likely_edits import likely_first
from mmcore_sources.cuda_file.repairs.operands import Operands
from mmcore_sources.cuda_file.repairs.remainder_edits import remainder_edits, without_branches
from mmcore_sources.cuda_file.repairs.right_sizes import where_right
from mmcore_sources.cuda_file.repairs.search import NONE_RIGHT, TRIED, Search
from mmcore_sources.cuda_file.repairs.thread_edits import thread_edits

_MOST = 60  # changes that are tried
_MOST_UNROLLED = 32  # turns of a loop
_UNROLL = re.compile(r"(?:#[ \t]*pragma[ \t]+unroll|_Pragma\(\"unroll)(?=[ \t]*(?:$|//|/\*|\"\)))", re.MULTILINE)
ALL_SECONDS = 30.0
"""The seconds of all runs."""
FEW_SECONDS = 5.0
"""The seconds of all runs where a hazard names the cause. A longer search that finds nothing is reported."""
_SOME_SECONDS = 10.0  # of all where a product of whole tiles is right, so that guards are tried afterwards
_CAUSES = ("early-wait", "unfinished-copy", "overwritten-in-flight", "mbarrier-misuse", "wgmma-order", "wrong-stride",
           "wrong-extent", "wrong-type")  # fmt: skip
# The right value, or what a phase lacks.
_NAMED = re.compile(
    r"would be right\)|would fit the descriptor|\b(?:arrivals|bytes) (?:are missing|have come)"
    r"|bytes, and the kernel uses"
)
_UNWRITTEN = "uninitialized-read"
_TYPES = {"float32": "float", "float64": "double", "float16": "float", "bfloat16": "float",
          "int32": "int", "int8": "int", "uint8": "int"}  # fmt: skip
_ZEROS = {"float16": "__half(0.0f)", "bfloat16": "__nv_bfloat16(0.0f)"}
_EXCHANGED = re.compile(r"hint: the product is right at .* with (\w+) and (\w+) exchanged in line")
REPAIRED = "hint: the product is right at"
"""The beginning of a hint with a repair."""


def repairs(result: Result, kernel: Kernel, *, whole: bool = False) -> Iterator[str]:
    """Yield a hint with the first change of the source that makes a wrong product right, at two sizes if possible.

    ``whole`` says that a product of whole tiles is right, as one of the result's own sizes may show, too.
    """
    if not is_changeable(kernel):
        return
    search = Search.of(result, kernel, "words")
    if other := search.fruitless():
        yield f"no change of the source is tried: {other} has the same faults, and {NONE_RIGHT}"
        return
    cells = small_cells(result, kernel)
    if not cells or is_right(cells[0], kernel):
        return
    seconds = seconds_of_search(result, whole=whole or is_right_at_whole_tiles(result))
    found = [*search.remembering(first_right(cells, source_changes(kernel, result), seconds))]
    yield from found
    if match := _EXCHANGED.match("".join(found)):
        yield from _right_where_equal(cells[0], kernel, [sizes_of(kernel).get(name, "") for name in match.groups()])
    if any(each.kind == _UNWRITTEN for each in result.violations) and not "".join(found).startswith(REPAIRED):
        yield from _written(cells[0], kernel)


def _right_where_equal(cell: Cell, kernel: Kernel, axes: Sequence[str]) -> Iterator[str]:
    """Yield that a wrong product of a kernel is right where the two sizes that it exchanges are equal."""
    if {*axes} <= {"m", "n", "k"}:
        edge = max(getattr(cell, axis) for axis in axes)
        sizes = {name: getattr(cell, name) for name in "mnk"} | dict.fromkeys(axes, edge)
        square = at_sizes(cell, kernel, **sizes)
        if is_right(square, kernel):
            yield f"without this change, the product is right where {' = '.join(axes)}, as at {size_of(square)}"


def seconds_of_search(result: Result, *, whole: bool) -> float:
    """Return the time limit of the search for a change; ``whole`` says that a product of whole tiles is right."""
    return FEW_SECONDS if names_a_cause(result) else _SOME_SECONDS if whole else ALL_SECONDS


def is_right_at_whole_tiles(result: Result) -> bool:
    """Return whether one of a result's sizes shows that a product of whole tiles is right."""
    return any(each["right"] and each["why"].startswith(WHOLE) for each in result.sizes)


def _written(cell: Cell, kernel: Kernel) -> Iterator[str]:
    """Yield a hint with the number of threads that writes all elements which a wrong product reads."""
    if kernel.build is not None or not _reads_unwritten(cell, kernel):
        return
    for edit in _of_threads(kernel):
        if _reads_unwritten(cell, replace(kernel, text=edit.text)) is False:
            yield f"hint: no element is read before it is written with {in_lines(edit)}"
            return


def _reads_unwritten(cell: Cell, kernel: Kernel) -> bool | None:
    """Return whether a product reads elements that nothing has written; None if it cannot be run."""
    result = measured(cell, kernel)
    if result is None:
        return None
    return any(each.kind == _UNWRITTEN for each in judged(result, kernel, "hazards").violations)


def _of_threads(kernel: Kernel) -> Iterator[Edit]:
    text, name = kernel.source_text(), kernel.entry.partition("<")[0]
    return thread_edits(text, device_nodes(text, name), kernel.usual_configs[0].block)


def names_a_cause(result: Result) -> bool:
    """Return whether a hazard names its cause, or what to try.

    That one thread is to write, or that a guard or another index is needed, is no cause. Nor is an unusual reading.
    """
    return any(
        each.kind in _CAUSES
        or _NAMED.search(each.message)
        or (each.hint and not each.hint.startswith((ONE_WRITER, GUARD, OTHER_INDEX)))
        for each in result.violations
        if each.kind != "unusual-reading"
    )


def remainder_repairs(result: Result, kernel: Kernel) -> Iterator[str]:
    """Yield a hint with the guards that make a product right which is wrong at remainders alone."""
    if kernel.build is not None or not is_changeable(kernel):
        return
    search = Search.of(result, kernel, "remainders")
    if not search.fruitless():
        found = first_right(small_cells(result, kernel), remainder_changes(kernel), ALL_SECONDS)
        yield from search.remembering(found)


def remainder_changes(kernel: Kernel) -> Iterator[tuple[Kernel, str]]:
    """Yield changed kernels, each with the change in words and all changed lines."""
    text, up, what = kernel.source_text(), rounded_up_grid(kernel), ""
    if up is not None:
        kernel, what = up
    name = kernel.entry.partition("<")[0]
    unbranched = without_branches(text, device_nodes(text, name))
    for source in (text,) if unbranched is None else (unbranched.text, text):
        for edit in remainder_edits(source, device_nodes(source, name), _operands(kernel)):
            named = edit if unbranched is None or source == text else replace(edit, what=unbranched.what)
            yield replace(kernel, text=edit.text), _beside(what, _lines(text, named))


def _beside(what: str, others: str) -> str:
    """Return a change in words, without its quoted line, and others."""
    head, _, _ = what.partition(":\n")
    return f"{head}, and {others}" if what else others


def _operands(kernel: Kernel) -> Operands:
    matrices = {name: role for name, role in parameter_roles(kernel).items() if role in MATRICES}
    return Operands(matrices, sizes_of(kernel), kernel.column_major, _ZEROS.get(kernel.dtype, "0"))


def first_right(cells: Sequence[Cell], changed: Iterable[tuple[Kernel, str]], seconds: float) -> Iterator[str]:
    """Yield a hint with the first changed kernel that is right at all sizes, in words; else that none is."""
    begin, tried = time.monotonic(), 0
    for kernel, what in itertools.islice(_different(changed), _MOST if cells else 0):
        if time.monotonic() > begin + seconds:
            break
        tried += 1
        if where := where_right(cells, with_limited_unrolling(kernel)):
            yield f"{REPAIRED} {where} with {what}"
            return
    if seconds > FEW_SECONDS and (took := time.monotonic() - begin) >= FEW_SECONDS:
        changes = "1 change" if tried == 1 else f"{tried} changes"
        yield f"{TRIED} {changes} of the source for {took:.0f} s: {NONE_RIGHT}"


def with_limited_unrolling(kernel: Kernel) -> Kernel:
    """Return a kernel of a text whose loops are unrolled a limited number of times.

    A change may give a loop so many turns that the compiler takes minutes to unroll it, which no time limit ends.
    """
    return replace(kernel, text=_UNROLL.sub(rf"\g<0> {_MOST_UNROLLED}", kernel.text)) if kernel.text else kernel


def _different(changed: Iterable[tuple[Kernel, str]]) -> Iterator[tuple[Kernel, str]]:
    """Yield changed kernels without those that an earlier change in the same words has made."""
    words = set[str]()
    for kernel, what in changed:
        if what not in words:
            words.add(what)
            yield kernel, what


def _lines(text: str, edit: Edit) -> str:
    """Return a change of several lines in words, with its lines and their numbers."""
    old, new = text.splitlines(), edit.text.splitlines()
    parts = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [
        numbered(number, line)
        for kind, begin, _, first, last in parts
        if kind != "equal"
        for number, line in enumerate(new[first:last], begin + 1)
    ]
    return "\n".join([f"{edit.what}:", *changed])


@runtime_checkable
class ChangeableBuild(Protocol):
    """A build rule of a source that can be changed."""

    def changed(self, kernel: Kernel) -> Iterator[tuple[Kernel, str]]:
        """Yield changed kernels, each with the change in words."""


def is_changeable(kernel: Kernel) -> bool:
    """Return whether changes of a kernel's source can be tried."""
    of_text = kernel.build is None and bool(kernel.entry and kernel.source_text())
    return of_text or isinstance(kernel.build, ChangeableBuild)


def source_changes(kernel: Kernel, result: Result) -> Iterator[tuple[Kernel, str]]:
    """Yield changed kernels, each with the change in words, those that may mend a result."""
    # A source that fixes its sizes may allow no whole tiles.
    is_fixed = not sizes_of(kernel).keys() & parameter_roles(kernel).keys()
    has_rest = not is_fixed or not is_whole(result.cell, "", kernel)
    rounded = rounded_up_grid(kernel) if has_rest else None
    yield from [] if rounded is None else [rounded]
    if isinstance(kernel.build, ChangeableBuild):
        yield from kernel.build.changed(kernel)
        return
    text, name, operands = kernel.source_text(), kernel.entry.partition("<")[0], _operands(kernel)
    if is_fixed and has_rest:
        yield from remainder_changes(kernel)
    if rounded is not None:
        larger, what = rounded
        for edit in guards(text, name, operands):
            yield replace(larger, text=edit.text), _beside(what, in_lines(edit))
    several = edits(text, name, operands, _TYPES.get(kernel.dtype, ""))
    own = replace(result, violations=tuple(each for each in result.violations if each.source == kernel.source.name))
    likely = likely_first(several, text, device_nodes(text, name), operands.sizes, own)
    for edit in itertools.chain(_of_threads(kernel), likely):
        yield replace(kernel, text=edit.text), in_lines(edit)


def sizes_of(kernel: Kernel) -> dict[str, str]:
    """Return the roles of the parameters that are sizes, or of the constants that fix them, by name."""
    passed = {name: role for name, role in parameter_roles(kernel).items() if role in SIZES}
    return passed or freed_sizes(kernel.source_text(), kernel.defines)


def signature_of(kernel: Kernel) -> Signature | None:
    """Return the signature of a kernel's function; None if the source does not have it."""
    name = kernel.entry.partition("<")[0].rpartition("::")[2]
    return next((each for each in signatures(kernel.source_text()) if each.name == name), None)


def parameter_roles(kernel: Kernel) -> dict[str, str]:
    """Return the role of each parameter of a kernel's function by name, and of members of structures as "d.rows"."""
    signature = signature_of(kernel)
    pairs = zip(signature.parameters, kernel.arguments, strict=False) if signature is not None else ()
    roles, program = dict[str, str](), read_program(kernel.source_text())
    for parameter, argument in pairs:
        if isinstance(argument, Struct):
            names = [f"{parameter.name}.{member.name}" for member in program.members(parameter.type)]
            members = zip(names, argument.members, strict=False)
            roles |= {name: str(getattr(member, "value", member)) for name, member in members}
        else:
            roles[parameter.name] = str(getattr(argument, "value", argument))
    return roles


def small_cells(result: Result, kernel: Kernel) -> list[Cell]:
    """Return cells on the emulator: a small wrong product, and another with unequal sizes if the kernel allows one."""
    cell = replace(result.cell, device="emulator", timings=(), timeout=TRIED_SECONDS, baseline="", against="")
    cell = replace(cell, config=result.config)
    failed = next((each for each in result.sizes if not each["right"]), None)
    small = small_product(cell, kernel, result.config, result.launched) if failed is None else None
    if failed is not None:
        small = replace(cell, **{name: failed[name] for name in SIZES})
    if small is None:
        return []
    m, n = (2 * small.n, small.n) if small.m < small.n else (small.m, 2 * small.n)  # not of the same order again
    unequal = allowed_at(small, kernel, m, n, 3 * small.k // 2 if small.k % 2 == 0 else 2 * small.k)
    return [small] if unequal in (None, small) else [small, unequal]
