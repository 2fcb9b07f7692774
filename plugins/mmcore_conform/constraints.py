"""Cases that violate the constraints: each must be refused for that, and nothing else happen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmcore.cell import Cell, referenced_kernel
from mmcore.devices.base import Device
from mmcore.errors import ConstraintViolation, MmcoreError
from mmcore.kernel.properties import DeviceProperties
from mmcore.measure import Phases, measure


class _NotRefused(Exception):
    """The procedure went on behind planning."""


class _Unusable:
    """A device that has properties, and can do nothing."""

    def __init__(self, properties: DeviceProperties) -> None:
        self.properties = properties

    def __getattr__(self, name: str) -> Any:
        raise _NotRefused(f"it is not refused: the device was asked for its {name}")


def violating_cases(device: Device, phases: Phases, cells: Sequence[Mapping[str, Any]]) -> list[tuple[bool, str]]:
    """For each cell, whether it is refused for every constraint that it violates, and the violations or the failure."""
    with phases("plan"):
        return [_violating_case(Cell.from_json(values), device) for values in cells]


def _violating_case(cell: Cell, device: Device) -> tuple[bool, str]:
    kernel = referenced_kernel(cell.kernel)
    try:
        measure(cell, _Unusable(device.properties), kernel)
    except ConstraintViolation as refused:
        expected = kernel.violations(cell.problem(kernel), cell.config_of(kernel))
        missing = [each for each in expected if each not in refused.reasons]
        return not missing, f"it is refused, but not because {missing[0]}" if missing else "; ".join(refused.reasons)
    except _NotRefused as error:
        return False, str(error)
    except MmcoreError as error:
        return False, f"it is not refused, but fails: {error}"
    return False, "it is not refused"
