"""The lines of a kernel, right at whole tiles alone, that leave remainders out: a loop along k, and the grid."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore.kernel_reference import FileKernel
from mmcore.result import Result
from mmcore_sources.cuda_file.files import inferred_of
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.repairs.edits import rest_left_out
from mmcore_sources.cuda_file.repairs.trial import sizes_of


def rounded_down(result: Result, file: FileKernel) -> Iterator[str]:
    """Yield why a verified kernel is wrong at another size, if its source counts whole steps or tiles."""
    if not result.verified or all(each["right"] for each in result.sizes):
        return
    kernel, name = file.kernel, file.kernel.entry.partition("<")[0]
    steps = rest_left_out(kernel.source_text(), name, sizes_of(kernel)) if name and kernel.build is None else ""
    down = isinstance(kernel.launch, LaunchText) and kernel.launch.rounds_down
    grids = of_program(file, "grid") if down else []
    tiles = [f"the grid {note.value} ({note.why}) is rounded down" for note in grids]
    if reasons := [*filter(None, [steps]), *tiles]:
        yield f"remainders are left out: {', and '.join(reasons)}"


def of_program(file: FileKernel, what: str) -> list[Note]:
    """Return the "block" or "grid" with which the file's own program launches its kernel; none if it is a guess."""
    return [note for note in inferred_of(file.reference).notes if note.what == what and not note.guessed]
