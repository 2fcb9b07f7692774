"""The benchmarks of a run: every kernel, product, config and timing that the options select."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from mmcore.cell import WAYS, Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.median import interval_of_median
from mmcore.planning.plan import DEFAULT, usual_config
from mmcore.registry import Registry, registry
from mmcore.result import Result
from mmcore_cuda.tuned_configs.files import tuned_of
from mmcore_emulator.adapter.small_product import smaller_sizes
from mmcore_pytest.options import Selection

# The sizes without --mm-size: the lectures' first example and a power of two on a GPU; a fast one on an emulator.
GPU_SIZES, EMULATED_SIZES = (640, 1024), (128,)

_MOST_WORK = 1 << 28  # m·n·k of products that are run on the emulator

_WORDS = {"kernel": "kernel time, {} L2", "end-to-end": "end-to-end time, {} memory"}


@dataclass(frozen=True)
class Benchmark:
    """A kernel, a product, a config and a timing: the parameter of a test."""

    kernel: Kernel
    problem: Problem
    config: Config
    timing: Timing
    inputs: str = "usual"
    origin: str = ""  # the source of a tuned config
    too_large: tuple[Problem, ...] = ()  # selected products that are too much work for the emulator, as this is not

    @property
    def size(self) -> str:
        return str(self.problem).replace("×", "x")

    @property
    def parameters(self) -> dict[str, str]:
        """The values that identify the benchmark in pytest-benchmark's files, by name."""
        values = self.kernel.name, self.size, self.config.id, str(self.timing)
        return dict(zip(("mm_kernel", "mm_size", "mm_config", "mm_measure"), values, strict=True))

    @property
    def id(self) -> str:
        """The test id: readable, and the same in every run."""
        suffix = {"kernel-warm": "", "kernel-cold": "-cold"}.get(str(self.timing), f"-{self.timing}")
        return f"{self.kernel.name}-{self.size}-{self.config.id}{suffix}{'-wide' * (self.inputs == 'wide')}"

    @property
    def group(self) -> str:
        """The title of the table of comparable benchmarks: the same product, measured the same way."""
        how = _WORDS[self.timing.what].format(self.timing.how)
        how += ", wide inputs" * (self.inputs == "wide")
        return f"{self.problem} {self.kernel.operation} {self.kernel.types}, {how}"

    def cell(self, device: str, timing: Timing, **further: Any) -> Cell:
        name, problem, config = registry().reference(self.kernel), self.problem, self.config.to_json()
        sizes = problem.m, problem.n, problem.k
        return Cell(name, *sizes, config=config, device=device, timings=(timing,), inputs=self.inputs, **further)

    def extra_info(self, result: Result) -> dict[str, Any]:
        """Return a result's JSON for pytest-benchmark's files, which already contain the rounds."""
        # The cell names its config, so the result does not know that the config is a tuned one.
        origin = {"config_origin": self.origin} if self.origin else {}
        interval = [1e3 * each for each in interval_of_median(result.times[0].rounds)] if result.times else None
        return {**result.to_json(), **origin, "times": None, "median_interval_ms": interval}


@dataclass(frozen=True)
class Collection:
    """The benchmarks that a selection contains, and the combinations that it leaves out."""

    benchmarks: Sequence[Benchmark]
    refused: Sequence[str]  # a sentence for each combination that the kernels' constraints forbid
    buggy: Sequence[str]  # kernels with known bugs that were not requested by name


def find_benchmarks(
    selection: Selection,
    registry: Registry,
    *,
    supports_timing: bool,
    device: Callable[[], DeviceProperties] = DeviceProperties,
) -> Collection:
    """Return every combination that the kernels' constraints allow.

    ``device`` returns the properties that tuned configs depend on; it is called only if a kernel has tuned configs.
    Raises MmcoreError if an option names something that does not exist.
    """
    timings = _timings(selection, supports_timing)
    kernels, buggy = _kernels(selection, registry)
    named = bool(selection.configs or selection.blocks or selection.all_configs)

    def cases(kernel: Kernel) -> Iterable[tuple[Problem, Config, str]]:
        configs = _configs(kernel, selection)
        pairs = [(each, config) for config in configs for each in _problems(kernel, config, selection, supports_timing)]
        return [(*pair, "") for pair in pairs] if named else tuned(kernel, pairs, device)

    benchmarks: dict[str, Benchmark] = {}  # by id, because options may select a combination twice
    refused = []
    for kernel in kernels:
        for problem, config, origin in cases(kernel):
            try:
                violations = kernel.violations(problem, config)
            except MmcoreError:
                # A constraint that raises forbids nothing: the benchmark runs, and fails with the reason.
                violations = []
            if violations:
                refused.append(f"{kernel.name} {problem} with {config}: {'; '.join(violations)}")
                continue
            for timing in timings:
                small = problem if supports_timing else emulated_problem(kernel, problem, config)
                benchmark = Benchmark(kernel, small, config, timing, selection.inputs, origin)
                too_large = *benchmarks.get(benchmark.id, benchmark).too_large, *([problem] if small != problem else ())
                benchmarks[benchmark.id] = replace(benchmark, too_large=too_large)
    return Collection([*benchmarks.values()], refused, [kernel.name for kernel in buggy])


