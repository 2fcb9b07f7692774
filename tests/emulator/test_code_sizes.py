"""The examination of a kernel: the sizes that its code asks for show the faults that a usual size does not."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from mmcore import Config, DeviceProperties, Kernel, Launch, Multiple, Problem, Square
from mmcore.api import cell
from mmcore.cell import Cell
from mmcore.devices.violations import Violation
from mmcore.errors import TimeLimit
from mmcore.executor import measure_cell
from mmcore.executor.choose_device import open_device
from mmcore.kernel.geometry import ceil_div
from mmcore.planning.plan import plan_cell
from mmcore.result_view import result_view
from mmcore.verdict import judged
from mmcore_emulator.adapter import check
from mmcore_emulator.adapter.allowed_sizes import Size
from mmcore_emulator.adapter.candidate_sizes import CodeSizes
from mmcore_emulator.adapter.examination_report import WORK, Examination, Tried
from mmcore_emulator.adapter.examine_sizes import examine
from mmcore_emulator.adapter.findings import findings
from mmcore_emulator.adapter.proof import prove_cell
from mmcore_emulator.adapter.reached_sides import joined
from mmcore_emulator.adapter.size_runs import SizeRuns
from tests.kernel_sources import kernel_source
from tests.wrong_kernels import RIGHT, covering, kernel, rounding_down


def by_template(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """Launch another function for small products."""
    small = str(max(problem.m, problem.n, problem.k) <= 8).lower()
    return Launch(covering(problem, config, device).grid, config.block, entry=f"own<{small}>")


def whole_tiles(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    columns, rows, _ = config.block
    return Launch(grid=(problem.n // columns, problem.m // rows), block=config.block)


VECTORS = """int q = 0;
    for (; k % FAULT == 0 && q < k; q += 4) {
        const float4 a = *(const float4*)&A[row * k + q];
        const float *b = &B[q * n + column];
        sum += a.x * b[0] + a.y * b[n] + a.z * b[2 * n] + a.w * b[3 * n];
    }
    for (int p = q; """
BUFFERS = """extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[2][32][32], b[2][32][32];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int step = 0; step < k / 32; step++) {
        const int now = step % 2;
        if (step == 0) {
            a[0][y][x] = A[row * k + x];
            b[0][y][x] = B[y * n + column];
        }
        if (step + 1 < k / 32) {
            a[1 - now][y][x] = A[row * k + (step + 1) * 32 + x];
            b[1 - now][y][x] = B[((step + 1) * 32 + y) * n + column];
        }
        __syncthreads();
        for (int p = 0; p < 32; p++)
            sum += a[now][y][p] * b[now][p][x];
        FAULT;
    }
    C[row * n + column] = sum;
}
"""
CONDITION = RIGHT.replace("sum = 0.0f", "sum = (FAULT) ? 1 : 0")  # on line 7
SOURCES = {
    "condition": CONDITION,
    "guard": RIGHT.replace("column >= n", "column >= FAULT"),
    "gaps": kernel_source("leading_dimensions", OUT="float", LEADING=", int lda, int ldb, int ldc").replace(
        "sum = 0", "sum = FAULT"
    ),
    "template": CONDITION.replace('extern "C"', "template <bool small>"),
    "vectors": RIGHT.replace("for (int p = 0; ", VECTORS),
    "ring": kernel_source("ring_of_mbarriers", PARITY="FAULT"),
    "buffers": BUFFERS,
    "cap": RIGHT.replace("p < k", "p < min(k, FAULT)"),
}
DECLARED: dict[str, dict[str, Any]] = {
    "gaps": {"entry": "f"},
    "template": {"launch": by_template, "arguments": ("A", "B", "C", "m", "n", "k")},
    "ring": {"launch": whole_tiles, "configs": [{"block": (16, 16)}], "constraints": [Multiple(("m", "n", "k"), 16)]},
    "buffers": {"launch": whole_tiles, "configs": [{"block": (32, 32)}]},
}
RIGHT_WORDS = {
    "condition": "k < 0",
    "guard": "n",
    "gaps": "0",
    "template": "k < 0",
    "vectors": "4",
    "ring": "step / 2 % 2",
    "cap": "k",
}


def twin(folder: Path, source: str, word: str = "", **declared: Any) -> Kernel:
    """Return a kernel of SOURCES that is right, or wrong with another word in one place."""
    text = SOURCES[source].replace("FAULT", word or RIGHT_WORDS[source])
    return kernel(folder, source=text, **DECLARED.get(source, {}), **declared)


def examination(kernel: Kernel, work: float = WORK, size: int = 64, **options: Any) -> Examination:
    requested, nameless = cell(kernel, size, device="emulator", seed=1, timings=(), **options)
    return examine(requested, open_device("emulator"), work, nameless)


@pytest.mark.parametrize("source", RIGHT_WORDS)
def test_right_kernels_are_examined_without_a_fault(tmp_path: Path, source: str) -> None:
    found = examination(twin(tmp_path, source))
    assert (found.faults, found.left_out) == ((), "")
    assert all(row["right"] for row in found.sizes)
    assert len(found.sizes) > 3


@pytest.mark.parametrize(
    ("source", "fault", "size", "why"),
    [
        ("guard", "m", "16×48×64", "whole tiles"),
        ("condition", "k > 512", "5×5×575", "a long k"),
        ("condition", "n == 1 && k > 100", "9×1×131", "one column"),
        ("condition", "k % 48 >= 37", "5×5×575", "a long k"),
        ("condition", "m > 300 && k < 4", "301×25×1", "line 7 compares m with 300"),
        ("condition", "k == 1000", "11×19×1000", "line 7 compares k with 1000"),
        ("condition", "gridDim.x > 16 && gridDim.y > 16", "257×257×1", "line 7 compares the grid with 16"),
        (
            "condition",
            "m == n && m > 30 && k > 40",
            "31×31×64",
            "line 7 compares k with 40 and line 7 compares m, n and line 7 compares m with 30",
        ),
        (
            "gaps",
            "lda % 8 == 0 && lda >= k + 8",
            "33×35×37, lda = 48, ldb = 64, ldc = 80",
            "gaps between rows, which begin at multiples of 16 elements",
        ),
        (
            "condition",
            "m % 16 && n % 16 == 0 && k % 16 == 0",
            "11×16×16",
            "line 7 compares k with 0 and line 7 compares n with 0 and line 5 compares m, the block's index",
        ),
        ("condition", "n % 4 == 3 && row % 8 == 7", "31×31×1", "line 7 compares n with 3"),
        (
            "condition",
            "blockIdx.y * gridDim.x + blockIdx.x == 100",
            "801×1×1",
            "line 7 compares the block's index, the grid with 100",
        ),
        (
            "condition",
            "row * n + column >= 4096 && m * n < 5000",
            "1×4098×6",
            "line 7 compares n, the block's index with 4095 and line 7 compares m, n with 5000"
            " and line 8 compares k with 3",
        ),
        ("condition", "m % 8 == 0 && n % 8 == 0 && k % 8 == 3", "8×16×35", "a remainder of k alone"),
        ("cap", "1000", "17×3×1067", "line 8 compares k with 1000"),
        ("gaps", "ldb % 16 == 0 && ldb == n + 12", "16×36×52, lda = 64, ldb = 48, ldc = 48", "line 3 compares ldb, n"),
        ("vectors", "2", "6×10×34", "k is a multiple of 2, not of 4"),
        ("template", "small", "1×1×1", "another function is launched"),
        ("ring", "min(step / 2, 1)", "32×16×96", "so deep that each stage in shared memory is refilled twice"),
    ],
)
def test_a_fault_under_one_condition_is_found_at_a_size_that_shows_it(
    tmp_path: Path, source: str, fault: str, size: str, why: str
) -> None:
    found = examination(twin(tmp_path, source, fault))
    assert found.wrong is not None
    assert (str(found.wrong), found.wrong.why) == (size, why)
    assert found.faults[0].message.startswith(f"at {size}")
    assert [row["right"] for row in found.sizes] == [True] * (len(found.tried) - 1) + [False]
    assert found.text.endswith(f"{size}: {why}")
    assert Examination.from_json(found.to_json()) == found


@pytest.mark.parametrize("barrier", [True, False])
def test_a_race_of_deep_products_is_found_though_remainders_are_wrong(tmp_path: Path, barrier: bool) -> None:
    found = examination(twin(tmp_path, "buffers", "__syncthreads()" if barrier else "now"))
    *deep, remainders = (each for each in found.tried if not each.is_right)
    assert remainders.why == "tiles with remainders"
    assert [each.violations[0].kind for each in deep] == ([] if barrier else ["shared-race"])


@pytest.mark.parametrize("constraints", [(), (Multiple(("m", "n"), 16),)])
def test_a_size_has_the_remainders_that_its_reason_names(tmp_path: Path, constraints: tuple[Any, ...]) -> None:
    sizes = examination(twin(tmp_path, "condition", constraints=constraints)).sizes
    reasons = {row["why"]: bool(row["m"] % 8 or row["n"] % 8) for row in sizes if "tiles" in row["why"]}
    remainders = {"tiles with remainders": True} if not constraints else {"other whole tiles": False}
    lines = dict.fromkeys(("a column of tiles", "a row of tiles"), not constraints)
    assert reasons == {"whole tiles": False, **remainders, **lines}


@pytest.mark.parametrize(
    ("constraints", "kinds"), [((), {"out-of-bounds-write"}), ((Multiple(("m", "n"), 16),), set())]
)
def test_a_race_hides_no_fault_of_remainders(tmp_path: Path, constraints: tuple[Any, ...], kinds: set[str]) -> None:
    race = (
        "__shared__ volatile int rows[8];\n    rows[threadIdx.y] = row;\n    if (rows[7 - threadIdx.y] < -1) return;\n"
    )
    racing = RIGHT.replace("float sum", f"{race}    float sum").replace("row >= m || column >= n", "false")
    found = examination(kernel(tmp_path, source=racing, constraints=list(constraints)))
    assert [each.why for each in found.tried] == ["whole tiles", *(["tiles with remainders"] if kinds else [])]
    assert {"shared-race"} | kinds <= {each.kind for each in found.faults}
    assert [each.kind for each in found.faults].count("shared-race") == 1


def test_a_size_too_large_for_the_sanitizer_is_verified_or_at_least_named(tmp_path: Path) -> None:
    """A square kernel shows what it does from n = 301 on at no smaller size."""
    found = examination(twin(tmp_path, "condition", "n > 300", constraints=[Square()]))
    assert (str(found.wrong), found.wrong and found.wrong.why) == ("301×301×301", "line 7 compares n with 300")
    part = examination(twin(tmp_path, "condition", "n > 900", constraints=[Square()]))
    assert part.wrong is not None
    assert str(part.wrong) == "960×960×960"
    assert part.wrong.why.endswith("; its first and last block were run")
    other = examination(twin(tmp_path, "condition", "n > 9000", constraints=[Square()]))
    assert (other.wrong, other.left_out.split()[0]) == (None, "9001×9001×9001")
    assert other.limit == "line 7 compares n with 9000, and 9001×9001×9001 takes too long"


CALLED = RIGHT.replace('extern "C"', '__device__ void add(float &sum, int k)\n{\n    BODY\n}\nextern "C"').replace(
    "sum += A[", "add(sum, k), sum += A["
)


@pytest.mark.parametrize(
    ("source", "body", "places"),
    [
        ("begin", "", []),
        ("begin", "for (int p = 0; p <= k / 100000; ++p)\n        C[row * n + column] = p;", [(7, True, True)]),
        ("begin", "if (k > 100000)\n        C[0] = 1;", [(8, False, False)]),
        ("begin", "if (k > 100000 && row == 3)\n        C[0] = 1;", [(8, False, False)]),
        ("begin", "if (k > 0)\n        C[row * n + column] = 1;", [(7, True, False)]),
        ("begin", "if (k > 100000) C[0] = 1;", [(7, True, False)]),
        ("begin", "if (k > 600)\n        C[row * n + column] = 1;", []),
        ("begin", "for (int p = 0; p < k / 700; ++p)\n        if (p == 1)\n            __syncthreads();", []),
        ("called", "if (k > 100000)\n        __trap();", [(4, False, False)]),
    ],
)
def test_code_that_no_size_executes_is_listed_by_line(
    tmp_path: Path, source: str, body: str, places: list[tuple[int, bool, bool]]
) -> None:
    text = CALLED if source == "called" else RIGHT.replace("    float sum", "    BODY\n    float sum")
    made = kernel(tmp_path, source=text.replace("BODY", body), configs=[{"block": (4, 4)}])
    found = examination(made)
    assert (found.faults, found.left_out) == ((), "")
    assert [tuple(each.values()) for each in found.not_executed] == [("own.cu", *place) for place in places]


def test_a_verdict_names_the_lines_that_no_size_executes(tmp_path: Path) -> None:
    text = RIGHT.replace("    float sum", "    if (A[0] > 1e30f)\n        C[0] = 1;\n    float sum")
    made = kernel(tmp_path, source=text)
    requested, nameless = cell(made, 16, device="emulator", seed=1, timings=())
    result = judged(measure_cell(requested, kernel=nameless), made, "all")
    sentence = "not executed at any size: line 8 (own.cu)"
    view = result_view(result)
    assert view.verdict == f"TEST PASS; {sentence}"
    assert sentence in result.to_json()["warnings"]
    assert not any(sentence in each for each in view.messages)
    assert prove_cell(requested, open_device("emulator"), nameless).to_json()["not_executed"]


def test_a_warning_names_its_size_unless_all_sizes_have_it() -> None:
    common, own = (Violation("benign-race", "thread (0, 0, 0) writes", "C", "own.cu", line) for line in (8, 9))
    whole = Tried(Cell("own", 16, 16, 16), "whole tiles", warnings=(common,))
    remainders = Tried(Cell("own", 17, 17, 17), "remainders", warnings=(own, common))
    part = Tried(Cell("own", 99, 99, 99), "large", is_part=True)
    expected = {common, replace(own, message=f"at 17×17×17, {own.message}")}
    assert set(Examination((whole, remainders, part)).warnings) == expected


@pytest.mark.parametrize("constraints", [(), (Square(),)])
def test_a_grid_that_is_rounded_down_is_found_at_remainders(tmp_path: Path, constraints: tuple[Square, ...]) -> None:
    found = examination(twin(tmp_path, "condition", launch=rounding_down, constraints=constraints))
    assert not constraints or str(found.wrong) == "62×62×62"
    assert {each.kind for each in found.faults} == {"wrong-product", "unwritten-output"}


@pytest.mark.parametrize("part", [0, 1])
@pytest.mark.parametrize(
    ("tiles", "tile"),
    [
        ([(48, 64)], (48, 64)),
        ([(1, 256), (48, 64)], (48, 256)),
        ([(48, 64), (32, 64)], (96, 64)),
        ([(1000, 1), (999, 1)], (1000, 1)),
    ],
)
def test_a_tile_follows_from_the_grids(
    tmp_path: Path, part: int, tiles: list[tuple[int, int]], tile: tuple[int, int]
) -> None:
    """Grids of whole tiles alone, or also of a part of one."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        grids = [((problem.n + part * (n - 1)) // n, (problem.m + part * (m - 1)) // m) for m, n in tiles]
        return [Launch(grid=grid, block=config.block) for grid in grids]

    made = kernel(tmp_path, launch=rule)
    sizes = CodeSizes(made, made.usual_configs[0], open_device("emulator").properties, lambda planned: {}, most=1.0)
    assert sizes.tile == tile


