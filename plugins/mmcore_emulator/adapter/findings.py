"""The findings about a measured kernel: hazards, which a right product can hide, and faults at further sizes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mmcore.cell import Cell
from mmcore.deadline import USUAL_SECONDS
from mmcore.errors import MmcoreError, TimeLimit
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import plan
from mmcore.registry import referenced_kernel
from mmcore.result import Result
from mmcore.verdict import Findings
from mmcore_emulator.adapter.api import checked, examined, proved
from mmcore_emulator.adapter.conversions import capability_properties
from mmcore_emulator.adapter.examination_report import WORK, Examination, Tried
from mmcore_emulator.adapter.launch_facts import launch_command
from mmcore_emulator.adapter.proof import WRONG
from mmcore_emulator.isa.architectures import CAPABILITIES

DEVICE = "emulator"
_MOST_INSTRUCTIONS = 3e8  # the work of a check, after which it is given up: half a minute
_BASES = (32, 64, 128, 256, 512)
# k has several tiles where that is allowed: a race around the loop over tiles needs two, a ring more than its stages.
_DEPTHS = (4, 2, 1)
_LEAST_K, _TURNS = 64, 4  # of a k that is deep enough: itself, and how often shared memory is filled
_MOST_ELEMENTS = 1 << 16  # of a block's tile of C, which is kept in the registers of a multiprocessor
_MOST_PROVED = 1 << 18  # m·n·k of a product that is proved in about a second
_PROOF = 6  # a proof takes at most as long as so many plain runs
_WORK, _MOST_WORK = 1 << 22, 1 << 24  # m·n·k of a product that is checked: usually at most, and at most


def findings(result: Result, kernel: Kernel, extent: str) -> Findings:
    """Return the hazards of a measured kernel, and its faults at the sizes that its code asks for.

    A wrong kernel is only looked at for the cause. ``extent`` is one of :data:`mmcore.verdict.EXTENTS`: unless it is
    "all", hazards are looked for in a small product of the same kind.
    """
    if not result.launched:
        return Findings("not looked for: a library is called")
    nameless = None if _has_name(result, kernel) else kernel
    found, tried = _looked(result, kernel, nameless, extent)
    return found if extent == "hazards" else replace(found, proof=_proof(result, kernel, nameless, tried))


def _looked(result: Result, kernel: Kernel, nameless: Kernel | None, extent: str) -> tuple[Findings, Sequence[Tried]]:
    """Return the hazards and faults, and the products that were run at further sizes."""
    if not result.verified or extent != "all":
        hazards = _hazards(result, kernel, nameless, remember=extent == "hazards")
        if not result.verified or extent == "hazards" or hazards.violations or result.cell.force:
            return hazards, ()
    else:
        hazards = Findings("")
    cell = replace(_emulated(result), config=result.config)
    try:
        examination = examined(cell, nameless, WORK if extent == "all" else WORK / 2)
    except MmcoreError as error:
        return hazards if hazards.looked else Findings(f"not looked for: {error}"), ()
    return _combined(hazards, examination, result, sized=extent == "size"), examination.tried


def _proof(result: Result, kernel: Kernel, nameless: Kernel | None, tried: Sequence[Tried]) -> str:
    """Return the outcome of a proof at a small size; "" if it would take longer than the run, or cannot be made.

    Of a wrong kernel, only a wrong sum is reported, as a proof at another size says nothing about its fault.
    """
    right = result.verified and all(each.is_right for each in tried)
    cells = [each.cell for each in tried if right or each.mismatch]
    if not tried:
        cells = [cell for cell in (_emulated(result), _small_cell(result, kernel)) if cell]
    run = result.flops // 2 + sum(each.cell.m * each.cell.n * each.cell.k for each in tried)
    most = run // _PROOF if right and not result.supports_timing else _MOST_PROVED
    small = [cell for cell in cells if cell.m * cell.n * cell.k <= most]
    if result.cell.force or not small:
        return ""
    cell = max(small, key=lambda cell: min(cell.m, cell.n, cell.k))
    try:
        proof = proved(replace(cell, config=cell.config or result.config), nameless)
    except MmcoreError:
        return ""
    reasons = [*map(str, proof.reasons[:1]), *proof.sentences]
    text = "\n".join([f"{proof.outcome} at {cell.m}×{cell.n}×{cell.k} on the emulator", *reasons])
    return text if right or proof.outcome == WRONG else ""


def _has_name(result: Result, kernel: Kernel) -> bool:
    """Return whether another process can find the kernel by the cell's reference."""
    with contextlib.suppress(MmcoreError):
        return referenced_kernel(result.cell.kernel) == kernel
    return False


def _combined(hazards: Findings, examination: Examination, result: Result, *, sized: bool) -> Findings:
    """Return the findings of both; a fault is a warning if the user named the size."""
    looked, faults, warnings = [hazards.looked], examination.faults, list(hazards.warnings)
    if (wrong := examination.wrong) is not None:
        command = launch_command("run", replace(wrong.cell, seed=None, config=result.cell.config))
        if sized:
            warnings.append(f"{faults[0]}\n  {command}")
        else:
            looked.append(f"found at {wrong} on the emulator\n{command}")
    elif not sized:
        looked.append("none on the emulator")
    if examination.left_out:
        looked.append(f"not tried: {examination.left_out}")
    if not sized:
        looked.append(examination.refused)
    # A warning about one line is shown once, for all sizes.
    first: dict[object, str] = {}
    for each in (each for tried in examination.tried for each in tried.warnings):
        first.setdefault((each.kind, each.array, each.source, each.line), str(each))
    warnings = list(dict.fromkeys((*warnings, *first.values())))
    text = "\n".join(filter(None, looked))
    return Findings(text, () if sized else faults, tuple(warnings), tuple(examination.sizes), examination.not_executed)


