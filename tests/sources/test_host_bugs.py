"""Bugs of host code: a bad program for each, and right programs that resemble it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mmcore.devices.violations import Violation
from mmcore.registry import registry
from mmcore_sources.cuda_file.host_bugs.exchanged_matrices import unlaunched_kernel
from mmcore_sources.cuda_file.host_bugs.find import host_bugs
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.host_bugs.narrow_indexes import narrow_indexes
from mmcore_sources.cuda_file.host_bugs.repeated_sums import repeated_sums
from mmcore_sources.cuda_file.host_bugs.set_variables import set_variables
from mmcore_sources.cuda_file.host_bugs.unread_errors import unread_errors
from mmcore_sources.cuda_file.inference.infer import infer
from mmcore_sources.cuda_file.syntax import host_syntax_errors, uncompiled_kernels
from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.sources.test_source_file import BATCH
from tests.tables import cases

KERNELS = " ".join(kernel_source(name) for name in ("naive_square",)).replace("\n", " ")
BEFORE = """
#define CHECK(call) if ((call) != cudaSuccess) exit(1)
#define WAIT() CHECK(cudaDeviceSynchronize())
__global__ void gemm(const float *A, const float *B, float *C, int m, int k, int l) { C[m] = A[k] * B[l]; }
__global__ void flip(const float *from, float *to, int n) { to[threadIdx.x * n] = from[threadIdx.x]; }
void *kernels[] = {(void *)mul}; double seconds() { timeval now; gettimeofday(&now, 0); return now.tv_sec; }
int main(int argc, char **argv) { const int n = 1000; float *a, *b, *c, *h = (float *)malloc(n * n * sizeof(float)); \
cudaMalloc(&a, n * n * sizeof(float)); cudaMalloc(&b, n * n * sizeof(float)); cudaMalloc(&c, n * n * sizeof(float));
"""


def found(statements: str) -> tuple[Violation, ...]:
    text = f"{KERNELS}{BEFORE}{statements}\n}}\n"
    entry = {"entry": "mul", "block": [16, 16], "grid": "n, m"}
    return host_bugs("my.cu", text, infer(Path("/folder/my.cu"), text, entry), entry)


FIRST = f"{KERNELS}{BEFORE}".count("\n")


@cases(__file__, "bug", "statements, kind, line, message")
def test_a_bug_of_the_host_is_found_with_its_line(statements: str, kind: str, line: int, message: str) -> None:
    (bug,) = found(statements)
    assert (bug.kind, bug.line) == (kind, FIRST + line)
    assert message in bug.message


@cases(__file__, "no_bug", "statements")
def test_a_right_program_has_no_bugs(statements: str) -> None:
    assert found(statements) == ()


@cases(__file__, "set_variable", "declared, body, other, statements, message")
def test_code_that_is_not_run_and_sets_a_variable_that_the_kernel_reads_is_found(
    declared: str, body: str, other: str, statements: str, message: str
) -> None:
    kernel = f"__global__ void mul(const float *A, const float *B, float *C, int n) {{ {body} }}"
    launch = "void f(const float *a, const float *b, float *c, int n) { mul<<<1, 1>>>(a, b, c, n);"
    other = other.replace("MARK", "__global__ void mark(int n)")
    bugs = [*set_variables(HostCode(f"{declared}\n{kernel}\n{other}\n{launch}\n{statements} }}\n"), "mul")]
    assert [(each.kind, each.message.startswith(message)) for each in bugs] == [("other-kernel", True)] * bool(message)
    assert [each.line for each in bugs] == [5 if statements else 3] * bool(message)


@pytest.mark.parametrize("verdict", ["run", "check", "prove", "conform"])
def test_each_verdict_warns_of_a_kernel_that_sets_a_variable(
    verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    kernel = kernel_source("naive_square").partition("int main")[0].replace("{", "{ if (ready) return;", 1)
    mark = "__global__ void mark() { ready = 1; }\n"
    host = (
        "void f(int n) { mul<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n); mark<<<1, 1>>>(); }\n"
    )
    (tmp_path / "my.cu").write_text(f"__device__ int ready;\n{kernel}{mark}{host}")
    result = command(verdict, "my.cu", "--device", "emulator", "--quiet")
    assert (result.exit_code, "mark is not run: it sets ready" in result.stdout) == (0, True)


@cases(__file__, "grid", "kernel, statements, found")
def test_a_grid_that_does_not_cover_the_programs_own_product_is_found(kernel: str, statements: str, found: str) -> None:
    text = f"{kernel_source(kernel).partition('int main')[0]}int main(int argc, char **argv) {{\n{statements}\n}}\n"
    bugs = host_bugs("my.cu", text, infer(Path("/folder/my.cu"), text, {}), {})
    assert "; ".join(bug.message for bug in bugs) == found


@pytest.mark.parametrize(
    ("statements", "launched"),
    [
        ("// mul<<<63, 16>>>(a, b, c, n);", False),
        ('printf("mul: %f", h[0]);', False),
        ("mul<<<63, 16>>>(a, b, c, n);", True),
        ("cudaLaunchKernel((void *)mul, 63, 16, arguments);", True),
        ("} int other() {\n#define RUN mul<<<63, 16>>>\nRUN(a, b, c, n);", True),
    ],
)
def test_a_kernel_that_no_code_of_a_program_launches_is_found(statements: str, launched: bool) -> None:
    text = f"{kernel_source('naive_square')}int main() {{ float *a, *b, *c, *h; int n = 1000;\n{statements}\n}}\n"
    bugs = [*unlaunched_kernel(HostCode(text), "mul")]
    assert [each.message.partition(",")[0] for each in bugs] == ["no code of the file launches mul"] * (not launched)
    assert not [*unlaunched_kernel(HostCode(f'#include "launches.cuh"\n{text}'), "mul")]
    assert not [*unlaunched_kernel(HostCode(text.replace("main", "other")), "mul")]


@cases(__file__, "unread", "statements, note")
def test_errors_that_no_program_reads_are_one_note(statements: str, note: bool) -> None:
    text = f"{KERNELS} int main() {{ mul<<<1, 16>>>(a, b, c, n); mul<<<1, 16>>>(a, b, c, n); {statements} }}"
    assert unread_errors(HostCode(text)).startswith("no error of the launch in line 1 is read") == note


@pytest.mark.parametrize(
    ("grid", "size", "fault"),
    [("3, 3", 40, ""), ("40 / 16, 3", 40, "rounded-down-grid"), ("2, 3", 40, "uncovered-product"), ("2, 3", 32, "")],
)
def test_a_right_kernel_fails_whose_program_leaves_a_part_of_c_out(
    grid: str, size: int, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    launch = f"mul<<<dim3({grid}), dim3(16, 16)>>>(a, b, c, {size});"
    (tmp_path / "my.cu").write_text(f"{kernel_source('naive_square')}int main() {{ float *a, *b, *c; {launch} }}")
    for name, *options in (("run",), ("run", "--no-hazards", "--no-hints"), ("check",)):
        result = command(name, "my.cu", *options, "--device", "emulator", "--seed", "1", "--quiet")
        assert (result.exit_code, fault in result.stdout.splitlines()[0]) == (bool(fault), True)
        hint = "hint: with the grid ceil(n / bx), ceil(m / by) the product is right at"
        assert (hint in result.stdout) == (bool(fault) and name == "run" and not options)
    # A size that the user names is judged by itself.
    named = command("run", "my.cu", "--size", "16", "--device", "emulator", "--seed", "1")
    assert (named.exit_code, f"warning: {fault}" in named.stdout) == (0, bool(fault))


@pytest.mark.parametrize(
    ("sizes", "fault"),
    [
        ("M = 64, N = 48, K = 96, n = 8", "K·M = 6,144"),
        ("M = 64, N = 64, K = 64, n = 8", ""),
        ("M = 64, N = 48, K = 96, n = 1", ""),
    ],
)
def test_a_wrong_step_to_the_next_product_of_the_programs_batch_is_a_fault(
    sizes: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    kernel = BATCH[: BATCH.index("void f(")]
    launch = "mul<<<dim3((N + 15) / 16, (M + 15) / 16, n), dim3(16, 16)>>>(a, b, c, M, N, K, n);"
    host = f"int main() {{ float *a, *b, *c; int {sizes}; {launch} }}\n"
    (tmp_path / "my.cu").write_text(kernel.replace("b * M * K", "b * M * N") + host)
    result = command("run", "my.cu", "--device", "emulator", "--quiet")
    goes, of_batch = "goes M·N", "elements from one A of the batch to the next; a matrix A"
    found = f"batch-step at my.cu:6: {goes} = 3,072 {of_batch} of the program has {fault}\n"
    assert result.stdout.startswith(found if fault else f"warning: line 6 {goes} {of_batch} has K·M\n")
    assert result.exit_code == bool(fault)
    named = command("run", "my.cu", "--size", "64", "--device", "emulator", "--quiet")
    assert (named.exit_code, "warning: batch-step" in named.stdout) == (0, bool(fault))
    conditions, others = (
        "TEST PASS if m and n are multiples of 16",
        "; not run: all products of the batch but the first",
    )
    assert named.stdout.splitlines()[-1] == conditions + ("" if "n = 1" in sizes else others)
    assert "warning: not run" not in named.stdout


def test_the_hint_rounds_a_grid_up_behind_a_macro_of_a_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    before = "#define WAIT() do { cudaDeviceSynchronize(); } while (0)\n"
    calls = "WAIT();\ndim3 grid(n / 16, n / 16);\nmul<<<grid, dim3(16, 16)>>>(a, b, c, n);"
    text = f"{before}{kernel_source('naive_square')}int main() {{ float *a, *b, *c; int n = 1000; {calls} }}"
    (tmp_path / "my.cu").write_text(text)
    said = command("run", "my.cu", "--device", "emulator", "--seed", "1", "--quiet").stdout
    line = text[: text.index("dim3 grid")].count("\n") + 1
    hint = f"with (n + 16 - 1) / 16 instead of n / 16 in line {line}:\n    dim3 grid((n + 16 - 1) / 16, "
    assert hint in said


def test_run_and_check_warn_of_bugs_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    host = "int main() { const int n = 40; float *a, *b, *c, *h; mul<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c, n);"
    text = f"{kernel_source('naive_square')}{host}\ncudaMemset(c, 0, n * n); }}"
    (tmp_path / "my.cu").write_text(text)
    line = text.count("\n") + 1
    message = "cudaMemset counts n * n bytes for c, without sizeof(float)"
    for name, shown in (("run", f"warning: wrong-size at my.cu:{line}: {message}"), ("check", message)):
        arguments = shlex.split(f"{name} my.cu --size 40 --device emulator")
        result = command(*arguments)
        assert (result.exit_code, shown in result.stdout) == (0, True), result.output
        (warning,) = json.loads(command(*arguments, "--json").stdout)["warnings"]
        assert message in str(warning)
    (tmp_path / "my.cu").write_text(text.replace("sum +=", "sum -="))
    result = command("run", "my.cu", "--size", "40", "--device", "emulator")
    assert (result.exit_code, message in result.stdout) == (1, True)


@pytest.mark.parametrize(
    ("copy", "is_fault"),
    [
        ("cudaMemcpy(a, h, n * n, cudaMemcpyHostToDevice);", True),
        ("cudaMalloc(&c, n * n);", True),
        ("cudaMemcpy(h, c, n * n, cudaMemcpyDeviceToHost);", True),
        ("cudaMemcpy(h, d, n * n, cudaMemcpyDeviceToHost);", False),
    ],
)
def test_a_matrix_of_too_few_bytes_fails_the_program(tmp_path: Path, copy: str, is_fault: bool) -> None:
    launch = "mul<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c, n);"
    host = f"int main() {{ const int n = 40; float *a, *b, *c, *d, *h;\n{copy}\n{launch} }}"
    (tmp_path / "my.cu").write_text(kernel_source("naive_square") + host)
    for name in ("run", "check"):
        result = command(name, str(tmp_path / "my.cu"), "--device", "emulator")
        assert ("without sizeof(float)" in result.stdout, result.exit_code) == (True, int(is_fault)), result.stdout


@pytest.mark.parametrize(
    ("before", "status"), [("", 1), ("cudaMemset(c, 0, n * n * sizeof(float));", 0), ("c = from_elsewhere();", 0)]
)
def test_a_program_that_never_zeroes_its_sums_fails(tmp_path: Path, before: str, status: int) -> None:
    text = kernel_source("naive_square").replace("+= sum", "= sum")
    store = next(line for line in text.splitlines() if "= sum" in line)
    target = store.partition(" = ")[0].strip()
    text = text.replace(store, f"    atomicAdd(&{target}, sum);")
    allocate = "" if "elsewhere" in before else "cudaMalloc(&c, n * n * sizeof(float));"
    host = f"int main() {{ const int n = 40; float *a, *b, *c; {allocate}\n{before}\n"
    (tmp_path / "my.cu").write_text(f"{text}{host}mul<<<dim3(3, 3), dim3(16, 16)>>>(a, b, c, n); }}")
    result = command("run", str(tmp_path / "my.cu"), "--device", "emulator", "--no-hints")
    assert result.exit_code == status, result.stdout
    assert ("not-zeroed at my.cu:" in result.stdout) == (before[:10] != "cudaMemset")


@pytest.mark.parametrize(("inner", "fails"), [("k", False), ("n", True)])
def test_a_kernel_that_reads_other_sides_than_the_program_allocates_fails(
    tmp_path: Path, inner: str, fails: bool
) -> None:
    columns = "n" if inner == "k" else "k"
    text = f"""
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= {columns}) return;
    float sum = 0;
    for (int p = 0; p < {inner}; p++) sum += A[row * {inner} + p] * B[p * {columns} + column];
    C[row * {columns} + column] = sum;
}}
int main(int argc, char **argv)
{{
    int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    float *a, *b, *c;
    cudaMallocManaged(&a, sizeof(float) * m * k);
    cudaMallocManaged(&b, sizeof(float) * k * n);
    cudaMallocManaged(&c, sizeof(float) * m * n);
    for (int i = 0; i < m * k; i++) a[i] = i;
    for (int i = 0; i < k * n; i++) b[i] = i;
    mul<<<dim3(({columns} + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
    return cudaDeviceSynchronize();
}}"""
    (tmp_path / "my.cu").write_text(text)
    shown = command("run", str(tmp_path / "my.cu"), "--device", "emulator", "--quiet")
    assert (shown.exit_code, "cudaMallocManaged gives C m · n elements" in shown.stdout) == (int(fails), fails)


@pytest.mark.parametrize(
    "sizes", ["const int m = 1000, n = 700, k = 333;", "int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);"]
)
@pytest.mark.parametrize(
    ("leading", "found"),
    [
        ("k, b, n, c, n", []),
        ("n, b, other, c, n", ["n as the leading dimension of A", "k as the leading dimension of B"]),
        ("m, b, k, c, m", ["m as the leading dimension of A", "k as the leading dimension of B", "of C"]),
        ("1024, b, 700, c, 700", []),
    ],
)
def test_a_leading_dimension_that_is_another_size_is_found(leading: str, found: list[str], sizes: str) -> None:
    messages = _leading_dimensions(sizes, leading)
    assert len(messages) == len(found)
    assert all(any(each in message for message in messages) for each in found)


def test_a_leading_dimension_that_is_less_than_the_length_of_rows_is_found() -> None:
    (message,) = _leading_dimensions("const int m = 1000, n = 700, k = 333;", "128, b, 1024, c, n")
    assert message == "gemm is passed 128 as the leading dimension of A, whose rows have k elements"


def _leading_dimensions(sizes: str, leading: str) -> list[str]:
    """Return the messages about the leading dimensions of a launch, which leave C wrong."""
    text = f"""
__global__ void gemm(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c, int ldc)
{{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k; p++) sum += a[i * lda + p] * b[p * ldb + j];
    if (i < m && j < n) c[i * ldc + j] = sum;
}}
int main(int argc, char **argv)
{{
    {sizes} int other = k; float *a, *b, *c;
    gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(m, n, k, a, {leading});
}}"""
    bugs = host_bugs("my.cu", text, infer(Path("/folder/my.cu"), text, {}), {})
    return [each.message for each in bugs if (each.kind, each.array) == ("wrong-leading-dimension", "C")]


def test_a_leading_dimension_is_followed_through_a_structure_and_a_function() -> None:
    text = """
struct Product { int m, n, k, lda, ldb, ldc; const float *a, *b; float *c; };
__global__ void gemm(Product p)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= p.m || j >= p.n) return;
    float sum = 0;
    for (int q = 0; q < p.k; q++) sum += p.a[i * p.lda + q] * p.b[q * p.ldb + j];
    p.c[i * p.ldc + j] = sum;
}
void launch(Product given, int leading)
{
    Product p = given;
    p.lda = leading; p.ldb = p.k; p.ldc = p.n;
    gemm<<<dim3((p.n + 15) / 16, (p.m + 15) / 16), dim3(16, 16)>>>(p);
}
int main(int argc, char **argv)
{
    Product p;
    launch(p, p.k);
}"""
    bugs = host_bugs("my.cu", text, infer(Path("/folder/my.cu"), text, {}), {})
    (found,) = (each for each in bugs if each.kind == "wrong-leading-dimension")
    condition = "so that it is right only where p.k = p.n"
    assert (
        found.message == f"gemm is passed p.k as the leading dimension of B, whose rows have p.n elements, {condition}"
    )


@pytest.mark.parametrize(
    ("declared", "most"),
    [
        ("const short row = blockIdx.y * 16 + threadIdx.y", "32,767"),
        ("std::uint16_t row = blockIdx.y * 16 + threadIdx.y", "65,535"),
        ("short row = threadIdx.y * 2, other = blockIdx.x", ""),
        ("int row = blockIdx.y * 16 + threadIdx.y", ""),
    ],
)
def test_a_place_of_a_block_in_16_bits_is_found(declared: str, most: str) -> None:
    text = f"__global__ void mul(const float *A, const float *B, float *C, int n)\n{{\n    {declared};\n}}\n"
    bugs = [*narrow_indexes(text, "mul")]
    assert [(each.line, most in each.message) for each in bugs] == ([(3, True)] if most else [])


def test_a_syntax_error_of_the_host_is_a_warning(tmp_path: Path) -> None:
    begin = "#include <cstdio>\n#include <vector>\n#define TWICE(x) x; x;\n"
    host = 'int main() {\nstd::vector<float> v(4);\nTWICE(puts(""))\nputs("");\n}\n'
    text = begin + kernel_source("naive_square") + host
    for changed, bugs in (
        (text, []),
        (text.replace('puts("");\n}', 'puts("")\n}'), ['expected a ";"; nvcc refuses it']),
    ):
        assert [bug.message for bug in host_syntax_errors(tmp_path / "my.cu", changed, {})] == bugs


def test_a_refusal_names_the_bugs_of_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    leading = "k, &one, a, k, b, n, &zero, c, n"
    for call, fault in (
        (f"cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, {leading});", "k is the leading dimension of a"),
        ("cublasSgemm('N', 'n', n, n, n, 1, d_A, n, d_B, n, 0, d_C, n);", "cublasSgemm computes d_B·d_A"),
    ):
        Path("library.cu").write_text(f"int main() {{\n{call}\n}}\n")
        result = command("run", "library.cu")
        assert (result.exit_code, f" at library.cu:2: {fault}" in result.stderr) == (2, True), result.stderr
        assert "of matrices stored by rows" in result.stderr


def test_another_kernel_that_does_not_compile_is_named_with_the_error(tmp_path: Path) -> None:
    text = "__global__ void product(float *c) { c[0] = 1; }\n__global__ void other(float *c)\n{\n    c[WORK] = 1;\n}\n"
    path = tmp_path / "my.cu"
    (bug,) = uncompiled_kernels(path, text, {"entry": "product"})
    said = 'identifier "WORK" is undefined: other is left out, and nvcc refuses it'
    assert (bug.kind, bug.line, bug.message) == ("uncompiled-kernel", 4, said)
    assert [*uncompiled_kernels(path, text.replace("WORK", "0"), {"entry": "product"})] == []
    assert [*uncompiled_kernels(path, text, {"entry": "product", "defines": {"WORK": "2"}})] == []


@pytest.mark.parametrize(
    ("calls", "line"),
    [
        ("for (int i = 0; i < 20; i++) LAUNCH", 5),
        ("LAUNCH\nLAUNCH", 6),
        ("LAUNCH\ncudaMemset(c, 0, n * n * 4);\nLAUNCH", 0),
        ("for (int i = 0; i < 20; i++) { cudaMemset(c, 0, n * n * 4); LAUNCH }", 0),
        ("for (int i = 0; i < n; i += 64) add<<<n / 16, dim3(16, 16)>>>(a + i, b + i * n, c, n);", 0),
    ],
)
def test_sums_of_repeated_launches_are_named_unless_c_is_set_between(calls: str, line: int) -> None:
    launch = "add<<<n / 16, dim3(16, 16)>>>(a, b, c, n);"
    head = "__global__ void add(float *a, float *b, float *c, int n) {}\nvoid f(float *a, float *b, float *c, int n)\n{"
    host = HostCode(f"{head}\ncudaMemset(c, 0, n * n * 4);\n{calls.replace('LAUNCH', launch)}\n}}\n")
    found = [(bug.kind, bug.line) for bug in repeated_sums(host, host.launches, "c")]
    assert found == ([("repeated-sum", line)] if line else [])


def test_a_batch_with_a_wrong_step_does_not_conform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    kernel = BATCH[: BATCH.index("void f(")].replace("float s", "if (y >= M || x >= N) return;\n    float s")
    kernel = kernel.replace("C[b * M * N + ", "C[")
    (tmp_path / "my.cu").write_text(kernel)
    result = command("conform", "my.cu", "--device", "emulator", "--quiet")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (1, "file.my: DOES NOT CONFORM: product")


def test_conform_warns_of_a_kernel_that_it_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    flip = "__global__ void flip(const float *from, float *to) { to[threadIdx.x] = from[threadIdx.x]; }\n"
    host = "void f(int n) { flip<<<1, 32>>>(b, d); mul<<<dim3(n, n), dim3(16, 16)>>>(a, d, c, n); }\n"
    (tmp_path / "my.cu").write_text(kernel_source("naive_square").partition("int main")[0] + flip + host)
    said = command("conform", "my.cu", "--quiet").stdout
    assert said.startswith("file.my: CONFORMS\nwarning: other-kernel at my.cu:")