def test_a_large_size_of_a_comparison_is_tried_or_named_beside_many_others(tmp_path: Path) -> None:
    others = " + ".join(f"(m == {size})" for size in range(40, 160, 3))
    made = twin(tmp_path, "condition", f"k > 30000 && {others} == 0")
    found = examination(made, WORK / 4)
    assert found.wrong is not None or "×30001" in found.left_out


def test_sizes_that_take_too_long_are_left_out_by_an_estimate(tmp_path: Path) -> None:
    made = twin(tmp_path, "condition", "k == 1000")
    found = examination(made, WORK / 16)
    assert (found.wrong, found.left_out) == (None, "1×1×1000 and 2 more, for their work")


def test_the_time_limit_ends_an_examination(tmp_path: Path) -> None:
    device = open_device("emulator")
    requested, nameless = cell(twin(tmp_path, "condition"), 64, device="emulator", seed=1, timings=())
    with device.deadline.within(1e-9):
        found = examine(requested, device, WORK, nameless)
    assert found.tried == ()
    assert re.fullmatch("16×48×64 and further sizes: timeout at .* was still running after 1e-09 s; .*", found.left_out)
    assert found.limit == "time limit at 16×48×64 (whole tiles)"
    assert Examination.from_json(found.to_json()) == found


def test_a_plain_run_that_the_time_limit_ends_is_no_fault(tmp_path: Path) -> None:
    device = open_device("emulator")
    requested, nameless = cell(twin(tmp_path, "condition"), 64, device="emulator", seed=1, timings=())
    planned = plan_cell(requested, device.properties, nameless)
    size = Size(planned.problem, "more than one pass of the grid", is_plain=True)
    with SizeRuns(requested, planned, device, WORK) as runs, device.deadline.within(1e-9), pytest.raises(TimeLimit):
        runs.tried(size)


