"""Triton's kernels: compiled without a GPU, verified on the emulator if it supports their instructions."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import mmcore
from mmcore import Config, DeviceProperties, Kernel, Scalar, Workspace
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.planning.plan import plan
from mmcore.registry import registry
from mmcore_sources.triton import triton_kernel
from mmcore_sources.triton.build import TritonBuild
from tests.command_line import mmcore as command

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="Triton is not installed; python -m pip install 'mmcore-cuda[triton]' brings it"
)
FUNCTION = "mmcore_sources.triton.matmul_kernel:matmul"
ARGUMENTS = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")
SMALL = {"BM": 32, "BN": 32, "BK": 32, "num_stages": 1, "num_warps": 2}


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        yield


def declared(**further: Any) -> Kernel:
    fields: dict[str, Any] = {"function": FUNCTION, "arguments": ARGUMENTS, "configs": [SMALL]}
    return triton_kernel(**{"name": "test.product", **fields, **further})


def compiled(kernel: Kernel, size: int = 64, config: Config | None = None, architecture: str = "90") -> CompiledModule:
    problem = kernel.problem(size, size, size)
    device = DeviceProperties(compute_capability=(9, 0))
    return compile_plan(plan(kernel, problem, config or kernel.usual_configs[0], device), architecture)


def failure(kernel: Kernel, error: type[mmcore.MmcoreError] = mmcore.InvalidKernel) -> str:
    with pytest.raises(error) as raised:
        compiled(kernel)
    return str(raised.value)


def test_the_example_is_listed_and_shown_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    assert "triton.matmul" in command("list-kernels", "triton").stdout
    shown = command("show", "triton.matmul")
    assert "its only function(A, B, C, m, n, k, lda, ldb, ldc)" in shown.stdout
    assert "def matmul(A, B, C" in shown.stdout


_MISSING = "Triton cannot be imported; python -m pip install 'mmcore-cuda[triton]' brings it"


def test_without_triton_kernels_are_skipped(pytester: pytest.Pytester) -> None:
    """Run a process of its own, since pytester forgets the modules that are imported in this one."""
    pytester.makepyfile("def test_kernel(mm_benchmark): mm_benchmark()", triton="raise ImportError")
    options = ("--mm-kernel", "triton.matmul", "--mm-size", "32", "--mm-device", "emulator", "-rs")
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(skipped=3)
    assert _MISSING in result.stdout.str()


def test_without_triton_a_kernel_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    run = command("run", "triton.matmul", "--size", "32", "--device", "emulator")
    assert run.exit_code == 2
    assert run.stderr.startswith(f"Error: {_MISSING}")


@needs_triton
@pytest.mark.parametrize("architecture", ["80", "90", "100"])
@pytest.mark.parametrize("name", ["triton.matmul", "triton.matmul_f16"])
def test_every_config_of_the_examples_compiles_without_a_gpu(name: str, architecture: str) -> None:
    kernel = registry().kernel(name)
    for config in kernel.usual_configs:
        module = compiled(kernel, 128, config, architecture)
        (function,) = module.functions.values()
        assert f".target sm_{architecture}" in module.ptx
        assert module.cubin.startswith(b"\x7fELF")
        assert function.registers > 0
        assert function.dynamic_shared_bytes > 0
        assert function.parameter_bytes == (8, 8, 8, 4, 4, 4, 4, 4, 4) + (8,) * function.null_pointers


@needs_triton
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (33, 48, 80), (1, 16, 16)])
def test_the_product_is_right_on_the_emulator(m: int, n: int, k: int) -> None:
    result = mmcore.run("triton.matmul", m=m, n=n, k=k, device="emulator", seed=1)
    assert result.verified
    assert result.shared_bytes > 0


@needs_triton
@pytest.mark.parametrize("size", [1, 31, 65])
def test_the_product_is_right_at_any_size(size: int) -> None:
    """Compile for compute capability 8.0, as Triton uses stmatrix for 9.0, which the emulator lacks."""
    kernel = replace(declared(configs=[{**SMALL, "num_warps": 4}]), architecture="80")
    assert mmcore.run(kernel, size, device="emulator", seed=1, hazards=False).verified


@needs_triton
def test_leading_dimensions_are_arguments() -> None:
    kernel = registry().kernel("triton.matmul")
    assert kernel.strided
    assert mmcore.run("triton.matmul", 32, device="emulator", lda=48, ldb=64, ldc=80, hazards=False).verified


@needs_triton
@pytest.mark.parametrize("block", [0, 1])
def test_a_pipelined_product_on_tensor_cores_runs_on_the_emulator(block: int) -> None:
    kernel = mmcore.kernels()["triton.matmul_f16"]
    config = kernel.usual_configs[block]
    result = mmcore.run(kernel, 80, config=config.to_json(), device="emulator")
    assert result.verified
    assert {"cp.async", "wgmma"} <= {name for name in ("cp.async", "wgmma") if name in compiled(kernel, 80).ptx}


@needs_triton
def test_only_sizes_that_16_divides_are_compiled_as_such() -> None:
    wide = "ld.global.v4.b32"
    assert wide in compiled(declared(), 64).ptx
    assert wide not in compiled(declared(), 68).ptx


@needs_triton
def test_a_whole_number_is_compiled_in() -> None:
    kernel = declared(arguments=("A", "B", "C", "m", "n", "k", 64, "ldb", "ldc"))
    assert kernel.arguments == ("A", "B", "C", "m", "n", "k", "ldb", "ldc")
    assert mmcore.run(kernel, 64, device="emulator", hazards=False).verified


@needs_triton
def test_configs_may_be_a_space_and_hold_any_option_of_triton() -> None:
    space = mmcore.Space({"BM": (32, 64), "BN": (32,), "BK": (32,), "num_stages": (1,), "maxnreg": (64,)})
    kernel = declared(configs=space)
    assert [config.block.x for config in kernel.all_configs] == [128, 128]
    assert next(iter(compiled(kernel).functions.values())).registers <= 64


@needs_triton
@pytest.mark.parametrize(
    ("further", "said"),
    [
        ({"arguments": ARGUMENTS[:-1]}, "arguments= has nothing for ldc, a parameter of matmul"),
        ({"arguments": (*ARGUMENTS, "m")}, "arguments= has 'm', for which matmul has no parameter"),
        ({"configs": [{"BM": 32, "BN": 32}]}, "BK, a tl.constexpr of matmul, is in no config"),
        ({"configs": [{**SMALL, "num_ctas": 2}]}, "num_ctas must be 1: mmcore does not launch Triton's clusters"),
    ],
)
def test_a_declaration_that_does_not_fit_the_function_is_told(further: dict[str, Any], said: str) -> None:
    assert failure(declared(**further)).startswith(f"test.product: its build rule: {said} (")


@needs_triton
def test_what_triton_rejects_is_told_in_its_words() -> None:
    assert failure(declared(configs=[{**SMALL, "BK": 3}]), mmcore.CompileError).startswith(
        "Triton does not compile matmul for sm_90:\n"
    )


@needs_triton
def test_pointers_and_numbers_have_tritons_types() -> None:
    kernel = declared()
    problem = kernel.problem(64, 64, 65)
    arguments = ("A", "C", Workspace("w", 4), "m", "k", Scalar("m", "int64"), Scalar(0.5, "float32"))
    build = TritonBuild(None, arguments)
    parameters = [type("P", (), {"name": f"p{number}", "is_constexpr": False}) for number in range(len(arguments))]
    found = build._parameters(
        type("F", (), {"params": parameters, "__name__": "f"}), problem, kernel.usual_configs[0], {}
    )
    assert [(each.type, each.divisible) for each in found] == [
        ("*fp32", True), ("*fp32", True), ("*fp32", True), ("i32", True), ("i32", False), ("i64", True), ("fp32", False)
    ]  # fmt: skip


@needs_triton
def test_the_references_example_is_short_and_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "plugin-reference.md").read_text()
    code = text.partition("## Triton")[2].partition("```python\n")[2].partition("```")[0]
    assert len(code.splitlines()) < 30
    (tmp_path / "acme_triton.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    import acme_triton  # type: ignore[import-not-found]

    assert mmcore.run(acme_triton.mmcore_kernels(), 64, device="emulator").verified
