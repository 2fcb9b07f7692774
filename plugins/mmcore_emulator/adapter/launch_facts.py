"""The launches of a kernel for one problem, as reports show them and as a command line repeats them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmcore.cell import Cell
from mmcore.cli import source_quote
from mmcore.cli.output import in_turn, parameters
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel_reference import KernelReference
from mmcore.measure import launch_records
from mmcore.planning.plan import DEFAULT
from mmcore.registry import referenced_kernel, registry
from mmcore.result import LaunchRecord
from mmcore.result_view import local_memory

Json: TypeAlias = dict[str, Any]
"""A JSON object."""


@dataclass(frozen=True)
class Launched:
    """A kernel's launches for one problem.

    Attributes:
        kernel, title: the kernel's name and title.
        product: the operation, its size and its types, in words.
        problem: m, n and k, by name.
        device, device_description: the device's name, and its description.
        config: every parameter by name, the block as [x, y, z].
        config_origin: the origin of the config; empty if the user named it.
        forced: whether the kernel's own constraints were ignored.
        violated: the constraints that do not hold, a clause each.
        launches: the launches, in order.
    """

    kernel: str
    title: str
    product: str
    problem: Mapping[str, int]
    device: str
    device_description: str
    config: Json
    config_origin: str
    forced: bool
    violated: tuple[str, ...]
    launches: tuple[LaunchRecord, ...]

    @classmethod
    def of(cls, loaded: LoadedKernel) -> Launched:
        """Return the launches of a loaded kernel."""
        plan, device = loaded.plan, loaded.device
        kernel, problem = plan.kernel, plan.problem
        return cls(
            kernel=kernel.name,
            title=kernel.title,
            product=f"{kernel.operation}, m×n×k = {problem}, {kernel.types}",
            problem={"m": problem.m, "n": problem.n, "k": problem.k},
            device=device.name,
            device_description=device.description,
            config=plan.config.to_json(),
            config_origin=plan.config_origin,
            forced=plan.forced,
            violated=tuple(kernel.violations(problem, plan.config)) if plan.forced else (),
            launches=launch_records(loaded),
        )

    @property
    def flops(self) -> int:
        """Useful floating-point operations: 2·m·n·k."""
        return 2 * self.problem["m"] * self.problem["n"] * self.problem["k"]

    def to_json(self) -> Json:
        """Return JSON-ready values; grid and block are those of the first launch."""
        launches = [{**vars(launch), "grid": [*launch.grid], "block": [*launch.block]} for launch in self.launches]
        first = {axes: launches[0][axes] for axes in ("grid", "block")}
        return {**vars(self), "violated": list(self.violated), **first, "launches": launches}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Launched:
        """Return the launches of :meth:`to_json`; other values are ignored."""
        fields = {name: values[name] for name in cls.__dataclass_fields__}
        fields["violated"] = tuple(values["violated"])
        fields["launches"] = tuple(map(LaunchRecord.from_json, values["launches"]))
        return cls(**fields)

    def facts(self, auto: bool) -> list[tuple[str, str]]:
        """Return the heading of a report: device (chosen by mmcore if ``auto``), problem, config and geometry."""
        forced = "; ".join(self.violated) or "against nothing: its constraints hold"
        tuned = "" if self.config_origin == DEFAULT else self.config_origin
        return [
            ("device", f"{self.device}{' (chosen by auto)' if auto else ''}: {self.device_description}"),
            ("problem", self.product),
            ("config", f"{parameters(self.config)}\n{tuned}".strip()),
            ("forced", forced if self.forced else ""),
            ("block", in_turn([launch.block for launch in self.launches], "thread")),
            ("grid", in_turn([launch.grid for launch in self.launches], "block")),
            ("local memory", local_memory(self.launches)),
        ]


def source_line(kernel: Kernel, source: str | None, number: int | None) -> str | None:
    """Return the text of a line of the kernel's own file, without its indent; None for a line of another file."""
    text = source_quote.source_line(kernel, source, number)
    return None if text is None else text.strip()


def launch_command(command: str, cell: Cell) -> str:
    """Return the ``mmcore run`` or ``mmcore check`` (``command``) of a cell, seed included."""
    sizes = {f"-{name}": getattr(cell, name) for name in "mnk"}
    gaps = {f"--{name}": getattr(cell, name) for name in ("lda", "ldb", "ldc") if getattr(cell, name)}
    seed = {} if cell.seed is None else {"--seed": cell.seed}
    inputs = {} if cell.inputs == "usual" else {"--inputs": cell.inputs}
    options = sizes | gaps | _config_of(cell) | {"--device": cell.device} | seed | inputs
    words = [str(word) for option in options.items() for word in option]
    return shlex.join(["mmcore", command, *reference_words(cell.kernel), *words, *["--force"] * cell.force])


def command_of_all_sizes(command: str, cell: Cell) -> str:
    """Return the ``mmcore run`` or ``mmcore check`` (``command``) of a cell's kernel and config at any size."""
    words = [word for option in _config_of(cell).items() for word in option]
    return shlex.join(["mmcore", command, *reference_words(cell.kernel), *words])


def _config_of(cell: Cell) -> dict[str, str]:
    return config_options(referenced_kernel(cell.kernel).config(**cell.config)) if cell.config else {}


def config_options(config: Config) -> dict[str, str]:
    """Return the options of a command line that select a config, without what follows from other parameters."""
    options: dict[str, str] = {}
    names = [name for name in config if name not in config.derived]
    if "block" in names:
        options["--block"] = config.block.spec
    if others := [f"{name}={config[name]}" for name in names if name != "block"]:
        options["--config"] = ",".join(others)
    return options


def reference_words(reference: KernelReference) -> tuple[str, ...]:
    """Return a kernel as a command line names it: its name, or its file and that file's options."""
    return (reference,) if isinstance(reference, str) else registry().files[referenced_kernel(reference).name].words