def test_a_verdict_names_the_limit_that_kept_further_sizes_from_being_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = twin(tmp_path, "condition", "k < 0")
    requested, nameless = cell(made, 16, device="emulator", seed=1, timings=())
    result = measure_cell(requested, kernel=nameless)
    assert result_view(judged(result, made, "all")).verdict == "TEST PASS"
    for error, size in ((TimeLimit("it is over"), "16×16×16"), (None, "16×16×16 and 1 more size")):
        run = mock.Mock(side_effect=error, return_value=replace(examination(made), limit="time limit"))
        run.return_value = replace(run.return_value, tried=run.return_value.tried[:1])
        monkeypatch.setattr("mmcore_emulator.adapter.findings.examined", run)
        limited = judged(result, made, "all")
        assert limited.to_json()["not_tried"] == "time limit"
        assert result_view(limited).verdict == f"TEST PASS at {size}; not tried at other sizes: time limit"


def test_a_launch_with_far_more_work_than_its_size_suggests_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = twin(tmp_path, "condition", "k < 0")
    monkeypatch.setattr("mmcore_emulator.adapter.work_budget._EXCESS", 1e-6)
    found = examination(made)
    assert found.tried == ()
    assert re.fullmatch(r"16×48×64 and further sizes: .* still running after the work of 4e\+01 .*", found.left_out)
    assert found.limit == "work limit at 16×48×64 (whole tiles)"
    monkeypatch.setattr("mmcore_emulator.adapter.findings._MOST_INSTRUCTIONS", 1e4)
    requested, nameless = cell(made, 64, device="emulator", seed=1, timings=())
    result = measure_cell(requested, kernel=nameless)
    looked = findings(result, made, "hazards").looked
    assert re.fullmatch("not looked for: 64×64×64 takes too long on the emulator: .* the work of 1e.04 .*", looked)


