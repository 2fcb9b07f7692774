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
        device, device_description: where it was launched.
        m, n, k: C is m×n, A is m×k, B is k×n.
        config: every parameter by name, the block as [x, y, z].
        forced: whether the kernel's own constraints were passed over.
        violated: those of them that do not hold, a clause each.
        launches: in order.
    """

    kernel: str
    title: str
    product: str
    device: str
    device_description: str
    m: int
    n: int
    k: int
    config: Mapping[str, Any]
    forced: bool
    violated: tuple[str, ...]
    launches: tuple[LaunchRecord, ...]

    @classmethod
    def of(cls, loaded: LoadedKernel, device: Device) -> Launched:
        """The launches of a loaded kernel."""
        plan = loaded.plan
        kernel, problem = plan.kernel, plan.problem
        records = [
            LaunchRecord(
                plan.entry(launch),
                launch.grid_dim,
                launch.block_dim,
                function.registers,
                function.static_shared_bytes + launch.shared_bytes,
            )
            for launch, function in zip(plan.launches, loaded.functions, strict=True)
        ]
        return cls(
            kernel=kernel.name,
            title=kernel.title,
            product=f"{kernel.operation}, m×n×k = {problem}, {kernel.dtype}{kernel.sums}",
            device=device.name,
            device_description=device.description,
            m=problem.m,
            n=problem.n,
            k=problem.k,
            config=plan.config.to_json(),
            forced=plan.forced,
            violated=tuple(kernel.violations(problem, plan.config)) if plan.forced else (),
            launches=tuple(records),
        )

    @property
    def flops(self) -> int:
        """Useful floating-point operations: 2·m·n·k."""
        return 2 * self.m * self.n * self.k

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values, without the launches."""
        return {
            **{name: value for name, value in vars(self).items() if name not in ("m", "n", "k", "launches")},
            "problem": {"m": self.m, "n": self.n, "k": self.k},
            "config": dict(self.config),
            "violated": list(self.violated),
            "grid": list(self.launches[0].grid),
            "block": list(self.launches[0].block),
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Launched:
        """What :meth:`to_json` made, with "launches" as :func:`launch_json` makes them."""
        same = ("kernel", "title", "product", "device", "device_description", "config", "forced")
        launches = tuple(
            LaunchRecord(
                each["entry"], Dim3(*each["grid"]), Dim3(*each["block"]), each["registers"], each["shared_bytes"]
            )
            for each in values["launches"]
        )
        violated = tuple(values["violated"])
        return cls(**{name: values[name] for name in same}, **values["problem"], violated=violated, launches=launches)

    def facts(self, auto: bool) -> list[tuple[str, str]]:
        """What heads a report: device, problem, config and geometry.

        Args:
            auto: whether mmcore chose the device.
        """
        parameters = [f"{name}={value}" for name, value in self.config.items() if name != "block"]
        forced = "; ".join(self.violated) or "against nothing: its constraints hold"
        return [
            ("device", f"{self.device}{' (chosen by auto)' if auto else ''}: {self.device_description}"),
            ("problem", self.product),
            ("config", ", ".join(parameters)),
            ("forced", forced if self.forced else ""),
            ("block", _in_turn([_extent(launch.block, "thread") for launch in self.launches])),
            ("grid", _in_turn([_extent(launch.grid, "block") for launch in self.launches])),
        ]


def launch_json(launch: LaunchRecord) -> dict[str, Any]:
    """A launch as JSON-ready values."""
    return {**vars(launch), "grid": list(launch.grid), "block": list(launch.block)}


def _in_turn(extents: list[str]) -> str:
    more = f", then {len(extents) - _MOST_LAUNCHES} more" if len(extents) > _MOST_LAUNCHES else ""
    return ", then ".join(extents[:_MOST_LAUNCHES]) + more


def _extent(extent: Dim3, what: str) -> str:
    return f"{extent} ({extent.size} {what}{'' if extent.size == 1 else 's'})"
