"""Element types: those of a launch's arguments, where it has no template arguments, and unsigned ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mmcore_sources.cuda_file.inference.infer import infer
from tests.command_line import mmcore as command
from tests.sources.test_source_file import NAIVE, kernel
from tests.sources.test_suggestions import LINEAR

PRODUCT = "template <class T> " + LINEAR.replace("const float *bias, ", "").replace("float", "T").replace(
    "bias[j]", "0"
)
HELPER = """
template <class U> void go(const U *x, const U *w, U *y, int m)
{
    linear<<<1, dim3(9, 9)>>>(x, w, y, m, m, m, 0);
}
"""


@pytest.mark.parametrize(
    "host",
    [
        "int main() { double *x, *w, *y; linear<<<1, dim3(9, 9)>>>(x, w, y, 9, 9, 9, 0); }",
        "void run(const double *x, double *w, double *y) { linear<<<1, dim3(9, 9)>>>(x, w, y, 9, 9, 9, 0); }",
        HELPER + "int main() { double *x, *w, *y; go(x, w, y, 9); }",
        HELPER + "void run(double *x) { go(x, x, x, 9); }",
        HELPER + "int main() { thrust::device_vector<double> x, w, y; go(raw_pointer_cast(x.data()), w, y, 9); }",
        HELPER + "using real = double;\nint main() { real *x, *w, *y; go(x, w, y, 9); }",
    ],
)
def test_the_arguments_of_a_launch_give_the_type_of_a_template(host: str) -> None:
    found = kernel(PRODUCT + host, block="9x9", grid="ceil(n / 9), ceil(m / 9)")
    assert found.dtype == "float64"
    assert found.entry.startswith("linear<")


OF_STRUCTURES = """
template <class T, class I = int> struct Matrix { T *data; I rows, cols; };
template <class E, class U, class I = int>
__global__ void product(Matrix<const E> a, Matrix<E> b, Matrix<U, I> c)
{
    int i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 8 + threadIdx.x;
    if (i >= c.rows || j >= c.cols) return;
    U sum = 0;
    for (int p = 0; p < a.cols; p++) sum += (U)a.data[i * a.cols + p] * (U)b.data[p * b.cols + j];
    c.data[i * c.cols + j] = sum;
}
"""
DECLARED = "Matrix<const half> a; Matrix<half> b; Matrix<double> c;"
WRAPPED = """template <class T, class V> void go(Matrix<const T> x, Matrix<T> y, Matrix<V> z)
{
    product<<<dim3(8, 8), dim3(8, 8)>>>(x, y, z);
}
"""


@pytest.mark.parametrize(
    "host",
    [
        f"int main() {{ {DECLARED} product<half, double><<<dim3(8, 8), dim3(8, 8)>>>(a, b, c); }}",
        f"int main() {{ {DECLARED} product<half><<<dim3(8, 8), dim3(8, 8)>>>(a, b, c); }}",
        f"int main() {{ {DECLARED} product<<<dim3(8, 8), dim3(8, 8)>>>(a, b, c); }}",
        f"{WRAPPED} int main() {{ {DECLARED} go(a, b, c); }}",
        f"using Out = Matrix<double>; {WRAPPED} int main() {{ Matrix<const half> a; Out c; go(a, b, c); }}",
        f"{WRAPPED} int main() {{ auto a = make<half>(8); auto c = Matrix<double>{{p, 8, 8}}; go(a, a, c); }}",
        "template __global__ void product<half, double>(Matrix<const half>, Matrix<half>, Matrix<double>);",
    ],
)
def test_the_elements_of_structures_have_the_type_of_the_launch(host: str) -> None:
    found = kernel(OF_STRUCTURES + host, block="8x8")
    assert (found.dtype, found.output, found.entry) == ("float16", "float64", "product<half, double, int>")


def test_a_structure_may_be_an_alias_of_an_instance() -> None:
    text = OF_STRUCTURES.replace(
        "template <class E, class U, class I = int>", "typedef Matrix<const half> In;\nusing Out = Matrix<double>;"
    )
    text = (
        text.replace("<const E> a, Matrix<E> b, Matrix<U, I> c", "")
        .replace("Matrix)", "In a, In b, Out c)")
        .replace("U", "double")
    )
    found = kernel(text + "int main() { product<<<dim3(8, 8), dim3(8, 8)>>>(a, b, c); }")
    assert (found.dtype, found.output) == ("float16", "float64")


@pytest.mark.parametrize("host", ["", "int main() { auto x = get(); linear<<<1, dim3(9, 9)>>>(x, x, x, 9, 9, 9, 0); }"])
def test_a_type_that_nothing_shows_is_float(host: str) -> None:
    assert kernel(PRODUCT + host, block="9x9", grid="ceil(n / 9), ceil(m / 9)").dtype == "float32"


@pytest.mark.parametrize("word", ["unsigned", "unsigned int", "uint32_t"])
def test_unsigned_elements_are_multiplied_as_int32(word: str) -> None:
    found = kernel(NAIVE.replace("float", word))
    assert (found.dtype, found.output) == ("int32", "int32")


WMMA = """using namespace nvcuda;
__global__ void product(const half *A, const half *B, float *C, int m, int n, int k)
{
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fill_fragment(sum, 0);
    for (int p = 0; p < k; p += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * k + p, k);
        wmma::load_matrix_sync(b, B + p * n + blockIdx.x * 16, n);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}
