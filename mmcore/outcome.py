"""What came of running a kernel: the one record that every table and JSON document is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmcore.judging.verdict import Verdict
from mmcore.launching.faults import Fault
from mmcore.planning.plan import Plan
from mmcore.planning.problem import Problem


@dataclass(frozen=True)
class Outcome:
    """One kernel, run and judged on one device.

    Attributes:
        plan: what was launched, and for which product, as the device saw it.
        problem: the product that was asked for, leading dimensions included.
        device: the device's name ("cuda:0", "emulator").
        device_description: what that device is.
        registers: registers per thread (the most of all launches).
        static_shared_bytes: shared memory declared in the source, per block (the most of all launches).
        memory: host memory of the copies, "pageable" or "pinned".
        seed: seed that the inputs were drawn with.
        verdict: whether the product is right; None when a fault left no product to judge.
        faults: what the launch did that it must not do.
        kernel_seconds: device time of the launches; None on a device without device time, or unverified.
        global_seconds: device time of copies in, launches and copies out; None likewise.
    """

    plan: Plan
    problem: Problem
    device: str
    device_description: str
    registers: int
    static_shared_bytes: int
    memory: str
    seed: int
    verdict: Verdict | None
    faults: tuple[Fault, ...] = ()
    kernel_seconds: float | None = None
    global_seconds: float | None = None

    @property
    def verified(self) -> bool:
        """Whether the product is right and nothing else was touched."""
        return self.verdict is not None and self.verdict.verified and not self.faults

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, static and dynamic (the most of all launches)."""
        return self.static_shared_bytes + max(launch.shared_bytes for launch in self.plan.launches)

    @property
    def kernel_gflops(self) -> float | None:
        """2·m·n·k over the kernel time, in GFLOP/s."""
        return self._gflops(self.kernel_seconds)

    @property
    def global_gflops(self) -> float | None:
        """2·m·n·k over the global time, in GFLOP/s."""
        return self._gflops(self.global_seconds)

    def _gflops(self, seconds: float | None) -> float | None:
        return None if seconds is None else self.plan.problem.flops / seconds / 1e9

    def __str__(self) -> str:
        block, judgement = self.plan.launches[0].block_dim, "verified" if self.verified else "NOT verified"
        time = (
            ""
            if self.kernel_seconds is None
            else f", {self.kernel_seconds * 1e3:.4f} ms, {self.kernel_gflops:.0f} GFLOP/s"
        )
        return f"{self.plan.kernel.name} {self.problem} in {block} blocks on {self.device}: {judgement}{time}"

    def complaints(self) -> list[str]:
        """What is wrong, a line each: the faults, the first wrong element, how many there are."""
        lines = [str(fault) for fault in self.faults]
        if self.verdict and self.verdict.mismatch:
            lines.append(str(self.verdict.mismatch))
            lines.append(f"{self.verdict.wrong} of the {self.verdict.compared} elements compared are wrong")
        return lines

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready values; times in ms, rates in GFLOP/s, null where the device keeps no time."""
        plan, first = self.plan, self.plan.launches[0]
        return {
            "kernel": plan.kernel.name,
            "device": self.device,
            "device_description": self.device_description,
            "problem": {"m": plan.problem.m, "n": plan.problem.n, "k": plan.problem.k},
            "leading_dimensions": {"lda": self.problem.lda, "ldb": self.problem.ldb, "ldc": self.problem.ldc},
            "dtype": plan.kernel.dtype,
            "operation": plan.kernel.operation,
            "block": list(first.block_dim),
            "grid": list(first.grid_dim),
            "launches": len(plan.launches),
            "shared_bytes": self.shared_bytes,
            "registers": self.registers,
            "memory": self.memory,
            "seed": self.seed,
            "forced": plan.forced,
            "kernel_ms": _milliseconds(self.kernel_seconds),
            "global_ms": _milliseconds(self.global_seconds),
            "kernel_gflops": self.kernel_gflops,
            "global_gflops": self.global_gflops,
            "verified": self.verified,
            "verification": self.verdict.method if self.verdict else None,
            "wrong_elements": self.verdict.wrong if self.verdict else None,
            "compared_elements": self.verdict.compared if self.verdict else None,
            "max_error": self.verdict.max_error if self.verdict else None,
            "first_mismatch": self.verdict.mismatch.to_json() if self.verdict and self.verdict.mismatch else None,
            "faults": [fault.to_json() for fault in self.faults],
        }


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
