"""The types of a registered kernel's matrices, as the functions of its source take them."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore.cell import Cell
from mmcore.errors import MmcoreError
from mmcore.kernel.arguments import MATRICES
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.signature import signatures
from mmcore_sources.cuda_file.hints.declared_launches import emulated_plan, launched_functions
from mmcore_sources.cuda_file.inference.roles import ELEMENTS


def types_of_source(cell: Cell, kernel: Kernel) -> dict[str, str]:
    """Return ``dtype`` and ``output`` by the pointers that take A, B and C; empty if the kernel declares these."""
    try:
        found = dict(_pointers(cell, kernel))
    except MmcoreError:
        return {}
    values = {"dtype": found.get("A", kernel.dtype), "output": found.get("C", kernel.output)}
    declared = {"dtype": kernel.dtype, "output": kernel.output}
    return values if values != declared and found.get("A") == found.get("B") else {}


def _pointers(cell: Cell, kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield each matrix with the type of elements that a function takes it as; raise MmcoreError without a plan."""
    declared = {each.name: each for each in signatures(kernel.source_text())}
    for function in launched_functions(emulated_plan(cell, kernel)):
        signature = declared.get(function.entry.partition("<")[0].rpartition("::")[2])
        pairs = zip(signature.parameters, function.arguments, strict=False) if signature else ()
        for parameter, argument in pairs:
            if argument in MATRICES and (element := ELEMENTS.get(parameter.type.rstrip("*& "))):
                yield str(argument), element
