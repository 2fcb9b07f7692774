"""Code that others have compiled: .ptx and .cubin files, and kernels with build=."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import mmcore
import mmcore_emulator
from mmcore import Binary, CompilerMissing, Config, DeviceProperties, Kernel, Problem
from mmcore.cell import Cell
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan, compiler_of
from mmcore.devices.base import Device
from mmcore.errors import CompileError, InvalidKernel, MmcoreError
from mmcore.planning.plan import Plan, plan
from mmcore_cuda.binaries.code import UnreadableCode, machine_code_runs, read_cubin, read_ptx
from mmcore_cuda.binaries.compiler import linked
from mmcore_cuda.nvrtc.source_compilation import compile_source
from mmcore_emulator.adapter.examine_sizes import examine
from mmcore_emulator.isa.architectures import ptx_runs
from tests.command_line import install
from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.lectures import lecture_kernels
from tests.tables import cases, section_of

ARGUMENTS = ("A", "B", "C", "m", "n", "k")
SOURCE = kernel_source("sums_in_shared_memory")


def compiled(source: str, architecture: str, *functions: str) -> CompiledModule:
    options = (f"-arch=sm_{architecture}", "--ptxas-options=-v", "--no-cache")
    return compile_source("test", Path("test.cu"), source, options, functions)[0]


def made(architecture: str = "90", trailing: str = "", begin: str = "0", source: str = SOURCE) -> CompiledModule:
    """Return the product above as NVRTC compiles it, with 1024 bytes of dynamic shared memory."""
    return compiled(source.replace("TRAILING", trailing).replace("BEGIN", begin), architecture, "product")


def declared(**further: Any) -> Kernel:
    return Kernel(name="test.product", configs=[{"block": (16, 16)}], arguments=ARGUMENTS, **further)


def built(binary: Any, **further: Any) -> Kernel:
    return declared(build=lambda problem, config, architecture: binary, **further)


def planned(kernel: Kernel, size: int = 8) -> Plan:
    return plan(kernel, kernel.problem(size, size, size), kernel.usual_configs[0], DeviceProperties())


def failure(kernel: Kernel, error: type[MmcoreError] = InvalidKernel, architecture: str = "90") -> str:
    with pytest.raises(error) as raised:
        compile_plan(planned(kernel), architecture)
    return str(raised.value)


@pytest.mark.parametrize("architecture", ["75", "80", "90", "100", "120"])
def test_machine_code_and_ptx_are_read_as_nvrtc_reports_them(architecture: str) -> None:
    """Check the lectures' kernels, and a source of two functions, which each have their own resources."""
    modules = [compiled(kernel_source("two_functions"), architecture, "first", "second")]
    for kernel in lecture_kernels().values():
        config = kernel.usual_configs[0]
        asked = plan(kernel, kernel.square_problem(64, config), config, DeviceProperties())
        modules.append(compile_plan(asked, architecture))
    for module in modules:
        code, ptx = read_cubin(module.cubin), read_ptx(module.ptx)
        assert code.architecture == ptx.architecture == architecture
        padding = 16 if len(code.functions) > 1 else 0
        assert {*code.functions} == {*ptx.functions} == {each.symbol for each in module.functions.values()}
        for function in module.functions.values():
            read, of_ptx = code.functions[function.symbol], ptx.functions[function.symbol]
            assert (read.registers, read.shared_bytes) == (function.registers, function.static_shared_bytes)
            assert read.local_bytes == function.local_bytes
            assert read.reallocates_registers is function.reallocates_registers is False
            assert read.parameter_bytes == of_ptx.parameter_bytes == function.parameter_bytes
            assert of_ptx.shared_bytes == pytest.approx(function.static_shared_bytes, abs=padding)


def test_damaged_machine_code_is_unreadable() -> None:
    cubin = made().cubin
    for damaged in (b"", b"text", cubin[:100], cubin[:-500], cubin[:58] + b"\xff" * 6 + cubin[64:]):
        with pytest.raises(UnreadableCode):
            read_cubin(damaged)


@pytest.mark.parametrize("further", [{}, {"entry": "product"}])
def test_a_ptx_file_is_a_source(tmp_path: Path, device: Device, further: dict[str, Any]) -> None:
    (tmp_path / "product.ptx").write_text(made("75").ptx)
    kernel = declared(source=tmp_path / "product.ptx", launch=launch_with_shared_memory, **further)
    result = mmcore.run(kernel, 33, device=device.name)
    assert result.verified
    assert [(each.entry, each.shared_bytes) for each in result.launched] == [("product", 1024)]


def launch_with_shared_memory(problem: Problem, config: Config, device: DeviceProperties) -> mmcore.Launch:
    return mmcore.Launch(grid=(3, 3), block=config.block, shared_bytes=1024)


