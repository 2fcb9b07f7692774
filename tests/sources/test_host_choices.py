"""Grids whose number of blocks the host code chooses: by conditions, remainders, shifts and branches."""

from __future__ import annotations

import pytest

from mmcore.kernel.configs import Config
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from tests.sources.test_source_file import inferred, kernel

SOURCE = """__global__ void mul(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + column];
    c[row * n + column] = sum;
}
void host(const float *a, const float *b, float *c, int n)
{
    GRID
    mul<<<dim3(g, g), dim3(16, 16)>>>(a, b, c, n);
}
"""
ROUNDED_UP = [
    "int g = n / 16 + (n % 16 != 0);",
    "int g = (n % 16 ? 1 : 0) + n / 16;",
    "int g = !!(n % 16) + n / 16;",
    "int g = n % 16 == 0 ? n / 16 : n / 16 + 1;",
    "int g = (n + 15) >> 4;",
    "int g = (n & 15) ? (n >> 4) + 1 : n >> 4;",
    "int g = n / 16;\n    if (n % 16 > 0) g += 1;",
    "int g = n / 16; if (g * 16 < n) ++g;",
    "int g;\n    if (n % 16) { g = 1 + n / 16; } else { g = n / 16; }",
    "int g = n, rest = n % 16;\n    g = g / 16;\n    if (rest != 0)\n        g = g + 1;",
    "auto up = [](int x, int y) { return x / y + (x % y != 0); };\n    int g = up(n, 16);",
    "int padded = n;\n    if (padded % 16) padded += 16 - padded % 16;\n    int g = padded / 16;",
    "int g = (n + 15) / 16 * 16 / 16;",
]


def grid(code: str) -> tuple[str, str]:
    """Return the number of blocks along x, and the reason."""
    found = inferred(SOURCE.replace("GRID", code))
    why = next(each.why for each in found.notes if each.what == "grid")
    return found.attributes["launch"].parts[0], why


@pytest.mark.parametrize("code", ROUNDED_UP)
def test_a_quotient_with_one_more_for_a_remainder_is_rounded_up(code: str) -> None:
    assert grid(code) == (
        "ceil(n / 16)",
        f"as launched in line {SOURCE.count(chr(10), 0, SOURCE.index('mul<<<')) + 1 + code.count(chr(10))}",
    )


@pytest.mark.parametrize(
    ("code", "blocks"),
    [
        ("int g = (n + 15) / 16;\n    if (g == 0) g = 1;", "max(1, ceil(n / 16))"),
        ("int g = 1;\n    if (n > 16 && n < 900) g = (n + 15) / 16;", "ceil(n / 16) if n > 16 and n < 900 else 1"),
        (
            "int g;\n    if (n < 16) g = 1;\n    else if (n < 64) g = 4;\n    else g = n / 16;",
            "1 if n < 16 else 4 if n < 64 else n // 16",
        ),
        ("const int wide = 0;\n    int g = n / 16;\n    if (wide) g = n / 32;", "n // 16"),
        ("int g = n / 16;\n    if (n % 16) { g = 0; exit(1); }", "n // 16"),
    ],
)
def test_a_branch_gives_the_number_of_blocks(code: str, blocks: str) -> None:
    assert grid(code)[0] == blocks


@pytest.mark.parametrize(("n", "blocks"), [(15, 1), (16, 4), (63, 4), (64, 4), (80, 5)])
def test_a_chosen_number_of_blocks_is_launched(n: int, blocks: int) -> None:
    found = kernel(SOURCE.replace("GRID", "int g = n < 16 ? 1 : n < 64 || !(n > 79) ? 4 : n / 16;"))
    rule = found.launch
    assert isinstance(rule, LaunchText)
    assert rule.blocks(found.problem(n, n, n), Config({"block": (16, 16)})) == [blocks, blocks]
