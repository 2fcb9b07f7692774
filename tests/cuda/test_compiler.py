"""Compiling: NVRTC's results, and messages about a source that does not compile."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cuda.bindings import nvrtc

import mmcore
from mmcore import DeviceProperties, Kernel
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan, compiler_of
from mmcore.planning.plan import Plan, plan
from mmcore_cuda.binaries.code import read_cubin
from mmcore_cuda.binaries.ptxas_log import without_resources
from mmcore_cuda.nvrtc import Nvrtc, plan_compilation
from mmcore_cuda.nvrtc.bindings import lacking, nvrtc_version
from mmcore_cuda.nvrtc.source_compilation import compile_source
from tests.tables import cases, section_of

SOURCE = 'extern "C" __global__ void f(const float* A, const float* B, float* C, int n) { C[0] = VALUE; }\n'


def planned(source: Path, value: str = "1.0f", entry: str = "f", **declared: Any) -> Plan:
    """Plan one launch of ``source`` with the macro VALUE."""
    kernel = Kernel(
        name="test.f",
        source=source,
        entry=entry,
        arguments=("A", "B", "C", "n"),
        grid=lambda problem, config: (1,),
        configs=[{"block": (1,)}],
        defines={"VALUE": value},
        **declared,
    )
    return plan(kernel, kernel.problem(8, 8, 8), kernel.usual_configs[0], DeviceProperties())


def compiled(cu_file: Path, text: str, architecture: str = "90", **declared: Any) -> CompiledModule:
    cu_file.write_text(text)
    return compile_plan(planned(cu_file, **declared), architecture)


def compile_text(text: str, *options: str, functions: tuple[str, ...] = ("f",)) -> CompiledModule:
    return compile_source("test.f", Path("kernel.cu"), text, ("-arch=sm_90", *options), functions)[0]


def failure(cu_file: Path, text: str, **declared: Any) -> str:
    with pytest.raises(mmcore.CompileError) as error:
        compiled(cu_file, text, **declared)
    return str(error.value)


def test_one_compilation_gives_machine_code_ptx_and_resources(cu_file: Path) -> None:
    body = "{ __shared__ float s[N]; s[threadIdx.x] = A[0]; __syncthreads(); A[1] = s[0] * VALUE * k; }"
    text = f"struct S {{ int x[3]; }}; template <int N> __global__ void f(float* A, S s3, short k) {body}"
    code = compiled(cu_file, text, "80", entry="f<{n}>")
    assert (code.architecture, code.source) == ("sm_80", "kernel.cu")
    assert code.cubin.startswith(b"\x7fELF")
    assert ".target sm_80" in code.ptx
    function = code.functions["f<8>"]
    assert f".entry {function.symbol}(" in code.ptx
    assert (function.static_shared_bytes, function.parameter_bytes) == (32, (8, 12, 2))
    assert (function.local_bytes, function.spill_store_bytes, function.spill_load_bytes) == (0, 0, 0)
    assert 0 < function.registers < 64


def test_spilled_registers_are_counted(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logs: list[bytes] = []
    read = nvrtc.nvrtcGetProgramLog

    def kept(program: object, text: bytes) -> object:
        answer = read(program, text)
        logs.append(text)
        return answer

    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLog", kept)
    sums = "".join(f" * s[{i}] + s[{63 - i}]" for i in range(64))
    body = f"float s[64]; for (int i = 0; i < 64; ++i) s[i] = A[i]; __syncthreads(); C[0] = s[0]{sums}"
    text = SOURCE.replace("C[0] = VALUE", body).replace("void f", "void __launch_bounds__(1024, 2) f")
    function = compiled(cu_file, text).functions["f"]
    stores, loads = (int(re.findall(rb"(\d+) bytes spill %s" % what, logs[0])[0]) for what in (b"stores", b"loads"))
    assert (function.spill_store_bytes, function.spill_load_bytes) == (stores, loads)
    assert min(stores, loads) > 0
    assert function.local_bytes is not None
    assert function.local_bytes >= stores / 64


@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "not optimised"])
def test_local_memory_of_arrays_and_of_called_functions(options: tuple[str, ...]) -> None:
    text = """
    __device__ __noinline__ float g(float* p, int n) {
        float x[40], sum = 0;
        for (int i = 0; i < 40; i++) x[i] = p[i];
        for (int i = 0; i < n; i++) sum += x[i % 40] * x[i * 7 % 40];
        return sum;
    }
    extern "C" __global__ void h(float* a, int n) { a[threadIdx.x] = g(a, n); }
    extern "C" __global__ void f(float* a, int n) {
        float x[64];
        for (int i = 0; i < 64; i++) x[i] = a[i];
        for (int i = 0; i < n; i++) x[i % 64] += x[i * 7 % 64];
        a[threadIdx.x] = x[n % 64];
    }"""
    module = compile_text(text, "--ptxas-options=-v", *options, functions=("f", "h"))
    assert {name: each.local_bytes for name, each in module.functions.items()} == {"f": 256, "h": 160}
    assert {name: each.local_bytes for name, each in read_cubin(module.cubin).functions.items()} == {"f": 256, "h": 160}


@pytest.mark.parametrize("declaration", ["template <int N>", "template <int N,\n typename T = float> static"])
@pytest.mark.parametrize("entry", ["f", "q::f"])
def test_a_template_is_called_so_and_its_instances_are_named(cu_file: Path, declaration: str, entry: str) -> None:
    function = f"{declaration} __global__ void __launch_bounds__(32) f(float* A) {{ A[0] = N * VALUE; }}\n"
    text = function if entry == "f" else f"namespace q {{\n{function}}}\n"
    assert failure(cu_file, text, entry=entry) == (
        f"test.f: {entry} in kernel.cu is a template, whose instances are named {entry}<16> or {entry}<{{block.x}}>, "
        "with a value for each of its parameters"
    )
    assert compiled(cu_file, text, entry=f"{entry}<{{block.x}}>").functions


NEWER = section_of(__file__, "newer_standards")


@pytest.mark.parametrize("declarations", NEWER.values(), ids=NEWER)
def test_a_newer_standard_is_taken_where_only_that_compiles(cu_file: Path, declarations: str) -> None:
    assert compiled(cu_file, declarations + SOURCE, value="g(3)").functions


def test_the_word_register_is_ignored_as_nvcc_ignores_it(cu_file: Path) -> None:
    assert compiled(cu_file, "__device__ int g() { register int i = 3; return i; }\n" + SOURCE, value="g()").functions


def test_no_option_for_a_newer_standard_is_named_where_it_does_not_help(cu_file: Path) -> None:
    assert "c++20" not in failure(cu_file, NEWER["concept"] + SOURCE, value="g(absent)").partition(":\n")[0]


def test_missing_functions_come_before_a_template_that_is_no_instance() -> None:
    text = "template <int N> struct S { float value; };\n" + SOURCE.replace("VALUE", "1.0f")
    with pytest.raises(mmcore.CompileError, match=r"^test\.f: kernel\.cu has no function g or h; it has f$"):
        compile_text(text, functions=("f", "g", "h"))
    template = r"f in kernel\.cu is a template, whose instances are named f<16> or f<\{block\.x\}>"
    with pytest.raises(mmcore.CompileError, match=rf"^test\.f: kernel\.cu has no function g; it has f; {template}"):
        compile_text("template <int N> __global__ void f(float* A) { A[0] = N; }\n", functions=("f", "g"))


def test_a_kernels_own_architecture_wins(cu_file: Path) -> None:
    cu_file.write_text(SOURCE)
    assert compile_plan(planned(cu_file, architecture="80"), "90").architecture == "sm_80"


def test_the_options_of_a_plan_are_its_architecture_and_those_of_the_declaration(cu_file: Path) -> None:
    one = planned(cu_file, "{n}", options=("--maxrregcount={block.x}", "-DLAST"))
    asked = plan_compilation.compile_options(one, "80")
    assert (asked[0], asked[-3:]) == ("-arch=sm_80", ("-DVALUE=8", "--maxrregcount=1", "-DLAST"))
    assert {"-std=c++17", "-lineinfo", "--no-cache"} < {*asked}
    defines, configs = {"ROWS": "{m}", "ALL": "1"}, [{"block": 1, "TILE": 8}]
    kernel = replace(one.kernel, defines=defines, configs=configs, include=("a", "b/c"), options=())
    asked = plan_compilation.compile_options(
        plan(kernel, one.problem, kernel.usual_configs[0], DeviceProperties()), "90"
    )
    folder = cu_file.parent
    assert asked[-5:] == (f"-I{folder}/a", f"-I{folder}/b/c", "-DALL=1", "-DROWS=8", "-DTILE=8")


@cases(__file__, "failures", "text, declared, first, log")
def test_the_first_line_of_a_failure_says_what_is_wrong_and_the_log_why(
    cu_file: Path, text: str, declared: dict[str, Any], first: str, log: str
) -> None:
    cu_file.with_name("latin.cuh").write_bytes("#error Größe\n".encode("latin-1"))
    begin, _, rest = failure(cu_file, text.replace("SOURCE", SOURCE), **declared).partition("\n")
    assert begin == f"test.f: {first}"
    assert log in rest
    assert bool(log) == bool(rest)


@pytest.mark.parametrize("changes", [{"source": Path("a.ptx")}, {"source": Path("a.cubin")}, {"build": print}])
def test_nvrtc_takes_what_is_neither_compiled_nor_built(changes: dict[str, Any]) -> None:
    assert Nvrtc().takes(Kernel(name="test.f", configs=[{"block": 1}], source=Path("a.cu")))
    assert not Nvrtc().takes(Kernel(name="test.f", configs=[{"block": 1}], arguments=("A",), **changes))


@pytest.mark.parametrize(
    "option", ["-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir", "-fdevice-syntax-only", "--fdevice-syntax-only"]
)
def test_an_option_that_keeps_nvrtc_from_making_code_is_named(cu_file: Path, option: str) -> None:
    assert failure(cu_file, SOURCE, options=(option,)) == (
        f"test.f: with the option {option} NVRTC does not make the machine code and the PTX that mmcore needs"
    )


def test_a_source_may_begin_with_a_byte_order_mark(cu_file: Path) -> None:
    assert compiled(cu_file, "\ufeff" + SOURCE) == compiled(cu_file, SOURCE)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError('Failure finding "libnvrtc.so"'), 'Failure finding "libnvrtc.so"'),
        (OSError("\n  it cannot be loaded:\n/a/very/long/path"), "it cannot be loaded:"),
        (RuntimeError(" "), "RuntimeError"),
    ],
)
def test_nvrtc_may_be_missing(cu_file: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str) -> None:
    def missing() -> None:
        raise error

    monkeypatch.setattr(nvrtc, "nvrtcVersion", missing)
    nvrtc_version.cache_clear()
    try:
        with pytest.raises(mmcore.CompilerMissing, match=r"pip install 'mmcore-cuda\[cu1[23]\]'") as raised:
            compiled(cu_file, SOURCE)
        assert str(raised.value).endswith(f" brings it ({reason})")
    finally:
        nvrtc_version.cache_clear()


def test_a_report_that_nvrtcs_cache_lacks_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    # NVRTC 13.0 gives an empty log with code that is in its cache, which it keeps on a machine with a GPU.
    asked: list[list[bytes]] = []
    compile_program, size_of_log = nvrtc.nvrtcCompileProgram, nvrtc.nvrtcGetProgramLogSize

    def compiling(program: Any, number: int, options: list[bytes]) -> Any:
        asked.append(options)
        return compile_program(program, number, options)

    def size(program: Any) -> Any:
        return size_of_log(program) if b"--no-cache" in asked[-1] else (nvrtc.nvrtcResult.NVRTC_SUCCESS, 0)

    monkeypatch.setattr(nvrtc, "nvrtcCompileProgram", compiling)
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLogSize", size)
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLog", functools.partial(_log, nvrtc.nvrtcGetProgramLog))
    text = 'extern "C" __global__ void f(float *x) { x[threadIdx.x] = 1; }'
    made = compile_text(text, "--ptxas-options=-v")
    assert (len(asked), made.functions["f"].registers > 0) == (2, True)


def _log(get: Any, program: Any, content: bytes) -> Any:
    return get(program, content) if content else (nvrtc.nvrtcResult.NVRTC_SUCCESS,)


def test_an_empty_text_of_nvrtc_does_not_reach_into_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python keeps one object for each single byte; NVRTC writes the end of an empty log into what it is given."""

    def write_end(program: object, text: bytes) -> tuple[object]:
        ctypes.memset(id(text) + bytes.__basicsize__ - 1, 0, 1)
        return (nvrtc.nvrtcResult.NVRTC_SUCCESS,)

    size = nvrtc.nvrtcGetProgramLogSize
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLogSize", lambda program: (size(program)[0], 1))
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLog", write_end)
    with pytest.raises(mmcore.CompileError):
        compile_text(SOURCE, "-DVALUE=1.0f")
    assert bytes([32]) + b"x" == bytes((32, 120))
    assert bytes([32])[0] == 32


