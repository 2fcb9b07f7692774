"""Files of a project that define matrix products, for a file that defines no kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_sources.cuda_file.inference.sums import sums_products
from mmcore_sources.cuda_file.project_sources import sources_of_project

_MATRICES = 3
_MOST = 3


def files_with_products(path: Path, text: str, headers: Iterable[Path]) -> tuple[Path, ...]:
    """Return the nearest files that the file includes; without one, whose kernels it names; else any."""
    named, included = words(text.encode()), {*headers}
    ranks: dict[Path, tuple[bool, bool]] = {}
    for other, content in sources_of_project(path):
        if "__global__" in content:
            program = read_program(content)
            summing = (each for each in program.functions if sums_products(each.body, program.declared))
            if products := [each for each in summing if len(each.parameters) >= _MATRICES]:
                ranks[other] = (other not in included, not any(each.word in named for each in products))
    best = min(ranks.values(), default=None)
    return tuple(other for other, rank in ranks.items() if rank == best)[:_MOST]
