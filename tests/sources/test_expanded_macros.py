"""Macros of a source, which are replaced by the code that they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore_cuda.cuda_source.expanded_macros import Macros, definitions
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.infer import infer
from tests.sources.test_source_file import NAIVE, inferred

LISTED = NAIVE.replace("float *A, float *B, float *C, int N", "MATRICES, int N")
MATRICES = "#define MATRICES float *A, \\\n  float *B, float *C\n"
LOADS = "#define LOAD(v, p) v = *((float *)(p));\n#define STORE(p, v) *((float *)(p)) = v;\n"
ASSEMBLY = """#define LOAD(v, p) asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
#define STORE(p, v) *(p) = v;
"""
MOVED = """
__global__ void mul(float *B, float *C, float *A, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, a, b;
    for (int i = 0; i < N; i++) { LOAD(a, &B[row * N + i]) LOAD(b, &C[i * N + col]) sum += a * b; }
    STORE(&A[row * N + col], sum)
}
"""


@pytest.mark.parametrize(
    ("code", "replaced"),
    [
        ("#define A(i, j) a[i * n + j] // row\nx = A(f(1, 2),\n 3) + B(4);\n", "x = a[f(1, 2) * n + 3]\n + B(4);\n"),
        ("#define A(x, y) a[x + y]\nx = A(\n i, // row\n j)\n;\n", "x = a[i + j]\n\n\n;\n"),
        ("#define SWAP(x, y) t = y; y = x;\nSWAP(u,\n v) w;\n", "t = v; v = u;\n w;\n"),
        ("#define CASE(x, y) { y }\nCASE(u,\n{\n v;\n}\n) w;\n", "\n{ \n{\n v;\n}\n } w;\n"),
        ("#define A(x, \\\n          y) x + y\nA(1, 2);\n", "1 + 2;\n"),
        ("#define A(x) B(x, 1)\n#define B(x, y) x + y\nA(2) A(B(1, 1));\n", "2 + 1 1 + 1 + 1;\n"),
        ("#define A(x) A(x) + 1\nA(A(2));\n", "A(A(2) + 1) + 1;\n"),
        ("#define A(i, j) (i)+(j)*(n)\nc[A(x, y)] = A(x + 1, y);\n", "c[x+y*(n)] = (x + 1)+y*(n);\n"),
        ("#define A(t, x) f(x)+(t)-x\nA(float, y);\n", "f(y)+(float)-y;\n"),
        ("#define A(x) row_##x\n#define S(x) f(#x, x)\nA(2); S(y);\n", 'row_2; f("", y);\n'),
        ("#define A(f, ...) f(__VA_ARGS__)\nA(g, 1, 2); A(h);\n", "g(1, 2); h();\n"),
        ("#define A(x) x\nA (1); A; A(1, 2); \"A(1)\"; // A(1)\n", '1; A; A(1, 2); "A(1)"; // A(1)\n'),
        ("#define A(x) x\nA(1);\n#undef A\nA(2);\n", "1;\n#undef A\nA(2);\n"),
        ("#define tx threadIdx.x\n#define TILE 32\n#define T float\nT a = tx * TILE;\n", "T a = threadIdx.x * TILE;\n"),
    ],
)  # fmt: skip
def test_calls_of_macros_are_replaced_in_the_same_lines(code: str, replaced: str) -> None:
    read = Macros().expanded(code.encode()).decode()
    assert read.endswith(replaced)
    assert read.count("\n") == code.count("\n")


def test_a_headers_macros_are_known() -> None:
    of_headers = definitions(b"#define A(x) x + 1\n#define B(x) x\n")
    assert Macros(of_headers).expanded(b"A(2);\n#define B(x) x + 2\nB(1);") == b"2 + 1;\n#define B(x) x + 2\n1 + 2;"


def test_a_macro_may_list_parameters() -> None:
    assert "MATRICES" in LISTED
    for text, headers in ((MATRICES + LISTED, []), (LISTED, [("my.h", MATRICES)])):
        found = infer(Path("/folder/my.cu"), text, {"entry": "mul"}, headers).attributes
        assert found["arguments"] == ("A", "B", "C", "n")


def test_a_macro_may_be_the_name_of_the_kernel_that_is_launched() -> None:
    second = NAIVE.replace("mul(", "second(")
    host = "void run(float *a, int n) { chosen<<<dim3(n / 4, n / 4), dim3(4, 4)>>>(a, a, a, n); }\n"
    found = inferred(f"#define chosen second\n{NAIVE}{second}{host}")
    assert (found.attributes["entry"], found.attributes["configs"]) == ("second", [{"block": (4, 4)}])


def test_a_macro_may_launch_with_parameters_on_several_lines() -> None:
    body = "{ dim3 b(bx, by); \\\n    mul<<<dim3(n / 8, n / 4), b>>>(a, a, a, n); }"
    macro = f"#define RUN(bx, \\\n            by) \\\n  {body}\n"
    host = "void run(float *a, int n) {\n  RUN(8,\n      4);\n}\n"
    (launch,) = read_program(macro + NAIVE + host).launches
    assert launch.line == (macro + NAIVE).count("\n") + 2
    assert inferred(macro + NAIVE + host).attributes["configs"] == [{"block": (8, 4)}]


def test_a_macro_may_load_and_store() -> None:
    for text, headers in ((LOADS + MOVED, []), (MOVED, [("my.h", LOADS)])):
        found = infer(Path("/folder/my.cu"), text, {"entry": "mul"}, headers).attributes
        assert found["arguments"] == ("A", "B", "C", "n")


def test_the_operands_of_assembly_show_how_a_matrix_is_stored() -> None:
    by_columns = MOVED.replace("i * N + col", "col * N + i").replace("&", "(").replace("[", " + ").replace("]", ")")
    found = infer(Path("/folder/my.cu"), ASSEMBLY + by_columns, {}, []).attributes
    assert (found["arguments"], found["column_major"]) == (("A", "B", "C", "n"), "B")
