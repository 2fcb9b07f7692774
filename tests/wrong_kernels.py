"""Small kernels that are wrong in one way each, made from one that is right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from mmcore import Config, DeviceProperties, FlatBlock, Int32Index, Kernel, Launch, Problem, ceil_div

LaunchRule: TypeAlias = Callable[[Problem, Config, DeviceProperties], Launch]

SIGNATURE = 'extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k)'
RIGHT = f"""
{SIGNATURE}
{{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}}
"""
ROW_BY_ROW = f"""
{SIGNATURE}
{{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || threadIdx.x > 0 || blockIdx.x > 0)
        return;
    for (int column = 0; column < n; ++column) {{
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }}
}}
"""
BROADCAST = f"""
{SIGNATURE}
{{
    __shared__ float a[8];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {{
        if (threadIdx.x == 0)
            a[threadIdx.y] = row < m ? A[row * k + p] : 0.0f;
        __syncthreads();
        if (row < m && column < n)
            sum += a[threadIdx.y] * B[p * n + column];
        __syncthreads();  // before the next is written
    }}
    if (row < m && column < n)
        C[row * n + column] = sum;
}}
"""
SIXTY_FOUR_ROWS = f"""
{SIGNATURE}
{{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = blockIdx.y * 64; row < blockIdx.y * 64 + 64; ++row) {{
        if (row >= m || column >= n)
            return;
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }}
}}
"""


def covering(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """As many blocks as cover C."""
    return covering_by(config.block.y)(problem, config, device)


def covering_by(rows: int) -> LaunchRule:
    """As many blocks as cover C when a block makes so many rows."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(grid=(ceil_div(problem.n, config.block.x), ceil_div(problem.m, rows)), block=config.block)

    return launch


def reading_past(**over_read: int) -> LaunchRule:
    """The same, declaring an over-read."""

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch(covering(problem, config, device).grid, config.block, over_read=over_read)

    return launch


def rounding_down(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    """As many whole blocks as fit into C, and one at least."""
    grid = (max(1, problem.n // config.block.x), max(1, problem.m // config.block.y))
    return Launch(grid=grid, block=config.block)


def kernel(folder: Path, *changes: tuple[str, str], source: str = RIGHT, **declared: Any) -> Kernel:
    """The right kernel, or another ``source``, with parts of its text replaced and other things declared."""
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    path = folder / "own.cu"
    path.write_text(source)
    constraints = (FlatBlock(), Int32Index())
    usual: dict[str, Any] = {
        "name": "tests.own",
        "source": path,
        "configs": [{"block": (16, 8)}],
        "constraints": constraints,
    }
    return Kernel(**usual | declared)
