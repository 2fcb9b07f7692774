"""CuTe DSL's kernels: compiled without a GPU, verified on the emulator if it supports their instructions."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import pytest

import mmcore
from mmcore import DeviceProperties, Kernel, Scalar, TensorMap
from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.planning.plan import plan
from mmcore.registry import registry
from mmcore_sources.cutedsl import cutedsl_kernel
from mmcore_sources.cutedsl.build import _example
from tests.command_line import mmcore as command

needs_dsl = pytest.mark.skipif(
    find_spec("cutlass") is None,
    reason="CuTe DSL is not installed; python -m pip install 'mmcore-cuda[cutedsl]' brings it",
)
ARGUMENTS = ("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc")


def declared(**further: Any) -> Kernel:
    fields: dict[str, Any] = {
        "function": "mmcore_sources.cutedsl.matmul_kernel:matmul",
        "arguments": ARGUMENTS,
        "configs": [{"block": (16, 16), "TILE": 16}],
    }
    return cutedsl_kernel(**{"name": "test.product", **fields, **further})


def compiled(kernel: Kernel, architecture: str = "90") -> CompiledModule:
    return compile_plan(
        plan(kernel, kernel.problem(64, 64, 64), kernel.usual_configs[0], DeviceProperties()), architecture
    )


def test_without_the_dsl_the_example_is_listed_and_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cutlass", None)
    assert "cutedsl.matmul" in command("list-kernels", "cutedsl").stdout
    run = command("run", "cutedsl.matmul", "--size", "32", "--device", "emulator")
    assert run.exit_code == 2
    assert run.stderr.startswith("Error: CuTe DSL cannot be imported; python -m pip install 'mmcore-cuda[cutedsl]'")


@needs_dsl
@pytest.mark.parametrize("architecture", ["80", "90", "90a", "100a"])
def test_the_example_compiles_without_a_gpu(architecture: str) -> None:
    module = compiled(declared(), architecture)
    (function,) = module.functions.values()
    assert f".target sm_{architecture}" in module.ptx
    assert module.cubin.startswith(b"\x7fELF")
    assert function.parameter_bytes == (8, 8, 8, 4, 4, 4, 4, 4, 4)
    assert function.static_shared_bytes == 2048
    assert function.registers > 0


@needs_dsl
@pytest.mark.parametrize("block", [16, 32])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (33, 48, 65), (1, 1, 1)])
def test_the_product_is_right_on_the_emulator(m: int, n: int, k: int, block: int) -> None:
    assert mmcore.run("cutedsl.matmul", m=m, n=n, k=k, block=block, device="emulator", seed=1).verified


@needs_dsl
def test_leading_dimensions_are_arguments() -> None:
    assert registry().kernel("cutedsl.matmul").strided
    assert mmcore.run("cutedsl.matmul", 17, device="emulator", lda=18, ldb=20, ldc=19, hazards=False).verified


@needs_dsl
def test_declared_shared_memory_is_launched_with_it() -> None:
    module = compiled(declared(shared_bytes=lambda config: 64 * config.TILE))
    assert next(iter(module.functions.values())).dynamic_shared_bytes == 1024


@needs_dsl
@pytest.mark.parametrize(
    ("further", "said"),
    [
        ({"arguments": (*ARGUMENTS, "m", "n")}, "matmul has 10 parameters; arguments= has 11"),
        ({"configs": [{"block": (16, 16)}]}, "TILE, a parameter of matmul, is no argument and in no config"),
        ({"arguments": (TensorMap("A", (8, 8)), *ARGUMENTS[1:])}, "TensorMap(matrix='A', box=(8, 8), swizzle=0"),
    ],
)
def test_a_declaration_that_does_not_fit_the_function_is_told(further: dict[str, Any], said: str) -> None:
    with pytest.raises(mmcore.InvalidKernel) as raised:
        compiled(declared(**further))
    assert str(raised.value).startswith(f"test.product: its build rule: {said}")


@needs_dsl
def test_what_the_dsl_rejects_is_told_in_its_words() -> None:
    with pytest.raises(mmcore.CompileError, match=r"^CuTe DSL does not compile matmul for sm_90:\n"):
        compiled(declared(configs=[{"block": (16, 16), "TILE": 16.5}]))


@needs_dsl
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_arguments_have_the_dsls_types(dtype: str) -> None:
    import cutlass

    problem = mmcore.Problem(8, 8, 8, dtype, "float32")
    name = {"float16": "Float16", "bfloat16": "BFloat16", "float32": "Float32", "float64": "Float64"}[dtype]
    assert _example(cutlass, "A", problem).dtype is getattr(cutlass, name)
    assert _example(cutlass, "C", problem).dtype is cutlass.Float32
    assert isinstance(_example(cutlass, "m", problem), cutlass.Int32)
    assert isinstance(_example(cutlass, Scalar(1, "uint64"), problem), cutlass.Uint64)