def test_a_cubin_runs_on_a_gpu_and_not_on_the_emulator(tmp_path: Path, device: Device) -> None:
    (tmp_path / "product.cubin").write_bytes(made(device.architecture).cubin)
    kernel = declared(source=tmp_path / "product.cubin", launch=launch_with_shared_memory)
    if device.name == "emulator":
        said = r"^product\.cubin has no PTX, and the emulator runs PTX$"
        with pytest.raises(mmcore.UnsupportedInstruction, match=said):
            mmcore.run(kernel, 33, device=device.name)
        with pytest.raises(mmcore.UnsupportedInstruction, match=said):
            examine(Cell(kernel.name, 33, 33, 33), device, kernel=kernel)
    else:
        assert mmcore.run(kernel, 33, device=device.name).verified


def test_what_a_build_rule_makes_is_launched_with_its_shared_memory_and_null_pointers(device: Device) -> None:
    trailing, begin = ", float* scratch, float* profile", "scratch == nullptr && profile == nullptr ? 0 : 1"
    module = made(device.architecture, trailing, begin)
    kernel = built(Binary(module.cubin, module.ptx, shared_bytes=1024, null_pointers=2))
    result = mmcore.run(kernel, 33, device=device.name, hazards=False)
    assert result.verified
    assert result.launched[0].entry == "product"
    assert (result.shared_bytes, result.registers) == (1024, module.functions["product"].registers)


def test_code_is_built_once_for_each_problem_config_and_architecture() -> None:
    asked: list[tuple[int, str]] = []

    def build(problem: Problem, config: Config, architecture: str) -> Binary:
        asked.append((problem.m, architecture))
        return Binary(ptx=made(architecture).ptx)

    kernel = declared(build=build)
    for _ in range(2):
        for size, architecture in ((8, "90"), (9, "90"), (8, "80")):
            compile_plan(planned(kernel, size), architecture)
    compile_plan(planned(replace(kernel, architecture="75")), "90")
    assert asked == [(8, "90"), (9, "90"), (8, "80"), (8, "75")]


class OwnNames:
    """A build rule of a language with names of its own."""

    names: ClassVar = {"__syncthreads()": "own.wait()"}

    def __call__(self, problem: Problem, config: Config, architecture: str) -> Binary:
        racing = "rows[(threadIdx.y * blockDim.x + threadIdx.x) ^ 64]"
        return Binary(ptx=made(architecture, source=SOURCE.replace("= *sum;", f"= {racing};")).ptx)


def test_a_hint_has_the_names_of_the_language() -> None:
    found = mmcore_emulator.check(declared(build=OwnNames(), shared_bytes=1024), 16)
    (hint,) = {each.hint for each in found.violations if each.kind == "shared-race"}
    assert "own.wait()" in hint
    assert "__syncthreads" not in hint


def test_code_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "product.ptx"
    digests = []
    for begin in ("0", "0", "1"):
        path.write_text(made(begin=begin).ptx)
        kernel = declared(source=path)
        digests.append(compiler_of(kernel).inputs(planned(kernel), "90")["ptx"])
    assert digests[0] == digests[1] != digests[2]


def test_registers_of_ptx_are_known_where_it_can_be_linked(tmp_path: Path) -> None:
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        load_nvidia_dynamic_lib("nvJitLink")
    except DynamicLibNotFoundError:
        pytest.skip("nvJitLink is not installed; python -m pip install 'mmcore-cuda[nvjitlink]' brings it")
    (tmp_path / "product.ptx").write_text(made().ptx)
    module = compile_plan(planned(declared(source=tmp_path / "product.ptx")), "90")
    assert module.functions[""].registers == made().functions["product"].registers
    assert module.functions[""].static_shared_bytes == 0
    assert (module.functions[""].spill_store_bytes, module.functions[""].spill_load_bytes) == (0, 0)
    cubin, reports = linked(compiled(kernel_source("spilled_sums"), "90", "f").ptx, "90")
    assert min(reports["f"].spill_store_bytes, reports["f"].spill_load_bytes) > 0
    assert reports["f"].local_bytes == read_cubin(cubin).functions["f"].local_bytes
    assert module.cubin.startswith(b"\x7fELF")


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("PTX", "'PTX', which is no mmcore.Binary"),
        (None, "None, which is no mmcore.Binary"),
        (Binary(), "a Binary with neither machine code nor PTX"),
        (Binary(ptx=b".target"), "a Binary with ptx=b'.target'"),  # type: ignore[arg-type]
        (Binary(ptx="x", shared_bytes=-1), "a Binary with shared_bytes=-1"),
        (Binary(ptx="x", null_pointers=True), "a Binary with null_pointers=True"),
    ],
)
def test_an_invalid_result_of_a_build_rule_is_one_sentence(returned: Any, said: str) -> None:
    place = r"\(test_binaries\.py:\d+\)"
    assert re.fullmatch(rf"test\.product: its build rule returned {re.escape(said)} {place}", failure(built(returned)))