def _hazards(result: Result, kernel: Kernel, nameless: Kernel | None, *, remember: bool) -> Findings:
    """Return the hazards of the same launch for a small product; ``remember`` code without any."""
    cell = _small_cell(result, kernel)
    if cell is None:
        return Findings("not looked for: the constraints allow no small product")
    size = f"{cell.m}×{cell.n}×{cell.k}"
    try:
        check = checked(cell, nameless, remember=remember, quiet=True, most_work=_MOST_INSTRUCTIONS)
    except TimeLimit as limit:
        return Findings(f"not looked for: {size} takes too long on the emulator: {limit}")
    except MmcoreError as error:
        return Findings(f"not looked for: {error}")
    # A wrong product shows missing and NaN elements already; a hazard with a line gives the cause.
    violations = tuple(violation for violation in check.violations if result.verified or violation.line)
    warnings = tuple(map(str, check.warnings))
    if not violations:
        return Findings(f"none at {size} on the emulator", warnings=warnings)
    command = launch_command("check", replace(cell, seed=None))
    return Findings(f"found at {size} on the emulator\n{command}", violations, warnings)


def _emulated(result: Result) -> Cell:
    """Return the cell of a result on the emulator, without times."""
    limit = result.cell.timeout or USUAL_SECONDS  # a last resort: the work is limited
    return replace(result.cell, device=DEVICE, timings=(), timeout=limit, baseline="", against="")


def _small_cell(result: Result, kernel: Kernel) -> Cell | None:
    """Return the same launch for a small product; None if the constraints allow none.

    It has several blocks along the axes along which the launch has several, if a small product can have them.
    """
    cell = _emulated(result)
    config = kernel.config(**result.config)
    first = None
    for smaller in _smaller(cell, kernel, _deep(result)):
        blocks = _blocks(smaller, kernel, config)
        if blocks is None:
            continue
        if not smaller.config and config != smaller.config_of(kernel):
            smaller = replace(smaller, config=config.to_json())
        if all(min(few, 2) >= min(many, 2) for few, many in zip(blocks, result.launched[0].grid, strict=True)):
            return smaller
        first = first or smaller
    return first


def _blocks(cell: Cell, kernel: Kernel, config: Config) -> Dim3 | None:
    """Return the blocks of a cell's first launch on the emulator; None if the launch is not allowed."""
    with contextlib.suppress(MmcoreError):
        device = capability_properties(CAPABILITIES[DEVICE])
        return plan(kernel, cell.problem(kernel), config, device, force=cell.force).launches[0].grid_dim
    return None


def _deep(result: Result) -> float:
    """Return a k that makes a block fill its whole shared memory with A and B several times, as an estimate."""
    product = result.cell.m * result.cell.n
    edges = [2 * math.sqrt(min(product / launch.grid.size, _MOST_ELEMENTS)) for launch in result.launched]
    row_bytes = [dtype_named(result.dtype).itemsize * edge for edge in edges]  # of the block's parts of A and B
    held = (launch.shared_bytes / row for launch, row in zip(result.launched, row_bytes, strict=True))
    return max(_LEAST_K, _TURNS * max(held))


def _smaller(cell: Cell, kernel: Kernel, deep: float) -> Iterator[Cell]:
    """Yield the cell itself if its product is small, then smaller products, the smallest of each kind first.

    Sizes keep their order and their remainders, or are divided by a power of two; gaps between rows stay as long. k is
    the least one that is at least ``deep``, if the constraints allow one, and else as deep as they allow.
    """
    sizes = (cell.m, cell.n, cell.k)
    if max(sizes) <= _BASES[1]:
        yield cell
    ranks = [sum(size > other for other in set(sizes)) for size in sizes]
    candidates: list[tuple[float, list[int]]] = []  # the elements of C, or infinity for the last ones; the sizes
    for base in _BASES:
        m, n, k = (base * (1 + rank) for rank in ranks)
        depths = [depth * k for depth in _DEPTHS]
        halves = (depths[0] >> shift for shift in range(depths[0].bit_length()))
        enough = sorted(depth for depth in halves if depth >= deep)
        for depth in dict.fromkeys([*enough, *depths]):
            small = [tiles + size % base for tiles, size in zip((m, n, depth), sizes, strict=True)]
            candidates.append((small[0] * small[1], small))
    divisor = math.gcd(*sizes) & -math.gcd(*sizes)  # the largest power of two
    while divisor:
        small = [size // divisor for size in sizes]
        candidates.append((small[0] * small[1] if small[2] >= deep else math.inf, small))
        divisor //= 2
    problem = cell.problem(kernel)
    gaps = [problem.leading(matrix) - problem.packed.leading(matrix) for matrix in "ABC"]
    for _, (m, n, k) in sorted(candidates, key=lambda candidate: (math.prod(candidate[1]) > _WORK, candidate[0])):
        if m * n * k <= _MOST_WORK:
            packed = replace(problem, m=m, n=n, k=k, lda=0, ldb=0, ldc=0)
            lda, ldb, ldc = (packed.leading(label) + gap if gap else 0 for label, gap in zip("ABC", gaps, strict=True))
            yield replace(cell, m=m, n=n, k=k, lda=lda, ldb=ldb, ldc=ldc)
