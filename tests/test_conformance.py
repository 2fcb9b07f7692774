"""Conformance: the lectures' kernels pass, and what is wrong with a kernel fails in the aspect that it is wrong in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore import Dim3, Int32Index, Kernel, Launch, DeviceProperties, Multiple, NoDevice, Problem, Square
from mmcore.api import device as opened
from mmcore_emulator.sanitizer.over_read import over_read_elements
from mmcore_conform.cases import MOST_PER_BLOCK, find_cases
from mmcore_conform.conform import Conformance, conform_kernel, watching_device
from mmcore_conform.fitting import CAPABILITIES
from mmcore_conform.refusing import refusal_trials
from mmcore_conform.tiling import USUAL_TILE, tile
from mmcore_conform.trial import ASPECTS, FAILED, PASSED, UNTRIED, Setting
from mmcore_conform.wishes import USUAL_WORK
from mmcore.errors import InvalidKernel
from mmcore.devices.base import Device
from mmcore.planning.plan import plan
from tests import wrong_kernels
from tests.command_line import mmcore
from tests.modern import SPLIT_K, TENSOR_MAP
from tests.test_kernels import KERNELS
from tests.wrong_kernels import BROADCAST, ROW_BY_ROW, SIXTY_FOUR_ROWS, covering_by, reading_past, rounding_down

RIGHT = [kernel for kernel in KERNELS if not kernel.known_bugs]
FAULTY = "upc.kernel11_naive_guard"
SEED = 5
LIMITS = opened("emulator").limits


def conformance(kernel: Kernel, *, watched: bool = True) -> Conformance:
    emulator = opened("emulator")
    return conform_kernel(kernel, emulator, emulator if watched else None, seed=SEED)


def failing(kernel: Kernel, *, watched: bool = True) -> set[str]:
    """The aspects that a kernel fails in."""
    return {trial.aspect for trial in conformance(kernel, watched=watched).failures}


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_a_lectures_kernel_conforms(device: Device, kernel: Kernel) -> None:
    found = conform_kernel(kernel, device, watching_device(device))
    assert found.conforms, found.failures
    tried = [trial for trial in found.trials if trial.verification != UNTRIED]
    assert {trial.aspect for trial in tried} >= set(ASPECTS) - {"over-read"}
    assert {trial.what.rpartition(", ")[2] for trial in found.of("geometry")} == {
        f"{Dim3(*block)} blocks" for block in kernel.blocks
    }


def test_the_known_faulty_kernel_fails_for_what_it_declares_and_for_nothing_else() -> None:
    kernel = api.kernels()[FAULTY]
    found = conformance(kernel)
    assert {trial.aspect for trial in found.failures} == {"known-violations"}
    declared, *evidence = (trial.reason for trial in found.failures)
    assert all(sentence in declared for sentence in kernel.known_bugs)
    assert any("elements compared are wrong" in reason for reason in evidence)
    assert any(reason.startswith("divergent-barrier") for reason in evidence)


def test_every_failures_command_shows_what_failed() -> None:
    _, *failures = conformance(api.kernels()[FAULTY]).failures
    for failure in failures:
        program, *arguments = shlex.split(failure.reproduce)
        result = mmcore(*arguments)
        assert (program, result.exit_code) == ("mmcore", 1)
        # What a check says stands on two lines; a run's complaint on two as well.
        assert failure.reason.split("; ")[0].split(": ", 1)[-1] in result.stdout


def test_a_right_kernel_conforms(tmp_path: Path) -> None:
    assert failing(wrong_kernels.kernel(tmp_path)) == set()


@dataclass(frozen=True)
class Wrong:
    """Changes of the right kernel, and the one aspect in which it is wrong then."""

    aspect: str
    changes: tuple[tuple[str, str], ...] = ()
    declared: Callable[[], dict[str, Any]] = dict


AHEAD = ("sum += A", "sum += 0.0f * (*(const volatile float*)(A + row * k + p + 2) != 7.0f) + A")
FOURS = (
    ("p < k; ++p)", "p + 3 < k; p += 4)"),
    (
        "sum += A[row * k + p] * B[p * n + column];",
        "for (int q = p; q < p + 4; ++q) sum += A[row * k + q] * B[q * n + column];",
    ),
)


WRONG = {
    "no bounds test for the rows": Wrong("bounds", (("row >= m || ", ""),)),
    "a write before the start": Wrong("bounds", (("= sum;", "= sum; if (row + column == 0) C[-1] = sum;"),)),
    "too little over-read": Wrong("over-read", (AHEAD,), lambda: {"launch": reading_past(A=1)}),
    "an over-read that nobody needs": Wrong("over-read", (), lambda: {"launch": reading_past(B=16)}),
    "an over-read too large": Wrong("over-read", (AHEAD,), lambda: {"launch": reading_past(A=3)}),
    "the last k dropped": Wrong("product", (("p < k", "p < k - 1"),)),
    "a stale result": Wrong("repeatable", (("= sum;", "= C[row * n + column] == C[row * n + column] ? 1.0f : sum;"),)),
    "fewer blocks than needed": Wrong("written", (), lambda: {"launch": rounding_down}),
    "a constraint missing": Wrong("product", FOURS),
    "the last column not written": Wrong("written", (("column >= n", "column >= n - 1"),)),
    "a block too large": Wrong("geometry", (), lambda: {"blocks": ((16, 8), (64, 32))}),
    "no known violation, but declared": Wrong("known-violations", (), lambda: {"known_bugs": ("It is slow.",)}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_fails_in_that_aspect_alone(tmp_path: Path, wrong: Wrong) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, *wrong.changes, **wrong.declared()))
    assert {trial.aspect for trial in found.failures} == {wrong.aspect}, found.failures
    assert all(trial.reason and trial.reproduce.startswith("mmcore ") for trial in found.failures)


def test_an_overwritten_input_fails_for_it_alone(tmp_path: Path) -> None:
    after = ("    }\n}\n", "    }\n    const_cast<float*>(A)[row * k] = 1.0f;\n}\n")
    assert failing(wrong_kernels.kernel(tmp_path, after, source=ROW_BY_ROW)) == {"inputs"}
    assert failing(wrong_kernels.kernel(tmp_path, source=ROW_BY_ROW)) == set()


def test_a_race_fails_for_it_alone(tmp_path: Path) -> None:
    second_barrier = ("        __syncthreads();  // before the next is written\n", "")
    assert failing(wrong_kernels.kernel(tmp_path, second_barrier, source=BROADCAST)) == {"hazards"}
    assert failing(wrong_kernels.kernel(tmp_path, source=BROADCAST)) == set()


def test_a_tile_larger_than_the_block_is_left_behind(tmp_path: Path) -> None:
    def kernel(rows: int) -> Kernel:
        return wrong_kernels.kernel(tmp_path, source=SIXTY_FOUR_ROWS, launch=covering_by(rows), blocks=((32,),))

    assert failing(kernel(64)) == set()
    # Too few blocks, but only from the 65th row on.
    assert failing(kernel(128)) == {"written"}
    never_again = (
        "sum += A[row * k + p] * B[p * n + column]",
        "sum += p < 256 ? A[row * k + p] * B[p * n + column] : 0.0f",
    )
    assert failing(wrong_kernels.kernel(tmp_path, never_again)) == {"product"}


def test_what_a_device_cannot_watch_is_said_and_a_stale_result_found_by_running_twice(tmp_path: Path) -> None:
    stale = wrong_kernels.kernel(tmp_path, *WRONG["a stale result"].changes)
    found = conformance(stale, watched=False)
    assert {trial.aspect for trial in found.failures} == {"repeatable"}
    assert "run twice on the same inputs, element (0, 0) of C is " in found.failures[0].reason
    assert {trial.verification for trial in found.of("hazards")} == {UNTRIED}


@pytest.mark.parametrize("constraints", [(Multiple("k", of=4),), (Square(), Multiple("k", of=32)), (Int32Index(),)])
def test_the_right_constraint_and_a_stricter_one_make_it_conform(tmp_path: Path, constraints: tuple[Any, ...]) -> None:
    kernel = wrong_kernels.kernel(tmp_path, *FOURS, constraints=constraints)
    assert failing(kernel) == ({"product"} if constraints == (Int32Index(),) else set())


def test_the_right_over_read_conforms(tmp_path: Path) -> None:
    assert failing(wrong_kernels.kernel(tmp_path, AHEAD, launch=reading_past(A=2))) == set()


def test_a_write_between_the_rows_of_a_strided_c_is_out_of_bounds(tmp_path: Path) -> None:
    strided = (
        ("int k)", "int k, int ldc)"),
        ("C[row * n + column] = sum;", "C[row * ldc + column] = sum;"),
    )
    declared: dict[str, Any] = {"arguments": ("A", "B", "C", "m", "n", "k", "ldc"), "constraints": (PackedInputs(),)}
    assert failing(wrong_kernels.kernel(tmp_path, *strided, **declared)) == set()
    stray = ("= sum;", "= sum; if (column == n - 1 && row < m - 1 && ldc > n) C[row * ldc + n] = sum;")
    assert failing(wrong_kernels.kernel(tmp_path, *strided, stray, **declared)) == {"bounds"}


@dataclass(frozen=True)
class PackedInputs:
    """A third party's constraint: the rows of A and B follow one another."""

    sentence: str = "A and B are packed"

    def refusal(self, problem: Problem, block: Dim3) -> str | None:
        packed = (problem.lda, problem.ldb) == (problem.k, problem.n)
        return None if packed else "there are gaps between the rows of A or B"


