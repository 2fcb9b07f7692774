"""The device half of a program: its kernels compile as they stand, and what is wrong in them is told in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import mmcore
from mmcore_nvrtc.compilation import compile_source, device_half
from mmcore_nvrtc.device_half import LeftOut
from tests.test_compiler import SOURCE, compiled, failure

KERNEL = SOURCE.replace("VALUE", "1.0f")


def left_out(text: str) -> dict[str, tuple[int, int]]:
    """The lines of what is left out, by name."""
    return {each.name: (each.first, each.last) for each in device_half(text).left_out}


PROGRAM = """\
#include <cstdio>
#include <vector>
#include <cublas_v2.h>
using namespace std;
using std::string;
#define CHECK(call) do { cudaError_t e = call; if (e) { fprintf(stderr, "no"); exit(1); } } while (0)
#define N 8
static std::vector<float> inputs;
typedef std::vector<float> Floats;
template <typename T>
T sum(const std::vector<T>& all)
{
    T result = 0;
    for (const auto& each : all) result += each;
    return result;
}
extern "C" __global__ void f(const float* A, const float* B, float* C, int n) { C[0] = VALUE; }
void launch(float* A, int n);
int main(int argc, char** argv)
{
    float* A;
    CHECK(cudaMalloc(&A, N));
    auto run = [&](int n) { f<<<1, dim3(N, 1)>>>(A, A, A, n); };
    run(3);
#ifdef PRINT
    std::cout << "done" << std::endl;
#endif
    return 0;
}
"""


def test_a_whole_program_is_compiled_for_its_kernel(cu_file: Path) -> None:
    whole, alone = compiled(cu_file, PROGRAM), compiled(cu_file, _blanked(17))
    assert (whole.ptx, whole.functions) == (alone.ptx, alone.functions)
    assert left_out(PROGRAM.replace("VALUE", "1.0f")) == {
        "string": (5, 5),
        "inputs": (8, 8),
        "Floats": (9, 9),
        "sum": (10, 16),
        "launch": (18, 18),
        "main": (19, 29),
    }


def _blanked(line: int) -> str:
    """The program with that line alone."""
    return "".join(text if number == line else "\n" for number, text in enumerate(PROGRAM.splitlines(True), 1))


def test_a_source_without_host_code_is_itself() -> None:
    half = device_half(KERNEL)
    assert (half.text, half.headers, half.options, half.left_out) == (KERNEL, {}, (), ())


def test_what_is_left_out_is_told_with_its_reason() -> None:
    half = device_half(f"{KERNEL}int\nmain() {{\n}}\n", Path("dir/kernel.cu"))
    (main,) = half.left_out
    assert main == LeftOut("main", "dir/kernel.cu", 2, 4, main.reason)
    assert "host functions are not allowed" in main.reason
    assert half.text == f"{KERNEL}   \n        \n \n"


KEPT = {
    "a function that both call": "constexpr int twice(int x) { return 2 * x; }\n#define VALUE twice(n)",
    "a template that both call": "template <class T>\nconstexpr T twice(T x) { return 2 * x; }\n#define VALUE twice(n)",
    "what is there for its type": "#include <type_traits>\ntemplate <class T> std::true_type test(T*);\n"
    "auto test(...) -> std::false_type;\n#define VALUE decltype(test((int*)0))::value",
    "a constant": "const int N = 3;\nconstexpr float M[] = {1, 2};\nint main() { return N; }\n#define VALUE N + M[1]",
    "a class": "struct P { int m; P(int x) : m(x) {} int get() const { return m; } };\n"
    "__device__ P* p;\n#define VALUE p->m",
    "members of both": "struct P { int m; void print() { puts(0); } __host__ __device__ int get() { return m; } };\n"
    "__device__ P* p;\n#define VALUE p->get()",
    "a namespace": "namespace a { namespace b { void host() {} __device__ int g() { return 1; } } }\n"
    "#define VALUE a::b::g()",
    "what a macro annotates": "#define DEVICE __device__ __forceinline__\nDEVICE int g() { return 1; }\nvoid h() {}\n"
    "#define VALUE g()",
    "inline assembly": '__device__ int g() { int x; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); return x; }\n'
    "void h() {}\n#define VALUE g()",
    "bounds and clusters": "__global__ void __launch_bounds__(64, 2) __cluster_dims__(2, 1, 1) g() {}\nvoid h() {}\n"
    "#define VALUE 1",
    "shared memory": "__device__ int g() { extern __shared__ __align__(128) char s[]; return s[0]; }\nvoid h() {}\n"
    "#define VALUE g()",
    "a half that a macro chooses": "#if defined(__CUDA_ARCH__)\n__device__ int g() { return 1; }\n#else\n"
    "int g() { return 2; }\n#endif\nvoid h() {}\n#define VALUE g()",
    "brackets of C": '#ifdef __cplusplus\nextern "C" {\n#endif\nvoid h();\n__device__ int g() { return 1; }\n'
    "#ifdef __cplusplus\n}\n#endif\n#define VALUE g()",
    "std's functions": "#include <algorithm>\n#define VALUE std::min(n, 3) + std::max(1.f, A[0]) + std::sqrt(A[1])",
    "std's types": "#include <cstdint>\n#define VALUE uint32_t(n) + std::int64_t(n) + std::size_t(n) + uint(n)",
    "std's traits": "#include <type_traits>\n#include <limits>\nint main() { }\n"
    "#define VALUE std::is_same<int, int>::value + std::numeric_limits<float>::max()",
    "constants of C": "#include <cmath>\n#include <cfloat>\n#include <limits.h>\n"
    "#define VALUE M_PI + INFINITY + FLT_MAX + INT_MAX",
    "what C has": '#include <assert.h>\n#include <stdio.h>\n#define VALUE (assert(n), printf("%d", n))',
    "a lambda of the device": "template <class F> __global__ void g(F f) { f(1); }\n"
    "void h() { g<<<1, 1>>>([=] __device__ (int x) { return x; }); }\n#define VALUE 1",
    "a kernel that is not asked for": "__global__ void g() { std::vector<int> v; }\n#define VALUE 1",
    "the driver's types": "#include <cuda.h>\n__global__ void g(const __grid_constant__ CUtensorMap map) {}\n"
    "#define VALUE 1",
    "instances": "template <int N> __global__ void g() {}\ntemplate __global__ void g<3>();\n"
    "template <int N> void h() {}\ntemplate void h<3>();\n#define VALUE 1",
    "declared instances": "template <class T> void h(T x);\ntemplate <class T> int i(T x);\n"
    "template <class T> void h(T x) { f<<<1, 1>>>(x); }\ntemplate <class T> int i(T x) { return puts(x); }\n"
    "template void h<int>(int x);\ntemplate int i<int>(int x);\n#define VALUE 1",
    "functions of classes": "class Timer { public: Timer(); ~Timer(); void start(); std::string name; };\n"
    "Timer::Timer() {}\nvoid Timer::start() { }\n#define VALUE 1",
    "virtual functions": "struct Base { virtual void run() = 0; virtual ~Base() = default; };\n"
    "struct Other : Base { void run() override {} };\n#define VALUE 1",
    "libraries of templates": "#include <thrust/host_vector.h>\nthrust::host_vector<int> all;\n#define VALUE 1",
}


@pytest.mark.parametrize("declarations", KEPT.values(), ids=KEPT)
def test_the_device_half_keeps(cu_file: Path, declarations: str) -> None:
    assert compiled(cu_file, f"{declarations}\n{SOURCE}", value="VALUE").functions.keys() == {"f"}


def test_lines_and_names_of_headers_remain(tmp_path: Path) -> None:
    """A header between the source and the one with host code has none itself."""
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    host = "#pragma once\nint helper() { return 1; }\n"
    (tmp_path / "sub" / "outer.cuh").write_text('#include "deep/inner.cuh"\n#include "beside.cuh"\n')
    (tmp_path / "sub" / "beside.cuh").write_text(f"{host}#define BESIDE 1.0f\n")
    (tmp_path / "sub" / "deep" / "inner.cuh").write_text(
        f'{host}#include "../beside.cuh"\n__device__ float inner() {{ return BESIDE * clock(); }}\n'
    )
    text = f'#include "sub/outer.cuh"\n#include "sub/beside.cuh"\nint main() {{ return helper(); }}\n{SOURCE}'
    source = tmp_path / "kernel.cu"
    module = compiled(source, text, value="inner()")
    assert module.functions.keys() == {"f"}
    assert str(tmp_path / "sub" / "deep" / "inner.cuh") in module.ptx
    wrong = failure(source, text, value="inner() + wrong")
    assert f"{source}(4): error" in wrong
    assert "helper" not in wrong


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (PROGRAM.replace("VALUE", "undeclared"), 17, 'identifier "undeclared" is undefined'),
        (f"float helper(float x) {{ return x; }}\n{SOURCE}", 1, "host functions are not allowed"),
        (f"struct P {{ flaot x; }};\nint main() {{ }}\n{SOURCE}", 1, 'identifier "flaot" is undefined'),
        (f"template <class T> struct S {{ static const int x = 1; }};\n"
         f"template <> struct S<float> {{ static const int x = absent; }};\nint main() {{ }}\n{SOURCE}", 2, "absent"),
        (f"constexpr int helper(int x) {{ return absent; }}\nint main() {{ }}\n{SOURCE}", 1, "absent"),
        (f"static_assert(sizeof(int) == 3);\nint main() {{ }}\n{SOURCE}", 1, "static assertion failed"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_device_half_is_told(cu_file: Path, text: str, line: int, message: str) -> None:
    uses = {"helper": "helper(1)", "struct P": "((P*)A)->x", "struct S": "S<float>::x"}
    value = next((use for word, use in uses.items() if word in text), "1.0f")
    begin, log = failure(cu_file, text, value=value).split("\n", 1)
    assert begin == "test.f: kernel.cu does not compile:"
    assert f"kernel.cu({line}): error:" in log
    assert message in log
    assert "main" not in log


def test_a_missing_function_is_told_as_without_a_host_half(cu_file: Path) -> None:
    assert failure(cu_file, PROGRAM, entry="g") == "test.f: kernel.cu has no function g; it has f"


def test_a_data_member_is_never_left_out(cu_file: Path) -> None:
    """It would change the layout of what is passed to a kernel."""
    text = f"struct P {{ int a; std::string b; int c; }};\n{SOURCE}"
    assert "std" in failure(cu_file, text, value="((P*)A)->c")


@pytest.mark.parametrize("first", ["", "int main() { return 0; }\n"])
def test_all_the_headers_that_are_not_there_are_named_at_once(cu_file: Path, first: str) -> None:
    cu_file.with_name("mine.cuh").write_text("#include <acme/tiles.h>\n#include <vector>\n")
    text = f'#include "runner.cuh"\n#include <cstdio>\n#include "mine.cuh"\n#include <iostream>\n{first}{SOURCE}'
    assert failure(cu_file, text) == (
        "test.f: kernel.cu includes headers that are not found: runner.cuh (kernel.cu:1), acme/tiles.h (mine.cuh:1); "
        "include= in its declaration names the folders that have them"
    )


def test_a_folder_of_headers_is_declared(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "runner.cuh").write_text("#include <string>\nvoid run(std::string name);\n#define VALUE 1\n")
    source = tmp_path / "kernel.cu"
    assert compiled(source, f'#include "runner.cuh"\n{SOURCE}', value="VALUE", include=("sub",)).functions


def test_a_header_of_ones_own_comes_before_a_stand_in(cu_file: Path) -> None:
    cu_file.with_name("helper_cuda.h").write_text("int host() { return 1; }\n#define VALUE 2.0f\n")
    assert compiled(cu_file, f'#include <cstdio>\n#include "helper_cuda.h"\n{SOURCE}', value="VALUE").functions


def test_a_source_that_nothing_helps_is_given_up() -> None:
    with pytest.raises(mmcore.CompileError, match="does not compile"):
        compile_source("test.f", Path("kernel.cu"), "}" * 3 + KERNEL, ("-arch=sm_90",), ("f",))
