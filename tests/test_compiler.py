"""Compiling: what comes out, and a cache that can only save time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mmcore
from mmcore import Dim3, Kernel, Launch, DeviceProperties, Problem
from mmcore.cache import cache_directory
from mmcore.compile import compiler
from mmcore.deadline import Deadline
from mmcore.compile.nvrtc import compile_source, nvrtc_version
from mmcore.kernel.properties import COMPUTE_9_0
from mmcore.planning.plan import Plan, plan
from tests.own_kernel import own

SOURCE = 'extern "C" __global__ void f(const float* A, const float* B, float* C, int n) { C[0] = VALUE; }\n'

# 2⁴¹ classes.
TREE = (
    "template <int N, long M> struct Tree "
    "{ static const int value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value; }; "
    "template <long M> struct Tree<0, M> { static const int value = 1; };"
)
ENDLESS = TREE + SOURCE.replace("VALUE", "Tree<40, 0>::value")


def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:
    return Launch(grid=(1,), block=block)


def planned(source: Path, value: str = "1.0f", entry: str = "f", options: tuple[str, ...] = ()) -> Plan:
    kernel = Kernel(
        name="test.f",
        title="a test's own",
        lecture="none",
        source=source,
        entry=entry,
        arguments=("A", "B", "C", "n"),
        launch=launch,
        blocks=((1,),),
        defines={"VALUE": value},
        options=options,
    )
    return plan(kernel, kernel.problem(8, 8, 8), Dim3(1), COMPUTE_9_0)


@pytest.fixture(autouse=True)
def _fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache directory of the test's own, and nothing remembered in the process."""
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    forget()
    yield
    forget()


def forget() -> None:
    compiler.program_cache.cache_clear()
    compiler._recent.clear()


def entries() -> list[Path]:
    return [path for path in (cache_directory() / "entries").rglob("*") if path.is_file()]


@pytest.fixture
def no_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*arguments: object) -> None:
        raise AssertionError("the cache was not used")

    monkeypatch.setattr(compiler, "_compile", compiled)


def test_one_compilation_gives_machine_code_ptx_and_resources(cu_file: Path) -> None:
    cu_file.write_text("template <int N> __global__ void f(float* A) { __shared__ float s[N]; s[threadIdx.x] = A[0]; "
                       "__syncthreads(); A[1] = s[0] * VALUE; }")  # fmt: skip
    code = compiler.compile_plan(planned(cu_file, entry="f<{n}>"), "80")
    assert code.architecture == "sm_80"
    assert code.cubin.startswith(b"\x7fELF")
    assert ".target sm_80" in code.ptx
    function = code.functions["f<8>"]
    assert function.symbol in code.ptx
    assert function.static_shared_bytes == 32
    assert function.registers > 0
    assert function.spill_bytes == 0


def test_what_was_compiled_once_is_read_from_disk(cu_file: Path, request: pytest.FixtureRequest) -> None:
    cu_file.write_text(SOURCE)
    first = compiler.compile_plan(planned(cu_file), "90")
    forget()
    request.getfixturevalue("no_compiling")
    assert compiler.compile_plan(planned(cu_file), "90") == first


@pytest.mark.parametrize("change", ["source", "define", "architecture", "header"])
def test_whatever_changes_the_code_changes_the_cache_entry(cu_file: Path, change: str) -> None:
    header = cu_file.with_name("value.cuh")
    header.write_text("#define EXTRA 1.0f\n")
    cu_file.write_text('#include "value.cuh"\n' + SOURCE.replace("VALUE", "VALUE + EXTRA"))
    first = compiler.compile_plan(planned(cu_file), "90")
    if change == "source":
        cu_file.write_text(cu_file.read_text().replace("C[0]", "C[1]"))
    elif change == "header":
        header.write_text("#define EXTRA 2.0f\n")
    value, architecture = ("3.0f" if change == "define" else "1.0f"), ("80" if change == "architecture" else "90")
    assert compiler.compile_plan(planned(cu_file, value), architecture).cubin != first.cubin
    assert len(entries()) == 2