def test_code_that_was_checked_without_a_violation_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sanitized = mock.Mock(wraps=check.sanitized_run)
    monkeypatch.setattr(check, "sanitized_run", sanitized)
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path))

    def count(source: str, word: str = "", *, remember: bool = True, **options: Any) -> int:
        """Return how many of two checks run the kernel."""
        sanitized.reset_mock()
        for _ in range(2):
            requested, nameless = cell(twin(tmp_path, source, word), 16, device="emulator", **options)
            check.check_cell(requested, open_device("emulator"), nameless, remember=remember)
        return sanitized.call_count

    assert count("condition", remember=False) == 2
    assert count("condition") == 1
    assert count("condition") == 0
    assert count("condition", block=(8, 8)) == 1
    assert count("condition", lda=20) == 0  # the kernel takes no leading dimensions
    assert count("condition", "A[m * k + 64]") == 2  # a violation


def test_reasons_that_compare_one_value_in_one_line_are_one() -> None:
    reasons = [
        "line 7 compares k with 3",
        "line 7 compares k with 0",
        "line 7 compares m, n",
        "line 9 compares k with 0",
    ]
    assert joined(reasons) == "line 7 compares k with 3 and 0 and line 7 compares m, n and line 9 compares k with 0"
    assert joined(reasons[:1] * 2) == "line 7 compares k with 3"


