"""Blocks that loops and further statements of the host change before the launch."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_sources.cuda_file.inference.infer import infer
from tests.kernel_sources import kernel_source


@pytest.mark.parametrize(
    ("statements", "block"),
    [
        ("int t = 128; t *= 2;", "256×1"),
        ("int t = 64; t += 64;", "128×1"),
        ("int t; t = 64; t <<= 1;", "128×1"),
        ("int t = 512; if (n > 200) t /= 2;", "256×1"),
        ("int t = 32;\nwhile (t < n && t < 256) t *= 2;", "256×1"),
        ("int t = 1;\nwhile (t < n)\n    t = 2 * t;", "512×1"),
        ("int t = 32;\ndo { t += 32; } while (t < n);", "320×1"),
        ("int t = 1;\nfor (; t < n; t *= 2);", "512×1"),
        ("int t;\nfor (t = 1; t < n; t <<= 1) {}", "512×1"),
        ("int t = 8;\nwhile (t * t < 256) t++;\nt *= 16;", "256×1"),
        ("int t = n;\nwhile (t % 32) ++t;", "320×1"),
        ("dim3 t(32);\nt.x *= 8;\nt.x /= 2;", "128×1"),
        ("dim3 t;\nt.x = 16;\nt.x <<= 2;", "64×1"),
        # How often a loop runs whose condition has another variable is not read, nor a change in a branch of one.
        ("int t = 32;\nfor (int i = 0; i < 3; i++) t *= 2;", "unknown"),
        ("int t = 32;\nfor (; t < n;) { if (t > 9) t *= 2; }", "unknown"),
        ("dim3 t(32);\nwhile (t.x < n) t.x *= 2;", "unknown"),
    ],
)
def test_a_block_is_read_after_the_statements_that_change_it(statements: str, block: str) -> None:
    launch = "mul<<<dim3((n + 15) / 16, n), t>>>(a, b, c, n);"
    text = f"{kernel_source('naive_square')}int main() {{\nint n = 300; float *a, *b, *c;\n{statements}\n{launch}\n}}\n"
    note = next(each for each in infer(Path("/folder/my.cu"), text, {}).notes if each.what == "block")
    assert (note.value if note.why.startswith("as launched") else "unknown") == block