@pytest.mark.parametrize("text", [SOURCE, "nonsense", "int nothing;"])
def test_every_nvrtc_program_is_destroyed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    made: list[int] = []
    destroyed: list[int] = []
    create, destroy = nvrtc.nvrtcCreateProgram, nvrtc.nvrtcDestroyProgram

    def created(*asked: object) -> Any:
        made.append(int((answer := create(*asked))[1]))
        return answer

    def gone(program: object) -> Any:
        destroyed.append(int(program))  # type: ignore[call-overload]
        return destroy(program)

    monkeypatch.setattr(nvrtc, "nvrtcCreateProgram", created)
    monkeypatch.setattr(nvrtc, "nvrtcDestroyProgram", gone)
    with contextlib.suppress(mmcore.CompileError):
        compile_text(text, "-DVALUE=1.0f")
    assert made == destroyed
    assert made


@pytest.mark.parametrize("known", [["nvrtc", "acme"], []])
def test_a_source_needs_a_compiler(cu_file: Path, monkeypatch: pytest.MonkeyPatch, known: list[str]) -> None:
    compilers = {name: SimpleNamespace(item=SimpleNamespace(name=name, takes=lambda kernel: False)) for name in known}
    monkeypatch.setattr("mmcore.compile.compiler.registry", lambda: SimpleNamespace(compilers=compilers))
    kernel = mmcore.Kernel(name="test.f", source=cu_file, configs=[{"block": 1}])
    there = ", ".join(known) or "none"
    with pytest.raises(mmcore.InvalidKernel, match=f"^test.f: no compiler takes kernel.cu; there is {there}$"):
        compiler_of(kernel)


