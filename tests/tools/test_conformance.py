"""Conformance: right kernels pass, and a wrong one fails in the property that it lacks."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Space, Square
from mmcore.cell import Cell
from mmcore.cli.output import rendered
from mmcore.errors import InvalidKernel, NoDevice
from mmcore.executor import run
from mmcore.executor.choose_device import open_device
from mmcore.planning.plan import plan
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore_tools.conform import command
from mmcore_tools.conform import conformance as module
from mmcore_tools.conform.cases import MOST_PER_CONFIG, USUAL_TILE, find_cases
from mmcore_tools.conform.command import report, summary
from mmcore_tools.conform.conformance import Conformance, conform_kernel
from mmcore_tools.conform.outcome import PASSED, PROPERTIES, SKIPPED, Case, Outcome, groups
from tests import wrong_kernels
from tests.command_line import mmcore
from tests.emulator.modern import SPLIT_K
from tests.kernel_sources import kernel_source
from tests.lectures import lecture_kernels
from tests.wrong_kernels import BROADCAST, ROW_BY_ROW, SIXTY_FOUR_ROWS, covering_by, reading_past, rounding_down

ALL = lecture_kernels()
BUGGY = "upc.kernel11_naive_guard"
QUICK = ("hpsee.simple", "poznan.v4b")
SEED = 5
EMULATOR = open_device("emulator")


def conformance(kernel: Kernel, **asked: Any) -> Conformance:
    """Return the conformance of a kernel that is not part of a plugin."""
    kernels = registry().kernels
    kernels[kernel.name] = Registered(kernel, Origin("own", "tests"))
    try:
        return conform_kernel(kernel.name, "emulator", seed=SEED, **asked)
    finally:
        del kernels[kernel.name]


def failing(kernel: Kernel) -> set[str]:
    """Return the properties that a kernel violates."""
    return {each.property for each in conformance(kernel).failures}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use few small products and one compute capability; separate tests cover the others and large products."""
    monkeypatch.setattr(module, "CAPABILITIES", ("9.0",))
    monkeypatch.setattr("mmcore_tools.conform.cases.USUAL_WORK", 1 << 14)
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 12)
    monkeypatch.setattr("mmcore_tools.conform.cases._THOROUGH", 8)
    monkeypatch.setattr("mmcore_tools.conform.worker._CODE_WORK", 1.0)


