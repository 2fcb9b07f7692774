"""The Python API on numpy arrays, and on a GPU's own where there is one."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmcore
from mmcore import Cell, Config, DeviceProperties, Kernel, Launch, Problem, Result, Scalar
from mmcore.api import cell
from mmcore.devices.base import Device
from mmcore.measure import measure
from mmcore.registry import registry
from tests.conftest import DEVICES
from tests.kernel_sources import kernel_source

RNG = np.random.default_rng(1)


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.fixture
def source(cu_file: Path) -> Path:
    cu_file.write_text('extern "C" __global__ void f(const float* A, const float* B, float* C, int n) { C[0] = n; }')
    return cu_file


def one_block(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    return Launch(grid=(1,), block=config.block)


def kernel_of(source: Path, **changes: Any) -> Kernel:
    """Return a kernel with some attributes changed."""
    usual: dict[str, Any] = {"entry": "f", "arguments": ("A", "B", "C", "n"), "configs": [{"block": (1,)}]}
    return Kernel(**{"name": "test.f", "source": source, "launch": one_block, **usual, **changes})


def measured(kernel: Kernel, device: Device, m: int = 8, n: int = 8, k: int = 8, **leading: int) -> Result:
    return measure(Cell(kernel.name, m, n, k, **leading), device, kernel)  # type: ignore[arg-type]


def test_matmul_takes_any_shape_that_the_kernel_takes_and_writes_into_out(device: Device) -> None:
    a, b = normal(33, 100), normal(100, 7)
    product, out = mmcore.matmul(a, b, kernel="upc.kernel11", device=device.name), np.empty((33, 7), np.float32)
    assert product.shape == (33, 7)
    np.testing.assert_allclose(product, a @ b, rtol=0, atol=1e-4)
    assert mmcore.matmul(a, b, out, device=device.name) is out
    np.testing.assert_allclose(out, a @ b, rtol=0, atol=1e-4)


def test_matmul_accumulates_into_a_slice_and_leaves_the_gaps_between_its_rows(device: Device) -> None:
    whole_a, whole_b = normal(64, 100, dtype=np.float64), normal(64, 70, dtype=np.float64)
    a, b = whole_a[:, 30:94], whole_b[:, 3:67]
    whole = normal(130, 140, dtype=np.float64)
    before = whole.copy()
    expected = before.copy()
    expected[1:129:2, 5:69] += a @ b
    mmcore.matmul(a, b, whole[1:129:2, 5:69], kernel="lezione9.kernel2", block=32, device=device.name)
    np.testing.assert_allclose(whole, expected, rtol=1e-12, atol=1e-12)
    untouched = np.ones(whole.shape, bool)
    untouched[1:129:2, 5:69] = False
    assert (whole[untouched] == before[untouched]).all()


def test_matmul_takes_transposed_and_reversed_views(device: Device) -> None:
    a, b = normal(48, 32).T[::-1], normal(32, 48)[:, ::-1].T
    product = mmcore.matmul(a[:, :32], b[:32, :32], kernel="hpsee.simple", device=device.name)
    np.testing.assert_allclose(product, a[:, :32] @ b[:32, :32], rtol=0, atol=1e-4)


def test_matmul_without_out_starts_an_accumulating_kernel_from_zero(device: Device) -> None:
    a, b = normal(32, 32, dtype=np.float64), normal(32, 32, dtype=np.float64)
    product = mmcore.matmul(a, b, kernel="lezione9.kernel1", block=32, device=device.name)
    np.testing.assert_allclose(product, a @ b, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "options", "sentence"),
    [
        (normal(4, 5), normal(4, 5), {}, "A is 4×5 and B is 4×5; A's columns must be as many as B's rows"),
        (normal(4), normal(4, 5), {}, "A must have two dimensions, but has shape (4,)"),
        (normal(16, 16, dtype=np.float64), normal(16, 16), {}, "no kernel is tuned for float64 on emulator; name the"),
        (normal(16, 16), normal(16, 16), {"out": np.empty((16, 17), np.float32)}, "the product is 16×16, but out has"),
        (normal(16, 16), normal(16, 16), {"out": np.empty((16, 16))}, "no kernel is tuned for float32→float64 on"),
        ([[1.0]], normal(1, 1), {}, "A is a list, not an array"),
        (None, normal(1, 1), {}, "A is a NoneType, not an array"),
        (normal(16, 16).astype(">f4"), normal(16, 16), {}, "A holds >f4 elements, whose byte order is not this"),
        (normal(16, 16), normal(16, 16), {"out": np.empty((16, 16), ">f4")}, "out holds >f4 elements"),
        (np.ma.ones((16, 16)), normal(16, 16), {}, "A is a MaskedArray, not an array"),
        (normal(1, 1), normal(1, 1), {"out": np.broadcast_to(np.float32(), (1, 1))}, "out is read-only"),
        (normal(16, 16), normal(16, 16), {"kernel": 3}, "a kernel is known by its name, not by 3"),
        (normal(16, 16), normal(16, 16), {"device": 0}, "a device is known by its name"),
        (normal(16, 16), normal(16, 16), {"block": 16.0}, "block"),
        (normal(0, 16), normal(16, 16), {}, "m must be a positive whole number, but is 0"),
        (normal(16, 16), normal(16, 16), {"kernel": "poznan.v33"}, "did you mean poznan.v3"),
        (normal(16, 16), normal(16, 16), {"block": "wide"}, "'wide' is not a block"),
        (normal(16, 16), normal(16, 16), {"block": (16, -16)}, "is not a block shape"),
        (normal(17, 17), normal(17, 17), {"kernel": "poznan.v3"}, "n = 17 is not a multiple of block.x = 16"),
        (normal(16, 16), normal(16, 16), {"device": "cuda:x"}, "there is no device 'cuda:x'"),
        (normal(16, 16), normal(16, 16), {"device": "abacus"}, "there is no device 'abacus'; there are auto, cuda"),
    ],
)
def test_matmul_refuses_in_one_sentence(a: Any, b: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(mmcore.MmcoreError, match=f"^.*{re.escape(sentence)}.*$"):
        mmcore.matmul(a, b, **{"device": "emulator"} | options)


def test_kernels_may_be_objects_and_sizes_numpys() -> None:
    kernel = mmcore.kernels()["upc.kernel11"]
    result = mmcore.run(kernel, np.int64(40), block=np.int32(8), device="emulator", seed=3, hazards=False)
    assert str(result) == "upc.kernel11 40×40×40 in 8×8 blocks on emulator: verified"
    product = mmcore.matmul(normal(5, 4), normal(4, 3), kernel=kernel, block=None, device="emulator")
    assert product.shape == (5, 3)


def test_run_returns_what_it_launched_and_how_it_was_verified(device: Device) -> None:
    result = mmcore.run("upc.kernel01", m=40, n=50, k=60, block="16x8", device=device.name, seed=5)
    assert result.verified
    record = result.to_json()
    assert record["problem"] == {"m": 40, "n": 50, "k": 60}
    assert (record["grid"], record["block"]) == ([4, 5, 1], [16, 8, 1])
    assert record["seed"] == 5
    assert record["first_mismatch"] is None
    assert record["registers"] > 0
    assert (record["kernel_ms"] is None) == (not device.supports_timing)
    assert (record["end_to_end_gflops"] is None) == (not device.supports_timing)


@pytest.mark.parametrize("memory", ["pageable", "pinned"])
def test_a_device_that_supports_timing_times_kernel_and_copies(device: Device, memory: str) -> None:
    size = 512 if device.supports_timing else 64
    result = mmcore.run("upc.kernel10", size, block=32, device=device.name, memory=memory, hazards=False)
    assert result.verified
    if not device.supports_timing:
        assert result.kernel_seconds is result.end_to_end_seconds is None
        return
    assert result.kernel_seconds is not None
    assert result.end_to_end_seconds is not None
    assert 0 < result.kernel_seconds < result.end_to_end_seconds
    assert result.kernel_gflops == result.flops / result.kernel_seconds / 1e9


@pytest.mark.parametrize("leading", [{"lda": 45}, {"ldb": 71}, {"ldc": 66}, {"lda": 33, "ldb": 64, "ldc": 100}])
def test_sub_blocks_are_packed_for_kernels_without_strides(device: Device, leading: dict[str, int]) -> None:
    kernel = mmcore.kernels()["lezione9.kernel1"]
    assert measured(kernel, device, 64, 64, 33, **leading).verified


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"size": 0}, "m must be a positive whole number, but is 0"),
        ({"size": -3}, "m must be a positive whole number, but is -3"),
        ({"size": 2.5}, "m must be a positive whole number, but is 2.5"),
        ({"m": 3, "n": 4}, "give one size, or all of m, n and k"),
        ({"size": 3, "m": 4}, "not both"),
        ({"size": 64, "block": "16x"}, "'16x' is not a block"),
        ({"size": 64, "block": 0}, "is not a block shape"),
        ({"size": 64, "lda": 60}, "lda = 60 is shorter than a row of 64 elements"),
        ({"size": 64, "seed": -1}, "a seed is a whole number from 0, not -1"),
        ({"size": 64, "memory": "mapped"}, "there is no end-to-end time 'mapped'; there are "),
    ],
)
def test_a_bad_request_is_refused_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(mmcore.MmcoreError, match=f"^.*{re.escape(sentence)}.*$"):
        mmcore.run("upc.kernel01", device="emulator", **arguments)


@pytest.mark.parametrize("entry", ["g", "f<3>", "f)"])
def test_an_entry_that_is_not_in_the_source_is_a_compile_error(device: Device, source: Path, entry: str) -> None:
    kernel = kernel_of(source, entry=entry)
    with pytest.raises(mmcore.CompileError, match=r"test\.f: kernel.cu has no function"):
        measured(kernel, device)


def test_only_the_entry_that_is_missing_is_called_so_and_what_there_is_is_named(device: Device, source: Path) -> None:
    source.write_text(
        'extern "C" __global__ void f(float* A) { A[0] = 1; }\n'
        'extern "C" __global__ void __launch_bounds__(32, 2) reduce(float* A) { A[0] = 2; }\n'
        "template <int B> __global__ void\ntiled(float* A) { A[0] = B; }\n"
    )

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        return [Launch((1,), config.block), Launch((1,), config.block, entry="reduse")]

    kernel = kernel_of(source, launch=launch)
    with pytest.raises(mmcore.CompileError, match=r"kernel\.cu has no function reduse; it has f, reduce, tiled$"):
        measured(kernel, device)
    source.write_text("#include <nowhere.h>\n")
    with pytest.raises(mmcore.CompileError, match=r"includes a header that is not found: nowhere\.h \(kernel\.cu:1\)"):
        measured(kernel, device)


@pytest.mark.parametrize(
    "arguments",
    [("A", "B", "C"), ("A", "B", "C", "n", "n"), ("A", "B", "n", "C"), ("A", "B", "C", Scalar("n", "int64"))],
)
def test_arguments_that_do_not_fit_the_function_are_refused(device: Device, source: Path, arguments: Any) -> None:
    kernel = kernel_of(source, arguments=arguments)
    with pytest.raises(
        mmcore.InvalidKernel, match=r"test\.f: f takes 4 parameters \(8, 8, 8, 4 bytes\), but is declared"
    ):
        measured(kernel, device)


def test_a_kernel_with_more_registers_than_the_device_has_is_refused(device: Device, source: Path) -> None:
    sums = " + ".join(f"A[{i}] * B[threadIdx.x * {i + 1}]" for i in range(200))
    loads = "".join(f"float v{i} = A[threadIdx.x * 200 + {i}];" for i in range(150))
    stores = "".join(f"C[threadIdx.x * 200 + {i}] = v{i} + {sums if i == 0 else 'v0'};" for i in range(150))
    parameters = "volatile float* A, volatile float* B, volatile float* C, int n"
    source.write_text(f'extern "C" __global__ void f({parameters}) {{{loads}{stores}}}')
    kernel = kernel_of(source, configs=[{"block": (1024,)}])
    with pytest.raises(mmcore.ConstraintViolation, match=r"takes \d+ registers; the device allows 65536"):
        measured(kernel, device)


def test_what_a_kernel_writes_outside_c_is_a_violation(device: Device, source: Path) -> None:
    source.write_text(
        'extern "C" __global__ void f(const float* A, const float* B, float* C, int n)\n'
        "{\n    C[-1] = 1.0f;\n    C[n * n + 1] = 1.0f;\n}\n"
    )
    kernel = kernel_of(source)
    result = measured(kernel, device)
    assert not result.verified
    assert [(violation.kind, violation.array) for violation in result.violations] == [("out-of-bounds-write", "C")] * 2
    assert "4 bytes before the start of C" in result.violations[0].message


def test_a_sum_that_met_unwritten_memory_is_wrong_but_not_unwritten(device: Device, source: Path) -> None:
    """The over-read holds the same NaN as an unwritten C; what a kernel makes of it is the kernel's own."""
    source.write_text(
        'extern "C" __global__ void f(const float* A, const float* B, float* C, int n)\n'
        "{\n    for (int i = 0; i < n * n; ++i) C[i] = A[n * n] * 2.0f + B[i];\n}\n"
    )
    kernel = kernel_of(source, launch=lambda problem, config, device: Launch((1,), config.block, over_read={"A": 1}))
    result = measured(kernel, device)
    assert result.violations == ()
    mismatch = result.verification.mismatch if result.verification else None
    assert mismatch is not None
    assert np.isnan(mismatch.got)
    assert not mismatch.unwritten