def test_an_error_of_a_build_rule_is_one_sentence() -> None:
    def raising(error: Exception) -> Kernel:
        def build(problem: Problem, config: Config, architecture: str) -> Binary:
            raise error

        return declared(build=build)

    assert re.fullmatch(
        r"test\.product: its build rule failed: ValueError: the tile is too large "
        r"\(test_binaries\.py:\d+, for 8×8×8 with block=16x16 on sm_90\)",
        failure(raising(ValueError("the tile is too large"))),
    )
    said = "acme's compiler is not installed; python -m pip install acme brings it"
    assert failure(raising(CompilerMissing(said)), CompilerMissing) == said


@pytest.mark.parametrize(
    ("binary", "error", "said"),
    [
        (Binary(ptx="nonsense"), InvalidKernel, "cannot be read: PTX has a line such as"),
        (Binary(b"nonsense"), InvalidKernel, "cannot be read: it is no 64-bit ELF file"),
        (Binary(ptx=".target sm_100\n"), CompileError, "is PTX for sm_100, which sm_90 does not run"),
        (Binary(ptx=".target sm_90\n"), InvalidKernel, "has no kernel function; entry= says which"),
    ],
)
def test_code_that_cannot_be_launched_is_refused(binary: Binary, error: type[MmcoreError], said: str) -> None:
    assert failure(built(binary), error).startswith(f"test.product: its code {said}")


def test_machine_code_for_another_architecture_is_refused() -> None:
    said = "test.product: its code is machine code for sm_80, which does not run on sm_90"
    assert failure(built(Binary(made("80").cubin)), CompileError) == said


def test_the_function_is_named_where_there_are_several() -> None:
    binary = Binary(ptx=made(source=SOURCE + 'extern "C" __global__ void other(int n) {}').ptx)
    said = "test.product: its code has the functions other, product; entry= says which is launched"
    assert failure(built(binary)) == said
    said = "test.product: its code has no function third; it has other, product"
    assert failure(built(binary, entry="third")) == said
    assert compile_plan(planned(built(binary, entry="product")), "90").functions["product"].symbol == "product"


def test_arguments_that_are_not_the_codes_are_refused(device: Device) -> None:
    module = made(device.architecture)
    with pytest.raises(InvalidKernel) as raised:
        mmcore.run(replace(built(Binary(module.cubin, module.ptx)), arguments=("A", "B", "C")), 8, device=device.name)
    assert str(raised.value) == (
        "test.product: product takes 6 parameters (8, 8, 8, 4, 4, 4 bytes), but is declared with 3 parameters "
        "(8, 8, 8 bytes)"
    )
    for source in ("x.ptx", "x.cubin"):
        with pytest.raises(InvalidKernel, match=r"has no signature: it needs arguments=$"):
            Kernel(name="test.x", configs=[{"block": (16, 16)}], source=Path(source))


@cases(__file__, "which_code_runs_where", "made_for, on, ptx, machine_code")
def test_which_code_runs_where(made_for: str, on: str, ptx: bool, machine_code: bool) -> None:
    assert (ptx_runs(made_for, on), machine_code_runs(made_for, on)) == (ptx, machine_code)


def test_a_kernel_that_is_built_is_listed_shown_and_run(tmp_path: Path) -> None:
    (tmp_path / "product.ptx").write_text(made("75").ptx)
    install(tmp_path, "acme", "built", section_of(__file__, "plugin"))
    listed = command("list-kernels", "acme", site=tmp_path)
    assert "acme.built" in listed.stdout
    shown = command("show", "acme.built", site=tmp_path)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "its only function(A, B, C, m, n, k)" in shown.stdout
    run = command("run", "acme.built", "--size", "33", "--device", "emulator", site=tmp_path)
    assert (run.exit_code, run.stderr) == (0, "")
    assert "shared memory    1024 bytes per block" in run.stdout


def test_the_references_example_is_right(device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "plugin-reference.md").read_text()
    code = text.partition("## Other sources")[2].partition("```python\n")[2].partition("```")[0]
    (tmp_path / "acme_generated.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    import acme_generated  # type: ignore[import-not-found]

    kernel = acme_generated.mmcore_kernels()
    assert mmcore.run(kernel, m=17, n=33, k=9, device=device.name, hazards=False).verified
