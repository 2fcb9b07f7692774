"""Cells: one kernel, one problem, one block shape, one way of measuring; and what the launch rules refuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mmcore.pytest_plugin.options import Selection
from mmcore.errors import MmcoreError, ConstraintViolation
from mmcore.devices.base import Device
from mmcore.kernel.geometry import Dim3, dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import plan
from mmcore.kernel.problem import Problem
from mmcore.registry import Registry

# Where the user names no size: the lectures' first example and a power of two on a GPU; what an emulator does fast.
GPU_SIZES, EMULATED_SIZES = (640, 1024), (128,)

EMULATED = "EMULATION times on the host, not kernel times"


class Measure(NamedTuple):
    """A way of measuring.

    Attributes:
        what: "kernel" (the launches) or "global" (copies in, launches, copies out).
        how: "warm" or "cold" caches for kernel times, "pageable" or "pinned" host memory for global ones.
    """

    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.what}-{self.how}"


class Point(NamedTuple):
    """What one cell measures."""

    kernel: Kernel
    problem: Problem
    block: Dim3


@dataclass(frozen=True)
class Cell:
    """One benchmark."""

    point: Point
    measure: Measure

    @property
    def size(self) -> str:
        """Its problem, as a user writes it."""
        return str(self.point.problem).replace("×", "x")

    @property
    def block(self) -> str:
        """Its block, as a user writes it: "32" for 32×32."""
        block = self.point.block
        square = block.x == block.y and block.z == 1
        return str(block.x) if square else str(block).replace("×", "x")

    @property
    def id(self) -> str:
        """Its test id: readable, and the same in every run that measures it."""
        suffix = "" if self.measure == ("kernel", "warm") else f"-{self.measure}"
        return f"{self.point.kernel.name}-{self.size}-b{self.block}{suffix.replace('kernel-', '')}"

    @property
    def group(self) -> str:
        """What it may be compared with: the same product, measured the same way."""
        kernel, problem = self.point.kernel, self.point.problem
        how = {"kernel": f"kernel time, {self.measure.how} L2", "global": f"global time, {self.measure.how} memory"}
        return f"{problem} {kernel.operation} {kernel.dtype}{kernel.sums}, {how[self.measure.what]}"


def title(group: str, device_description: str, *, supports_timing: bool) -> str:
    """What stands above the table of a group, and says what its times are."""
    return f"{group}, on {device_description}" if supports_timing else f"{group.split(',')[0]}: {EMULATED}"


class Refusal(NamedTuple):
    """What is not measured, because the kernel's launch rule or the device forbids it, and why."""

    point: Point
    reason: str

    def __str__(self) -> str:
        return f"{self.point.kernel.name} {self.point.problem} in {self.point.block} blocks: {self.reason}"


@dataclass(frozen=True)
class Cells:
    """What a selection comes to on a device.

    Attributes:
        cells: what is measured, by the parameters of its test.
        refused: what is not.
        faulty: kernels with known violations that nobody asked for by name.
    """

    cells: Mapping[tuple[str, ...], Cell]
    refused: Sequence[Refusal]
    faulty: Sequence[str]


def find_cells(selection: Selection, registry: Registry, device: Device) -> Cells:
    """Every combination that the kernels' launch rules and the device allow.

    Raises:
        MmcoreError: a kernel that is not there, or what the device cannot measure.
    """
    measures = _measures(selection, device)
    kernels, faulty = _kernels(selection, registry)
    limits = device.limits
    cells: dict[tuple[str, ...], Cell] = {}
    refused = []
    for kernel in kernels:
        for point in _points(kernel, selection, device.supports_timing):
            reason = _refusal(point, limits)
            if reason:
                refused.append(Refusal(point, reason))
                continue
            for measure in measures:
                cell = Cell(point, measure)
                cells[kernel.name, cell.size, cell.block, str(measure)] = cell
    return Cells(cells, refused, faulty)


def _measures(selection: Selection, device: Device) -> list[Measure]:
    ways = {"kernel": selection.caches, "global": selection.memories}
    measures = [Measure(what, how) for what in selection.measures for how in ways[what]]
    if not device.supports_timing and measures != [("kernel", "warm")]:
        raise MmcoreError(
            f"{device.name} keeps no device time, so there are neither global times nor cold caches to measure; "
            "leave --mm-measure, --mm-memory and --mm-cold out"
        )
    return measures


def _kernels(selection: Selection, registry: Registry) -> tuple[list[Kernel], list[str]]:
    """The kernels asked for, in the registry's order, and those left out for their known violations."""
    found, faulty = registry.matching(selection.kernels)
    if selection.dtypes:
        found, faulty = (
            [kernel for kernel in kernels if kernel.dtype in selection.dtypes] for kernels in (found, faulty)
        )
        if not found and not faulty:
            raise MmcoreError(f"none of the selected kernels takes {' or '.join(selection.dtypes)}")
    return found, [kernel.name for kernel in faulty]


def _points(kernel: Kernel, selection: Selection, supports_timing: bool) -> Iterator[Point]:
    blocks = [kernel.block(text) for text in selection.blocks] or [dim3(shape) for shape in kernel.blocks]
    for block in dict.fromkeys(blocks):
        if selection.sizes:
            problems = [kernel.problem(*sizes) for sizes in selection.sizes]
        else:
            usual = GPU_SIZES if supports_timing else EMULATED_SIZES
            problems = [kernel.square_problem(size, block) for size in usual]
        for problem in problems:
            yield Point(kernel, problem, block)


def _refusal(point: Point, limits: DeviceProperties) -> str:
    try:
        plan(*point, limits)
    except ConstraintViolation as refused:
        return "; ".join(refused.reasons)
    except MmcoreError:
        # A rule that fails is no refusal: the cell is run, and fails with what is wrong.
        return ""
    return ""
