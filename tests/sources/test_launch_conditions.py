"""Launches that the host code makes only where sizes are multiples: they are run there, and the others elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import mmcore as command
from tests.sources.test_source_file import kernel, launch_text

WIDE = """
#include <cassert>
template <bool WIDE>
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; WIDE && k < K; k += 4) {
        float4 a = *reinterpret_cast<const float4 *>(A + row * K + k);
        sum += a.x * B[k * N + col] + a.y * B[(k + 1) * N + col];
        sum += a.z * B[(k + 2) * N + col] + a.w * B[(k + 3) * N + col];
    }
    for (int k = 0; !WIDE && k < K; k++)
        sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""
LAUNCH = "mul<{}><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);"
FAST, ANY = map(LAUNCH.format, ("true", "false"))
HEAD = "void launch(float *A, float *B, float *C, int M, int N, int K)\n"
HOST = f"{HEAD}{{\n    if (K % 4 == 0)\n        {FAST}\n    else\n        OTHER\n}}\n"
CALLER = "void run(float *A, float *B, float *C, int m, int n, int k) "
OTHER = WIDE.replace("template <bool WIDE>", "").replace("mul(", "any(").replace("WIDE", "false")


def test_the_other_instance_of_a_template_is_run_at_other_sizes() -> None:
    Path("my.cu").write_text(WIDE + HOST.replace("OTHER", ANY))
    ran = command("run", "my.cu", "--device", "emulator")
    assert ran.stdout.endswith("\nTEST PASS\n")
    note = "line 21 launches it only if K % 4 == 0, else line 23 launches mul<false>"
    assert f"at other sizes mul<0> ({note})" in " ".join(ran.stderr.split())
    wrong = WIDE.replace("A[row * K + k] *", "A[row * K] *")
    Path("my.cu").write_text(wrong + HOST.replace("OTHER", ANY))
    assert command("run", "my.cu", "--device", "emulator", "-q").exit_code == 1
    assert launch_text(kernel(WIDE + HOST.replace("OTHER", ANY))).other is not None
    assert launch_text(kernel(WIDE + HOST.replace("OTHER", ANY), parameters={"WIDE": 0})).other is None


def test_a_kernel_is_not_run_where_another_one_is_launched() -> None:
    Path("my.cu").write_text(WIDE + OTHER + HOST.replace("OTHER", ANY.replace("mul<false>", "any")))
    why = "line 38 launches it only if K % 4 == 0, else line 40 launches any"
    ran = command("run", "my.cu", "--entry", "mul", "--device", "emulator", "-q")
    assert ran.exit_code == 0
    assert ran.stdout.endswith(f" more sizes; not tried at other sizes: {why}\n")
    ran = command("run", "my.cu", "--entry", "mul", "--device", "emulator", "--size", "33")
    assert ran.exit_code == 2
    assert f"k = 33 is not a multiple of 4: {why}\n" in ran.output


@pytest.mark.parametrize(
    ("host", "condition"),
    [
        (f"{HEAD}{{ if (!(K & 3) && N % 8 == 0) {FAST} }}", "!(K & 3) && N % 8 == 0"),
        (f"{HEAD}{{ bool wide = K % 4 == 0; if (wide) {FAST} }}", "K % 4 == 0"),
        (f"{HEAD}{{ if (K % 4) g(); else {FAST} }}", "!(K % 4)"),
        (f"{HEAD}{{ if (K % 4 == 0) if (N % 4 == 0) {FAST} }}", "N % 4 == 0 && K % 4 == 0"),
        (f"{HEAD}{{ if (K % 4 == 0) {{ {FAST} return; }} g<<<1, 1>>>(); }}", "K % 4 == 0, else line 19 launches g"),
        (f"{HEAD}{{ {FAST} }} {CALLER}{{ if (k % 4 == 0) launch(A, B, C, m, n, k); }}", "k % 4 == 0"),
        (f"{HEAD}{{ if (K % 4 == 0 || N == 9) {FAST} }}", ""),
    ],
)
def test_a_condition_is_read_in_its_usual_forms(host: str, condition: str) -> None:
    found = [each.description for each in kernel(WIDE + host).constraints]
    assert found == [f"line 19 launches it only if {condition}"] * bool(condition)


@pytest.mark.parametrize("other", [ANY, "g();"])
def test_a_package_declares_the_multiples(other: str) -> None:
    Path("my.cu").write_text(WIDE + HOST.replace("OTHER", other))
    assert command("new-plugin", "acme.wide", "--from", "my.cu").exit_code == 0
    (module,) = Path().rglob("wide.py")
    assert '        constraints=(Multiple(("k",), 4),),' in module.read_text().splitlines()
