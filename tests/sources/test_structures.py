"""Structures that a kernel takes by value: sizes beside pointers, and all arguments in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore import InvalidKernel, Scalar, Struct
from tests.command_line import mmcore as command
from tests.sources.test_source_file import HOST, NAIVE, inferred, kernel, launch_text
from tests.tables import cases

PARAMETERS = "const float *a, const float *b, float *c"


def body(m: str, n: str, k: str, owner: str = "", factor: str = "1") -> str:
    """Return the body of a product of matrices, with these names for its sizes and the owner of its pointers."""
    return (
        "{ int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;"
        f" if (i >= {m} || j >= {n}) return; float s = 0;"
        f" for (int p = 0; p < {k}; p++) s += {owner}a[i * {k} + p] * {owner}b[p * {n} + j];"
        f" {owner}c[i * {n} + j] = {factor} * s; }}\n"
    )


@cases(__file__, "sizes_may_be_members_of_a_structure", "before, type_, names, launch, reason")
def test_sizes_may_be_members_of_a_structure(
    before: str, type_: str, names: tuple[str, ...], launch: str, reason: str
) -> None:
    text = f"{before}\n__global__ void f({PARAMETERS}, {type_} d) {body(*(f'd.{name}' for name in names))}"
    blocks = "dim3 t(8, 8), g((n + 7) / 8, (m + 7) / 8);"
    host = f"void host(float *a, float *b, float *c, int m, int n, int k) {{ {blocks} {launch} }}"
    found = inferred(text + host)
    sizes = dict(zip(names, "mnk", strict=True))
    (structure,) = found.attributes["arguments"][3:]
    assert sorted(structure.members) == ["k", "m", "n"]
    assert found.attributes["arguments"][:3] == ("A", "B", "C")
    assert found.attributes["launch"].grid == "ceil(n / 8), ceil(m / 8)"
    (arguments,) = (each for each in found.notes if each.what == "arguments")
    assert all(f"d.{name}={role}" in arguments.value for name, role in sizes.items())
    assert (arguments.why, arguments.guessed) == (f"by the {reason}", False)


def test_one_structure_may_contain_matrices_sizes_and_factors() -> None:
    of = body("p.m", "p.n", "p.k", "p.", "p.alpha")
    args = "template <class T> struct Args { const T *__restrict__ a, *b; T *c; float alpha; int m, n; size_t k; };\n"
    text = f"{args}template <class T> __global__ void f(Args<T> p) {of}"
    host = "int main() { Args<double> p{x, y, z, 2, 64, 32, 96}; f<double><<<dim3(4, 8), dim3(8, 8)>>>(p); }"
    found = inferred(text + host)
    members = ("A", "B", "C", Scalar("alpha", "float32"), "m", "n", Scalar("k", "uint64"))
    assert (found.attributes["arguments"], found.attributes["dtype"]) == ((Struct(members),), "float64")
    assert found.launched_sizes == (64, 32, 96)
    (exchanged,) = kernel(text, args=["A", "B", "C", "alpha", "n", "m", "k"]).arguments
    assert isinstance(exchanged, Struct)
    assert exchanged.members[4:6] == ("n", "m")


@pytest.mark.parametrize(
    ("before", "type_", "message"),
    [
        ("struct Dims { int sides[3]; };", "Dims d", "neither a pointer nor a number; take the numbers"),
        ("struct Dims { int m, n, k; };", "const Dims *d", "that contain numbers; only structures by value"),
    ],
)
def test_a_structure_that_cannot_be_read_is_refused(before: str, type_: str, message: str) -> None:
    with pytest.raises(InvalidKernel, match=message):
        kernel(f"{before} __global__ void f({PARAMETERS}, {type_}) {body('d->m', 'd->n', 'd->k')}")


def test_hints_name_the_members_that_are_sizes(folder: Path) -> None:
    text = f"struct Dims {{ int m, n, k; }};\n__global__ void f({PARAMETERS}, Dims d) {body('d.m', 'd.n', 'd.k')}"
    (folder / "my.cu").write_text(text.replace("p < d.k", "p < d.n"))
    result = command("run", "my.cu", "--block", "8x8", "--device", "emulator")
    assert "with d.k instead of d.n in line 2:" in result.output


@cases(__file__, "sizeof_rounds_a_structure_up_to_its_alignment", "structure, nbytes")
def test_sizeof_rounds_a_structure_up_to_its_alignment(structure: str, nbytes: str) -> None:
    host = HOST.format(kernel=NAIVE, code="mul<<<4 * w, 64, sizeof(Stage)>>>(x, y, z, w);")
    assert launch_text(kernel(f"{structure}\n{host}")).shared_bytes == nbytes


@cases(__file__, "dynamic_shared_memory_follows_the_config", "declarations, shared, nbytes")
def test_dynamic_shared_memory_follows_the_config(declarations: str, shared: str, nbytes: str) -> None:
    host = HOST.format(kernel=NAIVE, code=f"mul<<<4 * w, 64, {shared}>>>(x, y, z, w);")
    text = f"#ifndef STAGES\n#define STAGES 4\n#endif\n{declarations}\n{host}"
    assert launch_text(kernel(text, parameters={"STAGES": 6})).shared_bytes == nbytes


@pytest.mark.parametrize(
    ("host", "launched", "call", "shared", "nbytes"),
    [
        ("template <int DEEP> ", "DEEP", "host<4>(x, y, z, 64, 32, 96);", "sizeof(Stages<DEEP>)", "32 * STAGES"),
        ("", "4", "", "sizeof(Stages<4>)", "32 * STAGES"),
        ("", "4", "", "sizeof(Stages< 4 >) + 1024", "32 * STAGES + 1024"),
        ("", "4", "", "sizeof(Stages<5>)", "160"),
    ],
)
def test_a_parameter_of_a_kernel_s_template_is_one_of_its_shared_structure(
    host: str, launched: str, call: str, shared: str, nbytes: str
) -> None:
    placed = "{ extern __shared__ float raw[]; auto &s = *reinterpret_cast<Stages<STAGES> *>(raw); s.a[0][0] = 0;"
    text = (
        "template <int STAGES> struct Stages { float a[STAGES][8]; };\n"
        f"template <int STAGES> __global__ void f({PARAMETERS}, int m, int n, int k)"
        f" {body('m', 'n', 'k').replace('{', placed, 1)}"
        f"{host}void host(float *a, float *b, float *c, int m, int n, int k)"
        f" {{ f<{launched}><<<dim3(n / 8, m / 8), dim3(8, 8), {shared}>>>(a, b, c, m, n, k); }}\n"
        f"int main() {{ {call} }}"
    )
    assert launch_text(kernel(text, parameters={"STAGES": 6})).shared_bytes == nbytes


@pytest.mark.parametrize(
    "copies", ["Matrix A, B, C; A.width = A.height = 640; B = A; C = B;", "Matrix A = {640, 640}; Matrix B = A, C = A;"]
)
def test_a_structure_that_is_copied_has_the_sizes_of_the_other(copies: str) -> None:
    text = f"""
