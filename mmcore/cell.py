"""A cell: one kernel in one config, one product, one device, and how it is measured. A value that goes through JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mmcore.deadline import MOST_SECONDS
from mmcore.errors import InvalidProblem
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel_reference import KernelReference

SCHEMA = 1
"""The version of a cell's JSON."""

WAYS = {"kernel": ("warm", "cold"), "end-to-end": ("pageable", "pinned")}
"""What can be timed, and how: kernel times with a warm or a cold L2 cache, copies from pageable or pinned memory."""

INPUTS = ("usual", "wide")
"""What a kernel is verified with first: numbers whose mistakes all show, or of all exponents that its type has."""

FIGURES = ("error", "energy")
"""Further figures of a timed product: its error against the exact one, and its GFLOP/s per W."""

LIBRARY = "library"
"""The baseline of a cell that is compared with the libraries' kernels that plugins offer for its product."""


@dataclass(frozen=True)
class Timing:
    """A measurement of time: its subject, its conditions and its length.

    Attributes:
        what: "kernel" (the launches) or "end-to-end" (copies in, launches, copies out).
        how: "warm" or "cold" caches for kernel times, "pageable" or "pinned" host memory for end-to-end ones.
        max_seconds: device time that all rounds together may take.
        min_rounds, max_rounds: rounds at least, however long they take, and at most; no limit when 0.
        min_round_seconds, resolutions: device time of a round at least, in seconds and in timer resolutions.
        warmup_launches: launches before the first round, besides the ones that measure how long one takes.
        precision, confidence: relative margin of the mean at which rounds end early (never when 0); its confidence.
        median_precision: the same of the median, at 95 % confidence; its halves' medians are as near to each other.
        min_seconds: device time, calibration included, before which no precision ends the rounds.
    """

    what: str = "kernel"
    how: str = "warm"
    max_seconds: float = 1.0
    min_rounds: int = 5
    min_round_seconds: float = 5e-6
    max_rounds: int = 0
    resolutions: int = 10
    warmup_launches: int = 0
    precision: float = 0.0
    confidence: float = 0.99
    median_precision: float = 0.0
    min_seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.how not in WAYS.get(self.what, ()):
            ways = ", ".join(f"{what} {how}" for what, hows in WAYS.items() for how in hows)
            raise InvalidProblem(f"there is no {self.what} time {self.how!r}; there are {ways}")

    def __str__(self) -> str:
        return f"{self.what}-{self.how}"


#: A few rounds, in a fraction of a second, whose median a command shows.
BRIEFLY: dict[str, Any] = {"max_seconds": 0.1, "min_rounds": 3, "min_round_seconds": 5e-3, "max_rounds": 20}


def brief_timings(memory: str) -> tuple[Timing, Timing]:
    """Return a kernel time and an end-to-end time for a command; ``memory`` is "pageable" or "pinned"."""
    return Timing("kernel", "warm", **BRIEFLY), Timing("end-to-end", memory, **BRIEFLY)


@dataclass(frozen=True)
class Cell:
    """One kernel to verify and measure on one device.

    Attributes:
        kernel: a registered kernel's name, "module:attribute", or a .cu file's path, or ``{"file": PATH}`` with
            further facts by name; the rest is inferred.
        m, n, k: C is m×n, A is m×k, B is k×n.
        config: parameters by name, the block as [x, y, z]; the tuned ones, else the first that fit, when empty.
        device: the name of a device, or "auto".
        timings: the times to measure, in order; none when empty.
        lda, ldb, ldc: leading dimensions in elements; as long as a row when 0.
        seed, timeout: seed of the inputs, fresh when None; seconds that it may take, no limit when None.
        inputs: "usual", or "wide" for numbers of all exponents (:func:`mmcore.verify.inputs.draw_wide`).
        force: launch against the kernel's own constraints.
        baseline: kernels to time in turns with it: :data:`LIBRARY`, names and patterns, with commas; none when empty.
        against: path of another version of the kernel's source, timed in turns with it; none when empty.
        figures: further figures of timed products, of kernels in turns too, among :data:`FIGURES`.
        rival: any other kernel, timed in turns with it: its "kernel" and "config" as here; none when empty.
    """

    kernel: KernelReference
    m: int
    n: int
    k: int
    config: Mapping[str, Any] = field(default_factory=dict)
    device: str = "auto"
    timings: tuple[Timing, ...] = ()
    lda: int = 0
    ldb: int = 0
    ldc: int = 0
    seed: int | None = None
    force: bool = False
    timeout: float | None = None
    inputs: str = "usual"
    baseline: str = ""
    against: str = ""
    figures: tuple[str, ...] = ()
    rival: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.inputs not in INPUTS:
            raise InvalidProblem(f"inputs are {' or '.join(INPUTS)}, not {self.inputs!r}")
        if unknown := set(self.figures) - set(FIGURES):
            raise InvalidProblem(f"figures are {' and '.join(FIGURES)}, not {min(unknown)!r}")
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise InvalidProblem(f"a seed is a whole number from 0, not {self.seed!r}")
        limit = self.timeout
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit <= MOST_SECONDS):
            raise InvalidProblem(f"a time limit is a number of seconds above 0 and up to 30 days, not {limit!r}")

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **asdict(self), "config": dict(self.config), "timings": [*map(asdict, self.timings)]}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cell:
        """Return the cell that :meth:`to_json` wrote. Raises InvalidProblem if its version is another."""
        if values["schema"] != SCHEMA:
            raise InvalidProblem(f"the cell is of version {values['schema']}; this mmcore reads version {SCHEMA}")
        fields = {name: value for name, value in values.items() if name != "schema"}
        fields["figures"] = tuple(values.get("figures", ()))
        return cls(**{**fields, "timings": tuple(Timing(**timing) for timing in values["timings"])})

    def on(self, device: str) -> Cell:
        return replace(self, device=device)

    def problem(self, kernel: Kernel) -> Problem:
        return kernel.problem(self.m, self.n, self.k, lda=self.lda, ldb=self.ldb, ldc=self.ldc)

    def config_of(self, kernel: Kernel) -> Config:
        """Return the cell's config on a device without tuned configs."""
        return kernel.config(**self.config) if self.config else kernel.fitting_config(self.problem(kernel))