@pytest.mark.parametrize("function", ["CreateProgram", "AddNameExpression", "GetPTX", "GetCUBINSize", "GetLoweredName"])
def test_nvrtcs_errors_name_the_function(cu_file: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    out_of_memory = nvrtc.nvrtcResult.NVRTC_ERROR_OUT_OF_MEMORY
    monkeypatch.setattr(nvrtc, f"nvrtc{function}", lambda *asked: (out_of_memory, None))
    said = f"^test.f: NVRTC's {function} failed with NVRTC_ERROR_OUT_OF_MEMORY$"
    with pytest.raises(mmcore.CompileError, match=said):
        compile_source("test.f", cu_file, SOURCE, plan_compilation.compile_options(planned(cu_file), "90"), ("f",))


@pytest.mark.parametrize(("text", "log"), [(SOURCE, ""), ("#warning look here\n" + SOURCE, ":\nkernel.cu(1): warning")])
def test_an_nvrtc_error_has_its_log(monkeypatch: pytest.MonkeyPatch, text: str, log: str) -> None:
    compile_program = nvrtc.nvrtcCompileProgram

    def fail(*asked: Any) -> Any:
        compile_program(*asked)
        return (nvrtc.nvrtcResult.NVRTC_ERROR_INTERNAL_ERROR,)

    monkeypatch.setattr(nvrtc, "nvrtcCompileProgram", fail)
    with pytest.raises(mmcore.CompileError) as raised:
        compile_text(text, "-DVALUE=1.0f")
    said = "test.f: NVRTC failed with NVRTC_ERROR_INTERNAL_ERROR"
    assert str(raised.value).startswith(said + log)
    assert log or str(raised.value) == said


@pytest.mark.parametrize("define", ["#define VALUE 2.0f\nconstexpr int X = 0;", "constexpr int X = 0, VALUE = 2;"])
@pytest.mark.parametrize("host", ["", "#include <vector>\nint main() { std::vector<int> v; }"])
def test_a_macro_that_the_source_defines_itself_is_refused(cu_file: Path, define: str, host: str) -> None:
    source = SOURCE.replace("VALUE", "A[X] * VALUE") + host
    reason = f"line 1 of {cu_file.name} defines VALUE, so that VALUE=1.0f has no effect; put #ifndef VALUE around it"
    for _ in range(2):  # compiled, and from the cache
        assert failure(cu_file, f"{define}\n{source}") == f"test.f: {reason}"
    assert compiled(cu_file, f"#ifndef VALUE\n{define}\n#else\nconstexpr int X = 0;\n#endif\n{source}").functions


def test_a_macro_that_the_source_defines_as_the_config_does_is_compiled(cu_file: Path) -> None:
    assert compiled(cu_file, f"#define VALUE 1.0f\n{SOURCE}").functions


def test_an_instruction_that_a_later_architecture_lacks_is_named_once() -> None:
    place = "ptxas application ptx input, line"
    log = "\n".join(
        f"{place} {line}; error   : Instruction 'wgmma.fence' {why} 'sm_100'"
        for line in (8, 9)
        for why in ("not supported on .target", "cannot be compiled for architecture")
    )
    assert lacking(log) == ["wgmma.fence"]
    assert lacking(f"{log}\n{place} 10; error   : Parsing error near ';': syntax error") == []


def test_too_much_static_shared_memory_is_refused_with_its_line(cu_file: Path) -> None:
    declared = "\n__shared__ float tile[13000];\n"
    source = SOURCE.replace("{", f"{{{declared}", 1).replace("VALUE", "VALUE + tile[threadIdx.x]")
    line = source[: source.index("tile[13000]")].count("\n") + 1
    reason = f"the source declares 52000 bytes of static shared memory (line {line}), and more must be dynamic"
    assert failure(cu_file, source) == f"test.f: {reason}; the device allows 49152"


def test_an_error_of_ptxas_is_shown_without_the_resources_of_functions() -> None:
    error = "ptxas error   : Entry function 'f' uses too much local data"
    report = "ptxas info    : 0 bytes gmem\nptxas         .     0 bytes stack frame\nptxas info    : Used 32 registers"
    assert without_resources(f"{report}\n\0{error}") == error