void run(half *A, half *B, float *C, int m, int n, int k) { product<<<dim3(n / 16, m / 16), 32>>>(A, B, C, m, n, k); }
"""
HALF_WMMA = WMMA.replace("wmma::accumulator, 16, 16, 16, float", "wmma::accumulator, 16, 16, 16, half")
TF32 = WMMA.replace("half", "float").replace("16, float, wmma", "8, wmma::precision::tf32, wmma")
ROUNDED = re.sub(
    r"sum \+= (.*?) \* (.*?);",
    r"s += __half2float(__hmul(\1, \2));",
    NAIVE.replace("float *", "__half *").replace("sum = 0", "s = 0").replace("= sum", "= s"),
)
TEMPLATE_WMMA = HALF_WMMA.replace("__global__", "template <typename T>\n__global__").replace(
    "product<<", "product<half><<"
)
TEMPLATE_WMMA = TEMPLATE_WMMA.replace("16, half>", "16, T>").replace("const half *", "const T *")
FLOAT_SUM = NAIVE.replace("float *", "__half *").replace("sum +=", "sum += (float)")


@pytest.mark.parametrize(
    ("text", "given", "warnings"),
    [
        (TF32, {}, ["tensor cores in line 5 round A and B of float32 to tf32, so that C differs from"]),
        (TF32, {"dtype": "tf32"}, []),
        (HALF_WMMA, {}, ["sums are float16: the type of the source's accumulator fragments; such sums have 11 bits"]),
        (TEMPLATE_WMMA, {}, ["sums are float16: the type of the source's accumulator fragments; such sums have 11"]),
        (
            TEMPLATE_WMMA.replace("product<half>", "product<float>").replace(
                "T *A, const T *B", "half *A, const half *B"
            ),
            {},
            [],
        ),
        (HALF_WMMA, {"accumulator": "float16"}, []),
        (WMMA, {}, []),
        (FLOAT_SUM, {}, []),
        (ROUNDED, {}, ["products are float16: __hmul in line "]),
        (
            ROUNDED.replace("s +=", "s = __hadd(s, s) +"),
            {},
            ["sums are float16: the source adds with __hadd or __hfma"],
        ),
        (
            ROUNDED.replace("s +=", "float sum = __hadd(s, s); s = sum +"),
            {},
            ["some sums are float16: the source adds with __hadd or __hfma; such sums have 11 bits"],
        ),
        (NAIVE, {}, []),
        (NAIVE.replace("float", "__half"), {}, ["sums are float16: the type of sum; such sums have 11 bits"]),
        (NAIVE.replace("float", "__nv_bfloat16"), {}, ["sums are bfloat16: the type of sum; such sums have 8 bits"]),
    ],
)
def test_arithmetic_with_fewer_digits_than_the_matrices_is_a_warning(
    text: str, given: dict[str, str], warnings: list[str]
) -> None:
    found = infer(Path("own.cu"), text, given).warnings
    assert len(found) == len(warnings)
    assert all(one.startswith(other) for one, other in zip(found, warnings, strict=True))


COMPILED = "#include <mma.h>\n" + TF32.replace("accumulator, 16, 16, 16", "accumulator, 16, 16, 8").replace(
    "+= 16", "+= 8"
)
OF_HALF = "#include <cuda_fp16.h>\n" + NAIVE.replace("float", "__half")


@pytest.mark.parametrize(
    ("text", "error"), [(COMPILED, "·|A|·|B|, for A and B rounded to tf32\n"), (OF_HALF, "·|A|·|B|\n")]
)
def test_a_proof_warns_of_such_arithmetic(text: str, error: str) -> None:
    Path("own.cu").write_text(text)
    (warning,) = infer(Path("own.cu"), text, {}).warnings
    shown = command("prove", "own.cu", "--size", "16")
    assert (shown.exit_code, error in shown.stdout) == (0, True)
    assert command("prove", "own.cu", "--size", "16", "--quiet").stdout == f"warning: {warning}\nPROVED at 16×16×16\n"
