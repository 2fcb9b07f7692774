"""The device half of a program: its kernels compile unchanged, and errors name their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import mmcore
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.device_code import DeviceHalf, DeviceHalfSearch, ExcludedCode
from mmcore_cuda.nvrtc.source_compilation import compile_source
from tests.cuda.test_compiler import SOURCE, compiled, failure
from tests.kernel_sources import kernel_source, kernel_sources
from tests.tables import cases

KERNEL = SOURCE.replace("VALUE", "1.0f")


def device_half(text: str, source: Path = Path("kernel.cu")) -> DeviceHalf:
    options = ("-arch=sm_90", "-std=c++17", *cuda_headers().options)
    return compile_source(source.name, source, text, options, ())[1]


def left_out(text: str) -> dict[str, tuple[int, int]]:
    """Return the lines of the host code that is excluded, by name."""
    return {each.name: (each.first, each.last) for each in device_half(text).excluded}


def test_the_compiler_s_host_errors_in_a_kernel_exclude_no_statement(cu_file: Path) -> None:
    """After a header that it cannot read, NVRTC takes a kernel's statements for declarations of the host."""
    text = "__global__ void f(float *C)\n{\n    float sum = 1;\n\n    io::store(C, sum);\n}\nvoid host()\n{\n}\n"
    cu_file.write_text(text)
    why = "error: A function without execution space annotations is a host function, not allowed in JIT mode"
    errors = [(5, "    io::store(C, sum);", 8), (7, "void host()", 5)]
    log = "".join(f"{cu_file}({line}): {why}\n  {code}\n  {' ' * column}^\n\n" for line, code, column in errors)
    search = DeviceHalfSearch(cu_file, text, (), (), ())
    assert search.learn(log)
    assert [(each.name, each.first) for each in search.half().excluded] == [("host", 7)]


PROGRAM = kernel_source("program")


def test_a_whole_program_is_compiled_for_its_kernel(cu_file: Path) -> None:
    lines = PROGRAM.splitlines(True)
    alone = "".join(line if number == 17 else "\n" for number, line in enumerate(lines, 1))
    whole, alone_compiled = compiled(cu_file, PROGRAM), compiled(cu_file, alone)
    assert (whole.ptx, whole.functions) == (alone_compiled.ptx, alone_compiled.functions)
    assert left_out(PROGRAM.replace("VALUE", "1.0f")) == {
        "string": (5, 5),
        "inputs": (8, 8),
        "Floats": (9, 9),
        "sum": (10, 16),
        "launch": (18, 18),
        "main": (19, 29),
    }


def test_a_source_without_host_code_is_itself() -> None:
    half = device_half(KERNEL)
    assert (half.text, half.headers, half.options, half.excluded) == (KERNEL, {}, (), ())


def test_excluded_code_has_a_reason() -> None:
    half = device_half(f"{KERNEL}int\nmain() {{\n}}\n", Path("dir/kernel.cu"))
    (main,) = half.excluded
    assert main == ExcludedCode("main", "dir/kernel.cu", 2, 4, main.reason)
    assert "host functions are not allowed" in main.reason
    assert half.text == f"{KERNEL}   \n        \n \n"


KEPT = kernel_sources("kept_by_the_device_half")


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


@cases(__file__, "wrong", "text, value, line, message")
def test_errors_in_the_device_half_name_their_line(
    cu_file: Path, text: str, value: str, line: int, message: str
) -> None:
    text = text.replace("SOURCE", SOURCE).replace("PROGRAM", PROGRAM)
    begin, log = failure(cu_file, text, value=value).split("\n", 1)
    assert begin == "test.f: kernel.cu does not compile:"
    assert f"kernel.cu({line}): error:" in log
    assert message in log
    assert "main" not in log


def test_a_missing_function_is_reported_as_without_a_host_half(cu_file: Path) -> None:
    assert failure(cu_file, PROGRAM, entry="g") == "test.f: kernel.cu has no function g; it has f"
    hidden = f"{PROGRAM}\n#if OTHER\n__global__ void g(float *A) {{}}\n#endif\n"
    said = "test.f: a condition of the preprocessor leaves g out of kernel.cu"
    assert failure(cu_file, hidden, entry="g") == said


def test_a_data_member_is_never_left_out(cu_file: Path) -> None:
    """Leaving it out would change the layout of a kernel's argument."""
    text = f"struct P {{ int a; std::string b; int c; }};\n{SOURCE}"
    assert "std" in failure(cu_file, text, value="((P*)A)->c")


@pytest.mark.parametrize("first", ["", "int main() { return 0; }\n"])
def test_all_missing_headers_are_named_at_once(cu_file: Path, first: str) -> None:
    cu_file.with_name("mine.cuh").write_text("#include <acme/tiles.h>\n#include <vector>\n")
    text = f'#include "runner.cuh"\n#include <cstdio>\n#include "mine.cuh"\n#include <iostream>\n{first}{SOURCE}'
    assert failure(cu_file, text) == (
        "test.f: kernel.cu includes headers that are not found: runner.cuh (kernel.cu:1), acme/tiles.h (mine.cuh:1); "
        "include= in its declaration names the folders that have them"
    )


def test_a_header_that_an_installed_package_lacks_is_one_of_its_data(cu_file: Path) -> None:
    installed = cu_file.parent / "site-packages" / "acme" / "kernel.cu"
    installed.parent.mkdir(parents=True)
    assert failure(installed, f'#include "detail/tiles.inc"\n{SOURCE}') == (
        "test.f: kernel.cu includes a header that is not found: detail/tiles.inc (kernel.cu:1); package-data in the "
        "pyproject.toml of acme, which is installed, lists its own headers; include= in its declaration names the "
        "folders that have it"
    )


