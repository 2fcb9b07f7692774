"""What the sanitizer or the profiler launched, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmcore.devices.base import Device
from mmcore.devices.loaded import LoadedKernel
from mmcore.kernel.geometry import Dim3
from mmcore.result import LaunchRecord

_MOST_LAUNCHES = 8


@dataclass(frozen=True)
class Launched:
    """A kernel's launches for one problem.

    Attributes:
        kernel, title: the kernel's.
        product: the operation, its size and its types, in words.
        problem: m, n and k, by name.
        device, device_description: where it was launched.
        config: every parameter by name, the block as [x, y, z].
        forced: whether the kernel's own constraints were passed over.
        violated: those of them that do not hold, a clause each.
        launches: in order.
    """

    kernel: str
    title: str
    product: str
    problem: Mapping[str, int]
    device: str
    device_description: str
    config: Mapping[str, Any]
    forced: bool
    violated: tuple[str, ...]
    launches: tuple[LaunchRecord, ...]

    @classmethod
    def of(cls, loaded: LoadedKernel, device: Device) -> Launched:
        """The launches of a loaded kernel."""
        plan = loaded.plan
        kernel, problem = plan.kernel, plan.problem
        records = []
        for launch, function in zip(plan.launches, loaded.functions, strict=True):
            shared_bytes = function.static_shared_bytes + launch.shared_bytes
            entry = plan.entry(launch)
            records.append(LaunchRecord(entry, launch.grid_dim, launch.block_dim, function.registers, shared_bytes))
        return cls(
            kernel=kernel.name,
            title=kernel.title,
            product=f"{kernel.operation}, m×n×k = {problem}, {kernel.dtype}{kernel.sums}",
            problem={"m": problem.m, "n": problem.n, "k": problem.k},
            device=device.name,
            device_description=device.description,
            config=plan.config.to_json(),
            forced=plan.forced,
            violated=tuple(kernel.violations(problem, plan.config)) if plan.forced else (),
            launches=tuple(records),
        )

    @property
    def flops(self) -> int:
        """Useful floating-point operations: 2·m·n·k."""
        return 2 * self.problem["m"] * self.problem["n"] * self.problem["k"]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values; grid and block are those of the first launch."""
        launches = [{**vars(each), "grid": list(each.grid), "block": list(each.block)} for each in self.launches]
        first = {"grid": launches[0]["grid"], "block": launches[0]["block"]}
        return {**vars(self), "violated": list(self.violated), **first, "launches": launches}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Launched:
        """What :meth:`to_json` made, among other values."""
        own = {name: values[name] for name in cls.__dataclass_fields__}
        records = [
            LaunchRecord(
                each["entry"], Dim3(*each["grid"]), Dim3(*each["block"]), each["registers"], each["shared_bytes"]
            )
            for each in own["launches"]
        ]
        return cls(**{**own, "violated": tuple(own["violated"]), "launches": tuple(records)})

    def facts(self, auto: bool) -> list[tuple[str, str]]:
        """What heads a report: device, problem, config and geometry.

        Args:
            auto: whether mmcore chose the device.
        """
        forced = "; ".join(self.violated) or "against nothing: its constraints hold"
        return [
            ("device", f"{self.device}{' (chosen by auto)' if auto else ''}: {self.device_description}"),
            ("problem", self.product),
            ("config", ", ".join(f"{name}={value}" for name, value in self.config.items() if name != "block")),
            ("forced", forced if self.forced else ""),
            ("block", _in_turn([_extent(launch.block, "thread") for launch in self.launches])),
            ("grid", _in_turn([_extent(launch.grid, "block") for launch in self.launches])),
        ]


def _in_turn(extents: list[str]) -> str:
    more = f", then {len(extents) - _MOST_LAUNCHES} more" if len(extents) > _MOST_LAUNCHES else ""
    return ", then ".join(extents[:_MOST_LAUNCHES]) + more


def _extent(extent: Dim3, what: str) -> str:
    return f"{extent} ({extent.size} {what}{'' if extent.size == 1 else 's'})"