@pytest.fixture
def varied(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use enough small products to find the common cause of failures."""
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 20)


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use products of several tiles, and one compute capability."""
    monkeypatch.setattr(module, "CAPABILITIES", ("9.0",))
    monkeypatch.setattr("mmcore_tools.conform.cases.USUAL_WORK", 1 << 18)
    monkeypatch.setattr("mmcore_tools.conform.worker._CODE_WORK", 1.0)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use three products, for properties of the declaration alone."""
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 3)


RIGHT = [name for name, kernel in ALL.items() if not kernel.known_bugs]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in RIGHT]
)
def test_a_lectures_kernel_conforms(name: str) -> None:
    found = conform_kernel(name, "emulator")
    assert found.conforms, found.failures
    tested = {each.property for each in found.outcomes if each.outcome == PASSED}
    assert tested >= set(PROPERTIES) - {"over-read"}
    assert ("over-read" in tested) == (ALL[name].over_read is not None)
    configs = {config.id for config in ALL[name].usual_configs}
    assert {each.what.rpartition(", ")[2] for each in found.of("geometry")} == configs


@pytest.mark.usefixtures("few")
def test_a_kernel_is_tested_at_the_sizes_that_its_code_asks_for(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, ("sum = 0.0f", "sum = k == 1000")))
    (failure,) = found.failures
    assert failure.case is not None
    assert (failure.property, failure.case.cell.k) == ("product", 1000)
    assert failure.case.why == "line 7 compares k with 1000"


@pytest.mark.usefixtures("few")
def test_a_term_that_is_too_small_for_the_tolerance_fails_the_proof(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, ("= sum;", "= sum + 1e-30f * A[row * k];")))
    failure = next(each for each in found.failures if each.property == "proof")
    assert failure.reproduce.startswith("mmcore prove ")
    assert failure.reason.startswith("C[0][0] is another polynomial of the elements of A and B; ")


@pytest.mark.usefixtures("few")
def test_code_that_no_case_executes_is_listed(tmp_path: Path) -> None:
    found = conformance(
        wrong_kernels.kernel(tmp_path, ("float sum", "if (k > 100000)\n        C[0] = 1;\n    float sum"))
    )
    assert found.conforms
    assert found.to_json()["not_executed"] == ({"source": "own.cu", "line": 8, "branch": False, "loop": False},)


@pytest.mark.usefixtures("few")
def test_a_kernel_with_known_bugs_fails_for_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_FORCED", 4)
    monkeypatch.setattr("mmcore_tools.conform.worker._CODE_WORK", 1.0)
    found = conform_kernel(BUGGY, "emulator", seed=SEED)
    assert {each.property for each in found.failures} == {"known-bugs"}
    declared, *evidence = found.failures
    assert all(sentence in declared.reason for sentence in ALL[BUGGY].known_bugs)
    assert any("elements compared are wrong" in each.reason for each in evidence)
    for each in evidence:
        program, *arguments = shlex.split(each.reproduce)
        result = mmcore(*arguments)
        assert (program, result.exit_code) == ("mmcore", 1)
        assert each.reason.split("; ")[0].split(": ", 1)[-1].split(" at ")[0] in result.stdout


@dataclass(frozen=True)
class Wrong:
    """Changes of the right kernel, and the one property that it lacks then."""

    property: str
    changes: tuple[tuple[str, str], ...] = ()
    declared: Callable[[], dict[str, Any]] = dict
    source: str = wrong_kernels.RIGHT


AHEAD = ("sum += A", "sum += 0.0f * (*(const volatile float*)(A + row * k + p + 2) != 7.0f) + A")
ONE_TERM = "sum += A[row * k + p] * B[p * n + column];"
FOUR_TERMS = "for (int q = p; q < p + 4; ++q) sum += A[row * k + q] * B[q * n + column];"
FOURS = (("p < k; ++p)", "p + 3 < k; p += 4)"), (ONE_TERM, FOUR_TERMS))
WRITES_A = ("    }\n}\n", "    }\n    const_cast<float*>(A)[row * k] = 1.0f;\n}\n")
ONE_BARRIER = ("        __syncthreads();  // before the next is written\n", "")
STALE = ("= sum;", "= C[row * n + column] == C[row * n + column] ? 1.0f : sum;")

WRONG = {
    "no bounds test for the rows": Wrong("bounds", (("row >= m || ", ""),)),
    "a write before the start": Wrong("bounds", (("= sum;", "= sum; if (row + column == 0) C[-1] = sum;"),)),
    "an input overwritten": Wrong("inputs", (WRITES_A,), source=ROW_BY_ROW),
    "a race": Wrong("hazards", (ONE_BARRIER,), source=BROADCAST),
    "too little over-read": Wrong("over-read", (AHEAD,), lambda: {"launch": reading_past(A=1)}),
    "an over-read that is not needed": Wrong("over-read", (), lambda: {"launch": reading_past(B=16)}),
    "an over-read too large": Wrong("over-read", (AHEAD,), lambda: {"launch": reading_past(A=3)}),
    "the last k dropped": Wrong("product", (("p < k", "p < k - 1"),)),
    "a stale result": Wrong("repeatable", (STALE,)),
    "fewer blocks than needed": Wrong("written", (), lambda: {"launch": rounding_down}),
    "a constraint missing": Wrong("product", FOURS),
    "the last column not written": Wrong("written", (("column >= n", "column >= n - 1"),)),
    "a config too large": Wrong("geometry", (), lambda: {"configs": [{"block": (16, 8)}, {"block": (64, 32)}]}),
    "no known bug, but declared": Wrong("known-bugs", (), lambda: {"known_bugs": ("It is slow.",)}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.usefixtures("quick")
def test_a_mistake_fails_in_its_property_alone(tmp_path: Path, wrong: Wrong) -> None:
    kernel = wrong_kernels.kernel(tmp_path, *wrong.changes, source=wrong.source, **wrong.declared())
    found = conformance(kernel)
    assert {each.property for each in found.failures} == {wrong.property}, found.failures
    assert all(each.reason and each.reproduce.startswith("mmcore ") for each in found.failures)


@pytest.mark.parametrize(
    "right",
    [
        Wrong(""),
        Wrong("", source=BROADCAST),
        Wrong("", (AHEAD,), lambda: {"launch": reading_past(A=2)}),
        Wrong("", FOURS, lambda: {"constraints": (Multiple("k", of=4),)}),
        Wrong("", FOURS, lambda: {"constraints": (Square(), Multiple("k", of=32))}),
    ],
    ids=["plain", "broadcast", "over-read", "fours", "squares"],
)
@pytest.mark.usefixtures("quick")
def test_the_right_declaration_conforms(tmp_path: Path, right: Wrong) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *right.changes, source=right.source, **right.declared()))
    assert found.conforms, found.failures


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_mistakes_in_tiles_larger_than_the_block_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 19)
    tiles: dict[str, Any] = {"source": SIXTY_FOUR_ROWS, "configs": [{"block": (16, 1)}]}
    # Too few blocks, but only from the 65th row on.
    assert failing(wrong_kernels.kernel(tmp_path, launch=covering_by(128), **tiles)) == {"written"}
    whole = "blockIdx.y * 64 + 64 <= m && column / 16 * 16 + 16 <= n"
    change = ("[row * n + column] = sum", f"[row * n + column] = {whole} ? -sum : sum")
    assert failing(wrong_kernels.kernel(tmp_path, change, launch=covering_by(64), **tiles)) == {"product"}


@pytest.mark.usefixtures("quick")
def test_without_a_sanitizer_hazards_are_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check_cell(*asked: Any) -> None:
        raise NoDevice("there is no device 'emulator'")

    monkeypatch.setattr("mmcore_tools.conform.worker.check_cell", check_cell)
    found = conformance(wrong_kernels.kernel(tmp_path, STALE))
    assert {each.property for each in found.failures} == {"repeatable"}
    assert "run again on other inputs, element (0, 0) of C is wrong" in found.failures[0].reason
    assert {each.outcome for each in found.of("hazards")} == {SKIPPED}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("parts", [1, 2])
def test_sums_whose_order_is_open_are_not_called_repeatable(tmp_path: Path, parts: int) -> None:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        x, y, _ = wrong_kernels.covering(problem, config, device).grid
        return Launch((x, y, parts), config.block)

    split = "for (int p = 0; p < k; ++p)", "for (int p = blockIdx.z; p < k; p += gridDim.z)"
    added = "C[row * n + column] = sum", "atomicAdd(&C[row * n + column], sum)"
    found = conformance(wrong_kernels.kernel(tmp_path, split, added, launch=launch, initial_c="zeros"))
    assert found.conforms, found.failures
    repeatable = {(each.outcome, each.reason) for each in found.of("repeatable")}
    open_order = (SKIPPED, "the order of atomic additions is open on a GPU")
    assert repeatable == {open_order if parts > 1 else (PASSED, "")}


@pytest.mark.usefixtures("quick")
def test_a_property_without_an_outcome_has_the_reason(tmp_path: Path) -> None:
    wrong = conformance(wrong_kernels.kernel(tmp_path, ("= sum", "= sum + 1")))
    broken = conformance(wrong_kernels.kernel(tmp_path, ("= sum", "= sum +")))
    stopped = replace(broken, stopped="the time limit was reached")
    expected = [
        (wrong, "proof", "no right case without hazards has m·n·k ≤ 65,536"),
        (wrong, "over-read", "no case that passed declares an over-read"),
        (broken, "hazards", "no case was run to its end"),
        (stopped, "hazards", "the tests were stopped before"),
    ]
    for found, name, reason in expected:
        assert not found.of(name)
        assert found.why_untested(name) == reason
        lines = rendered(*report(found, quiet=False, verbose=False), terminal=False).splitlines()
        assert [line for line in lines if re.fullmatch(rf"{name} +not tested: {reason}", line)]


@pytest.mark.usefixtures("quick")
def test_a_proof_that_is_too_long_for_the_tests_has_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.conform.worker.MOST_PROVED", 1)
    found = conform_kernel("hpsee.simple", "emulator", seed=SEED)
    assert not found.failures
    reason, _, command = found.why_untested("proof").partition("; ")
    assert reason == "no right case without hazards has m·n·k ≤ 65,536"
    assert command.startswith("mmcore prove hpsee.simple -m ")
    assert mmcore(*shlex.split(command)[1:], "--quiet").stdout.startswith("PROVED at ")


@pytest.mark.usefixtures("few")
def test_a_failure_is_shown_on_the_device_that_found_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def on_the_emulator(device: str, target: str, *arguments: Any, **options: Any) -> Any:
        return run("emulator", target, *arguments)

    monkeypatch.setattr(module, "run", on_the_emulator)
    monkeypatch.setattr(module, "device_name", lambda spec: "cuda:0")
    found = conformance(wrong_kernels.kernel(tmp_path, ONE_BARRIER, source=BROADCAST))
    assert (found.device, found.sanitizer) == ("cuda:0", "emulator")
    assert {each.reproduce.split()[1] for each in found.failures} == {"check"}
    assert all("--device emulator" in each.reproduce for each in found.failures)
    assert all("--device cuda:0" in each.reproduce for each in found.of("product"))


@dataclass(frozen=True)
class Rule:
    """A third party's constraint of an unknown class; a function computes its answer."""

    answer: Callable[[Problem, Config], Any]
    description: str = "a rule"

    def violation(self, problem: Problem, config: Config) -> Any:
        return self.answer(problem, config)


def allows(condition: Callable[[Problem, Config], bool]) -> Rule:
    """Return the constraint that a condition holds."""
    return Rule(lambda problem, config: None if condition(problem, config) else "it does not hold")


@pytest.mark.usefixtures("quick")
def test_both_sides_of_a_third_partys_constraint_are_tested(tmp_path: Path) -> None:
    kernel = wrong_kernels.kernel(tmp_path, constraints=(allows(lambda problem, config: problem.n == 2 * problem.m),))
    cases = find_cases(kernel, EMULATOR.properties)
    assert {case.cell.n == 2 * case.cell.m for case in cases.allowed} == {True}
    assert any(case.cell.n == 2 * case.cell.m + 1 for case in cases.violating)
    assert cases.not_found == ()
    assert failing(kernel) == set()


@pytest.mark.parametrize("name", ALL)
def test_the_cases_of_a_lectures_kernel(name: str) -> None:
    kernel = ALL[name]
    cases = find_cases(kernel, EMULATOR.properties)

    def violations(case: Any) -> list[str]:
        return kernel.violations(case.cell.problem(kernel), case.cell.config_of(kernel))

    assert not any(map(violations, cases.allowed))
    assert all(map(violations, cases.violating))
    assert cases.not_found == ()
    for config in kernel.usual_configs:
        tested = [case for case in cases.allowed if case.config == config.id]
        assert 1 < len(tested) <= MOST_PER_CONFIG
        every = [case for case in (*cases.allowed, *cases.violating) if case.config == config.id]
        assert {"prime sizes", "k smaller than the tile", "wide", "tall", "deep"} <= {case.why for case in every}
        assert any({case.cell.m, case.cell.n, case.cell.k} == {1} for case in every)


def allowed(folder: Path, **declared: Any) -> Any:
    """Return the allowed cases of the right kernel."""
    return find_cases(wrong_kernels.kernel(folder, **declared), EMULATOR.properties).allowed


def sizes(cases: Any) -> set[tuple[int, int, int]]:
    return {(case.cell.m, case.cell.n, case.cell.k) for case in cases}


def test_a_size_next_to_every_multiple_is_on_the_other_side() -> None:
    cases = find_cases(ALL["upc.kernel10"], EMULATOR.properties)
    beside = {(15, 16, 16), (17, 16, 16), (16, 15, 16), (16, 17, 16), (16, 16, 15), (16, 16, 17)}
    assert beside <= sizes(cases.violating)
    assert {(16, 16, 16), (32, 16, 16), (16, 32, 16), (16, 16, 32)} <= sizes(cases.allowed)


def test_whole_tiles_of_any_depth_and_the_smallest_sizes_are_tested(tmp_path: Path) -> None:
    depths = {k for _, _, k in sizes(allowed(tmp_path))}
    assert all(any(k % depth == 0 for k in depths) for depth in (8, 16, 24, 32, 40, 48, 60, 64, 96, 128))
    multiples = (Multiple("m", 64), Multiple("n", 64), Multiple("k", 8))
    found = sizes(allowed(tmp_path, constraints=multiples, configs=[{"block": (256, 1)}]))
    assert [min(axis) for axis in zip(*found, strict=True)] == [64, 64, 8]
    assert {8, 16, 32, 64} <= {k for _, _, k in found}


def test_flat_blocks_are_tested_around_their_length(tmp_path: Path) -> None:
    cases = allowed(tmp_path, configs=[{"block": (256, 1)}])
    assert {255, 256, 257} <= {case.cell.n for case in cases}
    assert all(case.work <= 1 << 21 for case in cases)


def test_few_rows_of_a_large_tile_count_as_all_of_its_rows(tmp_path: Path) -> None:
    found = sizes(allowed(tmp_path, configs=[{"block": (256, 1)}], launch=covering_by(128)))
    assert (1, 255, 255) in found
    assert (1, 768, 512) not in found
    assert (1, 768, 512) in sizes(allowed(tmp_path, configs=[{"block": (256, 1)}]))


def test_a_constraint_on_a_parameter_is_violated_by_another_value_of_it(tmp_path: Path) -> None:
    rules = (Multiple("k", "BK"), allows(lambda problem, config: config.BK <= 15))
    kernel = wrong_kernels.kernel(tmp_path, configs=[{"block": (16, 8), "BK": 8}], constraints=rules)
    cases = find_cases(kernel, EMULATOR.properties)
    assert cases.not_found == ()
    assert any(case.cell.config["BK"] == 16 for case in cases.violating)


@pytest.mark.parametrize(
    ("launch", "rows", "columns"),
    [
        (wrong_kernels.covering, 8, 16),
        (covering_by(64), 64, 16),
        (covering_by(100), 100, 16),
        (lambda problem, config, device: Launch((1, problem.m // 32), config.block), 32, USUAL_TILE),
        (lambda problem, config, device: Launch((1, 1), config.block), USUAL_TILE, USUAL_TILE),
        (lambda problem, config, device: Launch((problem.m // (problem.n - 1),), config.block), 15, USUAL_TILE),
    ],
    ids=["block", "tall", "no power of two", "rounding down", "one block for all", "fails for n = 1"],
)
def test_the_tile_follows_from_the_grid(tmp_path: Path, launch: Any, rows: int, columns: int) -> None:
    cases = allowed(tmp_path, launch=launch)
    (tile,) = (case.cell for case in cases if case.why == "a whole tile, k = 8")
    assert (tile.m, tile.n) == (rows, columns)


def test_cases_left_out_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wrong_kernels.kernel(tmp_path)
    every = find_cases(kernel, EMULATOR.properties)
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 3)
    few = find_cases(kernel, EMULATOR.properties)
    assert (len(few.allowed), few.left_out) == (3, every.left_out + len(every.allowed) - 3)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "*: a constraint: it answers True instead of a reason of one line or None (for 2×2×2 with block=16x8)"),
        (ValueError("no"), "*constraint failed: ValueError: no (test_conformance.py:*, for 2×2×2 with block=16x8)"),
    ],
    ids=str,
)
def test_a_constraint_that_does_not_say_why_fails(tmp_path: Path, answer: object, said: str) -> None:
    def of_even_sizes(problem: Problem, config: Config) -> object:
        if isinstance(answer, Exception) and problem.n % 2 == 0:
            raise answer
        return answer if problem.n % 2 == 0 else None

    (failure,) = conformance(wrong_kernels.kernel(tmp_path, constraints=(Rule(of_even_sizes),))).failures
    assert failure.property == "constraints"
    assert fnmatch(failure.reason, said)


def test_a_constraint_that_allows_nothing_fails_and_one_that_forbids_nothing_is_listed(tmp_path: Path) -> None:
    forbidding = wrong_kernels.kernel(tmp_path, constraints=(allows(lambda *asked: False),))
    with pytest.raises(InvalidKernel, match="no product was found that is allowed with block=16x8"):
        find_cases(forbidding, EMULATOR.properties)
    assert failing(forbidding) == {"constraints"}
    allowing = wrong_kernels.kernel(tmp_path, constraints=(allows(lambda *asked: True),))
    assert find_cases(allowing, EMULATOR.properties).not_found == (("constraints", "a rule"),)


@pytest.mark.usefixtures("few")
def test_a_violation_that_is_not_refused_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore.planning.plan.plan", lambda *asked, force: plan(*asked, force=True))
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(Multiple("k", 4),)))
    assert {each.property for each in found.failures} == {"constraints"}
    ((common, _),) = groups(found.of("constraints"))
    assert common == "every case"


@pytest.mark.usefixtures("few")
def test_a_kernels_own_architecture_is_tested_where_it_runs(tmp_path: Path) -> None:
    kernel = wrong_kernels.kernel(tmp_path, architecture="90a", min_compute_capability=(9, 0))
    tested = [each.what for each in conformance(kernel).of("geometry") if each.outcome == PASSED]
    assert tested == ["compute capability 9.0, b16x8"]


def asking_for(nbytes: int) -> wrong_kernels.LaunchRule:
    """Return the rule that covers C with blocks of a size of dynamic shared memory, in bytes."""
    return lambda *asked: replace(wrong_kernels.covering(*asked), shared_bytes=nbytes)


@pytest.mark.usefixtures("few")
def test_capabilities_with_less_shared_memory_than_a_launch_asks_for_are_skipped(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, launch=asking_for(120_000)))
    assert found.conforms
    geometry = {each.what.partition(",")[0].split()[-1]: each for each in found.of("geometry")}
    lacking = [name for name, each in geometry.items() if each.outcome == SKIPPED]
    assert {"7.5", "8.6", "8.9"} <= set(lacking)
    assert {"8.0", "9.0", "10.0"}.isdisjoint(lacking)
    assert "120000 bytes of dynamic shared memory; the device allows 65536" in geometry["7.5"].reason