def test_an_attribute_behind_an_array_of_the_host_is_removed_with_it(cu_file: Path) -> None:
    text = f"float host[2] __attribute__((aligned(64))) = {{0, 1}}, more[3];\n{SOURCE}int main() {{ host[0] = 1; }}\n"
    assert compiled(cu_file, text).functions


def test_a_host_function_of_a_librarys_header_is_removed_if_nothing_else_helps(cu_file: Path) -> None:
    cu_file.with_name("acme").mkdir()
    header = "namespace acme { template <class T> __host__ T* make(int n); constexpr int value = 3; }\n"
    (cu_file.parent / "acme" / "make.cuh").write_text(header)
    assert compiled(cu_file, f'#include "make.cuh"\n{SOURCE}', value="acme::value", include=("acme",)).functions


def test_a_kernel_with_c_linkage_may_share_its_name_with_a_template(cu_file: Path) -> None:
    text = "template <class T> __device__ T f(T value) { return 2 * value; }\n"
    kernel = 'extern "C" __global__ void __launch_bounds__(256) f(float *A, float *B, float *C) { C[0] = f(A[0]); }\n'
    assert compiled(cu_file, text + kernel, entry="f").functions["f"].symbol == "f"


def test_a_header_may_declare_another_kernel_of_its_name(cu_file: Path) -> None:
    cu_file.with_name("f.h").write_text("__global__ void f(float *, int);\n")
    kernel = '#include "f.h"\n__global__ void f(const float *A, float *B, float *C) { C[0] = A[0] * B[0]; }\n'
    assert compiled(cu_file, kernel, entry="f").functions["f"].parameter_bytes == (8, 8, 8)


def test_the_option_that_finds_a_header_is_named(tmp_path: Path) -> None:
    for name in ("src", "common"):
        (tmp_path / name).mkdir()
    (tmp_path / "common" / "runner.cuh").write_text("#define VALUE 1\n")
    message = failure(tmp_path / "src" / "kernel.cu", f'#include "runner.cuh"\n{SOURCE}')
    assert f"(kernel.cu:1); --option=-I{tmp_path}/common, or include= in its declaration names" in message


def test_a_folder_of_headers_is_declared(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "runner.cuh").write_text("#include <string>\nvoid run(std::string name);\n#define VALUE 1\n")
    source = tmp_path / "kernel.cu"
    assert compiled(source, f'#include "runner.cuh"\n{SOURCE}', value="VALUE", include=("sub",)).functions


def test_a_users_header_comes_before_a_stand_in(cu_file: Path) -> None:
    cu_file.with_name("helper_cuda.h").write_text("int host() { return 1; }\n#define VALUE 2.0f\n")
    assert compiled(cu_file, f'#include <cstdio>\n#include "helper_cuda.h"\n{SOURCE}', value="VALUE").functions


def test_a_source_that_cannot_be_repaired_is_an_error() -> None:
    with pytest.raises(mmcore.CompileError, match="does not compile"):
        compile_source("test.f", Path("kernel.cu"), "}" * 3 + KERNEL, ("-arch=sm_90",), ("f",))


MAIN = "#include <vector>\nint main() { std::vector<float> v; f<<<1, 1>>>(0, 0, 0, 1); }\n"


@cases(__file__, "of_the_device", "headers, text")
def test_nothing_is_left_out_of_a_function_of_the_device(tmp_path: Path, headers: dict[str, str], text: str) -> None:
    for name, content in headers.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "kernel.cu").write_text(text + MAIN)
    with pytest.raises(mmcore.CompileError, match="bias"):
        device_half(text + MAIN, tmp_path / "kernel.cu")


@cases(__file__, "kept", "headers, text")
def test_functions_of_the_device_in_headers_are_kept(tmp_path: Path, headers: dict[str, str], text: str) -> None:
    for name, content in headers.items():
        (tmp_path / name).write_text(content)
    excluded = device_half(text + MAIN, tmp_path / "kernel.cu").excluded
    assert {each.name for each in excluded} <= {"host", "main"}


SHARED = (
    "#include <atomic>\ntemplate <class T> struct Count { std::atomic<int> references; T *p; };\n"
    "template <class T> class Shared {\n Count<T> *count;\npublic:\n"
    " __host__ __device__ T *get() const { return count->p; }\n};\n"
)


def test_a_class_of_both_sides_is_left_out_with_its_parts_of_the_host() -> None:
    assert left_out(SHARED + KERNEL + MAIN).keys() >= {"Count", "Shared"}
    with pytest.raises(mmcore.MmcoreError, match="Count"):
        device_half(SHARED + "__global__ void f(Shared<float> s) { *s.get() = 1; }\n" + MAIN)


def test_a_header_in_a_function_of_the_host_is_left_out_with_it(tmp_path: Path) -> None:
    (tmp_path / "body.inc").write_text("std::vector<float> v;\ncudaMalloc(&v, 1);\n")
    text = f'#include <vector>\nint main() {{\n#include "body.inc"\n}}\n{KERNEL}'
    (half,) = device_half(text, tmp_path / "kernel.cu").excluded
    assert (half.name, half.first, half.last) == ("main", 2, 4)


def test_a_library_for_host_and_device_remains_as_it_is(cu_file: Path) -> None:
    """Its unannotated functions are the device's; what its enumerators are called is no macro, with any cuda::std."""
    text = f"#include <iostream>\n#include <type_traits>\n#include <tile.h>\n{SOURCE}int main() {{ std::cout << 1; }}\n"
    value = "acme::twice<3>() + acme::Tile<float>(1).get() + std::is_same<int, int>::value + FP_ZERO"
    module = compiled(cu_file, text, value=value, include=(str(Path(__file__).parents[1] / "kernels"),))
    assert [each["name"] for each in module.excluded_host_code] == ["main"]
