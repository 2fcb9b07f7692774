"""GEMMul8 as kernels: float64 and float32 products by the Ozaki scheme II on tensor cores that multiply bytes.

Nothing of it is part of mmcore. ``python -m mmcore_libraries.gemmul8 CHECKOUT`` builds it from a user's checkout.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mmcore import Config, Kernel, Problem, Unsupported, hookimpl
from mmcore_cuda import in_gpu_memory

if TYPE_CHECKING:
    from mmcore.devices.base import Operand

# The fewest moduli whose error is at most twice the error of the type's own arithmetic.
MODULI = {"float64": 14, "float32": 7}


def _call(moduli: int, problem: Problem, config: Config, operands: Mapping[str, Operand]) -> Callable[[int], object]:
    if not all(in_gpu_memory(operand.address) for operand in operands.values()):
        raise Unsupported("GEMMul8 multiplies matrices in a GPU's memory only")
    from mmcore_libraries.gemmul8.library import Gemmul8

    return Gemmul8(problem, moduli, operands)


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return one kernel for each type, with fast scaling."""
    return [
        Kernel(
            name=f"gemmul8.{dtype}",
            title=f"GEMMul8 with {moduli} moduli, fast scaling",
            reference="Yuki Uchino, Katsuhisa Ozaki and Toshiyuki Imamura, github.com/RIKEN-RCCS/GEMMul8",
            call=functools.partial(_call, moduli),
            dtype=dtype,
            # Rows and columns are scaled as a whole, so the errors are bounded by norms, as Strassen's are.
            algorithm="strassen",
            min_compute_capability=(7, 5),
        )
        for dtype, moduli in MODULI.items()
    ]