@pytest.mark.usefixtures("few")
def test_static_and_dynamic_shared_memory_count_together(tmp_path: Path) -> None:
    kept = "__shared__ volatile float kept[10000];\n    kept[threadIdx.x + 16 * threadIdx.y] = 0;\n    float sum"
    kernel = wrong_kernels.kernel(tmp_path, ("float sum", kept), launch=asking_for(30_000))
    found = conformance(kernel)
    assert found.conforms
    (skipped,) = (each for each in found.of("geometry") if each.outcome == SKIPPED)
    assert skipped.what == "compute capability 7.5, b16x8"
    assert skipped.reason.startswith("no block can run on compute capability 7.5: ")


@pytest.mark.usefixtures("few")
def test_source_that_does_not_compile_leaves_nothing_that_passes(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, ("float sum", "flaot sum")))
    assert {each.property for each in found.failures} == {"product", "geometry"}
    assert found.of("written") == ()
    ((common, failures),) = groups(found.of("product"))
    assert (common, len(failures)) == ("every case", len(found.of("product")))


@pytest.mark.usefixtures("quick")
def test_a_rule_that_raises_leaves_no_product(tmp_path: Path) -> None:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        if problem.n == 17:
            raise ValueError("not 17")
        return wrong_kernels.covering(problem, config, device)

    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch))
    assert {each.property for each in found.failures} == {"product", "geometry"}
    assert all("its launch rule failed: ValueError: not 17" in each.reason for each in found.failures)
    assert all("-n 17 " in each.reproduce for each in found.failures if each.property == "geometry")


