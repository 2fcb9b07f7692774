"""The report of a launch: hazards, counters, and the text that the kernel printed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.machine.violations import Violation
from mmcore_emulator.profiler.counters import Counters, Line

_WIDTH = 80
_SHOWN = {
    "thread instructions": "thread_instructions",
    "warp instructions": "warp_instructions",
    "floating-point operations": "flops",
    "tensor-core instructions": "tensor_instructions",
    "global loads (bytes)": "global_load_bytes",
    "global stores (bytes)": "global_store_bytes",
    "global atomics": "global_atomics",
    "sectors of global loads": "global_load_sectors",
    "sectors of global stores": "global_store_sectors",
    "local loads (bytes)": "local_load_bytes",
    "local stores (bytes)": "local_store_bytes",
    "cp.async (bytes)": "async_copy_bytes",
    "bulk copies to shared memory (bytes)": "bulk_load_bytes",
    "bulk copies from shared memory (bytes)": "bulk_store_bytes",
    "shared loads (bytes)": "shared_load_bytes",
    "shared stores (bytes)": "shared_store_bytes",
    "shared-memory bank conflicts": "shared_bank_conflicts",
    "barriers": "barriers",
}


@dataclass(frozen=True)
class Report:
    """The hazards of one launch, its counters, and the text that it printed.

    Attributes:
        kernel: its name.
        grid: blocks.
        block: threads of a block.
        architecture: the emulated architecture, such as "sm_90".
        checked: whether the sanitizer ran. Without it only accesses out of bounds or misaligned, barriers and copies
            that cannot work, traps, assertions, deadlocks and the time limit are reported.
        hazards: the mistakes of the kernel, sorted by line, one for each kind, array and line; with the sanitizer
            ``count`` is the number of threads.
        warnings: signs of a mistake that are none by themselves, such as a thread that ends before a barrier; from the
            sanitizer.
        counters: the counters of the whole grid.
        by_line: the counters of each line of the source; the line (source "", number 0) has what belongs to none.
        printed: the text that the kernel printed, by block and thread.
        approximate_operations: results whose bits are not specified, such as those of ``expf``.
    """

    kernel: str
    grid: Dim3
    block: Dim3
    architecture: str
    checked: bool
    hazards: tuple[Violation, ...]
    warnings: tuple[Violation, ...]
    counters: Counters
    by_line: Mapping[Line, Counters]
    printed: str = ""
    approximate_operations: int = 0

    @property
    def ok(self) -> bool:
        """True if the launch has no hazard."""
        return not self.hazards

    @property
    def timed_out(self) -> bool:
        """True if the launch was stopped at its time limit; the arrays hold the values stored until then."""
        return any(each.kind == "timeout" for each in self.hazards)

    @property
    def thread_instructions(self) -> int:
        """PTX instructions executed, counted once per thread."""
        return self.counters.thread_instructions

    def __str__(self) -> str:
        """Return the report in at most 80 columns."""
        return "\n".join(
            [
                f"{self.kernel}: grid {self.grid}, block {self.block}, {self.architecture}",
                *self._verdict(),
                *(line for each in self.hazards for line in _described(each)),
                *(line for each in self.warnings for line in _described(each, "warning: ")),
                *self._counts(),
                *(["printed:", *(f"  {line}" for line in self.printed.splitlines())] if self.printed else []),
            ]
        )

    def _verdict(self) -> list[str]:
        looked = "" if self.checked else " (races and uninitialised reads were not looked for)"
        number = len(self.hazards)
        return [f"{number or 'no'} hazard{'s' * (number != 1)}{looked}"]

    def _counts(self) -> list[str]:
        counts = {name: getattr(self.counters, counter) for name, counter in _SHOWN.items()}
        return [f"  {name:40}{count:>20,}" for name, count in counts.items() if count]


def _described(violation: Violation, prefix: str = "") -> list[str]:
    """Return the lines of a violation."""
    threads = f" ({violation.count} threads)" if violation.count and violation.count > 1 else ""
    where = f"{violation.source}:{violation.line}: " if violation.line else ""
    called = "".join(f", called at {source}:{line}" for source, line in violation.callers)
    hint = f"; try {violation.hint}" if violation.hint else ""
    text = f"{where}{prefix}{violation.kind}{threads}{called}: {violation.message}{hint}"
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
