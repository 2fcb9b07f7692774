"""The Python API: :func:`kernels` and :func:`run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex, TypeAlias

from mmcore.cell import Cell, brief_timings
from mmcore.executor import measure_cell
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Shape
from mmcore.kernel.problem import three_sizes
from mmcore.kernel_reference import KernelReference, is_file
from mmcore.registry import referenced_kernel, registry
from mmcore.result import Result
from mmcore.verdict import judged

Block: TypeAlias = str | SupportsIndex | Shape | None


def kernels() -> dict[str, Kernel]:
    """Return every registered kernel, by name."""
    return {name: registered.item for name, registered in registry().kernels.items()}


def run(
    kernel: KernelReference | Kernel,
    size: SupportsIndex | None = None,
    *,
    memory: str = "pageable",
    device: str = "auto",
    hazards: bool = True,
    **launch: Any,
) -> Result:
    """Run a kernel on fresh random inputs, verify its product and, on a GPU, time it. Raises MmcoreError.

    Args:
        kernel: a registered kernel's name, the path of a .cu file, or any kernel itself, which runs in this process.
        size: m = n = k; or give all three of ``m``, ``n`` and ``k``.
        memory: host memory of the copies in the end-to-end time, "pageable" or "pinned".
        device: "auto" (the first GPU, or else a device that needs none), or the name of a device, such as "NAME:1".
        hazards: whether to look for hazards too, and for faults at the sizes that the kernel's code asks for.
        launch: as :func:`cell` takes it.

    Returns:
        The result; ``verified`` is false for a wrong product, and a device without device time gives no times.
    """
    asked, nameless = cell(kernel, size, device=device, timings=brief_timings(memory), **launch)
    result = measure_cell(asked, kernel=nameless)
    return judged(result, nameless or referenced_kernel(asked.kernel), "size" if hazards else "product")


def cell(
    kernel: KernelReference | Kernel,
    size: SupportsIndex | None = None,
    *,
    m: SupportsIndex | None = None,
    n: SupportsIndex | None = None,
    k: SupportsIndex | None = None,
    block: Block = None,
    config: Mapping[str, Any] | None = None,
    **further: Any,
) -> tuple[Cell, Kernel | None]:
    """Return the cell that some arguments describe, and the kernel itself if it has no name. Raises MmcoreError.

    Args:
        kernel: a name or file, as in a cell, or a kernel.
        size: m, n and k of a square product; give it or all three.
        m: the rows of A and C.
        n: the columns of B and C.
        k: the columns of A and the rows of B.
        block: threads per block: 16 (for 16×16), "32x8" or (32, 8).
        config: other parameters by name. If ``block`` is not given either, the kernel's first config that fits.
        further: attributes of the cell: ``device``, ``seed``, ``force``, ``lda``, ``ldb``, ``ldc``, ``timeout``.
    """
    declaration = kernel if isinstance(kernel, Kernel) else referenced_kernel(kernel)
    kernel = registry().reference(declaration) if not isinstance(kernel, Kernel) and is_file(kernel) else kernel
    leading = {name: further.pop(name) for name in ("lda", "ldb", "ldc") if name in further}
    problem = declaration.problem(*three_sizes(size, m, n, k), **leading)  # type: ignore[arg-type]
    parameters = parameters_of(block, config)
    further |= {name: getattr(problem, name) for name, given in leading.items() if given}
    name, nameless = (kernel.name, kernel) if isinstance(kernel, Kernel) else (kernel, None)
    values = declaration.config(**parameters).to_json() if parameters else {}
    return Cell(name, problem.m, problem.n, problem.k, config=values, **further), nameless


def parameters_of(block: Block, config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the config's parameters that a caller names, including the block."""
    return {**(config or {}), **({} if block is None else {"block": block})}