def emulated_problem(kernel: Kernel, problem: Problem, config: Config) -> Problem:
    """Return a small product in place of one that would take the emulator minutes, if a config allows one."""
    sizes = problem.m, problem.n, problem.k
    for smaller in smaller_sizes(sizes) if prod(sizes) > _MOST_WORK else ():
        with contextlib.suppress(MmcoreError):
            small = kernel.problem(*smaller)
            if not kernel.violations(small, config):
                return small
    return problem


def tuned(
    kernel: Kernel, usual: Sequence[tuple[Problem, Config]], device: Callable[[], DeviceProperties]
) -> Iterator[tuple[Problem, Config, str]]:
    """Yield products with a kernel's usual and tuned configs, and the origin of the tuned ones.

    A tuned config replaces the usual config of a kernel with only one usual config. For other kernels it comes last.
    """
    best: dict[Problem, tuple[Config, str]] = {}
    for problem in dict.fromkeys(problem for problem, _ in usual) if kernel.tiling or tuned_of(kernel) else ():
        config, origin = usual_config(kernel, problem, device())
        best |= {problem: (config, origin)} if origin != DEFAULT else {}
    single = len(kernel.usual_configs) == 1
    for problem, config in usual:
        if not (problem in best and (single or config == best[problem][0])):
            yield problem, config, ""
    for problem, (config, origin) in best.items():
        yield problem, config, origin


def _timings(selection: Selection, supports_timing: bool) -> list[Timing]:
    hows = {"kernel": selection.caches, "end-to-end": selection.memories}
    timings = [Timing(what, how) for what in WAYS if what in selection.measures for how in hows[what]]
    if not supports_timing and [*map(str, timings)] != ["kernel-warm"]:
        reason = f"{selection.device} supports no timing, so it has neither end-to-end times nor cold caches"
        raise MmcoreError(f"{reason}; leave out --mm-measure, --mm-memory and --mm-cold")
    return timings


def _kernels(selection: Selection, registry: Registry) -> tuple[list[Kernel], list[Kernel]]:
    """Return the selected kernels in the registry's order, and the kernels left out for known bugs."""
    dtypes = selection.dtypes
    kernels, buggy = (
        [kernel for kernel in matching if not dtypes or kernel.dtype in dtypes]
        for matching in registry.matching(selection.kernels)
    )
    if dtypes and not kernels and not buggy:
        raise MmcoreError(f"none of the selected kernels takes {' or '.join(dtypes)}")
    return kernels, buggy


def _configs(kernel: Kernel, selection: Selection) -> list[Config]:
    """Return the selected configs: the usual ones with the given values, or a new one with them."""
    parameters = {name: value for several in selection.configs for name, value in several.items()}
    if set(parameters) - set(kernel.usual_configs[0]) and kernel.name not in selection.kernels:
        # A pattern selects only the kernels that have the parameter.
        return []
    if selection.all_configs:
        return [each for each in kernel.all_configs if all(each[name] == value for name, value in parameters.items())]
    blocks = [{"block": block} for block in selection.blocks] or [{}]
    return list(dict.fromkeys(each for block in blocks for each in kernel.matching_configs(**{**parameters, **block})))


def _problems(kernel: Kernel, config: Config, selection: Selection, supports_timing: bool) -> Iterator[Problem]:
    yield from (kernel.problem(*sizes) for sizes in selection.sizes)
    usual = GPU_SIZES if supports_timing else EMULATED_SIZES
    for size in usual if not selection.sizes else ():
        try:
            yield kernel.square_problem(size, config)
        except MmcoreError:
            yield kernel.problem(size, size, size)
