"""Verify and time kernels of public repositories.

CHECKOUTS is a folder with a checkout of each repository, named as the repository; others are skipped. It prints a line
for each kernel and size, and writes the same as rows; the rows of other kernels are kept. On a GPU each kernel takes
turns with cuBLAS. Exit status: 1 = a verdict is unexpected, and the declaration gives no reason for it.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.studies.public_kernels.corpus import KERNELS
from bench.studies.public_kernels.declared import CHECKOUTS, PublicKernel, Sizes
from bench.studies.study import facts_of, machine_info, write
from mmcore.cell import LIBRARY, Cell, Timing
from mmcore.errors import MmcoreError, Unsupported, UnsupportedInstruction
from mmcore.executor import end_workers, measure_cell
from mmcore.executor import run as executed
from mmcore.executor.choose_device import chosen, device_name

TIMING = Timing("kernel", "warm", max_seconds=0.3)
COMPILE_SECONDS = 240.0
RIGHT, WRONG = "right", "wrong"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; return 0 if every verdict is as expected."""
    asked = _arguments(arguments)
    os.environ[CHECKOUTS] = str(asked.checkouts.resolve())
    device = device_name("emulator" if asked.compile_only else asked.device)
    timed = chosen(device)[0].supports_timing
    rows: list[dict[str, Any]] = []
    selected = _selected(asked)
    kept = _rows_of_others(asked.results, selected)
    try:
        for public in selected:
            every = public.measured_sizes(asked.size, timed=timed)
            for row in measured(public, every, device, asked.timeout, compile_only=asked.compile_only):
                rows.append(row)
                print(line(row), flush=True)
            if asked.results is not None:  # after each kernel, in case that the run is interrupted
                write(asked.results, machine_info(facts_of(device)), rows=[*kept, *rows])
    finally:
        end_workers()
    print(*conclusions(rows), sep="\n")
    return int(any(row["as_expected"] is False and not row["why"] for row in rows))


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.studies.public_kernels", description=__doc__)
    parser.add_argument("checkouts", type=Path, help="folder with a checkout of each repository")
    parser.add_argument("results", type=Path, nargs="?", help="file to write the rows to")
    parser.add_argument("--device", default="auto", help="where to measure: cuda, emulator, …")
    parser.add_argument("--repository", default="*", help="name or pattern of the repositories")
    parser.add_argument("--kernel", default="*", help="name or pattern of the kernels")
    parser.add_argument("--family", default="*", help="simt, wmma, mma.sync or wgmma")
    parser.add_argument("--size", type=int, action="append", default=[], help="m = n = k, or the next that fits; again")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that a kernel may take at one size")
    parser.add_argument("--compile-only", action="store_true", help="compile for compute capability 9.0, run nothing")
    return parser.parse_args(arguments)


def _selected(asked: argparse.Namespace) -> list[PublicKernel]:
    """Return the requested kernels that have a checkout."""
    found = [
        each
        for each in KERNELS.values()
        if fnmatch.fnmatch(each.repository, asked.repository)
        and fnmatch.fnmatch(each.kernel.name, asked.kernel)
        and fnmatch.fnmatch(each.family, asked.family)
    ]
    for name in dict.fromkeys(each.repository for each in found):
        if not (asked.checkouts / name).is_dir():
            print(f"no checkout of {name} in {asked.checkouts}: its kernels are skipped")
    there = [each for each in found if (asked.checkouts / each.repository).is_dir()]
    if not there:
        raise SystemExit("none of the kernels that were asked for has a checkout")
    return there


def _rows_of_others(path: Path | None, selected: Sequence[PublicKernel]) -> list[dict[str, Any]]:
    """Return the rows of kernels that are not measured now, so that several runs make one file."""
    if path is None or not path.exists():
        return []
    now = {each.kernel.name for each in selected}
    return [row for row in json.loads(path.read_text(encoding="utf-8"))["rows"] if row["kernel"] not in now]