@pytest.mark.usefixtures("varied")
def test_several_launches_conform() -> None:
    assert failing(SPLIT_K) == set()


@pytest.mark.usefixtures("few")
def test_a_kernel_that_the_device_does_not_support_is_untested(tmp_path: Path) -> None:
    unknown = "sum + tex1Dfetch<int>((cudaTextureObject_t)C, 0);"
    found = conformance(wrong_kernels.kernel(tmp_path, ("= sum;", f"= {unknown}")))
    assert found.untested.startswith("the emulator does not know the instruction tex.1d")
    assert (found.failures, found.conforms) == ((), False)
    later = conformance(wrong_kernels.kernel(tmp_path, min_compute_capability=(10, 0)))
    assert later.untested == "tests.own: it needs compute capability 10.0; emulator has 9.0"


@pytest.mark.parametrize(
    ("change", "common"),
    [
        (("p < k", "p < (k % 64 ? k - 1 : k)"), "k not a multiple of 64"),
        (("p < k", "p < (m == n && n == k ? k : k - 1)"), "m, n and k not all equal"),
        (("= sum;", "= n > 17 ? 0.0f : sum;"), "n from 18 on"),
        (("= sum;", "= blockDim.x == 8 ? 0.0f : sum;"), "b8 alone"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.usefixtures("varied")
def test_failing_cases_are_grouped_by_cause(tmp_path: Path, change: tuple[str, str], common: str) -> None:
    blocks = ((16, 8), (8, 8)) if "alone" in common else ((16, 8),)
    found = conformance(wrong_kernels.kernel(tmp_path, change, configs=[{"block": each} for each in blocks]))
    ((said, failures),) = groups(found.of("product"))
    assert said.startswith(common)
    assert len(failures) == len(found.failures) > 2
    smallest = failures[0].case
    assert smallest is not None
    assert all(each.case is not None and each.case.work >= smallest.work for each in failures)


COMMAND = ("--device", "emulator", "--seed", "3")


@pytest.mark.usefixtures("few")
def test_the_command_shows_a_summary_first_and_every_case_when_verbose() -> None:
    asked = ("conform", "hpsee.simple", *COMMAND)
    result = mmcore(*asked, "--verbose")
    verbose = result.stdout.splitlines()
    assert (result.exit_code, verbose[0]) == (0, "hpsee.simple: CONFORMS")
    passed = r"passed   1×1×1 with b16 \(.*\): product, written, bounds, inputs, repeatable, hazards"
    why = "it takes square matrices only, and m, n and k are 17, 16 and 16"
    violated = rf"passed   17×16×16 with b16 \(more m\): constraints \({why}\)"
    for pattern in (passed, violated):
        assert any(re.fullmatch(pattern, line) for line in verbose)
    (count,) = (line.split()[1] for line in verbose if re.fullmatch(r"product +\d+ passed", line))
    lines = mmcore(*asked).stdout.splitlines()
    assert (lines[0], f"product      {count} passed" in lines, len(lines) < 20) == (verbose[0], True, True)
    assert mmcore(*asked, "--quiet").stdout == f"{verbose[0]}\n"
    (simple,) = json.loads(mmcore("conform", "hpsee.simpl*", *COMMAND, "--json").stdout)
    assert (simple["kernel"], simple["conforms"], simple["seed"]) == ("hpsee.simple", True, 3)
    assert simple["properties"]["product"] == {"passed": int(count)}
    first = simple["cases"][0]
    assert {*first} == {"property", "case", "outcome", "reason", "reproduce", "problem", "config"}
    assert (first["problem"], first["config"]) == ({"m": 1, "n": 1, "k": 1, "lda": 0, "ldb": 0, "ldc": 0}, "b16")


@pytest.mark.parametrize(("words", "lines"), [((), True), (("--quiet",), False)])
def test_progress_is_printed_without_a_terminal_unless_quiet(
    words: tuple[str, ...], lines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "_SECONDS", 0.0)
    said = mmcore("conform", "hpsee.simple", *COMMAND, *words).stderr
    assert bool(re.search(r"^hpsee\.simple: [1-9]\d* of \d+ tests are done; next: .", said, re.M)) == lines


@pytest.mark.usefixtures("few")
def test_options_select_one_config_which_the_command_to_repeat_names() -> None:
    result = mmcore("conform", "upc.kernel11", "--block", "8", *COMMAND, "--json")
    assert result.exit_code == 0
    cases = json.loads(result.stdout)[0]["cases"]
    assert {each["config"] for each in cases if each["property"] == "product"} == {"b8-TILE8"}
    assert any("conform upc.kernel11 --block 8x8" in each["reproduce"] for each in cases)


@pytest.mark.usefixtures("few")
def test_all_configs_of_a_space_are_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space({"block": ((16, 8), (8, 8), (4, 4))}, default=[{"block": (16, 8)}])
    kernel = wrong_kernels.kernel(tmp_path, configs=space)
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("own", "tests")))
    result = mmcore("conform", kernel.name, "--all", *COMMAND, "--json")
    (found,) = json.loads(result.stdout)
    assert {each["config"] for each in found["cases"] if each["property"] == "product"} == {"b16x8", "b8", "b4"}
    assert (result.exit_code, found["left_out_configs"]) == (0, 0)


@pytest.mark.usefixtures("few")
def test_configs_that_are_not_tested_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space({"block": ((16, 8), (8, 8), (4, 4))}, default=[{"block": (16, 8)}, {"block": (8, 8)}])
    kernel = wrong_kernels.kernel(tmp_path, configs=space)
    found = conformance(kernel)
    assert summary(found) == "tests.own: CONFORMS in 2 of 3 configs"
    table = rendered(*report(found, quiet=False, verbose=False), terminal=False)
    assert re.search(r"^tested +2 of 3 configs; --config selects another, --all every one$", table, re.MULTILINE)
    assert found.to_json()["left_out_configs"] == 1
    monkeypatch.setattr(module, "MOST_COUNTED", 1)
    assert conformance(kernel, configs=[kernel.config((4, 4))]).configs == "1 of at least 2 configs"
    every = conformance(wrong_kernels.kernel(tmp_path, configs=[{"block": (16, 8)}, {"block": (8, 8)}]))
    assert (summary(every), every.left_out_configs) == ("tests.own: CONFORMS", 0)


@pytest.mark.usefixtures("few")
def test_a_file_conforms_in_its_usual_reading_and_for_the_capability_that_an_option_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CAPABILITIES", ("7.5",))
    monkeypatch.chdir(tmp_path)
    text = kernel_source("guarded")
    (tmp_path / "adds.cu").write_text(text.replace("] = sum", "] += sum"))
    wrong = mmcore("conform", "adds.cu", *COMMAND)
    assert (wrong.exit_code, "right only if read as C = C + A·B" in wrong.stdout) == (1, True)
    (tmp_path / "transposed.cu").write_text(text.replace("B[i * n + col]", "B[col * k + i]"))
    transposed = mmcore("conform", "transposed.cu", *COMMAND)
    assert (transposed.exit_code, "as B stored by columns" in transposed.stdout) == (1, True)
    (tmp_path / "new.cu").write_text(text.replace("float sum", 'asm volatile("cp.async.wait_all;"); float sum'))
    assert mmcore("conform", "new.cu", *COMMAND).exit_code == 1
    assert mmcore("conform", "new.cu", "--arch", "8.0", *COMMAND).exit_code == 0


@pytest.mark.usefixtures("varied")
def test_the_command_shows_one_failure_of_each_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wrong_kernels.kernel(tmp_path, ("p < k", "p < (k % 64 ? k - 1 : k)"))
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("own", "tests")))
    result = mmcore("conform", kernel.name, *COMMAND)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == f"{kernel.name}: DOES NOT CONFORM: product"
    (failure,) = (number for number, line in enumerate(lines) if line.startswith("FAIL "))
    assert "cases, all with k not a multiple of 64; the smallest, 1×1×1 with b16x8" in lines[failure]
    assert lines[failure + 1].startswith(f"  $ mmcore run {kernel.name} -m 1 -n 1 -k 1 ")
    assert "--seed 3" in lines[failure + 1]