@dataclass(frozen=True)
class Wide:
    """A third party's constraint, of a class that nobody knows: n is twice m."""

    sentence: str = "n = 2·m"

    def refusal(self, problem: Problem, block: Dim3) -> str | None:
        return None if problem.n == 2 * problem.m else f"n = {problem.n} is not twice m = {problem.m}"


def test_cases_lie_on_both_sides_of_a_constraint_of_a_strangers_class(tmp_path: Path) -> None:
    kernel = wrong_kernels.kernel(tmp_path, constraints=(Wide(),))
    cases = find_cases(kernel, LIMITS)
    assert {case.problem.n == 2 * case.problem.m for case in cases.allowed} == {True}
    assert any(case.problem.n == 2 * case.problem.m + 1 for case in cases.refused)
    assert cases.unbroken == ()
    assert failing(kernel) == set()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_cases_of_a_lectures_kernel(kernel: Kernel) -> None:
    cases = find_cases(kernel, LIMITS)
    assert {case.block for case in cases.allowed} == set(kernel.blocks)
    assert all(not kernel.refusals(case.problem, case.block) for case in cases.allowed)
    assert all(kernel.refusals(case.problem, case.block) for case in cases.refused)
    for constraint in kernel.constraints:
        # Each is broken somewhere, and alone.
        alone = [constraint.refusal(case.problem, case.block) for case in cases.refused]
        assert any(alone), constraint
    for block in kernel.blocks:
        tried = [case for case in cases.allowed if case.block == block]
        assert 1 < len(tried) <= MOST_PER_BLOCK
        every = [case.why for case in (*cases.allowed, *cases.refused) if case.block == block]
        assert {"prime sizes", "k smaller than the tile", "wide", "tall", "deep"} <= set(every)
        assert any({case.problem.m, case.problem.n, case.problem.k} == {1} for case in (*tried, *cases.refused))


