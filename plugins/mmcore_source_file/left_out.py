"""What is left out of a file that holds the host's half of a program too, told before its kernel is run or shown."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore import executor
from mmcore.cell import Cell
from mmcore.cli.options import USUAL_SIZE
from mmcore.compile.compiler import compiler_of
from mmcore.deadline import USUAL_SECONDS
from mmcore.devices.base import Device
from mmcore.errors import MmcoreError
from mmcore.executor.choose_device import device_name
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.planning.plan import plan_cell
from mmcore.registry import registry
from mmcore_nvrtc.compiler import left_out_of
from mmcore_nvrtc.device_half import LeftOut
from mmcore_nvrtc.entities import Source

_MOST_NAMES, _MOST_PLACES = 3, 3
# What stands in a file of the device's half alone, besides what is annotated as the device's.
_OF_BOTH = re.compile(rb"#\s*include\s*<|using\b|;")


def before_run(kernel: Kernel, device: str, timeout: float | None) -> str:
    """One line on what is left out of a file; empty where that is nothing, or the run will say that it cannot be."""
    with contextlib.suppress(MmcoreError):
        return in_a_line(kernel.source, _left_out(kernel, device, timeout))
    return ""


def before_show(kernel: Kernel) -> str:
    """What is left out of a file, with its lines; why that is not known; or empty where nothing is left out."""
    try:
        return in_a_list(kernel.source, _left_out(kernel, "emulator", USUAL_SECONDS))
    except MmcoreError as error:
        return f"what is left out of {kernel.source.name} is not known: {str(error).splitlines()[0]}\n"


def _left_out(kernel: Kernel, device: str, timeout: float | None) -> list[LeftOut]:
    """What NVRTC leaves out of a file for a device.

    The worker process of the device compiles it, as it does for ``run``, which then takes it from the cache.
    """
    if not kernel.options and not may_have_a_host_half(kernel.source_text()):
        return []
    problem = kernel.square_problem(USUAL_SIZE)
    cell = Cell(registry().reference(kernel), problem.m, problem.n, problem.k, device=device_name(device))
    found = executor.run(cell.device, f"{__name__}:in_worker", cell.to_json(), timeout=timeout)
    return [LeftOut(*each) for each in found]


def may_have_a_host_half(text: str) -> bool:
    """Whether anything in a source, or in a header of its project, may be the host's, so that NVRTC must tell."""
    found = list(Source(text.encode()).entities())  # none where the grammar makes nothing of it
    return not found or any(not each.of_device and not _OF_BOTH.match(each.text) for each in found)


def in_worker(device: Device, phases: Phases, cell: Mapping[str, Any]) -> list[list[Any]]:
    """The attributes of each :class:`~mmcore_nvrtc.device_half.LeftOut` of a cell's source."""
    with phases("plan"):
        planned = plan_cell(Cell.from_json(cell), device.properties)
    if compiler_of(planned.kernel).name != "nvrtc":
        return []
    with phases("compile"):
        found = left_out_of(planned, device.architecture)
    return [[each.name, each.path, each.first, each.last, each.reason] for each in found]


def in_a_line(source: Path, found: Sequence[LeftOut]) -> str:
    """A few names and the lines, in one line; empty where nothing is left out."""
    if not found:
        return ""
    own, others = _by_file(source, found)
    names = [each.name for each in own]
    names.sort(key=lambda name: name != "main")
    more = len(names) - _MOST_NAMES
    named = ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    headers = ", ".join(dict.fromkeys(os.path.basename(each.path) for each in others))
    parts = [f"{named} ({_lines(own)})"] if own else []
    parts += [f"{len(others)} of {headers}"] if others else []
    return f"left out of {source.name}, as the host's half: {'; '.join(parts)}\n"


def in_a_list(source: Path, found: Sequence[LeftOut]) -> str:
    """Each thing that is left out, with its lines; empty where nothing is."""
    if not found:
        return ""
    own, others = _by_file(source, found)
    rows = [(each.name, _place(source, each)) for each in (*own, *others)]
    width = max(len(name) for name, _ in rows)
    listed = [f"  {name:{width}}  {place}".rstrip() for name, place in rows]
    return "\n".join([f"left out of {source.name}, as the host's half:", *listed, ""])


def _by_file(source: Path, found: Iterable[LeftOut]) -> tuple[list[LeftOut], list[LeftOut]]:
    """What is left out of the source, and what of its headers."""
    own = [each for each in found if each.path == str(source)]
    return own, [each for each in found if each not in own]


def _place(source: Path, each: LeftOut) -> str:
    """Where something is; a header of a library that is left out as a whole has no lines."""
    file = "" if each.path == str(source) else f"{os.path.relpath(each.path, source.parent)}:"
    if not each.first:
        return each.path
    lines = f"{each.first}" if each.first == each.last else f"{each.first}-{each.last}"
    return f"{file}{lines}" if file else f"line{'s' * (each.first != each.last)} {lines}"


def _lines(own: Sequence[LeftOut]) -> str:
    """The lines of several, those that lie next to each other as one range."""
    ranges: list[list[int]] = []
    for each in own:
        if ranges and each.first <= ranges[-1][1] + 2:
            ranges[-1][1] = max(ranges[-1][1], each.last)
        else:
            ranges.append([each.first, each.last])
    if len(ranges) > _MOST_PLACES:
        return f"{len(own)} places between lines {ranges[0][0]} and {ranges[-1][1]}"
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges]
    return f"line{'' if shown == [str(ranges[0][0])] else 's'} {', '.join(shown)}"
