"""The measurement of every kernel that has a checkout."""

from __future__ import annotations

import fnmatch
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import CHECKOUTS, PublicKernel, Sizes
from bench.studies.study import facts_of, machine_info, write
from mmcore.cell import LIBRARY, Cell, Timing
from mmcore.errors import CompileError, MmcoreError, Unsupported, UnsupportedInstruction
from mmcore.executor import end_workers, measure_cell
from mmcore.executor.choose_device import chosen, device_name

TIMING = Timing("kernel", "warm", max_seconds=0.3)


def main(
    checkouts: Path,
    results: Path,
    *,
    device: str = "auto",
    repository: str = "*",
    kernel: str = "*",
    family: str = "*",
    size: Sequence[int] = (),
    timeout: float = 240,
) -> int:
    """Measure, print and write after each kernel; return 1 if a verdict is unexpected without a known reason.

    Args:
        checkouts: folder with a checkout of each repository, named as the repository; others are skipped.
        results: file to write; the rows of other kernels are kept.
        device: where to measure.
        repository: name or pattern of the repositories.
        kernel: name or pattern of the kernels.
        family: "simt", "wmma", "mma.sync" or "wgmma".
        size: m = n = k, or the next that fits.
        timeout: seconds that a kernel may take at one size.
    """
    os.environ[CHECKOUTS] = str(checkouts.resolve())
    device = device_name(device)
    selected = [
        each
        for each in KERNELS.values()
        if fnmatch.fnmatch(each.repository, repository)
        and fnmatch.fnmatch(each.kernel.name, kernel)
        and fnmatch.fnmatch(each.family, family)
        and (checkouts / each.repository).is_dir()
    ]
    before = json.loads(results.read_text(encoding="utf-8"))["rows"] if results.exists() else []
    kept = [row for row in before if row["kernel"] not in {each.kernel.name for each in selected}]
    rows: list[dict[str, Any]] = []
    try:
        for public in selected:
            for sizes in public.measured_sizes(size, timed=chosen(device)[0].supports_timing):
                rows.append(_row(public, sizes) | _measured(public, sizes, device, timeout))
                print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
                if not rows[-1]["compiled"]:
                    break
            write(results, machine_info(facts_of(device)), rows=[*kept, *rows])
    finally:
        end_workers()
    return int(any(row["as_expected"] is False and not row["why"] for row in rows))


def _row(public: PublicKernel, sizes: Sizes) -> dict[str, Any]:
    kernel = public.kernel
    about = {"repository": public.repository, "file": public.file, "kernel": kernel.name, "family": public.family}
    about |= {"types": kernel.types, "operation": kernel.operation, **sizes._asdict()}
    outcome: dict[str, Any] = {"compiled": True, "reason": "", "verified": None, "failures": [], "gflops": None}
    expected = {"expected": "wrong" if public.wrong else "right", "why": public.wrong or public.unsupported}
    return {**about, **outcome, "percent_of_cublas": None, **expected, "as_expected": None}


def _measured(public: PublicKernel, sizes: Sizes, device: str, timeout: float) -> dict[str, Any]:
    """Return the outcome of a kernel at one size."""
    name = f"bench.studies.public_kernels.corpus:{public.kernel.name}"
    cell = Cell(name, *sizes, device=device, timings=(TIMING,), baseline=LIBRARY, timeout=timeout)
    try:
        result = measure_cell(cell)
    except CompileError as error:
        return {"compiled": False, "reason": _first_error(str(error)), "as_expected": bool(public.wrong)}
    except (Unsupported, UnsupportedInstruction) as error:
        return {"reason": f"not run: {str(error).splitlines()[0]}"}
    except MmcoreError as error:
        return {"reason": str(error).splitlines()[0], "as_expected": False}
    if result.timed_out:
        return {"reason": f"not finished: {result.failures()[0]}"}
    values = result.to_json()
    against = [each.reason for each in result.compared if each.reason]
    return {
        "verified": result.verified,
        "failures": result.failures(),
        "gflops": values["kernel_gflops"],
        "percent_of_cublas": values["percent_of_baseline"],
        "reason": against[0].splitlines()[0] if against else "",
        "as_expected": result.verified is not bool(public.wrong),
    }


def _first_error(text: str) -> str:
    """Return the first line, and the first error of the compiler's log without the folder of its file."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    errors = [each for each in lines[1:] if ": error" in each or ": catastrophic error" in each]
    return " ".join([lines[0], *(each.rpartition("/")[2] for each in errors[:1])])
