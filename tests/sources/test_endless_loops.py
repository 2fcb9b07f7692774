"""A loop that never ends is named by its line and by the variable that does not change in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_sources.cuda_file.hints.endless_loops import endless_loop
from mmcore_sources.python_file import endless_loops as python_loops
from tests.command_line import mmcore

KERNEL = """\
__device__ int next(int &k) { return k++; }
__global__ void mm(const float *A, const float *B, float *C, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int k = 0, t = 0;
    float sum = 0;
    LOOP
    C[row * n + col] = sum;
}
void run(const float *A, const float *B, float *C, int n) { mm<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(A, B, C, n); }
"""
UNSIGNED = ", since p is unsigned, so that p >= 0 is always true"
NARROW = ", since p is unsigned, so that p > -1 is always true"
ADD = "sum += A[row * n + k] * B[k * n + col];"


@pytest.mark.parametrize(
    ("loop", "clause"),
    [
        (f"while (k < n) {{ {ADD} }}", ", since k does not change in it"),
        (f"for (int p = 0; p < n; ) {{ {ADD} k++; }}", ", since p does not change in it"),
        (f"for (; k < n; t++) {ADD}", ", since k does not change in it"),
        (f"do {{ {ADD} C[k] = sum; }} while (k < n - 1);", ", since k does not change in it"),
        (f"for (;; k++) {{ {ADD} }}", ": it has no condition and no break"),
        (f"while (true) {{ {ADD} k++; }}", ": its condition is always true"),
        (f"while (k < n) {{ for (t = 0; t < 4; t++) {ADD} }}", ", since k does not change in it"),
        (f"for (; k < n; k += 0) {ADD}", ", since k does not change in it"),
        (f"for (; k < n; k *= 1) {{ {ADD} k = k; }}", ", since k does not change in it"),
        (f"for (; k < n; k--) {ADD}", ", since k only shrinks in it"),
        (f"for (k = n; k >= 0; k += 2) {ADD}", ", since k only grows in it"),
        (f"for (unsigned p = n - 1; p >= 0; p--) {ADD}", UNSIGNED),
        (f"for (std::size_t p = n; 0 <= p; --p) {ADD}", ", since p is unsigned, so that 0 <= p is always true"),
        (
            f"uint32_t p = n; while (p >= 0u) {{ {ADD} p -= 2; }}",
            ", since p is unsigned, so that p >= 0u is always true",
        ),
        (f"unsigned short p = n; do {{ {ADD} p--; }} while (p > -1);", NARROW),
        (f"using Index = unsigned long; Index p = n; while ((p >= 0)) {{ {ADD} p--; }}", UNSIGNED),
        (f"for (auto p = blockDim.x - 1; p >= 0; p--) {ADD}", UNSIGNED),
        (f"auto p = (size_t)n; while (p >= 0) {{ {ADD} p--; }}", UNSIGNED),
        (f"auto p = n - 1; while (p >= 0) {{ {ADD} p--; }}", ""),
        (f"for (int p = n - 1; p >= 0; p--) {ADD}", ""),
        (f"for (unsigned p = n; p > 0; p--) {ADD}", ""),
        (f"for (unsigned p = n; p > -1; p--) {ADD}", ""),
        (f"for (unsigned p = n - 1; p >= 0; p--) {{ {ADD} if (p == 0) break; }}", ""),
        (f"for (unsigned p = n - 1; p >= 0 && p < n; p--) {ADD}", ""),
        (f"for (k = n; k > 0; k -= 2) {ADD}", ""),
        (f"for (; k < n; k -= t) {ADD}", ""),
        (f"for (; k < n && t < 4; k--) {{ {ADD} t++; }}", ""),
        (f"for (; k < n; k--) {{ {ADD} k += 2; }}", ""),
        (f"for (; k < t; k--) {{ {ADD} t--; }}", ""),
        (f"while (k < n) {{ {ADD} k++; }}", ""),
        (f"while (k < n) {{ {ADD} next(k); }}", ""),
        (f"for (;;) {{ {ADD} if (++k == n) break; }}", ""),
        (f"auto step = [&] {{ k++; }}; while (k < n) {{ {ADD} step(); }}", ""),
        (f"int &same = k; while (k < n) {{ {ADD} same++; }}", ""),
        (f"int *same = &k; while (k < n) {{ {ADD} ++*same; }}", ""),
        (f"while (next(k) < n) {{ {ADD} }}", ""),
        (f"__shared__ int done; while (done < n) {{ {ADD} }}", ""),
        (f'while (k < n) {{ {ADD} asm("add.s32 %0, %0, 1;" : "+r"(k)); }}', ""),
    ],
)
def test_only_a_loop_that_cannot_end_is_named(loop: str, clause: str) -> None:
    text = KERNEL.replace("LOOP", loop)
    assert endless_loop(text, "mm", [7]) == (clause and f"the loop in line 7 never ends{clause}")
    assert endless_loop(text, "mm", [8]) == ""


def test_a_run_names_the_loop_and_asks_for_no_smaller_product(tmp_path: Path) -> None:
    file = tmp_path / "mm.cu"
    file.write_text(KERNEL.replace("LOOP", f"while (k < n) {{\n{ADD}\n}}"))
    result = mmcore("run", str(file), "--device", "emulator", "--size", "64", "--timeout", "3")
    assert result.exit_code == 2
    assert "\nhint: the loop in line 7 never ends, since k does not change in it\n" in result.stdout
    assert "less work" not in result.stdout
    file.write_text(KERNEL.replace("LOOP", f"while (k < n) {{\n{ADD} t++; if (t == 1 << 30) k = n;\n}}"))
    result = mmcore("run", str(file), "--device", "emulator", "--size", "64", "--timeout", "3")
    assert "hint: 16×16×16 is less work" in result.stdout
    file.write_text(file.read_text().replace("n / 8", "(n + 7) / 8"))
    result = mmcore("run", str(file), "--device", "emulator", "--size", "2", "--timeout", "3")
    assert "hint: 1×1×1 is less work" in result.output


PYTHON = """\
@cuda.jit
def mm(A, B, C):
    col, row = cuda.grid(2)
    p = t = 0
    s = 0.0
    while CONDITION:
        s += A[row, p] * B[p, col]
        STEP
    C[row, col] = s
"""


@pytest.mark.parametrize(
    ("condition", "step", "clause"),
    [
        ("p < A.shape[1]", "t += 1", ", since p does not change in it"),
        ("p < A.shape[1]", "p -= 1", ", since p only shrinks in it"),
        ("p >= 0", "p += 2", ", since p only grows in it"),
        ("True", "p += 1", ": its condition is always True"),
        ("p < A.shape[1]", "p += 1", ""),
        ("p < A.shape[1]", "p = p + 1", ""),
        ("p < C[row, col]", "t += 1", ""),
        ("p < limit()", "t += 1", ""),
        ("True", "if p > 9: break", ""),
    ],
)
def test_an_endless_loop_of_python_is_named(condition: str, step: str, clause: str) -> None:
    text = PYTHON.replace("CONDITION", condition).replace("STEP", step)
    expected = f"the loop in line 6 never ends{clause}" if clause else ""
    assert python_loops.endless_loop(text, [7]) == expected
    assert python_loops.endless_loop(text, [9]) == ""