def test_a_size_next_to_every_multiple_is_on_the_other_side() -> None:
    cases = find_cases(api.kernels()["upc.kernel10"], LIMITS)
    sizes = {(case.problem.m, case.problem.n, case.problem.k) for case in cases.refused if case.block == (16, 16, 1)}
    assert {(15, 16, 16), (17, 16, 16), (16, 15, 16), (16, 17, 16), (16, 16, 15), (16, 16, 17)} <= sizes
    allowed = {(case.problem.m, case.problem.n, case.problem.k) for case in cases.allowed}
    assert {(16, 16, 16), (32, 16, 16), (16, 32, 16), (16, 16, 32)} <= allowed


def test_a_mistake_in_whole_tiles_alone_is_found_although_they_are_larger_than_the_block(tmp_path: Path) -> None:
    whole = "blockIdx.y * 64 + 64 <= m && column / 16 * 16 + 16 <= n"
    tiles: dict[str, Any] = {"source": SIXTY_FOUR_ROWS, "launch": covering_by(64), "blocks": ((16,),)}
    change = ("[row * n + column] = sum", f"[row * n + column] = {whole} ? -sum : sum")
    assert failing(wrong_kernels.kernel(tmp_path, change, **tiles)) == {"product"}


@pytest.mark.parametrize("depth", [8, 16, 24, 32, 40, 48, 60, 64, 96, 128])
def test_a_mistake_where_k_is_a_multiple_of_the_tiles_depth_is_found(tmp_path: Path, depth: int) -> None:
    kernel = wrong_kernels.kernel(tmp_path, ("p < k;", f"p < (k % {depth} == 0 ? k - 1 : k);"))
    assert failing(kernel) == {"product"}