@pytest.mark.parametrize("damage", [b"", b"damaged", None])
def test_a_damaged_entry_is_compiled_again(cu_file: Path, damage: bytes | None) -> None:
    cu_file.write_text(SOURCE)
    first = compiler.compile_plan(planned(cu_file), "90")
    (entry,) = entries()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    forget()
    assert compiler.compile_plan(planned(cu_file), "90") == first
    assert entry.read_bytes() == whole


def test_without_a_writable_cache_directory_everything_compiles(
    cu_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "file"))
    cu_file.write_text(SOURCE)
    assert compiler.compile_plan(planned(cu_file), "90").functions


def test_processes_that_compile_at_once_agree(cu_file: Path) -> None:
    cu_file.write_text(SOURCE)
    script = (
        "import sys; from pathlib import Path; from tests.test_compiler import planned\n"
        "from mmcore.compile.compiler import compile_plan\n"
        "print(len(compile_plan(planned(Path(sys.argv[1]), sys.argv[2]), '90').ptx))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(cu_file), f"{number % 2}.0f"],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parent.parent,
            env=os.environ,
        )
        for number in range(4)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert outputs[:2] == outputs[2:]
    assert len(entries()) == 2


def test_cudas_own_headers_are_found(cu_file: Path) -> None:
    cu_file.write_text(
        '#include <cuda_bf16.h>\nextern "C" __global__ void f(__nv_bfloat16* A) { A[0] = __float2bfloat16(VALUE); }\n'
    )
    assert "cvt.rn.bf16" in compiler.compile_plan(planned(cu_file), "90").ptx


@pytest.mark.parametrize("declaration", ["template <int N>", "template <int N,\n typename T = float> static"])
@pytest.mark.parametrize("entry", ["f", "q::f"])
def test_a_template_is_called_so_and_its_instances_are_named(cu_file: Path, declaration: str, entry: str) -> None:
    function = f"{declaration} __global__ void __launch_bounds__(32) f(float* A) {{ A[0] = N * VALUE; }}\n"
    cu_file.write_text(function if entry == "f" else f"namespace q {{\n{function}}}\n")
    with pytest.raises(mmcore.CompileError) as error:
        compiler.compile_plan(planned(cu_file, entry=entry), "90")
    assert str(error.value) == (
        f"test.f: {entry} in kernel.cu is a template, whose instances are named {entry}<16> or {entry}<{{block.x}}>, "
        "with a value for each of its parameters"
    )
    assert compiler.compile_plan(planned(cu_file, entry=f"{entry}<{{block.x}}>"), "90").functions


def test_a_template_that_stands_before_a_function_makes_it_none(cu_file: Path) -> None:
    cu_file.write_text("template <int N> struct S { float value; };\n" + SOURCE.replace("f(", "g("))
    with pytest.raises(mmcore.CompileError, match=r"^test\.f: kernel\.cu has no function f; it has g$"):
        compiler.compile_plan(planned(cu_file), "90")


def test_an_error_that_costs_the_function_is_what_is_told(cu_file: Path) -> None:
    cu_file.write_text("§" + SOURCE)
    with pytest.raises(mmcore.CompileError, match=r"^test\.f: kernel\.cu does not compile:\n.*kernel\.cu\(1\): error:"):
        compiler.compile_plan(planned(cu_file), "90")


@pytest.mark.parametrize("option", ["-dlto", "--dlink-time-opt", "--optix-ir", "-fdevice-syntax-only"])
def test_an_option_that_keeps_nvrtc_from_making_code_is_named(cu_file: Path, option: str) -> None:
    cu_file.write_text(SOURCE)
    with pytest.raises(mmcore.CompileError) as error:
        compiler.compile_plan(planned(cu_file, options=(option,)), "90")
    assert str(error.value) == (
        f"test.f: with the option {option} NVRTC does not make the machine code and the PTX that mmcore needs"
    )


def test_a_source_may_begin_with_a_byte_order_mark(cu_file: Path) -> None:
    cu_file.write_text(SOURCE, encoding="utf-8-sig")
    with_mark = compiler.compile_plan(planned(cu_file), "90")
    cu_file.write_text(SOURCE)
    assert compiler.compile_plan(planned(cu_file), "90") == with_mark


