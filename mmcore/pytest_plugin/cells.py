"""What a run benchmarks: every kernel, product, config and way of measuring that the options select."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore.cell import WAYS, Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.pytest_plugin.options import Selection
from mmcore.registry import Registry

# Where the user names no size: the lectures' first example and a power of two on a GPU; what an emulator does fast.
GPU_SIZES, EMULATED_SIZES = (640, 1024), (128,)

COUNTED = "counts, no times: the device supports no timing"

_WORDS = {"kernel": "kernel time, {} L2", "end-to-end": "end-to-end time, {} memory"}


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: a kernel, a product, a config, and what is timed."""

    kernel: Kernel
    problem: Problem
    config: Config
    timing: Timing

    @property
    def size(self) -> str:
        """Its product, as a user writes it."""
        return str(self.problem).replace("×", "x")

    @property
    def parameters(self) -> tuple[str, str, str, str]:
        """The parameters of its test."""
        return self.kernel.name, self.size, self.config.id, str(self.timing)

    @property
    def id(self) -> str:
        """Its test id: readable, and the same in every run that measures it."""
        suffix = {"kernel-warm": "", "kernel-cold": "-cold"}.get(str(self.timing), f"-{self.timing}")
        return f"{self.kernel.name}-{self.size}-{self.config.id}{suffix}"

    @property
    def group(self) -> str:
        """What it may be compared with: the same product, measured the same way."""
        kernel = self.kernel
        types = "→".join(dict.fromkeys((kernel.dtype, kernel.output)))
        how = _WORDS[self.timing.what].format(self.timing.how)
        return f"{self.problem} {kernel.operation} {types}{kernel.sums}, {how}"

    def cell(self, device: str, timeout: float, timing: Timing) -> Cell:
        """The cell, to be measured on a device."""
        problem = self.problem
        return Cell(
            self.kernel.name,
            problem.m,
            problem.n,
            problem.k,
            config=self.config.to_json(),
            device=device,
            timings=(timing,),
            timeout=timeout,
        )


@dataclass(frozen=True)
class Found:
    """What a selection comes to.

    Attributes:
        benchmarks: by the parameters of their tests.
        refused: what the kernels' constraints forbid, a sentence each.
        buggy: kernels with known bugs that nobody asked for by name.
    """

    benchmarks: Mapping[tuple[str, ...], Benchmark]
    refused: Sequence[str]
    buggy: Sequence[str]


def find_benchmarks(selection: Selection, registry: Registry, *, supports_timing: bool) -> Found:
    """Every combination that the kernels' constraints allow; no device is asked.

    Raises:
        MmcoreError: a kernel or parameter that is not there, or what the device cannot measure.
    """
    timings = _timings(selection, supports_timing)
    kernels, buggy = _kernels(selection, registry)
    found: dict[tuple[str, ...], Benchmark] = {}
    refused = []
    for kernel in kernels:
        for config in _configs(kernel, selection):
            for problem in _problems(kernel, config, selection, supports_timing):
                try:
                    violations = kernel.violations(problem, config)
                except MmcoreError:
                    # A constraint that fails forbids nothing: the benchmark is run, and fails with what is wrong.
                    violations = []
                if violations:
                    refused.append(f"{kernel.name} {problem} with {config}: {'; '.join(violations)}")
                    continue
                for timing in timings:
                    benchmark = Benchmark(kernel, problem, config, timing)
                    found[benchmark.parameters] = benchmark
    return Found(found, refused, buggy)


def _timings(selection: Selection, supports_timing: bool) -> list[Timing]:
    hows = {"kernel": selection.caches, "end-to-end": selection.memories}
    timings = [Timing(what, how) for what in WAYS if what in selection.measures for how in hows[what]]
    if not supports_timing and [*map(str, timings)] != ["kernel-warm"]:
        raise MmcoreError(
            f"{selection.device} supports no timing, so there are neither end-to-end times nor cold caches to measure; "
            "leave --mm-measure, --mm-memory and --mm-cold out"
        )
    return timings


def _kernels(selection: Selection, registry: Registry) -> tuple[list[Kernel], list[str]]:
    """The kernels asked for, in the registry's order, and those left out for their known bugs."""
    found, buggy = registry.matching(selection.kernels)
    if selection.dtypes:
        found, buggy = (
            [kernel for kernel in kernels if kernel.dtype in selection.dtypes] for kernels in (found, buggy)
        )
        if not found and not buggy:
            raise MmcoreError(f"none of the selected kernels takes {' or '.join(selection.dtypes)}")
    return found, [kernel.name for kernel in buggy]


def _configs(kernel: Kernel, selection: Selection) -> list[Config]:
    """The configs asked for: all usual ones that have the values, or one that is made with them.

    Raises:
        InvalidConfig: the kernel was asked for by name and has no such parameter.
    """
    wanted = [{"block": block} for block in selection.blocks] or [{}]
    parameters = {name: value for several in selection.configs for name, value in several.items()}
    if set(parameters) - set(kernel.usual_configs[0]) and kernel.name not in selection.kernels:
        # A pattern means those of its kernels that have the parameter.
        return []
    if selection.all_configs:
        return [each for each in kernel.all_configs if all(each[name] == value for name, value in parameters.items())]
    found = [config for each in wanted for config in kernel.matching_configs(**{**parameters, **each})]
    return list(dict.fromkeys(found))


def _problems(kernel: Kernel, config: Config, selection: Selection, supports_timing: bool) -> Iterator[Problem]:
    if selection.sizes:
        yield from (kernel.problem(*sizes) for sizes in selection.sizes)
        return
    for size in GPU_SIZES if supports_timing else EMULATED_SIZES:
        try:
            yield kernel.square_problem(size, config)
        except MmcoreError:
            yield kernel.problem(size, size, size)