def measured(
    public: PublicKernel, every: Sequence[Sizes], device: str, timeout: float, *, compile_only: bool
) -> Iterable[dict[str, Any]]:
    """Yield the rows of a kernel, one for each size; a single one if it does not compile."""
    reason = _why_not_compiled(public, every[0], device)
    for sizes in every:
        row = _row(public, sizes) | {"compiled": not reason}
        if reason:
            yield row | {"reason": reason, "as_expected": bool(public.wrong)}
            return
        if compile_only:
            yield row
            return
        yield row | _measured(public, sizes, device, timeout)


def _cell(public: PublicKernel, sizes: Sizes, device: str, **further: Any) -> Cell:
    name = f"bench.studies.public_kernels.worker:{public.kernel.name}"
    return Cell(name, sizes.m, sizes.n, sizes.k, device=device, **further)


def _why_not_compiled(public: PublicKernel, sizes: Sizes, device: str) -> str:
    """Return the first line of the error if a kernel cannot be planned or compiled, or an empty text."""
    target = "bench.studies.public_kernels.worker:compiled"
    try:
        executed(device, target, _cell(public, sizes, device).to_json(), timeout=COMPILE_SECONDS)
    except MmcoreError as error:
        return _first_error(str(error))
    return ""


def _first_error(text: str) -> str:
    """Return the first line, and the first error of the compiler's log without the folder of its file."""
    lines = [each.strip() for each in text.splitlines() if each.strip()]
    errors = [each for each in lines[1:] if ": error" in each or ": catastrophic error" in each]
    return " ".join([lines[0], *(each.rpartition("/")[2] for each in errors[:1])])


def _row(public: PublicKernel, sizes: Sizes) -> dict[str, Any]:
    kernel = public.kernel
    about = {"repository": public.repository, "file": public.file, "kernel": kernel.name, "family": public.family}
    about |= {"types": kernel.types, "operation": kernel.operation, **sizes._asdict()}
    outcome: dict[str, Any] = {"compiled": None, "reason": "", "verified": None, "failures": [], "gflops": None}
    expected = {"expected": WRONG if public.wrong else RIGHT, "why": public.wrong or public.unsupported}
    return {**about, **outcome, "percent_of_cublas": None, **expected, "as_expected": None}


def _measured(public: PublicKernel, sizes: Sizes, device: str, timeout: float) -> dict[str, Any]:
    """Return the outcome of a kernel at one size."""
    cell = _cell(public, sizes, device, timings=(TIMING,), baseline=LIBRARY, timeout=timeout)
    try:
        result = measure_cell(cell)
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


def line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of text."""
    sizes = f"{row['m']}×{row['n']}×{row['k']}"
    if not row["compiled"]:
        came = f"does not compile: {row['reason']}"
    elif row["verified"] is None:
        came = row["reason"] or "compiles"
    elif not row["verified"]:
        came = f"NOT verified: {row['failures'][0] if row['failures'] else 'no reason'}"
    else:
        came = "verified"
        if row["gflops"] is not None:
            came += f", {row['gflops']:.0f} GFLOP/s"
        if row["percent_of_cublas"] is not None:
            came += f", {row['percent_of_cublas']:.1f} % of cuBLAS"
    unlike = f" (expected to be {row['expected']}{row['why'] and ': '}{row['why']})"
    if row["as_expected"] is not False:
        unlike = ""
    return f"{row['kernel']:36} {row['family']:8} {sizes:16} {came}{unlike}"


def conclusions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences with the number of kernels that compile, and that have the expected verdicts."""
    kernels: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        kernels.setdefault(row["kernel"], []).append(row)
    families = collections.Counter(each[0]["family"] for each in kernels.values())
    repositories = {row["repository"] for row in rows}
    compiled = sum(all(row["compiled"] for row in each) for each in kernels.values())
    judged = [each for each in kernels.values() if all(row["as_expected"] is not None for row in each)]
    expected = sum(all(row["as_expected"] for row in each) for each in judged)
    listed = ", ".join(f"{count} {family}" for family, count in families.items())
    return [
        f"{len(kernels)} kernels of {len(repositories)} repositories: {listed}",
        f"{compiled} compile ({100 * compiled / max(1, len(kernels)):.1f} %)",
        f"{expected} of the {len(judged)} that were judged got the expected verdict",
    ]


if __name__ == "__main__":
    raise SystemExit(main())
