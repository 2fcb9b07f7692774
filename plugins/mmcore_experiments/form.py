"""The form in which a preset is run: in full or reduced, with times or without, and what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mmcore.cell import Timing
from mmcore.pytest_plugin.cells import Benchmark
from mmcore.registry import Registry
from mmcore_experiments.preset import UNTIMED, Preset


@dataclass(frozen=True)
class Form:
    """The form; ``left_out`` says what of the declaration is not run, and why, a sentence each."""

    preset: Preset
    quick: bool
    timed: bool
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, preset: Preset, quick: bool, timed: bool) -> Form:
        """The form on a device that supports timing or does not: without, there are neither copies nor caches."""
        asked = preset.reduced if quick else preset
        if timed or asked.measures == (UNTIMED,):
            return cls(asked, quick, timed)
        left_out = " and ".join(measure for measure in asked.measures if measure != UNTIMED)
        reason = f"{left_out}: the device supports no timing"
        return cls(replace(asked, measures=(UNTIMED,)), quick, timed, (reason,))

    @property
    def name(self) -> str:
        """What the results are called."""
        return f"{self.preset.name}-quick" if self.quick else self.preset.name

    @property
    def title(self) -> str:
        """The preset's title, which is true of its full form with times; else what was measured."""
        preset, problems = self.preset, self.preset.problems
        if self.timed and not self.quick:
            return preset.title
        sizes = ", ".join("×".join(map(str, each)) for each in problems)
        if all(m == n == k for m, n, k in problems):
            sizes = "n = " + " to ".join(map(str, sorted({min(problems)[0], max(problems)[0]})))
        blocks = f" in blocks of {', '.join(preset.block_texts)}" if preset.blocks else ""
        return f"{'Times' if self.timed else 'Counts, no times,'} of {', '.join(preset.kernels)} at {sizes}{blocks}"

    def benchmarks(self, registry: Registry) -> Iterator[Benchmark]:
        """Every kernel, config, size and measure, whether it can be launched or not.

        Raises UnknownKernel where there is no such kernel, InvalidConfig where it has no such parameter.
        """
        preset = self.preset
        length: dict[str, Any] = {"max_seconds": preset.max_time, "min_rounds": preset.min_rounds}
        timings = [Timing(what, how, **length) for what, _, how in (each.rpartition("-") for each in preset.measures)]
        for kernel in map(registry.kernel, preset.kernels):
            found = [config for each in preset.parameters for config in kernel.matching_configs(**each)]
            for config in dict.fromkeys(found or kernel.usual_configs):
                for sizes in preset.problems:
                    for timing in timings:
                        yield Benchmark(kernel, kernel.problem(*sizes), config, timing)
