"""What a run benchmarks: every kernel, product, config and way of measuring that the options select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmcore.cell import WAYS, Cell, Timing
from mmcore.errors import MmcoreError
from mmcore.kernel.configs import Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import DEFAULT, usual_config
from mmcore.registry import Registry, registry
from mmcore.result import Result
from mmcore_cuda.tuned_configs.ranking import tuned_of
from mmcore_pytest.options import Selection

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
    inputs: str = "usual"
    origin: str = ""  # where a tuned config comes from

    @property
    def size(self) -> str:
        return str(self.problem).replace("×", "x")

    @property
    def parameters(self) -> tuple[str, str, str, str]:
        return self.kernel.name, self.size, self.config.id, str(self.timing)

    @property
    def id(self) -> str:
        """Its test id: readable, and the same in every run that measures it."""
        suffix = {"kernel-warm": "", "kernel-cold": "-cold"}.get(str(self.timing), f"-{self.timing}")
        return f"{self.kernel.name}-{self.size}-{self.config.id}{suffix}{'-wide' * (self.inputs == 'wide')}"

    @property
    def group(self) -> str:
        """What it may be compared with: the same product, measured the same way."""
        how = _WORDS[self.timing.what].format(self.timing.how)
        how += ", wide inputs" * (self.inputs == "wide")
        return f"{self.problem} {self.kernel.operation} {self.kernel.types}, {how}"

    def cell(self, device: str, timing: Timing, **further: Any) -> Cell:
        name, problem, config = registry().reference(self.kernel), self.problem, self.config.to_json()
        sizes = problem.m, problem.n, problem.k
        return Cell(name, *sizes, config=config, device=device, timings=(timing,), inputs=self.inputs, **further)

    def extra_info(self, result: Result) -> dict[str, Any]:
        """What files say of a result of it, but for the rounds, which pytest-benchmark keeps itself."""
        # The cell names its config, so that the result takes it for the user's.
        origin = {"config_origin": self.origin} if self.origin else {}
        return {**result.to_json(), **origin, "times": None}


@dataclass(frozen=True)
class Found:
    """What a selection comes to."""

    benchmarks: Mapping[tuple[str, ...], Benchmark]  # by the parameters of their tests
    refused: Sequence[str]  # what the kernels' constraints forbid, a sentence each
    buggy: Sequence[str]  # kernels with known bugs that nobody asked for by name


def find_benchmarks(
    selection: Selection,
    registry: Registry,
    *,
    supports_timing: bool,
    device: Callable[[], DeviceProperties] = DeviceProperties,
) -> Found:
    """Every combination that the kernels' constraints allow; :class:`MmcoreError` where it names what is not there.

    ``device`` tells what tuned configs are taken for; it is asked for only where a kernel has any.
    """
    timings = _timings(selection, supports_timing)
    kernels, buggy = _kernels(selection, registry)
    named = bool(selection.configs or selection.blocks or selection.all_configs)

    def cases(kernel: Kernel) -> Iterable[tuple[Problem, Config, str]]:
        configs = _configs(kernel, selection)
        pairs = [(each, config) for config in configs for each in _problems(kernel, config, selection, supports_timing)]
        return [(*pair, "") for pair in pairs] if named else tuned(kernel, pairs, device)

    found: dict[tuple[str, ...], Benchmark] = {}
    refused = []
    for kernel in kernels:
        for problem, config, origin in cases(kernel):
            try:
                violations = kernel.violations(problem, config)
            except MmcoreError:
                # A constraint that fails forbids nothing: the benchmark is run, and fails with what is wrong.
                violations = []
            if violations:
                refused.append(f"{kernel.name} {problem} with {config}: {'; '.join(violations)}")
            else:
                several = (Benchmark(kernel, problem, config, timing, selection.inputs, origin) for timing in timings)
                found.update({benchmark.parameters: benchmark for benchmark in several})
    return Found(found, refused, [kernel.name for kernel in buggy])


def tuned(
    kernel: Kernel, usual: Sequence[tuple[Problem, Config]], device: Callable[[], DeviceProperties]
) -> Iterator[tuple[Problem, Config, str]]:
    """Products in a kernel's usual configs, and in what is tuned: in their place where there is but one, else besides.

    Each with where its config comes from, if it is tuned.
    """
    found: dict[Problem, tuple[Config, str]] = {}
    for problem in dict.fromkeys(problem for problem, _ in usual) if tuned_of(kernel) else ():
        config, origin = usual_config(kernel, problem, device())
        found |= {problem: (config, origin)} if origin != DEFAULT else {}
    single = len(kernel.usual_configs) == 1
    for problem, config in usual:
        if not (problem in found and (single or config == found[problem][0])):
            yield problem, config, ""
    for problem, (config, origin) in found.items():
        yield problem, config, origin


def _timings(selection: Selection, supports_timing: bool) -> list[Timing]:
    hows = {"kernel": selection.caches, "end-to-end": selection.memories}
    timings = [Timing(what, how) for what in WAYS if what in selection.measures for how in hows[what]]
    if not supports_timing and [*map(str, timings)] != ["kernel-warm"]:
        what = "there are neither end-to-end times nor cold caches to measure"
        advice = "leave --mm-measure, --mm-memory and --mm-cold out"
        raise MmcoreError(f"{selection.device} supports no timing, so {what}; {advice}")
    return timings


def _kernels(selection: Selection, registry: Registry) -> tuple[list[Kernel], list[Kernel]]:
    """The kernels asked for, in the registry's order, and those left out for their known bugs."""
    dtypes = selection.dtypes
    found, buggy = (
        [kernel for kernel in kernels if not dtypes or kernel.dtype in dtypes]
        for kernels in registry.matching(selection.kernels)
    )
    if dtypes and not found and not buggy:
        raise MmcoreError(f"none of the selected kernels takes {' or '.join(dtypes)}")
    return found, buggy


def _configs(kernel: Kernel, selection: Selection) -> list[Config]:
    """The configs asked for: all usual ones that have the values, or one that is made with them."""
    blocks = [{"block": block} for block in selection.blocks] or [{}]
    parameters = {name: value for several in selection.configs for name, value in several.items()}
    if set(parameters) - set(kernel.usual_configs[0]) and kernel.name not in selection.kernels:
        # A pattern means those of its kernels that have the parameter.
        return []
    if selection.all_configs:
        return [each for each in kernel.all_configs if all(each[name] == value for name, value in parameters.items())]
    found = (config for block in blocks for config in kernel.matching_configs(**{**parameters, **block}))
    return list(dict.fromkeys(found))


def _problems(kernel: Kernel, config: Config, selection: Selection, supports_timing: bool) -> Iterator[Problem]:
    yield from (kernel.problem(*sizes) for sizes in selection.sizes)
    usual = GPU_SIZES if supports_timing else EMULATED_SIZES
    for size in usual if not selection.sizes else ():
        try:
            yield kernel.square_problem(size, config)
        except MmcoreError:
            yield kernel.problem(size, size, size)
