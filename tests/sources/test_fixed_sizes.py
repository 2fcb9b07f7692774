"""Sources whose macros fix sizes that are too large for the emulator: they are compiled for smaller ones."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore.registry import registry
from mmcore_emulator.adapter.conversions import capability_properties
from mmcore_tools.conform.cases import find_cases
from tests.command_line import mmcore as command
from tests.sources.test_fixed_sides import STRIP
from tests.sources.test_source_file import kernel

EDGES = """#define PART 96
#define EDGE 32
#define M (PART * 32 + 5)
#define N (PART * 32 + 9)
#define K (PART * 32 + 2)
__global__ void whole(const float *a, const float *b, float *c)
{
    int row = blockIdx.y * EDGE + threadIdx.y, column = blockIdx.x * EDGE + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int i = 0; i < K; i++) sum += a[row * K + i] * b[i * N + column];
    c[row * N + column] = sum;
}
int main()
{
    dim3 block(EDGE, EDGE), grid((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE);
    whole<<<grid, block>>>(a, b, c);
}
"""


TILES = """#define M 256
#define N 128
#define K 512
#define EDGE 16
__global__ void tiled(const float *a, const float *b, float *c)
{
    __shared__ float as[EDGE][EDGE], bs[EDGE][EDGE];
    int row = blockIdx.y * EDGE + threadIdx.y, column = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < K / EDGE; t++) {
        as[threadIdx.y][threadIdx.x] = a[row * K + t * EDGE + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(t * EDGE + threadIdx.y) * N + column];
        __syncthreads();
        for (int i = 0; i < EDGE; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * N + column] = sum;
}
int main() { tiled<<<dim3(N / EDGE, M / EDGE), dim3(EDGE, EDGE)>>>(a, b, c); }
"""


def sizes_of(text: str) -> list[tuple[int, int, int]]:
    """Return the sizes nearest to products of 64³, 128³ and 1024³."""
    found = kernel(text)
    problems = (found.with_fixed_sizes(found.problem(n, n, n), found.usual_configs[0]) for n in (64, 128, 1024))
    return [(each.m, each.n, each.k) for each in problems]


def run(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str]:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(registry(), "files", {})
    Path("edges.cu").write_text(text)
    result = command("run", "edges.cu", "--device", "emulator", "--seed", "1", "--quiet", *words)
    return result.exit_code, result.output


def test_a_guard_with_another_size_is_wrong_at_the_sizes_that_the_source_fixes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said = run(TILES.replace("c[row * N", "if (row < N) c[row * N"), tmp_path, monkeypatch)
    assert (status, "never written" in said) == (1, True), said


@pytest.mark.parametrize(("blocks", "status"), [("BLOCKS, BLOCKS", 0), ("BLOCKS, 2", 1)])
def test_a_block_whose_edge_is_a_part_of_a_fixed_size_is_launched_at_that_size(
    blocks: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """#define N 64
#define BLOCKS 4
#define EDGE (N / BLOCKS)
__global__ void mul(const double *a, const double *b, double *c)
{
    int x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y * EDGE + threadIdx.y;
    double sum = 0;
    const double *pa = a + y * N, *pb = b + x;
    for (int i = 0; i < N; i++, pa++, pb += N) sum += *pa * *pb;
    c[y * N + x] = sum;
}
"""
    launch = f"int main() {{ mul<<<dim3({blocks}), dim3(EDGE, EDGE)>>>(a, b, c); }}"
    found, said = run(text + launch, tmp_path, monkeypatch)
    assert (found, "TEST PASS at 64×64×64" in said, sizes_of(text + launch)) == (status, not status, [(64, 64, 64)] * 3)


LARGE_TILE = """
#include <cstddef>
auto constexpr M = 4096;
std::size_t constexpr N = 4096, K = 4096;
__global__ void mul(float *A, float *B, float *C)
{
    int row = blockIdx.y * 128 + threadIdx.y * 4, column = blockIdx.x * 128 + threadIdx.x * 4;
    float sums[4][4] = {};
    auto const multiply = [&](std::size_t const &i) {
        float *const from = B + N * i + column;
        for (int y = 0; y < 4; y++)
            for (int x = 0; x < 4; x++) sums[y][x] += A[(row + y) * K + i] * from[x];
    };
    for (std::size_t i = 0; i < K; i++) multiply(i);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) C[(row + y) * N + column + x] = sums[y][x];
}
int main() { float *a, *b, *c; mul<<<dim3(N / 128, M / 128), dim3(32, 32)>>>(a, b, c); }
"""


@pytest.mark.parametrize(("axis", "passes"), [("x", True), ("y", False)])
def test_a_source_of_large_tiles_is_compiled_for_several_blocks(
    axis: str, passes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exchanged = LARGE_TILE.replace("column = blockIdx.x", f"column = blockIdx.{axis}")
    status, said = run(exchanged, tmp_path, monkeypatch)
    assert (status == 0, "at 256×256×256" in said) == (passes, not passes), said


def test_remainders_of_large_tiles_are_tried_in_any_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = LARGE_TILE.replace("auto constexpr M = 4096;\nstd::size_t constexpr N = 4096, K = 4096;\n", "")
    passed = passed.replace("float *C)", "float *C, int N)").replace("i < K", "i < N").replace("* K + i", "* N + i")
    passed = passed.replace("float *a, *b, *c;", "float *a, *b, *c; int N = 512;").replace("M / 128", "N / 128")
    status, said = run(passed.replace("(a, b, c)", "(a, b, c, N)"), tmp_path, monkeypatch)
    assert (status, said.rstrip().endswith("TEST PASS if m, n and k are multiples of 128")) == (0, True), said


@pytest.mark.parametrize("type_", ["constexpr int", "static const unsigned"])
def test_constants_of_one_declaration_are_redefined_like_macros(type_: str) -> None:
    declared = f"{type_} M = 256, N = 128, K = 512;"
    text = TILES.replace("#define M 256\n#define N 128\n#define K 512", declared)
    assert declared in text
    assert sizes_of(text) == sizes_of(TILES)


def test_smaller_sizes_have_the_remainders_of_the_source() -> None:
    assert sizes_of(EDGES) == [(133, 137, 130), (133, 137, 130), (773, 777, 770)]


def test_a_size_that_is_small_already_is_kept_and_the_order_of_sizes_is() -> None:
    flat = EDGES.replace("M (PART * 32 + 5)", "M 256").replace("K (PART * 32 + 2)", "K 40").replace("32 + 9", "32")
    assert sizes_of(flat) == [(256, 384, 40), (256, 384, 40), (256, 3072, 40)]


def test_the_verdict_has_the_option_for_the_sizes_of_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said = run(EDGES, tmp_path, monkeypatch)
    last = "not tried at other sizes: the source fixes 3077×3081×3074, which --size 3077x3081x3074 tries"
    assert (status, said.rstrip().endswith(last)) == (0, True)


def test_a_grid_that_drops_the_remainder_is_wrong_at_the_smaller_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said = run(EDGES.replace("(N + EDGE - 1) / EDGE", "N / EDGE"), tmp_path, monkeypatch)
    smaller = "wrong at 133×137×130: the source fixes 3077×3081×3074, which --size 3077x3081x3074 tries\nTEST FAIL"
    assert (status, smaller in said) == (1, True)


def test_hazards_are_looked_for_at_fixed_sizes_that_are_not_square(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said = run(TILES.replace("        __syncthreads();\n    }", "    }"), tmp_path, monkeypatch)
    assert (status, "shared-race at edges.cu:11: at 128×64×256" in said) == (1, True)
    status, said = run(TILES, tmp_path, monkeypatch)
    assert (status, "TEST PASS at 128×64×256; not tried at other sizes" in said) == (0, True)


def test_a_kernel_is_tested_at_the_sizes_that_its_source_fixes() -> None:
    Path("tiles.cu").write_text(TILES)
    shown = command("conform", "tiles.cu", "--device", "emulator", "--quiet")
    fixed = "file.tiles: CONFORMS with m×n×k = 256×128×512, which the source fixes; tested at 128×64×256\n"
    assert (shown.exit_code, shown.stdout) == (0, fixed)


def test_a_kernel_is_tested_at_the_k_that_its_source_fixes() -> None:
    found = kernel(STRIP)
    whole = replace(found, constraints=(*found.constraints, *found.program_sizes))
    cases = find_cases(whole, capability_properties((9, 0)))
    sizes = [(case.cell.m % 8, case.cell.n % 8, case.cell.k) for case in cases.allowed]
    assert ({*sizes}, len(sizes) > 9) == ({(0, 0, 24)}, True)


def test_the_fixed_sizes_of_both_sides_are_named_if_no_size_fits_both() -> None:
    Path("tiles.cu").write_text(TILES)
    Path("edges.cu").write_text(EDGES)
    shown = command("compare", "tiles.cu", "edges.cu", "--device", "emulator")
    one = "tiles.cu allows 128×64×256 (m×n×k = 256×128×512, which the source fixes)"
    other = "edges.cu allows 133×137×130 (m×n×k = 3077×3081×3074, which the source fixes)"
    assert (shown.exit_code, f"both kernels: {one} and {other}; --size" in shown.stderr) == (2, True)


def test_a_source_that_uses_parts_of_its_sizes_otherwise_keeps_them() -> None:
    assert sizes_of(EDGES.replace("i < K", "i < PART * 32 + 2")) == [(3077, 3081, 3074)] * 3


@pytest.mark.parametrize(("bound", "smaller"), [("3074", False), ("K / 2 * 2", True), ("32 * 97 - 30", False)])
def test_a_loop_up_to_another_number_keeps_the_sizes(bound: str, smaller: bool) -> None:
    assert (sizes_of(EDGES.replace("i < K", f"i < {bound}"))[1] != (3077, 3081, 3074)) == smaller


def test_a_size_keeps_the_type_of_its_expression() -> None:
    found = kernel(EDGES.replace("PART 96", "PART (size_t)96"))
    assert "#define M (((PART * 32 + 5)) * 0 + MMCORE_M)" in found.source_text()


def test_a_number_of_blocks_that_is_set_to_itself_is_read() -> None:
    text = EDGES.replace("    dim3", "    int y = M / EDGE;\n    y = y == 0 ? 1 : y;\n    dim3")
    text = text.replace("(M + EDGE - 1) / EDGE);", "y);")
    assert kernel(text).launch.grid == "ceil(n / 32), max(1, m // 32)"  # type: ignore[union-attr]


def test_sizes_may_be_smaller_than_a_tile() -> None:
    tile = "int t = K / EDGE * EDGE; float sum = a[row * K + t * EDGE + threadIdx.x] * b[(t * EDGE + threadIdx.y) * N];"
    small = EDGES.replace("float sum = 0;", tile)
    for name, size in (("M", "5"), ("N", "7"), ("K", "9")):
        begin = small.index(f"#define {name} ")
        small = small[:begin] + f"#define {name} {size}" + small[small.index("\n", begin) :]
    found = kernel(small)
    assert (sizes_of(small)[0], found.column_major) == ((5, 7, 9), "")


def test_a_size_that_is_an_extent_of_the_block_is_kept() -> None:
    a_row = EDGES.replace("blockIdx.x * EDGE + ", "").replace("dim3", "int").replace("block(EDGE, EDGE)", "block = N")
    a_row = a_row.replace("blockIdx.y * EDGE + threadIdx.y", "blockIdx.x")
    a_row = a_row.replace("grid((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE)", "grid = M")
    a_row = a_row.replace("(PART * 32 + 9)", "512")
    assert sizes_of(a_row) == [(3077, 512, 3074)] * 3
    assert sizes_of(a_row.replace("block = N", "block = 512"))[0] == (517, 512, 514)


@pytest.mark.parametrize(
    ("text", "size", "status"),
    [
        (EDGES, "65x66x64", 0),
        (EDGES, "65x65x65", 0),  # the source's are three constants
        (EDGES.replace("row >= M || column >= N", "row >= M || column >= N - 1"), "65x66x64", 1),
        (EDGES.replace("i < K", "i < 3074"), "65x66x64", 2),
        (re.sub("128|512", "256", TILES), "32x64x48", 0),  # three constants of one value
        (re.sub(r"\bN\b", "M", TILES.replace("#define N 128\n", "")), "32x64x48", 2),
        (re.sub(r"\bN\b", "M", TILES.replace("#define N 128\n", "")), "32x32x48", 0),
    ],
)
def test_a_source_is_compiled_for_the_size_that_the_user_names(
    text: str, size: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(text, tmp_path, monkeypatch, f"--size={size}")[0] == status
    m, n, k = size.split("x")
    assert run(text, tmp_path, monkeypatch, f"-m{m}", f"-n{n}", f"-k{k}")[0] == status


def test_rows_are_those_of_the_guard_where_the_index_into_c_has_the_length_of_another_matrix() -> None:
    named = re.sub(r"\bM\b", "ROWS", EDGES)
    assert sizes_of(named.replace("c[row * N", "c[row * K")) == sizes_of(named)


def test_a_constant_that_another_one_names_has_its_size() -> None:
    named = TILES.replace("M 256", "HA 256\n#define HC HA\n#define WC N").replace("row * N", "row * WC")
    named = named.replace("dim3(N / EDGE, M / EDGE)", "dim3(WC / EDGE, HC / EDGE)")
    assert (sizes_of(named)[2], kernel(named).launch.grid) == ((256, 128, 512), "n // 16, m // 16")  # type: ignore[union-attr]