def test_the_smallest_sizes_allowed_are_tried(tmp_path: Path) -> None:
    multiples = (Multiple("m", 64), Multiple("n", 64), Multiple("k", 8))
    cases = find_cases(wrong_kernels.kernel(tmp_path, constraints=multiples, blocks=((256,),)), LIMITS)
    sizes = [(case.problem.m, case.problem.n, case.problem.k) for case in cases.allowed]
    assert [min(axis) for axis in zip(*sizes, strict=True)] == [64, 64, 8]
    assert {8, 16, 32, 64} <= {k for _, _, k in sizes}


@pytest.mark.parametrize(
    ("launch", "rows", "columns"),
    [
        (wrong_kernels.covering, 8, 16),
        (covering_by(64), 64, 16),
        (covering_by(100), 100, 16),
        (lambda problem, block, limits: Launch(grid=(problem.n // 48, problem.m // 32), block=block), 32, 48),
        (lambda problem, block, limits: Launch(grid=(1, 1), block=block), USUAL_TILE, USUAL_TILE),
        (lambda problem, block, limits: Launch(grid=(problem.m // (problem.n - 1),), block=block), 64, USUAL_TILE),
    ],
    ids=["block", "tall", "no power of two", "rounding down", "one block for all", "fails for n = 1"],
)
def test_the_rule_tells_how_large_a_tile_is(tmp_path: Path, launch: Any, rows: int, columns: int) -> None:
    kernel = wrong_kernels.kernel(tmp_path, launch=launch)
    assert tile(kernel, kernel.problem(65, 65, 65), Dim3(16, 8), LIMITS) == (rows, columns)


def test_what_is_left_out_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = wrong_kernels.kernel(tmp_path)
    every = find_cases(kernel, LIMITS)
    monkeypatch.setattr("mmcore_conform.cases.MOST_PER_BLOCK", 3)
    few = find_cases(kernel, LIMITS)
    assert len(few.allowed) == 3
    assert few.left_out == every.left_out + len(every.allowed) - 3


@dataclass(frozen=True)
class Odd:
    """A constraint that misbehaves."""

    answer: Any
    sentence: str = "it is odd"

    def refusal(self, problem: Problem, block: Dim3) -> Any:
        if isinstance(self.answer, Exception) and problem.n % 2 == 0:
            raise self.answer
        return self.answer if problem.n % 2 == 0 else None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "tests.own: a constraint: it answers True instead of a reason or None (for 2×2×2 in 16×8 blocks)"),
        (
            ValueError("no"),
            "tests.own: a constraint failed: ValueError: no (test_conformance.py:*, for 2×2×2 in 16×8 blocks)",
        ),
        (" ", "tests.own: a constraint: it answers ' ' instead of a reason or None (for 2×2×2 in 16×8 blocks)"),
    ],
    ids=str,
)
def test_a_constraint_that_does_not_say_why_fails(tmp_path: Path, answer: object, said: str) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(Odd(answer),)))
    assert {trial.aspect for trial in found.failures} == {"refusals"}
    assert all(fnmatch(trial.reason, said) for trial in found.failures)


@dataclass(frozen=True)
class Never:
    """Allows nothing at all, or everything."""

    reason: str | None
    sentence: str = "never"

    def refusal(self, problem: Problem, block: Dim3) -> str | None:
        return self.reason


def test_a_constraint_that_allows_nothing_fails_and_one_that_forbids_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidKernel, match="no product was found that is allowed in 16×8 blocks"):
        find_cases(wrong_kernels.kernel(tmp_path, constraints=(Never("not today"),)), LIMITS)
    assert failing(wrong_kernels.kernel(tmp_path, constraints=(Never("not today"),))) == {"refusals"}
    found = conformance(wrong_kernels.kernel(tmp_path, constraints=(Never(None),)))
    (untried,) = (trial for trial in found.of("refusals") if trial.verification == UNTRIED)
    assert (untried.what, found.conforms) == ("never", True)


def test_a_refusal_that_comes_too_late_or_not_at_all_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, emulator = wrong_kernels.kernel(tmp_path), opened("emulator")
    monkeypatch.setattr("mmcore.experiment.plan", lambda *asked, force: plan(*asked, force=True))
    trials = refusal_trials(
        kernel, find_cases(kernel, LIMITS), emulator.limits, Setting(kernel.name, "emulator", "", SEED)
    )
    assert {trial.verification for trial in trials} == {FAILED}
    assert "it is not refused: the device was asked for its architecture" in {trial.reason for trial in trials}


