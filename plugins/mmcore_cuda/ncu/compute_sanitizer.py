"""Violations that NVIDIA's compute-sanitizer finds on a GPU: ``mmcore check --with compute-sanitizer``.

Each of its tools watches the launches in a separate process. Its reports become violations like the emulator's.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError, MmcoreError, NoDevice
from mmcore.executor.choose_device import chosen, device_name
from mmcore.kernel.geometry import Dim3
from mmcore_cuda.ncu.ncu import output_of
from mmcore_emulator.adapter.check import Check
from mmcore_emulator.adapter.launch_facts import Launched

TOOLS = {
    # Without padding, an access past the end of a matrix could hit the next one.
    "memcheck": ("--padding", "65536"),
    "racecheck": (),
    "initcheck": (),
    "synccheck": (),
}
"""Options of each of its tools."""
_MOST_LINES = 4
_KINDS = (
    (re.compile(r"is misaligned|[Mm]isaligned"), "misaligned"),
    (re.compile(r"^Invalid \S+ (read|atomic)"), "out-of-bounds-read"),
    (re.compile(r"^Invalid \S+ write"), "out-of-bounds-write"),
    (re.compile(r"^(Error|Warning): Race reported|hazard"), "shared-race"),
    (re.compile(r"^Uninitialized"), "uninitialized-read"),
    (re.compile(r"^Barrier error"), "divergent-barrier"),
)
_PREFIX = "========= "
_PLACE = re.compile(r"\bin (?:\S*/)?(?P<source>[^\s/:]+):(?P<line>\d+)")
_ADDRESS = re.compile(r"at \S+\+0x[0-9a-f]+ in ")
_HAZARDS = re.compile(r" \[\d+ hazards\]")
_THREAD = re.compile(r"by thread \((\d+),(\d+),(\d+)\) in block \((\d+),(\d+),(\d+)\)")
# Lines about the tool, the process or the host's calls.
_NOT_ABOUT_THE_KERNEL = re.compile(
    r"COMPUTE-SANITIZER|SUMMARY|Program hit|Target application|Host Frame|Saved host|Process"
)


def check_by_compute_sanitizer(cell: Cell) -> Check:
    """Return the violations that compute-sanitizer's tools find in a cell's launches on a GPU.

    Args:
        cell: the cell, of a kernel that another process finds by its name; the device "auto" is the first GPU.

    Raises:
        MmcoreError: there is no compute-sanitizer or no GPU, a launch is refused, or the tool failed.
    """
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        raise NoDevice("compute-sanitizer is not on the PATH; it comes with the CUDA toolkit")
    placed = cell.on(device_name("cuda" if cell.device == "auto" else cell.device))
    if not chosen(placed.device)[0].supports_timing:
        raise NoDevice(f"compute-sanitizer watches a GPU, which {placed.device} is not")
    all_violations: list[Violation] = []
    for name, options in TOOLS.items():
        launched, output = _watched([tool, "--tool", name, "--print-limit", "10000", *options], name, placed)
        all_violations += violations(output)
    all_violations.sort(key=lambda each: (each.source or "~", each.line or 0))
    description = f"{launched.device_description}, watched by compute-sanitizer"
    return Check(replace(launched, device_description=description), tuple(all_violations))


def _watched(command: list[str], tool: str, cell: Cell) -> tuple[Launched, str]:
    """Return the launches, and the tool's output."""
    with tempfile.TemporaryDirectory() as folder:
        cell_file, launched_file = (Path(folder) / name for name in ("cell.json", "launched.json"))
        cell_file.write_text(json.dumps(cell.to_json()))
        child = [sys.executable, "-m", "mmcore_cuda.ncu.under_sanitizer", str(cell_file), str(launched_file)]
        output = output_of([*command, *child], cell.timeout)
        answer: dict[str, Any] = json.loads(launched_file.read_text()) if launched_file.exists() else {}
    if "error" in answer:
        raise MmcoreError(answer["error"])
    if not answer or "SUMMARY" not in output:
        last = [line.strip() for line in output.splitlines() if line.strip()] or ["it printed nothing"]
        raise DeviceError(f"compute-sanitizer's {tool} failed: {last[-1].removeprefix(_PREFIX)}")
    return Launched.from_json(answer), output


def violations(output: str) -> list[Violation]:
    """Return the kernel's violations in a tool's output: one per kind and line, with its number of reports."""
    first: dict[tuple[Any, ...], Violation] = {}
    counts: Counter[tuple[Any, ...]] = Counter()
    for report in _reports(output):
        kind = next((kind for pattern, kind in _KINDS if pattern.search(" ".join(report))), "")
        places = [place for line in report if (place := _PLACE.search(line))]
        if not kind or not places:
            continue
        key = (kind, *dict.fromkeys(place[0] for place in places))
        counts[key] += 1
        if key not in first:
            thread = next((match for line in report if (match := _THREAD.search(line))), None)
            numbers = [int(each) for each in thread.groups()] if thread else []
            # One access in the source may be several instructions.
            lines = list(dict.fromkeys(_ADDRESS.sub("at ", _HAZARDS.sub("", line)) for line in report))
            more = f"; and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
            first[key] = Violation(
                kind,
                "; ".join(line.rstrip(".;") for line in lines[:_MOST_LINES]) + more,
                source=places[0]["source"],
                line=int(places[0]["line"]),
                thread=Dim3(*numbers[:3]) if numbers else None,
                block=Dim3(*numbers[3:]) if numbers else None,
            )
    return [
        replace(violation, count=counts[key]) if violation.thread else violation for key, violation in first.items()
    ]


def _reports(output: str) -> Iterator[list[str]]:
    """Yield the lines of each report on the kernel, without lines about the host."""
    report: list[str] = []
    for line in output.splitlines():
        if not line.startswith(_PREFIX.rstrip()):
            continue
        text = line.removeprefix(_PREFIX.rstrip())
        if _NOT_ABOUT_THE_KERNEL.search(text) or not text.strip():
            if report:
                yield report
            report = []
        elif text.startswith("     "):
            if report:
                report.append(text.strip())
        else:
            if report:
                yield report
            report = [text.strip()]
    if report:
        yield report
