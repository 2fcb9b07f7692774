"""Launches that CUDA refuses, as the program rounds its grid up to no whole number of clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.registry import registry
from mmcore_sources.cuda_file.inference.infer import infer
from tests.command_line import mmcore as command

CLUSTERS = """__global__ void __cluster_dims__(1, 2, 1)
mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int p = 0; p < K; p++) sum += A[row * K + p] * B[p * N + col];
    C[row * N + col] = sum;
}
int main(int argc, char **argv)
{
    float *a, *b, *c;
    int N = 512, K = 512;
    STATEMENTS
    LAUNCH
}
"""
LAUNCH = "mul<<<grid, dim3(16, 16)>>>(a, b, c, M, N, K);"
CONFIG = "cudaLaunchConfig_t my; my.blockDim = dim3(16, 16); my.gridDim = dim3(N / 16, (M + 15) / 16);"
USER, GRID = "int M = argc > 1 ? atoi(argv[1]) : 512;", "dim3 grid((N + 15) / 16, (M + 15) / 16);"


def program(statements: str, launch: str = LAUNCH) -> str:
    """Return a program with the statements before its launch."""
    return CLUSTERS.replace("STATEMENTS", statements).replace("LAUNCH", launch)


@pytest.mark.parametrize(
    ("statements", "sizes"),
    [
        (f"{USER} {GRID}", "106×512×512"),
        (f"{USER} assert(M % 16 == 0); {GRID}", "112×512×512"),
        (f"{USER} assert(M % 32 == 0); {GRID}", ""),
        (f"{USER} M = (M + 31) / 32 * 32; {GRID}", ""),
        (f"{USER} dim3 grid(32, (M + 31) / 32 * 2);", ""),
        (f"{USER} {GRID} grid.y += grid.y % 2;", ""),
        (f"{USER} {GRID} if (grid.y % 2) return 1;", ""),
        (f"int M = 512; {GRID}", ""),
        (f"int M = 528; {GRID}", "528×512×512"),
        (f"for (int M : {{128, 144}}) {{ {GRID} {LAUNCH} }} int M = 64; {GRID}", "144×512×512"),
    ],
)
def test_a_launch_is_refused_where_the_programs_own_grid_cuts_clusters(statements: str, sizes: str) -> None:
    found = infer(Path("/folder/my.cu"), program(statements), {}).refused
    assert [each.reason.partition(",")[0] for each in found] == ([f"at {sizes}"] if sizes else [])


@pytest.mark.parametrize(("change", "is_refused"), [("", True), ("my.gridDim.y += my.gridDim.y % 2;", False)])
def test_a_launch_config_is_followed(change: str, is_refused: bool) -> None:
    text = program(f"{USER} {CONFIG} {change}", "cudaLaunchKernelEx(&my, mul, a, b, c, M, N, K);")
    assert bool(infer(Path("/folder/my.cu"), text, {}).refused) == is_refused


def test_a_program_whose_launch_is_refused_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    (tmp_path / "my.cu").write_text(program(f"{USER} {GRID}"))
    result = command("run", "my.cu", "--device", "emulator", "--seed", "1", "--quiet")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "refused-launch at my.cu:15: at 106×512×512, a grid of 32×7 blocks cannot be cut into clusters of 1×2: "
        "CUDA refuses the launch; round its blocks up to a multiple of 2 along y"
    )
