"""The hint about a launch with too little dynamic shared memory, which its kernel exceeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mmcore.kernel_reference import FileKernel
from mmcore.registry import registry
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.hints.tried_cells import hint_of, is_clean, measured, size_of, small_cell
from mmcore_sources.cuda_file.inference.expressions import LaunchText, evaluate, names_in, parse_expressions

BEYOND = ("out-of-bounds-read", "out-of-bounds-write")
"""The kinds of accesses behind the end of an array."""
_FACTORS = (2, 3, 4)
_LARGEST = 227 << 10  # bytes that a block may have at compute capability 9.0


def is_beyond_shared(result: Result) -> bool:
    """Return whether a kernel accesses what is behind its shared memory."""
    return any("(shared)" in each.message for each in result.violations if each.kind in BEYOND)


def is_guess_too_small(result: Result, file: FileKernel) -> bool:
    """Return whether a kernel accesses what is behind an array in shared memory whose bytes are a guess."""
    rule = file.kernel.launch
    return isinstance(rule, LaunchText) and bool(rule.guessed_array) and is_beyond_shared(result)


def larger_shared(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield the least multiple of a launch's dynamic shared memory with which the kernel is right, if it is too little.

    A kernel that keeps tiles of A and B there is often launched with the bytes of one.
    """
    notes = [note for note in inferred_of(file.reference).notes if note.what == "dynamic shared bytes"]
    if not notes or not isinstance(file.kernel.launch, LaunchText) or not is_beyond_shared(result):
        return
    small, (bytes_,) = small_cell(result.cell, file.kernel), parse_expressions(notes[0].value, "the shared memory")
    of_names = bool(names_in(bytes_))
    several = [
        f"{factor} * ({notes[0].value})" if of_names else str(factor * int(evaluate(bytes_, {}))) for factor in _FACTORS
    ]
    for shared in [*several, *([str(_LARGEST)] if notes[0].guessed else [])]:
        cell = replace(small, kernel={**file.reference, "shared": shared})
        if is_clean(measured(cell), registry().kernel(cell.kernel)):
            instead = f"not with {notes[0].value}, {'a guess: ' * notes[0].guessed}{notes[0].why}"
            option = f"--shared '{shared}'" if of_names else f"--shared {shared}"
            yield hint_of(f"with {option} the product is right at {size_of(cell)}, {instead}", cell)
            return