def test_blocks_in_a_row_are_tried_around_their_length(tmp_path: Path) -> None:
    cases = find_cases(wrong_kernels.kernel(tmp_path, blocks=((256,),)), LIMITS)
    assert {255, 256, 257} <= {case.problem.n for case in cases.allowed}
    assert all(case.work <= USUAL_WORK for case in cases.allowed)
    assert cases.left_out == 0


def test_an_architecture_of_its_own_is_tried_where_it_runs(tmp_path: Path) -> None:
    kernel = wrong_kernels.kernel(tmp_path, architecture="90a", min_compute_capability=(9, 0))
    tried = [trial.what for trial in conformance(kernel).of("geometry") if trial.verification == PASSED]
    assert tried == ["compute capability 9.0, 16×8 blocks"]


def test_shared_memory_that_some_capability_has_not_fails_unless_a_later_one_is_required(tmp_path: Path) -> None:
    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        return replace(wrong_kernels.covering(problem, block, limits), shared_bytes=80_000)

    kernel = wrong_kernels.kernel(tmp_path, launch=launch)
    (failure,) = conformance(kernel).failures
    assert (failure.aspect, failure.what) == ("geometry", "compute capability 7.5, 16×8 blocks")
    assert "80000 bytes of dynamic shared memory; the device allows 65536" in failure.reason
    assert "--cc 7.5" in failure.reproduce
    later = conformance(replace(kernel, min_compute_capability=(8, 0)))
    assert later.conforms
    assert [trial.verification for trial in later.of("geometry")] == [UNTRIED] + [PASSED] * (len(CAPABILITIES) - 1)


def test_static_and_dynamic_shared_memory_count_together(tmp_path: Path) -> None:
    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        return replace(wrong_kernels.covering(problem, block, limits), shared_bytes=30_000)

    static = (
        "float sum",
        "__shared__ volatile float kept[10000];\n    kept[threadIdx.x + 16 * threadIdx.y] = 0;\n    float sum",
    )
    (failure,) = conformance(wrong_kernels.kernel(tmp_path, static, launch=launch)).failures
    assert (failure.aspect, failure.what) == ("geometry", "compute capability 7.5, 16×8 blocks")
    assert failure.reason.startswith("no block can run on compute capability 7.5: ")


def test_source_that_does_not_compile_is_no_product_on_any_capability(tmp_path: Path) -> None:
    found = conformance(wrong_kernels.kernel(tmp_path, ("float sum", "flaot sum")))
    assert {trial.aspect for trial in found.failures} == {"product", "geometry"}
    assert not any(trial.verification == PASSED for trial in found.of("written"))


def test_a_rule_that_raises_gives_no_product_and_no_geometry(tmp_path: Path) -> None:
    def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
        if problem.n == 17:
            raise ValueError("not 17")
        return wrong_kernels.covering(problem, block, limits)

    found = conformance(wrong_kernels.kernel(tmp_path, launch=launch))
    assert {trial.aspect for trial in found.failures} == {"product", "geometry"}
    assert all("its launch rule failed: ValueError: not 17" in trial.reason for trial in found.failures)


def test_several_launches_conform() -> None:
    assert failing(SPLIT_K) == set()


def test_what_the_device_cannot_run_at_all_cannot_be_tried(tmp_path: Path) -> None:
    with pytest.raises(NoDevice, match="cannot be tried on emulator: the emulator does not know"):
        conformance(TENSOR_MAP)
    with pytest.raises(NoDevice, match=r"needs compute capability 10\.0; emulator has 9\.0"):
        conformance(wrong_kernels.kernel(tmp_path, min_compute_capability=(10, 0)))


@pytest.mark.parametrize(
    ("name", "n", "needed"),
    [
        ("poznan.v4b", 24, {"A": 8, "B": 8 * 24, "C": 0}),
        ("poznan.v4a", 24, {"A": 0, "B": 0, "C": 0}),  # the compiler peels the last of an odd number of steps off
        ("upc.kernel11", 9, {"A": 7 * 9 + 7, "B": 7 * 9 + 7, "C": 0}),
        ("upc.kernel10", 16, {"A": 0, "B": 0, "C": 0}),
    ],
)
def test_the_emulator_sees_how_far_a_kernel_reads(name: str, n: int, needed: dict[str, int]) -> None:
    kernel, emulator = api.kernels()[name], opened("emulator")
    planned = plan(kernel, kernel.problem(n, n, n), kernel.block(8), emulator.limits)
    assert over_read_elements(planned, emulator, seed=1) == needed


