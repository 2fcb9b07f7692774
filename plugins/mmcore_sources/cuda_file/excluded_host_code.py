"""The list of host code that is excluded from a source, for ``run`` and ``show``."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore import executor
from mmcore.cell import Cell
from mmcore.cli.options import USUAL_SIZE
from mmcore.compile.compiler import compile_plan
from mmcore.deadline import USUAL_SECONDS
from mmcore.devices.base import Device
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell
from mmcore.registry import registry
from mmcore_cuda.cuda_source.entities import EditableSource
from mmcore_cuda.cuda_source.includes import has_quoted_includes
from mmcore_cuda.nvrtc.device_code import ExcludedCode

_MOST_NAMES, _MOST_PLACES = 3, 3


def for_show(kernel: Kernel) -> str:
    """Return the excluded code of a file, with its lines, or why it is unknown; empty if there is none.

    A worker process compiles the file for the emulator.
    """
    try:
        if not kernel.options and not may_have_a_host_half(kernel.source_text()):
            return ""
        problem = kernel.square_problem(USUAL_SIZE)
        cell = Cell(registry().reference(kernel), problem.m, problem.n, problem.k, device=device_name("emulator"))
        listed = executor.run(cell.device, f"{__name__}:in_worker", cell.to_json(), timeout=USUAL_SECONDS)
    except MmcoreError as error:
        if kernel.name not in registry().files:
            return ""  # show itself reports why a declared kernel cannot be planned
        return f"the host code in {kernel.source.name} is unknown: {str(error).splitlines()[0]}\n"
    return in_a_list(kernel.source, listed)


def may_have_a_host_half(text: str) -> bool:
    """Return whether a source or its own headers may contain host code, which only NVRTC can decide."""
    entities = EditableSource(text.encode()).entities  # none if the grammar cannot read it
    others = (each.text.lstrip() for each in entities if not each.of_device)
    neutral = all(not each or each.startswith((b"using ", b";")) for each in others)
    return not entities or not neutral or has_quoted_includes(text.encode())


def in_worker(device: Device, phases: Phases, cell: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the excluded code of a cell's source, as a compiled module lists it."""
    with phases("plan"):
        planned = plan_cell(Cell.from_json(cell), device.properties)
    with phases("compile"):
        return [dict(each) for each in compile_plan(planned, device.architecture).excluded_host_code]


def in_a_line(source: Path, listed: Sequence[Mapping[str, Any]]) -> str:
    """Return a few names with their files and lines, in one line; empty if nothing is excluded."""
    parts = []
    for path, several in itertools.groupby(_ordered(source, listed), key=lambda each: each.path):
        group = list(several)
        names = sorted((each.name for each in group), key=lambda name: name != "main")
        more = len(names) - _MOST_NAMES
        named = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        file = "" if path == str(source) else os.path.basename(path)
        parts.append(f"{named} ({', '.join(filter(None, (file, _lines(group))))})")
    more = len(parts) - _MOST_PLACES
    parts = [*parts[:_MOST_PLACES], *([f"and some of {more} more headers"] if more > 0 else [])]
    return f"excluded from {source.name} as host code: {'; '.join(parts)}" if parts else ""


def in_a_list(source: Path, listed: Sequence[Mapping[str, Any]]) -> str:
    """Return all excluded code, with its lines; empty if there is none."""
    rows = [(each.name, _place(source, each)) for each in _ordered(source, listed)]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [f"  {name:{width}}  {place}".rstrip() for name, place in rows]
    return "\n".join([f"excluded from {source.name} as host code:", *lines, ""]) if rows else ""


def _ordered(source: Path, listed: Sequence[Mapping[str, Any]]) -> list[ExcludedCode]:
    """Return the excluded code, the source's before its headers'."""
    return sorted((ExcludedCode(**each) for each in listed), key=lambda each: (each.path != str(source), each.path))


def _place(source: Path, each: ExcludedCode) -> str:
    """Return the place of excluded code; a header that is excluded as a whole has no lines."""
    file = "" if each.path == str(source) else f"{os.path.relpath(each.path, source.parent)}:"
    if not each.first:
        return each.path
    lines = f"{each.first}" if each.first == each.last else f"{each.first}-{each.last}"
    return f"{file}{lines}" if file else f"line{'s' * (each.first != each.last)} {lines}"


def _lines(group: Sequence[ExcludedCode]) -> str:
    """Return the lines of several as a few ranges; empty for a library that is excluded as a whole."""
    ranges: list[list[int]] = []
    for each in group:
        if ranges and each.first <= ranges[-1][1] + 2:
            ranges[-1][1] = max(ranges[-1][1], each.last)
        else:
            ranges.append([each.first, each.last])
    if not group[0].first:
        return ""
    if len(ranges) > _MOST_PLACES:
        return f"{len(group)} places between lines {ranges[0][0]} and {ranges[-1][1]}"
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges]
    return f"line{'' if shown == [str(ranges[0][0])] else 's'} {', '.join(shown)}"
