"""The procedure from a cell to a result runs each phase once, in a fixed order."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest

from mmcore import Dim3, KernelError, Launch, Multiple, kernels
from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Cell, Timing
from mmcore.compile.compiled_module import CompiledModule
from mmcore.devices.base import BoundLaunch, Call
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.executor.choose_device import open_device
from mmcore.executor.worker import opened
from mmcore.measure import Phases, measure, prepared_cell
from mmcore.registry import registry
from mmcore.result import LaunchRecord
from mmcore.timing import Time
from mmcore.verify import verify_launches as verify_launches_module
from mmcore.verify.comparison import verify_product
from mmcore.verify.input_kinds import Kind
from mmcore.verify.inputs import draw
from mmcore.verify.mixed_inputs import draw_wide
from mmcore.verify.outcome import Verification
from mmcore.verify.verify_launches import Verified, mixed_inputs, verify_again, verify_launches
from tests.command_line import install, installed
from tests.own_kernel import own
from tests.timed_emulator import MadeUpTimer, TimedEmulator, TimedModule

BRIEF = (Timing(max_seconds=0.01, min_rounds=1),)


def test_the_phases_of_a_cell() -> None:
    begun: list[str] = []
    cell = Cell("upc.kernel01", 8, 8, 8, timings=BRIEF)
    result = measure(cell, TimedEmulator(lambda source: 1e-3), phases=Phases(begun.append))
    assert begun == ["plan", "compile", "allocate", "verify", "time", "verify", "verify"]
    assert set(result.phases) == set(begun)
    assert all(seconds >= 0 for seconds in result.phases.values())


def test_a_phase_lasts_as_long_as_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.accumulate((100.0, 1.0, 50.0, 2.0, 50.0, 4.0))
    monkeypatch.setattr("mmcore.measure.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    phases = Phases()
    for phase in ("verify", "time", "verify"):
        with phases(phase):
            pass
    assert phases.seconds == {"verify": 5.0, "time": 2.0}


def test_a_cell_without_timings_is_verified_once_and_a_wrong_one_is_neither_timed_nor_run_again(cu_file: Path) -> None:
    wrong = own(cu_file, "C[0] = 7.0f;", block=(1,))
    for kernel, timings in ((None, ()), (wrong, BRIEF)):
        begun: list[str] = []
        name = "upc.kernel01" if kernel is None else kernel.name
        result = measure(
            Cell(name, 1, 1, 1, timings=timings), TimedEmulator(lambda _: 1e-3), kernel, Phases(begun.append)
        )
        assert (result.verified, begun) == (kernel is None, ["plan", "compile", "allocate", "verify"])
        assert bool(result.figures) == (kernel is None)


def test_a_device_without_timing_verifies_what_would_be_timed_again(cu_file: Path) -> None:
    kernel = own(cu_file, "static __device__ int launched; C[0] = launched++ ? 0.0f : A[0] * B[0];", block=(1,))
    assert measure(Cell(kernel.name, 1, 1, 1), open_device("emulator"), kernel).verified
    assert not measure(Cell(kernel.name, 1, 1, 1, timings=BRIEF), open_device("emulator"), kernel).verified


@pytest.mark.parametrize(
    ("ways", "shortest"),
    [((("kernel", "cold"), ("end-to-end", "pinned")), None), ((("kernel", "cold"), ("kernel", "warm")), 2e-3)],
)
def test_repeated_launches_are_compared_with_the_shortest_round_of_a_warm_time(
    monkeypatch: pytest.MonkeyPatch, ways: tuple[tuple[str, str], ...], shortest: float | None
) -> None:
    compared: list[float | None] = []

    def compare(*asked: Any) -> Verified:
        compared.append(asked[-1])
        verified: Verified = asked[-2]
        return verified

    monkeypatch.setattr("mmcore.measure.compare_repeats", compare)
    timings = tuple(Timing(*way, max_seconds=0.1, min_rounds=12) for way in ways)
    seconds = itertools.cycle((3e-3, 3e-3, 2e-3, 3e-3, 4e-3))
    assert measure(Cell("upc.kernel01", 4, 4, 4, timings=timings), TimedEmulator(lambda source: next(seconds))).verified
    assert compared == [shortest if shortest is None else pytest.approx(shortest)]


@pytest.mark.parametrize(
    ("way", "milliseconds", "peaks", "plausible"),
    [
        *((("kernel", "warm"), 9.9, True, False), (("kernel", "warm"), 10.1, True, True)),
        *((("kernel", "cold"), 6.5, True, False), (("kernel", "cold"), 6.9, True, True)),
        *((("kernel", "warm"), 1.0, False, True), (("end-to-end", "pinned"), 1.0, True, True)),
    ],
)
def test_a_time_below_the_peak_is_refused(
    way: tuple[str, str], milliseconds: float, peaks: bool, plausible: bool
) -> None:
    # 1024 FLOP at 100 kFLOP/s take 10.24 ms; a cold launch takes 1.5 times as long as a warm one here.
    device = TimedEmulator(lambda source: 1e-3 * milliseconds, flops=1e5)
    if not peaks:
        device.peaks = None
    result = measure(Cell("upc.kernel01", 8, 8, 8, timings=(Timing(*way, max_seconds=0.01, min_rounds=1),)), device)
    assert [each.kind for each in result.violations] == ([] if plausible else ["implausible"])
    assert bool(result.times) == plausible
    assert (result.speed_of_light is None) == (not plausible or not peaks or way[0] != "kernel")


@pytest.mark.parametrize(
    ("how", "rate", "score", "by"),
    [("warm", 1e5, 0.512, "arithmetic"), ("warm", 1e12, 5.12e-8, "arithmetic"), ("cold", 1e12, 0.256, "memory")],
)
def test_the_speed_of_light_is_the_least_time_over_the_measured_one(
    how: str, rate: float, score: float, by: str
) -> None:
    # A warm product of 8×8×8 fits the cache; a cold one reads 512 bytes, in 7.68 ms here.
    device = TimedEmulator(lambda source: 2e-2, flops=rate, bytes_per_second=512 / 7.68e-3)
    timing = Timing("kernel", how, max_seconds=0.01, min_rounds=1)
    result = measure(Cell("upc.kernel01", 8, 8, 8, timings=(timing,)), device)
    assert result.verified
    assert result.speed_of_light == pytest.approx(score, rel=0.02)
    assert result.bound_by == by


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("1 // 0", "ZeroDivisionError"),
        ("{'x': 'fast'}", "TypeError: figure x is 'fast', not a finite number"),
        ("{'y': None, 'x': float('nan')}", "TypeError: figure x is nan, not a finite number"),
        ("{1: 2}", "TypeError: the name of a figure is 1, not a text"),
    ],
    ids=["raises", "text", "nan", "no name"],
)
def test_a_figure_that_fails_costs_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str, reason: str
) -> None:
    broken = f"from mmcore import hookimpl\n@hookimpl\ndef mmcore_figures(kernel, device):\n    return {answer}\n"
    install(tmp_path, "acme-figures", "acme", broken)
    with installed(tmp_path):
        result = measure(Cell("upc.kernel01", 8, 8, 8), open_device("emulator"))
    assert result.verified
    assert result.figures["occupancy"]  # another plugin's
    assert f"failed in mmcore_figures: {reason}" in capsys.readouterr().err


def test_a_seed_of_zero_is_a_seed_and_a_cell_without_one_gets_one_that_its_result_names() -> None:
    cell = Cell("upc.kernel01", 4, 4, 4)
    assert measure(replace(cell, seed=0), open_device("emulator")).cell.seed == 0
    seeds = {measure(cell, open_device("emulator")).cell.seed for _ in range(2)}
    assert len(seeds - {None}) == 2


def test_a_result_says_what_the_kernel_declares_and_what_was_launched(cu_file: Path) -> None:
    body = "__shared__ double s[2]; s[threadIdx.x] = A[threadIdx.x]; C[threadIdx.x] += s[threadIdx.x] * B[0];"
    kernel = own(
        cu_file, body, block=(2, 1), title="a column", dtype="float64", beta=1,
        launch=lambda problem, config, device: Launch((1, 1, 1), config.block, shared_bytes=100),
        configs=[{"block": (2,), "TILE": 2, "TM": "{TILE}"}], constraints=(Multiple("m", of=4),),
    )  # fmt: skip
    device = TimedEmulator(lambda source: 1e-3, flops=1e6)
    result = measure(Cell(kernel.name, 2, 1, 1, seed=5, force=True, timings=BRIEF), device, kernel)
    assert result.verified, result.failures()
    assert (result.kernel, result.title, result.operation) == ("tests.own", "a column", "C=C+AB")
    assert (result.dtype, result.output, result.accumulator) == ("float64", "float64", "float64")
    assert (result.config, result.config_id) == ({"block": [2, 1, 1], "TILE": 2, "TM": 2}, "b2x1-TILE2")
    assert (result.cell.device, result.cell.seed, result.device_description) == ("timed:0", 5, "Test GPU")
    assert result.violated_constraints == ("m = 2 is not a multiple of 4",)
    assert (result.strided, result.supports_timing, result.peak_flops) == (False, True, 1e6)
    assert [time.timing for time in result.times] == [*BRIEF]
    assert result.host_seconds > 0
    assert result.figures["instructions"] is not None
    (launch,) = result.launched
    assert launch == LaunchRecord("own", Dim3(1), Dim3(2), launch.registers, result.shared_bytes, 0, 0, 0)
    assert result.shared_bytes == 116
    assert launch.registers > 0


def test_a_result_without_force_has_no_violated_constraint(cu_file: Path) -> None:
    kernel = own(cu_file, "C[0] = A[0] * B[0];", constraints=(Multiple("m", of=1),))
    cu_file.write_text(cu_file.read_text().replace("int n)", "int n, int lda)"))
    result = measure(Cell(kernel.name, 1, 1, 1, lda=3), open_device("emulator"), kernel)
    assert (result.verified, result.strided) == (True, True)
    assert (result.violated_constraints, result.peak_flops, result.times) == ((), None, ())


class FailingDevice(TimedEmulator):
    """A device on which kernels fail when they are timed."""

    def load(self, code: CompiledModule) -> Any:
        return FailingModule(self._memory, code, self.deadline, self._seconds)


class FailingModule(TimedModule):
    def timer(self, calls: Any, *, cold: bool = False, refresh: Any = ()) -> Any:
        def fail() -> NoReturn:
            raise KernelError("an instruction that is none")

        return MadeUpTimer(fail)


def test_a_launch_that_fails_when_it_is_timed_leaves_no_time() -> None:
    result = measure(Cell("upc.kernel01", 8, 8, 8, timings=BRIEF), FailingDevice(lambda source: 1e-3))
    assert (result.verified, result.times) == (False, ())
    assert [(each.kind, each.message, each.fatal) for each in result.violations] == [
        ("launch-failure", "an instruction that is none", True)
    ]


def test_what_is_wrong_when_it_is_run_again_has_no_time_and_its_own_verification(cu_file: Path) -> None:
    kernel = own(cu_file, "static __device__ int launched; C[0] = launched++ ? 1e30f : A[0] * B[0];", block=(1,))
    cell = Cell(kernel.name, 1, 1, 1, timings=BRIEF, baseline="upc.kernel01")
    result = measure(cell, TimedEmulator(lambda source: 1e-3), kernel)
    assert (result.verified, result.times, result.compared) == (False, (), ())
    assert result.verification is not None
    assert result.verification.wrong == 1


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("accumulate", [False, True])
def test_a_prepared_cell_has_the_inputs_of_its_seed(cu_file: Path, seed: int, accumulate: bool) -> None:
    kernel = own(cu_file, "C[0] = A[0];", beta=accumulate)
    phases = Phases()
    with prepared_cell(Cell(kernel.name, 4, 4, 4, seed=seed), open_device("emulator"), kernel, phases) as loaded:
        found = {label: np.empty(16, np.float32) for label in "ABC"}
        for label, content in found.items():
            loaded.buffers[label].download(content)
    matrices = draw(kernel.problem(4, 4, 4), seed)
    np.testing.assert_array_equal(found["A"], matrices.a.reshape(-1))
    np.testing.assert_array_equal(found["B"], matrices.b.reshape(-1))
    assert np.isnan(found["C"]).all() != accumulate
    assert set(phases.seconds) == {"plan", "compile"}


def test_a_prepared_cell_without_a_seed_has_inputs_of_its_own_each_time() -> None:
    found = []
    for _ in range(2):
        with prepared_cell(Cell("upc.kernel01", 4, 4, 4), open_device("emulator")) as loaded:
            found.append(np.empty(16, np.float32))
            loaded.buffers["A"].download(found[-1])
    assert (found[0] != found[1]).any()


@pytest.mark.parametrize(("name", "matrices"), [("upc.kernel01", "AB"), ("lezione9.kernel1", "ABC")])
def test_what_is_copied_to_the_device_is_what_the_kernel_reads(name: str, matrices: str) -> None:
    with prepared_cell(Cell(name, 32, 32, 32), open_device("emulator")) as loaded:
        loaded.upload({label: np.zeros(1024, loaded.plan.problem.dtype) for label in "ABC"})
        uploads, downloads = loaded.copies()
        assert [buffer.label for buffer, _ in uploads] == [*matrices]
        assert [buffer.label for buffer, _ in downloads] == ["C"]


# Verification of the launches.


@pytest.fixture
def loaded() -> Iterator[LoadedKernel]:
    with prepared_cell(Cell("upc.kernel01", 40, 41, 42, seed=1), open_device("emulator")) as found:
        yield found


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> list[SimpleNamespace]:
    """Return the products that are verified from now on: their inputs, the options for their code, and the method."""
    products: list[SimpleNamespace] = []

    def noted(problem: Any, accumulator: str, inputs: Any, *others: Any, **code: Any) -> Verification:
        verification = verify_product(problem, accumulator, inputs, *others, **code)
        mixed, a, sum_of_b = inputs.rows is not None, inputs.a.copy(), np.abs(inputs.b).sum()
        products.append(SimpleNamespace(mixed=mixed, a=a, sum_of_b=sum_of_b, code=code, method=verification.method))
        return verification

    monkeypatch.setattr(verify_launches_module, "verify_product", noted)
    return products


def test_repeated_products_are_sampled_unless_small(
    loaded: LoadedKernel, products: list[SimpleNamespace], monkeypatch: pytest.MonkeyPatch
) -> None:
    for mixed in (False, True):
        assert verify_again(loaded, loaded.plan.problem, 1, mixed=mixed).right
    monkeypatch.setattr(verify_launches_module, "_FULL_FLOPS", 0.0)
    for mixed in (False, True):
        assert verify_again(loaded, loaded.plan.problem, 1, mixed=mixed).right
    assert [each.method.split(" rows")[0] for each in products] == ["every element against float64"] * 4 + ["32"] * 4


@pytest.mark.parametrize("kind", ["timeout", "out-of-bounds-write", "illegal-address"])
@pytest.mark.parametrize("fatal", [False, True])
@pytest.mark.parametrize("run", [1, 2])
def test_later_runs_may_fail(
    loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch, kind: str, fatal: bool, run: int
) -> None:
    runs: list[int] = []

    def run_again() -> list[Violation]:
        runs.append(1)
        return [*LoadedKernel.run(loaded), *([Violation(kind, "it did", fatal=fatal)] if len(runs) == run else [])]

    monkeypatch.setattr(loaded, "run", run_again)
    verified = verify_again(loaded, loaded.plan.problem, 1)
    kinds = [violation.kind for violation in verified.violations]
    assert kinds == ([kind] if kind == "timeout" else ["unrepeatable", kind])
    assert (len(runs), verified.right) == (run, False)
    assert (verified.verification is None) == fatal


def test_a_device_may_compute_the_reference(loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(loaded.device, "products", lambda *each: asked.append(each), raising=False)
    inputs = draw(loaded.plan.problem, 1)
    assert verify_launches(loaded, loaded.plan.problem, inputs).right
    assert asked == [(loaded.plan.problem, loaded.buffers["A"], loaded.buffers["B"])]
    monkeypatch.setattr(loaded, "run", lambda: [Violation("input-overwritten", "it is"), *LoadedKernel.run(loaded)])
    assert not verify_launches(loaded, loaded.plan.problem, inputs).right
    assert len(asked) == 1


def test_the_hosts_seconds_are_of_the_launches_alone(loaded: LoadedKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = 0.0

    def lasting(more: float, function: Any) -> Any:
        def longer(*asked: Any, **options: Any) -> Any:
            nonlocal seconds
            seconds += more
            return function(*asked, **options)

        return longer

    monkeypatch.setattr(verify_launches_module, "time", SimpleNamespace(perf_counter=lambda: seconds))
    for name, more in {"run": 5.0, "upload": 70.0}.items():
        monkeypatch.setattr(LoadedKernel, name, lasting(more, getattr(LoadedKernel, name)))
    monkeypatch.setattr(verify_launches_module, "verify_product", lasting(900.0, verify_product))
    assert verify_launches(loaded, loaded.plan.problem, draw(loaded.plan.problem, 1)).host_seconds == 5.0
    cell = Cell("upc.kernel01", 4, 4, 4, timings=BRIEF)
    assert measure(cell, open_device("emulator")).host_seconds == 5.0


@pytest.mark.parametrize(
    ("instruction", "quantum", "parts", "infinities"),
    [
        ("wmma.mma.sync.aligned.row.row.m16n16k8.f32.tf32.tf32.f32", 2.0**-136, "parts", False),
        ("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32", 2.0**-136, "parts", False),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 2.0**-133, "parts", False),
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 0.0, "parts", False),
        ("cvt.rna.tf32.f32", 0.0, "", True),
        ("add.ftz.f32", 2.0**-126, "", True),
        ("red.global.add.f32", 2.0**-126, "", True),
        ("red.relaxed.gpu.global.add.f32", 2.0**-126, "", True),
        ("atom.global.add.f32", 2.0**-126, "", True),
        ("atom.global.add.f64", 0.0, "", True),
        ("red.shared.add.u32", 0.0, "", True),
        ("mul.ftz.f16x2", 2.0**-14, "", True),
        ("fma.rn.f32", 0.0, "", True),
        ("sub.f32", 0.0, "", False),
        ("neg.f32", 0.0, "", False),
        ("sub.s32", 0.0, "", True),
    ],
)
def test_a_product_may_lose_what_the_kernels_code_loses(
    loaded: LoadedKernel,
    products: list[SimpleNamespace],
    instruction: str,
    quantum: float,
    parts: str,
    infinities: bool,
) -> None:
    loaded.compiled = replace(loaded.compiled, ptx=f"{{\n{instruction} %f1;\nret;\n}}")
    problem = loaded.plan.problem
    assert verify_launches(loaded, problem, draw(problem, 1)).right
    assert [each.code for each in products] == [
        {"algorithm": parts, "quantum": quantum, "keeps_infinities": infinities}
    ]
    kinds = {kind for seed in range(10) for kind in mixed_inputs(loaded, problem, seed).rows.tolist()}  # type: ignore[union-attr]
    assert (Kind.SUBNORMAL in kinds) == (quantum not in (2.0**-126, 2.0**-14))


@pytest.mark.parametrize("inputs", ["usual", "wide"])
def test_strassens_product_is_given_numbers_of_one_kind(loaded: LoadedKernel, inputs: str) -> None:
    plan = replace(loaded.plan, kernel=replace(loaded.plan.kernel, algorithm="strassen"))
    strassen: Any = SimpleNamespace(plan=plan, compiled=loaded.compiled)
    given, drawn = mixed_inputs(strassen, plan.problem, 1, inputs), draw(plan.problem, 1)
    assert (given.rows, given.columns) == (None, None)
    assert np.array_equal(given.a, drawn.a)
    assert np.array_equal(given.b, drawn.b)


@pytest.mark.parametrize("algorithm", ["", "strassen"])
def test_what_strassens_product_errs_by_is_right_for_it_alone(cu_file: Path, algorithm: str) -> None:
    kernel = own(cu_file, "C[0] = A[0] * B[0] * (1 + 2e-6f);", block=(1,), algorithm=algorithm)
    result = measure(Cell(kernel.name, 1, 1, 1, seed=1, timings=BRIEF), TimedEmulator(lambda source: 1e-3), kernel)
    assert result.verified == bool(algorithm)
    assert result.verification is not None
    assert ("within the norm-wise bound of Strassen's algorithm" in result.verification.method) == bool(algorithm)


def test_a_file_that_has_a_registered_kernels_name_is_not_brought_by_its_plugin(cu_file: Path) -> None:
    own(cu_file, "C[0] = A[0] * B[0];")
    cell = Cell({"file": str(cu_file), "name": "upc.kernel01", "configs": [{"block": [1]}]}, 1, 1, 1)
    file, registered = (measure(each, open_device("emulator")) for each in (cell, Cell("upc.kernel01", 1, 1, 1)))
    assert file.kernel == registered.kernel == "upc.kernel01"
    assert file.distributions["kernel"] == ""
    assert file.distributions["device"] == registered.distributions["device"] != ""
    assert registered.distributions["kernel"].startswith("mmcore-cuda ")
    assert registry().reference(registry().kernel("upc.kernel01")) == "upc.kernel01"


@pytest.mark.parametrize(("timings", "timing"), [((), False), ((), True), (BRIEF, False), (BRIEF, True)])
def test_timed_inputs_are_verified(products: list[SimpleNamespace], timings: tuple[Timing, ...], timing: bool) -> None:
    device = TimedEmulator(lambda source: 1e-3) if timing else open_device("emulator")
    cell = Cell("upc.kernel01", 20, 21, 22, seed=3, timings=timings)
    assert measure(cell, device).verified
    mixed = [product.mixed for product in products]
    assert mixed == ([not timing or not timings] if not timings else [not timing, timing, timing])
    for one, other in itertools.combinations(products, 2):
        assert (one.a != other.a).any(axis=1).sum() > 5
    if timings:  # the last launch's inputs are a permutation of an earlier launch's
        assert (products[0].a != products[1].a).any(axis=1).all()
        assert products[1].sum_of_b == pytest.approx(products[2].sum_of_b)
    problem = cell.problem(kernels()["upc.kernel01"])
    assert np.array_equal(products[0].a, draw(problem, 3).a) == (timing and bool(timings))
    products.clear()
    assert measure(replace(cell, inputs="wide"), device).verified
    assert np.array_equal(products[0].a, draw_wide(problem, "float32", 3).a)


def test_a_prepared_cell_has_inputs_of_several_kinds_where_they_are_asked_for() -> None:
    cell = Cell("upc.kernel01", 20, 21, 22, seed=3)
    with prepared_cell(cell, open_device("emulator"), mixed=True) as found:
        a = np.empty(20 * 22, np.float32)
        found.buffers["A"].download(a)
        assert np.array_equal(a, mixed_inputs(found, found.plan.problem, 3).a.reshape(-1))


def test_a_device_is_opened_once_in_a_process() -> None:
    assert opened("emulator") is opened("emulator")


# Another version of the source.


def test_another_version_is_timed_in_the_config_that_is_asked_for_and_in_the_kernels_own_memory(tmp_path: Path) -> None:
    class Noting(TimedEmulator):
        def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> Any:
            allocated.append(label)
            return super().allocate(label, nbytes, over_read_bytes)

        def load(self, code: CompiledModule) -> TimedModule:
            module = super().load(code)
            timer = module.timer
            module.timer = lambda calls, **how: blocks.update(blocks_of(calls)) or timer(calls, **how)  # type: ignore
            return module

    def blocks_of(calls: Sequence[Call]) -> set[tuple[int, ...]]:
        return {each.launch.block_dim for each in calls if isinstance(each, BoundLaunch)}

    allocated: list[str] = []
    blocks: set[tuple[int, ...]] = set()
    other = str(shutil.copy(kernels()["upc.kernel01"].source, tmp_path))
    cell = Cell("upc.kernel01", 8, 8, 8, config={"block": [4, 8, 1]}, timings=BRIEF, against=other)
    assert [each.label for each in measure(cell, Noting(lambda source: 1e-3)).compared] == ["before"]
    assert [label for label in allocated if len(label) == 1] == ["A", "B", "C"]
    assert blocks == {(4, 8, 1)}


# Conditions.


@pytest.mark.parametrize(
    ("throttled", "attempts"), [((False, True), 1), ((True, False), 2), ((True, True, False), 2), ((None,), 1)]
)
def test_a_throttled_time_is_taken_once_more(throttled: tuple[bool | None, ...], attempts: int) -> None:
    class Hot(TimedEmulator):
        attempts = 0

        @contextmanager
        def conditions(self) -> Iterator[dict[str, Any]]:
            self.attempts += 1
            seen: dict[str, Any] = {}
            yield seen
            if (held := throttled[self.attempts - 1]) is not None:
                seen.update(throttled=held, attempt=self.attempts)

    device = Hot(lambda source: 1e-3 * device.attempts)
    result = measure(Cell("upc.kernel01", 8, 8, 8, timings=BRIEF), device)
    assert device.attempts == attempts
    assert result.kernel_seconds == pytest.approx(1e-3 * attempts)
    last = throttled[attempts - 1]
    assert result.conditions == ({} if last is None else {"throttled": last, "attempt": attempts})


@pytest.mark.parametrize("count", [6, 7, 10, 20, 37, 100])
def test_the_interval_of_a_ratio_holds_the_median_as_often_as_it_says(count: int) -> None:
    def coverage(left_out: int) -> float:
        return 1.0 - 2.0 * sum(math.comb(count, below) for below in range(left_out + 1)) / 2.0**count

    kernel, rounds = kernels()["upc.kernel01"], [1 + number / 100 for number in range(count)]
    own, theirs = (Time(Timing(), tuple(each), 1, "made up") for each in ([1.0] * count, rounds))
    low, high = BaselineComparison.of(kernel, own, theirs).interval or (0, 0)
    (left_out,) = (number for number, each in enumerate(rounds) if each == pytest.approx(low / 0.999))
    assert high == pytest.approx(rounds[-1 - left_out] * 1.001)
    assert coverage(left_out) >= 0.95 > coverage(left_out + 1)
