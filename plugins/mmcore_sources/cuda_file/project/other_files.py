"""Files of a project that define matrix products, for a file that defines no kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_sources.cuda_file.inference.sums import sums_products
from mmcore_sources.cuda_file.project.sources import sources_of_project

_MATRICES = 3
_MOST = 3


def files_with_products(path: Path, text: str, headers: Iterable[Path]) -> tuple[Path, ...]:
    """Return the nearest files whose kernels the file launches, or that it includes, or whose kernels it names."""
    named, included = words(text.encode()), {*headers}
    launched = {each.name.rpartition("::")[2] for each in read_program(text).launches}
    ranks: dict[Path, tuple[bool, ...]] = {}
    for other, content in sources_of_project(path):
        if "__global__" in content and (products := products_of(content)):
            names = {each.word for each in products}
            ranks[other] = not names & launched, other not in included, not names & named
    best = min(ranks.values(), default=None)
    return tuple(other for other, rank in ranks.items() if rank == best)[:_MOST]


def products_of(text: str) -> list[Function]:
    """Return the kernels of a source that may be matrix products."""
    program = read_program(text)
    summing = (each for each in program.functions if sums_products(each.body, program.declared))
    return [each for each in summing if len(each.parameters) >= _MATRICES]
