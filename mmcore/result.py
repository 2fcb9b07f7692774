"""The result of a cell: the record behind tables, pytest-benchmark, JSON, CSV and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidProblem
from mmcore.kernel.geometry import Dim3
from mmcore.messages import quoted
from mmcore.result_values import SCHEMA as SCHEMA
from mmcore.result_values import LaunchRecord as LaunchRecord
from mmcore.result_values import ResultValues
from mmcore.timing import Time
from mmcore.verify.outcome import Verification


@dataclass(frozen=True)
class Result(ResultValues):
    """One cell, verified and, if it is right and the device supports it, timed.

    Attributes:
        cell: the requested cell, with the device and seed that were used.
        distributions: name, version and content digest of the distributions of "kernel" and "device".
        kernel, title, dtype, output, accumulator, operation, column_major, alpha, beta: the kernel's declaration.
        config, config_id: every parameter by name, the block as [x, y, z]; the config in a test's id.
        config_origin: why the config was taken: tuned for a product, or the default; empty if the user named it.
        violated_constraints: the kernel's constraints that were passed over, a clause each.
        excluded_host_code: code of the source and its headers that was not compiled, as a compiled module lists it.
        strided, launched: whether the kernel takes leading dimensions (else its matrices were packed); its launches.
        verification: whether the product is right; None when a violation left no product.
        violations: errors of the launches.
        hazards: the place where hazards were looked for, or why they were not; empty if not requested.
        proof: the size at which the product is proved, or the reason why it is not; empty if no proof was tried.
        warnings: faults at sizes that were not requested, and signs of a mistake, a sentence each.
        sizes: the further products that were run: "m", "n", "k", "why" and "right" of each.
        not_executed: the lines that none of these executed: "source", "line", "branch" if it went one way alone, and
            "loop" if the other way is another turn.
        not_tried: the limit that kept further sizes from being run; empty if none did.
        times: in the order of the cell's timings; none of an unverified product, or without device time.
        compared: what took turns with the first kernel time: baselines, and another version.
        conditions: clocks, power, temperature and throttle reasons of the device while it was timed.
        host_seconds: the host's time from the beginning to the end of the launches that were verified first.
        device_description: the device in words, such as a GPU's product name.
        place: the worker that measured it, such as "node7 NAME:0", if there were several.
        supports_timing: whether the device measures device time.
        peak_flops: peak FLOP/s of the device in the kernel's type; None if unknown.
        bound_ms, bound_by: the least kernel time of the product there, None if unknown or not timed; its limiter.
        figures, phases: further figures by name, which plugins add; host seconds by phase.
    """

    cell: Cell
    kernel: str
    distributions: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    dtype: str = "float32"
    output: str = "float32"
    accumulator: str = "float32"
    operation: str = "C=AB"
    column_major: str = ""
    alpha: float = 1.0
    beta: float = 0.0
    config: Mapping[str, Any] = field(default_factory=dict)
    config_id: str = ""
    config_origin: str = ""
    violated_constraints: tuple[str, ...] = ()
    excluded_host_code: list[dict[str, Any]] = field(default_factory=list)
    strided: bool = False
    launched: tuple[LaunchRecord, ...] = ()
    device_description: str = ""
    place: str = ""
    verification: Verification | None = None
    violations: tuple[Violation, ...] = ()
    hazards: str = ""
    proof: str = ""
    warnings: tuple[str, ...] = ()
    sizes: tuple[Mapping[str, Any], ...] = ()
    not_executed: tuple[Mapping[str, Any], ...] = ()
    not_tried: str = ""
    times: tuple[Time, ...] = ()
    compared: tuple[BaselineComparison, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    host_seconds: float = 0.0
    supports_timing: bool = False
    peak_flops: float | None = None
    bound_ms: float | None = None
    bound_by: str = ""
    figures: Mapping[str, float | None] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)

    def failures(self) -> list[str]:
        """Return the violations, the first wrong element, and the number of wrong elements, a line each.

        What wrong elements have in common explains nothing where an access out of bounds made them wrong.
        """
        lines, verification = [str(violation) for violation in self.violations], self.verification
        if verification and verification.mismatch:
            lines += [str(verification.mismatch), verification.extent]
            outside = any(violation.kind.startswith("out-of-bounds") for violation in self.violations)
            lines += [verification.reduced] if verification.reduced and not outside else []
        return lines

    def __str__(self) -> str:
        block = f" in {Dim3(*self.config['block'])} blocks" if "block" in self.config else ""
        state = "verified" if self.verified else "not finished" if self.timed_out else "NOT verified"
        seconds, rate = self.kernel_seconds, self.kernel_gflops
        time = "" if seconds is None or rate is None else f", {seconds * 1e3:.4f} ms, {rate:.0f} GFLOP/s"
        return f"{self.kernel} {self.cell.m}×{self.cell.n}×{self.cell.k}{block} on {self.device}: {state}{time}"

    def __repr__(self) -> str:
        return f"<Result: {self}>"

    def _repr_html_(self) -> str:
        from mmcore.result_view import result_view  # it imports what commands do

        return result_view(self)._repr_html_()

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON-ready values; times in ms, rates in GFLOP/s, null if there is none.

        Each is an attribute of the same name, too. The JSON has the method of ``verification`` and the kernel's
        name of ``baseline``.
        """
        values = {name: _json(getattr(self, name)) for name in (*_PLAIN, *_DERIVED)}
        values["verification"] = self.verification and self.verification.method
        values["baseline"] = self.baseline and self.baseline.kernel
        return values | {name: value for name, value in self.figures.items() if name not in values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Result:
        """Return the result that :meth:`to_json` wrote.

        Raises InvalidProblem if its version is another, or values by name are of another type.
        """
        if values.get("schema") != SCHEMA:
            raise InvalidProblem(f"the result is of version {values.get('schema')}; this mmcore reads version {SCHEMA}")
        for name, kinds in _BY_NAME.items():
            _check_by_name(name, values.get(name, {}), kinds)
        return cls(
            cell=Cell.from_json(values["cell"]),
            **{name: values[name] for name in _PLAIN if name in values or name not in _NEW},
            excluded_host_code=values.get("left_out", []),
            violated_constraints=tuple(values["violated_constraints"]),
            launched=tuple(map(LaunchRecord.from_json, values["launched"])),
            verification=Verification.from_json(values),
            violations=tuple(map(Violation.from_json, values["violations"])),
            warnings=tuple(values.get("warnings", ())),
            sizes=tuple(values.get("sizes", ())),
            not_executed=tuple(values.get("not_executed", ())),
            times=tuple(map(Time.from_json, values["times"])),
            compared=tuple(map(BaselineComparison.from_json, values.get("compared", ()))),
        )


# Attributes that are JSON as they are.
_NEW = (
    *("column_major", "alpha", "beta", "config_origin", "hazards", "proof", "not_tried", "place"),
    *("distributions", "conditions", "bound_ms", "bound_by"),
)
_PLAIN = (
    *("kernel", "title", "device_description", "dtype", "output", "accumulator", "operation", "config", "config_id"),
    *("strided", "host_seconds", "supports_timing", "peak_flops", "figures", "phases"),
    *_NEW,
)

# Attributes that follow from others, or become JSON by :func:`_json`.
_DERIVED = (
    *("schema", "cell", "device", "problem", "leading_dimensions", "block", "grid", "launches", "launched"),
    *("shared_bytes", "registers", "local_bytes", "spill_store_bytes", "spill_load_bytes"),
    *("seed", "forced", "left_out", "violated_constraints", "verified", "timed_out"),
    *("wrong_elements", "reduced_failure", "compared_elements", "max_error", "first_mismatch", "violations"),
    *("warnings", "sizes", "not_executed", "kernel_ms", "end_to_end_ms", "kernel_gflops", "end_to_end_gflops"),
    *("measure", "caches", "memory", "median_ms", "spread_percent", "clock", "gflops", "percent_of_peak"),
    "speed_of_light",
    *("percent_of_baseline", "compared", "emulation_ms", "times"),
)

# Attributes that contain values by name, and the types of these values.
_BY_NAME = {"config": (bool, int, float, str, list), "figures": (int, float, type(None)), "phases": (int, float)}


def _check_by_name(name: str, values: Any, kinds: tuple[type, ...]) -> None:
    if not isinstance(values, Mapping):
        raise InvalidProblem(f"the result's {name} must be an object, not {quoted(str(values))}")
    for key, value in values.items():
        if type(value) not in kinds:
            raise InvalidProblem(f"the result's {name} cannot have the value {quoted(str(value))} of {key!r}")


def _json(value: Any) -> Any:
    """Return an attribute's value as JSON-ready values."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, tuple | list):
        return [*map(_json, value)]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