STRIDES = """extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    float sum = 0;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m * n; e += gridDim.x * blockDim.x) {
        RESET
        for (int p = 0; p < k; p++)
            sum += A[e / n * k + p] * B[p * n + e % n];
        C[e] = sum;
    }
}
"""


@pytest.mark.parametrize(("reset", "right"), [("sum = 0;", True), ("", False)])
def test_threads_of_a_constant_grid_get_more_than_one_element(tmp_path: Path, reset: str, right: bool) -> None:
    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(16,), block=config.block)

    made = kernel(tmp_path, source=STRIDES.replace("RESET", reset), launch=rule, configs=[{"block": (64,)}])
    found = examination(made)
    assert (found.wrong is None) == right
    passes = {str(each.cell.problem(made)) for each in found.tried if each.why == "more than one pass of the grid"}
    assert right == ("35×35×1" in passes)
    assert not right or found.tried[2].why == "more than one pass of the grid", "after the first two sizes"


@dataclass(frozen=True)
class _ConstantGrid:
    """A launch rule of blocks that count the tiles of C themselves."""

    tile: tuple[int, int] = (16, 16)

    def __call__(self, problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(6,), block=(16, 16))


TILES = """extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    float sum = 0;
    for (int tile = blockIdx.x; tile < (m / 16) * (n / 16); tile += gridDim.x) {
        int row = tile / (n / 16) * 16 + threadIdx.y, column = tile % (n / 16) * 16 + threadIdx.x;
        RESET
        for (int p = 0; p < k; p++)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
"""