def test_the_command_says_what_was_tried_line_by_line() -> None:
    result = mmcore("conform", "hpsee.simple", "--device", "emulator", "--seed", "3")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert "tried    18 products, 64 refusals, 14 geometries" in lines
    assert any(line.startswith("ok       17×17×17 in 16×16 blocks (one more than a block): product") for line in lines)
    refused = "refusals (m, n and k must be equal, but are 17, 16 and 16)"
    assert f"ok       17×16×16 in 16×16 blocks (more m): {refused}" in lines
    assert "ok       compute capability 12.0, 32×32 blocks: geometry" in lines
    assert lines[-1] == "CONFORMS"


def test_the_command_exits_with_1_and_shows_the_command_of_each_failure() -> None:
    result = mmcore("conform", FAULTY, "--device", "emulator", "--seed", "3")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    failures = [number for number, line in enumerate(lines) if line.startswith("FAIL  ")]
    assert len(failures) > 2
    assert all(lines[number + 1].strip().startswith("$ mmcore ") for number in failures)
    assert all("--seed 3" in lines[number + 1] for number in failures)
    assert lines[-1].startswith(f"DOES NOT CONFORM: {len(failures)} of ")


def test_json_holds_every_trial_of_every_kernel() -> None:
    result = mmcore("conform", "hpsee.*", "--device", "emulator", "--seed", "3", "--json")
    assert result.exit_code == 0
    simple, tiled = json.loads(result.stdout)
    assert (simple["kernel"], tiled["kernel"], simple["conforms"], simple["seed"]) == (
        "hpsee.simple",
        "hpsee.tiled",
        True,
        3,
    )
    assert simple["aspects"]["product"] == {"passed": 18}
    assert {*simple["trials"][0]} == {"aspect", "what", "verification", "reason", "reproduce"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'KERNEL...'"),
        (("upc.kernl11",), "did you mean upc.kernel11"),
        (("acme.*",), "no kernel's name matches 'acme.*'"),
        (("*naive*",), "no other kernel matches"),
        (("upc.kernel01", "--device", "emulator:7"), "emulator:7 does not exist"),
    ],
    ids=str,
)
def test_what_cannot_be_carried_out_exits_with_2(arguments: tuple[str, ...], said: str) -> None:
    result = mmcore("conform", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr.splitlines()[-1]


def test_a_pattern_leaves_kernels_with_known_faults_out() -> None:
    result = mmcore("conform", "*naive*")
    assert result.stderr.startswith(f"left out for their known violations unless named: {FAULTY}\n")


def conform_by_pytest(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    always = ("--pyargs", "mmcore_conform", "-p", "no:cacheprovider", "--mm-device", "emulator")
    return pytester.runpytest_subprocess(*always, *options)


def test_pytest_makes_a_test_of_each_kernel_and_aspect(pytester: pytest.Pytester) -> None:
    result = conform_by_pytest(pytester, "--mm-kernel", "hpsee.simple", "-v")
    # It declares no over-read.
    result.assert_outcomes(passed=len(ASPECTS) - 1, skipped=1)
    result.stdout.fnmatch_lines(["*test_conforms[[]hpsee.simple-product[]] PASSED*"])


def test_pytest_fails_in_the_aspect_with_the_command_that_shows_it(pytester: pytest.Pytester) -> None:
    result = conform_by_pytest(pytester, "--mm-kernel", FAULTY)
    result.assert_outcomes(passed=len(ASPECTS) - 2, skipped=1, failed=1)
    result.stdout.fnmatch_lines([f"*{FAULTY}, known-violations: nothing is declared to be wrong", "*$ mmcore run *--force"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--mm-kernel", "acme.*"), "no kernel's name matches 'acme.*'"),
        (("--mm-kernel", "*naive*"), "kernels with known violations must be named"),
        (("--mm-size", "64"), "leave out --mm-size"),
    ],
    ids=str,
)
def test_pytest_says_why_there_is_nothing_to_try(
    pytester: pytest.Pytester, options: tuple[str, ...], said: str
) -> None:
    result = conform_by_pytest(pytester, *options)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([f"*{said}*"])