def conform_by_pytest(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    always = ("--pyargs", "mmcore_tools.conform", "-p", "no:cacheprovider", "--mm-device", "emulator")
    return pytester.runpytest_inprocess(*always, *options)


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_pytest_tests_each_property(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wrong_kernels.kernel(tmp_path, *FOURS)
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("own", "tests")))
    result = conform_by_pytest(pytester, "--mm-kernel", f"hpsee.simple,{kernel.name}", "-v")
    # Neither declares an over-read.
    result.assert_outcomes(passed=2 * len(PROPERTIES) - 3, skipped=2, failed=1)
    failure = (f"*{kernel.name}, product: {PROPERTIES['product']}", "*$ mmcore run *")
    result.stdout.fnmatch_lines(["*test_conforms[[]hpsee.simple-product[]] PASSED*", *failure])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mm-kernel", "acme.*"), "no kernel's name matches 'acme.*'"),
        (("--mm-kernel", "*naive_guard*"), "kernels with known bugs must be named"),
        (("--mm-size", "64"), "leave out --mm-size"),
    ],
    ids=str,
)
def test_pytest_says_why_nothing_is_tested(pytester: pytest.Pytester, options: tuple[str, ...], said: str) -> None:
    result = conform_by_pytest(pytester, *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*{said}*"])


def outcomes_by_size(**sizes: tuple[tuple[int, int, int], ...]) -> list[Outcome]:
    """Return the outcomes of products by their sizes, as FAILED=((2, 2, 2),)."""
    cases = ((outcome, Case(Cell("tests.own", *each), "b16", "a size")) for outcome in sizes for each in sizes[outcome])
    return [Outcome("product", str(case), outcome, "wrong", "$", case) for outcome, case in cases]


WHOLE = ((64, 64, 64), (128, 128, 128))
TWO = ((64, 128, 32), (128, 64, 96))


def test_two_failures_have_no_common_condition() -> None:
    ((common, failures),) = groups(outcomes_by_size(passed=WHOLE, failed=TWO))
    assert (common, len(failures)) == ("", 2)
    ((common, failures),) = groups(outcomes_by_size(passed=WHOLE, failed=(*TWO, (64, 64, 97))))
    assert (common, len(failures)) == ("m, n and k not all equal", 3)


@pytest.mark.parametrize(
    ("config", "common"),
    [
        ({}, "k not a multiple of 8"),
        ({"BK": 8, "TK": 4}, "k not a multiple of 8 = BK"),
        ({"TM": 8, "TN": 8}, "k not a multiple of 8"),
        ({"TM": 8, "BK": 8}, "k not a multiple of 8 = BK"),
    ],
)
def test_the_largest_multiple_that_explains_failures_is_named(config: dict[str, int], common: str) -> None:
    passed = ((64, 64, 8), (64, 64, 24), (64, 128, 64))
    outcomes = outcomes_by_size(passed=passed, failed=((64, 64, 1), (64, 64, 3), (64, 128, 9)))
    assert [name for name, _ in groups([with_config(each, config) for each in outcomes])] == [common]


def test_sizes_that_no_failure_sets_apart_are_named_together() -> None:
    failed = ((129, 130, 1), (129, 131, 33), (65, 129, 35))
    outcomes = outcomes_by_size(passed=((128, 128, 8), (128, 64, 24), (64, 128, 64)), failed=failed)
    ((common, _),) = groups(outcomes)
    assert common == "m not a multiple of 64 and n not a multiple of 64 and k not a multiple of 8"


def test_a_multiple_may_be_a_parameter_that_differs_from_config_to_config() -> None:
    eight = outcomes_by_size(passed=((64, 64, 8), (64, 64, 24)), failed=((64, 64, 4), (64, 64, 12)))
    four = outcomes_by_size(passed=((64, 64, 4), (64, 64, 12)), failed=((64, 64, 6),))
    outcomes = [with_config(each, {"BK": value}) for value, several in ((8, eight), (4, four)) for each in several]
    ((common, failures),) = groups(outcomes)
    assert (common, len(failures)) == ("k not a multiple of BK", 3)


def with_config(outcome: Outcome, config: dict[str, int]) -> Outcome:
    assert outcome.case is not None
    return replace(outcome, case=replace(outcome.case, cell=replace(outcome.case.cell, config=config)))


@pytest.mark.parametrize(
    ("passed", "steps", "cause"),
    [
        (WHOLE, "k / 64 * 64", "; line 8 counts k / 64 whole steps and leaves the rest of k out"),
        ((*WHOLE, (64, 64, 96)), "k / 64 * 64", ""),
        (WHOLE, "k", ""),
    ],
    ids=["a rest of k", "right with a rest of k", "no steps"],
)
def test_two_failures_with_a_rest_of_k_name_the_loop_that_leaves_it_out(
    tmp_path: Path, passed: tuple[tuple[int, int, int], ...], steps: str, cause: str
) -> None:
    kernel = wrong_kernels.kernel(tmp_path, ("p < k", f"p < {steps}"))
    found = Conformance(kernel, "emulator", "emulator", SEED, tuple(outcomes_by_size(passed=passed, failed=TWO)))
    said = report(found, quiet=False, verbose=False)[-1]
    assert said == f"\nFAIL product: 2 cases; the smallest, 64×128×32 with b16 (a size): wrong{cause}\n  $ $"


@pytest.mark.parametrize(
    ("failed", "common"),
    [
        ((64, 64, 24), "m and n are multiples of 64 and k is a multiple of 16."),
        ((32, 64, 32), "m and n are multiples of 64 and k is a multiple of 16."),
        ((64, 64, 48), None),
    ],
)
def test_the_multiples_that_separate_passed_from_failed_cases_are_named(
    tmp_path: Path, failed: tuple[int, int, int], common: str | None
) -> None:
    outcomes = outcomes_by_size(passed=(*WHOLE, (64, 128, 80)), failed=(failed,))
    found = Conformance(wrong_kernels.kernel(tmp_path), "emulator", "emulator", SEED, tuple(outcomes))
    said = str(report(found, quiet=False, verbose=False)[-1])
    assert said.partition("have this in common: ")[2] == (common or "")


@pytest.mark.parametrize(("failed", "said"), [((64, 64, 24), True), ((64, 64, 96), False)])
def test_failures_at_sizes_that_the_program_does_not_use_are_said_to_be_such(
    tmp_path: Path, failed: tuple[int, int, int], said: bool
) -> None:
    kernel = replace(wrong_kernels.kernel(tmp_path), program_sizes=(Multiple(("m", "n", "k"), 32),))
    outcomes = outcomes_by_size(passed=WHOLE, failed=(failed,))
    shown = summary(Conformance(kernel, "emulator", "emulator", SEED, tuple(outcomes)))
    sizes = "; its program uses only sizes where m, n and k are multiples of 32"
    assert shown == f"{kernel.name}: DOES NOT CONFORM: product{sizes if said else ''}"


def test_multiples_that_separate_all_cases_make_one_group_of_each_property(tmp_path: Path) -> None:
    rows, depths = ((80, 64, 64), (96, 64, 64), (112, 64, 64)), ((64, 64, 24), (64, 64, 40), (64, 64, 56))
    outcomes = outcomes_by_size(passed=(*WHOLE, (64, 128, 80)), failed=(*rows, *depths))
    assert len(groups(outcomes)) > 1
    found = Conformance(wrong_kernels.kernel(tmp_path), "emulator", "emulator", SEED, tuple(outcomes))
    failures = [str(each) for each in report(found, quiet=False, verbose=False) if "FAIL" in str(each)]
    common = "none where m and n are multiples of 64 and k is a multiple of 16"
    assert failures == [f"\nFAIL product: 6 cases, {common}; the smallest, 64×64×24 with b16 (a size): wrong\n  $ $"]
