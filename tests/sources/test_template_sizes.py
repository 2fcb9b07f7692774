"""Sizes that are parameters of a kernel's template: any size is an instance."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import grid, inferred, kernel

pytestmark = pytest.mark.usefixtures("folder")

PRODUCT = """
template <PARAMETERS>
__global__ void product(const float *x, const float *y, float *z)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    GUARD
    float sum = 0;
    for (int p = 0; p < K; ++p)
        sum += x[i * K + p] * y[p * N + j];
    z[i * N + j] = sum;
}
"""
GUARDED = PRODUCT.replace("GUARD", "if (i >= M || j >= N) return;")
RECTANGLES = GUARDED.replace("PARAMETERS", "int M, int N, int K")
SQUARES = PRODUCT.replace("GUARD", "").replace("K", "N").replace("PARAMETERS", "int N")
LAUNCH = "product<M, N, K><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(x, y, z);"
CALLER = f"template <int M, int N, int K> void run(float *x, float *y, float *z) {{ {LAUNCH} }}\n"


@pytest.mark.parametrize(
    "host",
    [
        "int main() { float *x, *y, *z; constexpr int M = 512, N = 256, K = 64; " + LAUNCH + " }",
        CALLER + "int main() { float *x, *y, *z; run<512, 256, 64>(x, y, z); }",
        CALLER + "int main() { float *x, *y, *z; auto all = [&]<int M, int N, int K>() { run<M, N, K>(x, y, z); }; }",
        "",
    ],
    ids=["constants", "function", "lambda", "none"],
)
def test_the_sizes_of_a_template_are_those_of_the_product(host: str) -> None:
    found = kernel(RECTANGLES + host)
    assert (found.entry, grid(found)) == ("product<{m}, {n}, {k}>", "ceil(n / 16), ceil(m / 16)")
    assert [*found.usual_configs[0]] == ["block"]


def test_every_size_of_a_template_is_verified(folder: Path) -> None:
    (folder / "my.cu").write_text(RECTANGLES + CALLER)
    output = command(*shlex.split("run my.cu --device emulator --size 32")).output
    assert "TEST PASS" in output
    assert "41×21×35" in output
    assert "another function" not in output


def test_one_size_of_a_template_is_that_of_squares(folder: Path) -> None:
    launch = "product<512><<<dim3(32, 32), dim3(16, 16)>>>(x, y, z);"
    (folder / "my.cu").write_text(f"{SQUARES}int main() {{ float *x, *y, *z; {launch} }}\n")
    assert "TEST PASS if m, n and k are multiples of 16" in command(*shlex.split("run my.cu --device emulator")).output


def test_the_edges_of_a_tile_are_no_sizes() -> None:
    tiled = RECTANGLES.replace("int M, int N, int K", "int M, int N, int K, int TILE").replace("16", "TILE")
    found = kernel(tiled + CALLER.replace("K><", "K, 8><"))
    assert found.entry == "product<{m}, {n}, {k}, {TILE}>"
    numbers = tiled.replace("int M, int N, int K, ", "").replace("float *z", "float *z, int M, int N, int K")
    assert kernel(numbers).entry == "product<{TILE}>"


def test_the_shape_of_a_fragment_is_no_size() -> None:
    fragment = "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, M, N, K, float> tile; float sum"
    assert "sizes" not in [
        each.what for each in inferred(RECTANGLES.replace("float sum", fragment), block="16x16").notes
    ]


def test_a_grid_that_multiplies_quotients_asks_for_a_size_that_is_enough(folder: Path) -> None:
    parameters = "float *A, float *B, float *C, int m, int n, int k"
    host = f"void run({parameters}) {{ f<<<(m / 64) * (n / 32), 64>>>(A, B, C, m, n, k); }}"
    place = (
        "int t = blockIdx.x, w = n / 32, i = threadIdx.x + t / w * 64; for (int j = t % w * 32, e = j + 32; j < e; ++j)"
    )
    sums = "{ float s = 0; for (int p = 0; p < k; ++p) s += A[i * k + p] * B[p * n + j]; C[i * n + j] = s; }"
    (folder / "my.cu").write_text(f"__global__ void f({parameters}) {{ {place} {sums} }}\n{host}\n")
    output = command(*shlex.split("run my.cu --device emulator --size 16")).output
    assert "--size 64x32x" in output.splitlines()[-1]


def test_a_structure_of_constants_may_be_the_template_argument() -> None:
    text = GUARDED.replace("16 +", "T::HIGH +", 1).replace("16 +", "T::WIDE +").replace("PARAMETERS", "typename T")
    text = f"struct Tile {{ static constexpr int WIDE = 32, HIGH = 4; }};\n{text}".replace(
        "*z)", "*z, int M, int N, int K)"
    )
    launch = "product<Tile><<<dim3((n + Tile::WIDE - 1) / Tile::WIDE, (m + 3) / 4), dim3(Tile::WIDE, Tile::HIGH)>>>"
    found = kernel(f"{text}void run(int m, int n, int k) {{ {launch}(x, y, z, m, n, k); }}")
    assert (found.entry, grid(found)) == ("product<Tile>", "ceil(n / 32), ceil(m / 4)")
    assert found.usual_configs[0].block == (32, 4, 1)
    # The type parameter of a function that launches the kernel is no structure.
    arguments = "Tile *x, Tile *y, Tile *z, int m, int n, int k"
    launcher = f"template <class Tile> void run({arguments}) {{ {launch}(x, y, z, m, n, k); }}"
    generic = text.partition("\n")[2].replace("float", "T").replace("T::HIGH", "4").replace("T::WIDE", "32")
    assert kernel(generic + launcher.replace("Tile::WIDE", "32").replace("Tile::HIGH", "4")).entry == "product<float>"