needs_gpu = pytest.mark.skipif("cuda" not in DEVICES, reason="there is no GPU on this machine")


def imported(library: str) -> Any:
    """Import a third-party library, ignoring its warnings, or skip the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(library)


@needs_gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_matmul_works_on_a_gpus_own_arrays_in_place(library: str) -> None:
    xp = imported(library)
    on_gpu = (lambda array: xp.asarray(array, device="cuda")) if library == "torch" else xp.asarray
    a, b = normal(64, 48), normal(48, 80)
    out = on_gpu(np.zeros((64, 80), np.float32))
    assert mmcore.matmul(on_gpu(a), on_gpu(b), out, kernel="upc.kernel01") is out
    np.testing.assert_allclose(out.tolist(), a @ b, rtol=0, atol=1e-4)
    fresh = mmcore.matmul(on_gpu(a), on_gpu(b), kernel="upc.kernel01")
    assert type(fresh) is type(out)
    np.testing.assert_allclose(fresh.tolist(), a @ b, rtol=0, atol=1e-4)


def test_out_is_overwritten_and_an_element_that_is_not_written_is_no_number(source: Path) -> None:
    a, b, out = normal(3, 4), normal(4, 5), np.full((3, 5), 7, np.float32)
    assert mmcore.matmul(a, b, out, kernel=kernel_of(source), device="emulator") is out
    assert out[0, 0] == 5
    assert np.isnan(out.reshape(-1)[1:]).all()


def test_a_cell_holds_what_was_asked_for(source: Path) -> None:
    kernel = kernel_of(source)
    asked, nameless = cell(kernel, 8)
    assert (asked.kernel, nameless) == ("test.f", kernel)
    plain, nameless = cell("upc.kernel01", 8)
    assert (plain, nameless) == (Cell("upc.kernel01", 8, 8, 8), None)
    assert cell("upc.kernel01", m=8, n=8, k=8, lda=0, ldc=0)[0] == plain
    strided, _ = cell("upc.kernel01", m=2, n=3, k=4, lda=np.int64(5), ldc=7, seed=0, timeout=2.0, force=True)
    assert strided == Cell("upc.kernel01", 2, 3, 4, lda=5, ldc=7, seed=0, timeout=2.0, force=True)
    assert cell("upc.kernel01", 8, block=4)[0].config == {"block": [4, 4, 1]}


def test_a_block_beside_a_config_wins_over_the_one_in_it() -> None:
    for config in ({"block": 16, "TILE": 8}, {"TILE": 8}):
        assert cell("upc.kernel11", 8, block="8x8", config=config)[0].config == {"block": [8, 8, 1], "TILE": 8}


def test_a_launch_that_leaves_its_memory_is_an_error_and_out_is_as_it_was(source: Path) -> None:
    source.write_text(
        'extern "C" __global__ void f(const float* A, const float* B, float* C, int n)\n'
        "{\n    C[0] = 7.0f;\n    C[n * n] = 7.0f;\n}\n"
    )
    out = np.full((8, 8), 3, np.float32)
    with pytest.raises(mmcore.KernelError, match=r"^test\.f: .*the first byte past the end of C"):
        mmcore.matmul(normal(8, 8), normal(8, 8), out, kernel=kernel_of(source), device="emulator")
    assert (out == 3).all()


def test_a_cell_of_a_file_names_its_whole_path_and_all_that_was_inferred(
    cu_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cu_file.write_text(kernel_source("guarded"))
    monkeypatch.chdir(cu_file.parent)
    monkeypatch.setattr(registry(), "files", {})
    asked, nameless = cell(cu_file.name, size=16)
    assert isinstance(asked.kernel, dict)
    assert (asked.kernel["file"], nameless) == (str(cu_file), None)
    assert {"function", "block", "grid"} <= asked.kernel["inferred"].keys()