@pytest.mark.parametrize(("reset", "passes_are_right"), [("sum = 0;", True), ("", False)])
def test_a_second_pass_is_run_in_whole_tiles_though_remainders_are_wrong(
    tmp_path: Path, reset: str, passes_are_right: bool
) -> None:
    source = TILES.replace("RESET", reset)
    found = examination(kernel(tmp_path, source=source, launch=_ConstantGrid(), configs=[{"block": (16, 16)}]))
    wrong = [each.why for each in found.tried if not each.is_right]
    assert wrong[-1] == "tiles with remainders"
    assert wrong[:-1] == ([] if passes_are_right else ["more than one pass of the grid"]), "before the remainders"
    assert "more than one pass of the grid" in [each.why for each in found.tried]


@pytest.mark.parametrize(("reset", "right"), [("sum = 0;", True), ("", False)])
@pytest.mark.parametrize("along_one_axis", [False, True])
def test_threads_of_a_capped_grid_get_more_than_one_element(
    tmp_path: Path, reset: str, right: bool, along_one_axis: bool
) -> None:
    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        across, down = ceil_div(problem.n, 64), problem.m
        return Launch((min(across, 16), down) if along_one_axis else (min(across * down, 64),), config.block)

    source = STRIDES.replace("RESET", reset)
    if along_one_axis:
        source = source.replace("int e = blockIdx", "int e = blockIdx.y * n + blockIdx")
        source = source.replace("e < m * n;", "e < blockIdx.y * n + n;")
    found = examination(kernel(tmp_path, source=source, launch=rule, configs=[{"block": (64,)}]))
    assert (found.wrong is None) == right
    assert "more than one pass of the grid" in [each.why for each in found.tried]


def test_a_second_pass_that_takes_too_long_is_named(tmp_path: Path) -> None:
    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((min(ceil_div(problem.n, 64) * problem.m, 1 << 20),), config.block)

    made = kernel(tmp_path, source=STRIDES.replace("RESET", ""), launch=rule, configs=[{"block": (64,)}])
    found = examination(made)
    assert found.wrong is None
    assert found.limit == "more than one pass of the grid, and 8195×8195×1 takes too long"


SQUARES = re.sub(r"\b[mk]\b", "n", STRIDES).replace("int n, int n, int n", "int n")


@pytest.mark.parametrize(("reset", "right"), [("sum = 0;", True), ("", False)])
def test_the_second_pass_of_a_large_square_is_shown_by_single_blocks(tmp_path: Path, reset: str, right: bool) -> None:
    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(min(ceil_div(problem.n**2, 256), 1024),), block=config.block)

    source, arguments = SQUARES.replace("RESET", reset), ("A", "B", "C", "n")
    made = kernel(
        tmp_path, source=source, arguments=arguments, constraints=(Square(),), launch=rule, configs=[{"block": (256,)}]
    )
    found = examination(made)
    assert (found.wrong is None) == right
    passes = [each for each in found.tried if each.why.startswith("more than one pass of the grid; its first")]
    assert [each.is_part for each in passes] == [True]