def test_nvrtc_is_stopped_at_the_deadline_and_the_next_source_compiles(cu_file: Path) -> None:
    cu_file.write_text(ENDLESS)
    deadline = Deadline()
    deadline.set(0.5)
    with pytest.raises(mmcore.CompileError, match=r"^test\.f: NVRTC had not ended after 0\.5 s$"):
        compiler.compile_plan(planned(cu_file), "90", deadline)
    cu_file.write_text(SOURCE)
    deadline.set(60)
    assert compiler.compile_plan(planned(cu_file), "90", deadline).functions


@pytest.mark.parametrize("death", [signal.SIGSEGV, signal.SIGKILL])
def test_a_crash_of_nvrtc_is_an_error_and_the_next_source_compiles(cu_file: Path, death: signal.Signals) -> None:
    cu_file.write_text(ENDLESS)
    process = compiler._worker(os.getpid())._process
    threading.Timer(0.3, process.send_signal, [death]).start()
    with pytest.raises(mmcore.CompileError, match=rf"^test\.f: NVRTC crashed: .* killed by {death.name}$"):
        compiler.compile_plan(planned(cu_file), "90")
    cu_file.write_text(SOURCE)
    assert compiler.compile_plan(planned(cu_file), "90").functions


def test_ctrl_c_ends_nvrtc_and_the_next_source_compiles(cu_file: Path) -> None:
    cu_file.write_text(ENDLESS)
    process = compiler._worker(os.getpid())._process
    threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        compiler.compile_plan(planned(cu_file), "90")
    assert process.poll() is not None
    cu_file.write_text(SOURCE)
    assert compiler.compile_plan(planned(cu_file), "90").functions


def test_a_run_that_compiles_for_ever_ends_at_its_time_limit(cu_file: Path) -> None:
    kernel = own(cu_file, "C[0] = Tree<40, 0>::value;", declarations=TREE)
    with pytest.raises(mmcore.CompileError, match=r"^tests\.own: NVRTC had not ended after 0\.5 s$"):
        mmcore.run(kernel, 8, device="emulator", timeout=0.5)


def test_threads_compile_one_after_the_other(cu_file: Path) -> None:
    cu_file.write_text(SOURCE)
    values = [f"{number}.0f" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda value: compiler.compile_plan(planned(cu_file, value), "90"), values))
    forget()
    assert [compiler.compile_plan(planned(cu_file, value), "90") for value in values] == found
    assert len({code.ptx for code in found}) == len(values)


def test_a_machine_without_nvrtc_is_told_how_to_get_it(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuda.bindings import nvrtc

    def missing() -> None:
        raise RuntimeError('Failure finding "libnvrtc.so"')

    monkeypatch.setattr(nvrtc, "nvrtcVersion", missing)
    nvrtc_version.cache_clear()
    cu_file.write_text(SOURCE)
    try:
        with pytest.raises(mmcore.CompilerMissing, match=r"pip install 'cuda-toolkit\[nvrtc\]==13\.\*'"):
            compiler.compile_plan(planned(cu_file), "90")
    finally:
        nvrtc_version.cache_clear()


def test_an_empty_text_of_nvrtc_does_not_reach_into_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python keeps one object for each single byte; NVRTC writes the end of an empty log into what it is given."""
    from cuda.bindings import nvrtc

    size = nvrtc.nvrtcGetProgramLogSize
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLogSize", lambda program: (size(program)[0], 1))
    monkeypatch.setattr(nvrtc, "nvrtcGetProgramLog", write_end)
    with pytest.raises(mmcore.CompileError):
        compile_source("test.f", Path("kernel.cu"), SOURCE, ("-arch=sm_90", "-DVALUE=1.0f"), ("f",))
    assert bytes([32]) + b"x" == bytes((32, 120))
    assert bytes([32])[0] == 32


def write_end(program: object, text: bytes) -> tuple[object]:
    """As NVRTC does it: the terminating zero, at the object's own address."""
    import ctypes

    from cuda.bindings import nvrtc

    ctypes.memset(id(text) + bytes.__basicsize__ - 1, 0, 1)
    return (nvrtc.nvrtcResult.NVRTC_SUCCESS,)
