"""Element types of a declaration that differ from those of the source's pointers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import mmcore_emulator
from mmcore import DeviceProperties, Kernel
from mmcore.planning.differing_types import differing_types
from mmcore.planning.plan import plan
from tests.command_line import mmcore as command

TEXT = """#include <cuda_fp16.h>
#include <cuda_bf16.h>
typedef float number;
#ifdef WIDE
using either = float;
#else
using either = half;
#endif
__global__ void product(const half *A, const half *B,
                        OUTPUT *C, int m, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < k; p++)
        sum += i < m && j < n ? __half2float(A[i * k + p]) * __half2float(B[p * n + j]) : 0;
    if (i < m && j < n)
        ((WRITTEN *)C)[i * n + j] = sum;
}
"""
SENTENCE = 'C is float* in own.cu:10 and float16 in the declaration: output="float32"'


def _kernel(folder: Path, pointer: str, written: str = "float", **declared: Any) -> Kernel:
    source = folder / "own.cu"
    source.write_text(TEXT.replace("OUTPUT", pointer).replace("WRITTEN", written))
    return Kernel(name="tests.own", source=source, configs=[{"block": (16, 8)}], dtype="float16", **declared)


@pytest.mark.parametrize(
    ("pointer", "declared", "sentences"),
    [
        ("float", {}, [SENTENCE]),
        ("float", {"output": "float32"}, []),
        ("number", {}, ['C is number* in own.cu:10 and float16 in the declaration: output="float32"']),
        ("__nv_bfloat16", {}, ['C is __nv_bfloat16* in own.cu:10 and float16 in the declaration: output="bfloat16"']),
        *((other, {}, []) for other in ("half", "void", "char", "uint16_t", "float4", "either", "unsigned short")),
    ],
)
def test_pointers_to_another_plain_type_than_declared_are_named(
    tmp_path: Path, pointer: str, declared: dict[str, Any], sentences: list[str]
) -> None:
    made = _kernel(tmp_path, pointer, **declared)
    planned = plan(made, made.problem(16, 16, 16), made.usual_configs[0], DeviceProperties())
    assert [each.sentence for each in differing_types(planned, by_option=False)] == sentences


def test_a_wrong_product_of_another_type_has_the_types_as_its_reason(tmp_path: Path) -> None:
    check = mmcore_emulator.check(_kernel(tmp_path, "float"), 64, seed=1)
    assert [(each.kind, each.message) for each in check.warnings] == [("differing-type", SENTENCE)]
    reasons = [each.message for each in check.violations if "is NaN" in each.message]
    assert len(reasons) == 1
    assert reasons[0].endswith(SENTENCE)
    cast = mmcore_emulator.check(_kernel(tmp_path, "float", "half"), 64, seed=1)
    assert (cast.violations, cast.warnings) == ((), ()), "a pointer that the code casts"


def test_the_option_of_a_file_is_named(tmp_path: Path) -> None:
    source = _kernel(tmp_path, "float").source
    output = command("check", str(source), "--output", "float16", "--size", "32", "--device", "emulator").stdout
    assert "C is float* in own.cu:10 and float16 by --output: --output float32" in output