GROUPS = """extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    int number = blockIdx.y * gridDim.x + blockIdx.x, group = 8 * gridDim.x, first = number / group * 8;
    int rows = min(8, (int)gridDim.y LESS);
    int row = (first + number % group % rows) * 16 + threadIdx.y, column = number % group / rows * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k && row < m && column < n; p++)
        sum += A[row * k + p] * B[p * n + column];
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""


@pytest.mark.parametrize(("less", "right"), [("- first", True), ("", False)])
def test_the_last_group_of_blocks_is_run_with_several_blocks_along_each_axis(
    tmp_path: Path, less: str, right: bool
) -> None:
    made = kernel(tmp_path, source=GROUPS.replace("LESS", less), configs=[{"block": (16, 16)}], launch=covering)
    assert (examination(made).wrong is None) == right


LARGE = """extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    if (CONDITION) {
        for (int t = 0; t < k; t += 16) {
            a[y][x] = row < m && t + x < k ? A[row * k + t + x] : 0;
            b[y][x] = column < n && t + y < k ? B[(t + y) * n + column] : 0;
            __syncthreads();
            for (int p = 0; p < 16; p++)
                sum += a[y][p] * b[p][x];
            BARRIER
        }
    } else if (row < m && column < n) {
        for (int p = 0; p < k; p++)
            sum += A[row * k + p] * B[p * n + column];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""


@pytest.mark.parametrize("steps", ["(k + 15) / 16", "k / 16"])
@pytest.mark.parametrize("condition", ["m >= 512 && n >= 512 && k >= 256", "(long long)m * n * k >= 1LL << 32"])
def test_a_path_for_products_too_large_to_be_run_is_shown_by_single_blocks(
    tmp_path: Path, condition: str, steps: str
) -> None:
    text = LARGE.replace("CONDITION", condition).replace("BARRIER", "__syncthreads();")
    text = text.replace("int t = 0; t < k;", f"int t = 0; t < {steps} * 16;")
    found = examination(kernel(tmp_path, source=text, launch=covering, configs=[{"block": (16, 16)}]))
    of_blocks = [each for each in found.tried if each.why.endswith("; its first and last block were run")]
    assert {each.cell.k % 16 for each in of_blocks} == {0, 3}
    assert of_blocks[-1].is_right == (steps != "k / 16")
    assert all(each.is_right for each in found.tried if each.cell.k % 16 == 0)
    assert (found.wrong is None, found.limit) == (steps != "k / 16", "")


@pytest.mark.parametrize(("barrier", "right"), [("__syncthreads();", True), ("", False)])
@pytest.mark.parametrize("condition", ["m >= 200 && n >= 200", "m % 16 == 0 && n % 16 == 0 && k % 16 == 0 && k >= 200"])
def test_a_path_for_large_products_is_run_with_several_turns(
    tmp_path: Path, condition: str, barrier: str, right: bool
) -> None:
    text = LARGE.replace("CONDITION", condition).replace("BARRIER", barrier)
    found = examination(kernel(tmp_path, source=text, launch=covering, configs=[{"block": (16, 16)}]))
    assert [each.kind for each in found.faults[:1]] == ([] if right else ["shared-race"])


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize(
    "condition",
    ["k % 4 == 0 && k >= 128", "k % 8 == 0 && m >= 64 && n >= 64", "k % 4 == 0 && m >= 512 && n >= 512 && k >= 512"],
)
def test_a_path_for_vectors_is_run_with_remainders_beyond_the_numbers_of_its_condition(
    tmp_path: Path, condition: str, right: bool
) -> None:
    text = LARGE.replace("CONDITION", condition).replace("BARRIER", "__syncthreads();")
    text = text if right else text.replace("row < m && t + x < k ?", "row < m ?")
    found = examination(kernel(tmp_path, source=text, launch=covering, configs=[{"block": (16, 16)}]))
    assert (found.wrong is None) == right


CLUSTERS = """extern "C" __global__ void __cluster_dims__(2, 1, 1) own(
    const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k; p++)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
"""


@pytest.mark.parametrize("columns", [16, 32])
def test_a_declared_size_that_is_no_whole_number_of_clusters_is_a_fault(tmp_path: Path, columns: int) -> None:
    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(problem.n // 16, problem.m // 16), block=(16, 16))

    constraints, configs = (Multiple("m", 16), Multiple("n", columns)), [{"block": (16, 16)}]
    found = examination(kernel(tmp_path, source=CLUSTERS, launch=rule, configs=configs, constraints=constraints))
    messages = [each.message for each in found.faults]
    missing = 'cannot be cut into clusters of 2×1: the constraint Multiple("n", 32) is missing'
    assert [each.endswith(missing) for each in messages] == ([True] if columns == 16 else [])
    assert any(each.is_right and not each.is_plain for each in found.tried), "hazards are looked for"