typedef struct {{ int width, height; float *elements; }} Matrix;
__global__ void mul(Matrix A, Matrix B, Matrix C)
{{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < A.width; i++) sum += A.elements[row * A.width + i] * B.elements[i * B.width + col];
    C.elements[row * C.width + col] = sum;
}}
int main() {{ {copies} mul<<<dim3(C.width / 16, C.height / 16), dim3(16, 16)>>>(A, B, C); }}
"""
    assert inferred(text).launched_sizes == (640, 640, 640)


def test_a_launch_names_the_size_of_a_structure_of_a_header(folder: Path) -> None:
    structure, host = (
        "struct Stage { float a[16], b[16]; };\n",
        HOST.format(kernel="", code="mul<<<4 * w, 64, sizeof(Stage)>>>(x, y, z, w);"),
    )
    (folder / "mul.cuh").write_text(structure + NAIVE)
    (folder / "main.cu").write_text('#include "mul.cuh"\n' + host)
    result = command("show", "main.cu")
    assert "shared bytes: 128" in result.output


GUIDE = """
#define TILE 16
struct Matrix { int width, height; float *elements; };
__global__ void mul(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < A.width; k++) sum += A.elements[row * A.width + k] * B.elements[k * B.width + column];
    C.elements[row * C.width + column] = sum;
}
COPY
void product(Matrix A, Matrix B, Matrix C)
{
    MADE
    mul<<<dim3(B.width / TILE, A.height / TILE), dim3(TILE, TILE)>>>(a, b, c);
}
Matrix make(int height, int width)
{
    Matrix made;
    made.width = width; made.height = height;
    return made;
}
int main() { Matrix A = make(1024, 256), B = make(256, 768), C = make(1024, COLUMNS); product(A, B, C); }
"""
RETURNED = "Matrix copy(const Matrix M) { Matrix d; d.width = M.width; d.height = M.height; return d; }"
SET = "void copy(Matrix *d, const Matrix &M) { d->width = M.width; d->height = M.height; }"


@pytest.mark.parametrize(
    ("copy", "made"),
    [
        (RETURNED, "Matrix a = copy(A), b = copy(B), c = copy(C);"),
        (RETURNED, "Matrix a, b, c;\na = copy(A);\nb = copy(B);\nc = copy(C);"),
        (SET, "Matrix a, b, c; copy(&a, A); copy(&b, B); copy(&c, C);"),
    ],
)
def test_a_program_s_sizes_follow_a_structure_through_functions(copy: str, made: str) -> None:
    text = GUIDE.replace("COPY", copy).replace("MADE", made)
    whole = inferred(text.replace("COLUMNS", "768"))
    assert whole.launched_sizes == (1024, 768, 256)
    assert "m, n and k are multiples of 16" in [each.description for each in whole.attributes["program_sizes"]]
    remainder = text.replace("COLUMNS", "770").replace("768", "770")
    assert inferred(remainder).attributes["program_sizes"] == ()
