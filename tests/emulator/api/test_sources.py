"""Sources of a launch: PTX and CUDA C++, and kernels by their names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mmcore_emulator import CompileError, LaunchError, PtxError, launch
from mmcore_emulator.api import nvrtc
from mmcore_emulator.api.source import parameter_names
from tests.emulation import ptx_kernel
from tests.emulator.api.launching import COPY, PTX, one, refusal

KERNELS = """
namespace first { __global__ void same(int* x) { *x = 1; } }
namespace second { __global__ void same(int* x) { *x = 2; } __global__ void other(int* x) { *x = 3; } }
__global__ void plain(int* x) { *x = 4; }
__global__ void plain(float* x) { *x = 5; }
template <int N> __global__ void instance(int* x) { *x = N; }
"""


def test_ptx_runs_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "compile_cuda", None)
    x = np.full(64, 7, np.uint32)
    report = launch(f"// a comment\n/* another */ {PTX}", "f", grid=1, block=64, args=(x,))
    assert report.ok
    assert x.tolist() == list(range(64))


@pytest.mark.parametrize("name", ["kernel.ptx", "kernel.txt"])
def test_a_path_leads_to_ptx_or_cuda(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(PTX)
    x = np.zeros(32, np.uint32)
    assert launch(path, "f", grid=1, block=32, args=(x,)).ok
    assert x[31] == 31
    (tmp_path / "value.h").write_text("#define VALUE 5\n")
    path = tmp_path / "kernel.cu"
    path.write_text('#include "value.h"\n\n__global__ void g(unsigned* x) { x[VALUE * threadIdx.x] = VALUE; }\n')
    report = launch(path, "g", grid=1, block=32, args=(x,))
    assert x[:10].tolist() == [5, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [(each.kind, each.array, each.source, each.line, each.count) for each in report.hazards] == [
        ("out-of-bounds-write", "x", "kernel.cu", 3, 25)
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("first::same", 1), ("other", 3), ("second::other", 3), ("instance<6>", 6), ("_Z5plainPi", 4)]
)
def test_a_kernel_is_found_by_its_name(name: str, value: int) -> None:
    x = np.zeros(1, np.int32)
    assert one(KERNELS, name, x).ok
    assert x[0] == value


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("same", "source.cu has 2 kernels named same: give the symbol, _ZN5first4sameEPi or _ZN6second4sameEPi"),
        ("plain", "source.cu has 2 kernels named plain: give the symbol, _Z5plainPi or _Z5plainPf"),
        ("instance", "source.cu has no instance: instance is a template, whose instances are like instance<float>"),
        (
            "instance<int>",
            "source.cu has no instance<int>: instance is a template, whose instances are like instance<float>",
        ),
        ("absent<3>", "source.cu has no kernel absent<3>; it has plain, first::same, second::same, second::other"),
        ("absent", "source.cu has no kernel absent; it has plain, first::same, second::same, second::other"),
    ],
)
def test_a_kernel_that_is_not_found_is_named_beside_those_there_are(name: str, sentence: str) -> None:
    assert refusal(LaunchError, KERNELS, name) == sentence


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_a_kernel_runs_on_every_architecture(architecture: str) -> None:
    x = np.zeros(1, np.int32)
    report = one("__global__ void f(int* x) { *x = __CUDA_ARCH__ / 10; }", "f", x, architecture=architecture)
    assert report.ok
    assert report.architecture == architecture
    assert f"sm_{x[0]}" == architecture.removesuffix("a")


def test_cuda_that_does_not_compile_is_refused_with_the_compilers_log() -> None:
    text = refusal(CompileError, "\n__global__ void f() { undefined = 1; }")
    assert text.startswith("source.cu does not compile:\nsource.cu(2): error: identifier")


def test_a_missing_compiler_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    text = refusal(CompileError, COPY.replace("TYPE", "int"), "copy")
    assert text.startswith("NVRTC, which compiles CUDA C++, cannot be loaded (")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (ptx_kernel("what is this;"), "PTX operand 'is this' is not understood"),
        (PTX.replace(".param .u64", ".param .u63"), "PTX parameter"),
        (PTX[: PTX.rindex("}")], "a PTX function's body does not end"),
    ],
)
def test_ptx_that_cannot_be_read_is_refused(source: str, sentence: str) -> None:
    assert sentence in refusal(PtxError, source)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__global__ void f() {}", ()),
        ("__global__ void f(int* a, float (&b)[3], const T<int, 4>* __restrict__ c /* , d */) {}", ()),
        ("__global__ void __launch_bounds__(M(1, 2)) f(const int *a, int b[], int c = g(1, 2)) {}", ("a", "b", "c")),
        ("__global__ void f(int*); __global__ void f(int* a) {}", ("a",)),
        ("void f(int x); template <int N> __global__ void f(T<int, 4>* a) {}", ("a",)),
    ],
)
def test_the_parameters_names_are_read_off_the_source(source: str, names: Sequence[str]) -> None:
    assert parameter_names(source, "f") == tuple(names)
