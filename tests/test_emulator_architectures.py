"""Architectures that the emulator can take the place of: limits, instructions, shared memory and tensor cores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mmcore
from mmcore import ConstraintViolation, Kernel, Unsupported
from mmcore.cell import Cell
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import CompileError, NoDevice
from mmcore.executor.choose_device import device_name, open_device
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore_binaries.cubin import sections_of
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.isa.architectures import CAPABILITIES
from mmcore_emulator.isa.table import least_capability
from mmcore_emulator.ptx.reader import parse
from mmcore_emulator.tensor_cores.arithmetic import arithmetic_of
from mmcore_emulator.tensor_cores.summation import multiply_add
from mmcore_nvrtc.cuda_headers import cuda_headers
from tests.command_line import mmcore as mmcore_command
from tests.emulation import cubin_of, emulate, ptx_kernel
from tests.ptx_opcodes import ptxas_refuses

NAMES = [name for name in CAPABILITIES if name != "emulator"]


# Devices.


@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_device_has_the_limits_of_its_compute_capability(name: str) -> None:
    device = open_device(name)
    assert (device.name, device_name(name)) == (name, name)
    assert device.properties.compute_capability == CAPABILITIES[name]
    result = measure(Cell("upc.kernel11", 33, 20, 17), device)
    assert result.verified
    assert result.to_json()["device"] == name
    assert f"compute capability {'.'.join(map(str, CAPABILITIES[name]))}" in result.device_description
    assert ("published model" in result.device_description) == (CAPABILITIES[name] != (9, 0))


def test_limits_differ() -> None:
    shared = {name: Emulator(name).properties.shared_bytes_optin >> 10 for name in CAPABILITIES}
    assert shared == dict(zip(CAPABILITIES, (227, 64, 163, 99, 99, 227), strict=True))
    assert [Emulator(name).properties.multiprocessors for name in NAMES] == [72, 108, 84, 142, 132]


@pytest.mark.parametrize("name", ["emulator:sm_99", "emulator:80", "emulator:", "emulator:sm_80:x"])
def test_a_bad_name_is_told_the_choices(name: str) -> None:
    with pytest.raises(NoDevice) as refused:
        open_device(name)
    if name == "emulator:80":
        assert str(refused.value) == "emulator:80 does not exist; there is one emulator"
    else:
        assert f"there is no device {name!r}; there are auto, cuda, emulator, {', '.join(NAMES)}" in str(refused.value)


def test_reports_say_what_is_emulated() -> None:
    report = mmcore_command("run", "upc.kernel01", "--size", "8", "--device", "emulator:sm_75")
    assert report.exit_code == 0
    said = "compute capability 8.9 (tensor cores by a published model)"
    assert f"emulator:sm_75: {said.replace('8.9', '7.5')}" in " ".join(report.stdout.split())
    found = json.loads(mmcore_command("doctor", "--json").stdout)["devices"]
    (told,) = (each["findings"]["emulator:sm_89"] for each in found if each["name"] == "emulator:sm_89")
    assert told.startswith(f"emulates {said}")


def test_the_header_of_a_pytest_run_says_it_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_cell(mm_benchmark): mm_benchmark()")
    asked = (
        "--mm-kernel",
        "upc.kernel01",
        "--mm-size",
        "16",
        "--mm-device",
        "emulator:sm_80",
        "-p",
        "no:cacheprovider",
    )
    result = pytester.runpytest_inprocess(*asked)
    result.stdout.fnmatch_lines(["mmcore: emulator:sm_80 (emulates compute capability 8.0 (tensor cores by a publ*"])


# Instructions. What ptxas takes for an architecture is what the emulator takes for one.

STATEMENTS = """
cp.async.commit_group;
cp.async.ca.shared.global [%r1], [%d1], 16;
cp.async.bulk.commit_group;
redux.sync.add.s32 %r1, %r2, 0xffffffff;
elect.sync %r1|%p1, 0xffffffff;
mapa.u64 %d1, %d2, %r1;
barrier.cluster.arrive;
griddepcontrol.wait;
fence.proxy.async;
fence.acq_rel.cluster;
fence.acq_rel.gpu;
mbarrier.init.shared.b64 [%r1], 1;
mbarrier.arrive.shared.b64 %d1, [%r1];
mbarrier.test_wait.shared.b64 %p1, [%r1], %d1;
mbarrier.try_wait.shared.b64 %p1, [%r1], %d1;
mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], %r2;
ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4}, {%r5}, {%r6, %r7};
mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%r1, %r2};
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1, %g2}, {%g3}, {%g4}, {%g1, %g2};
fma.rn.f16x2 %r1, %r2, %r3, %r4;
fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;
fma.rn.bf16x2 %r1, %r2, %r3, %r4;
add.rn.bf16 %h1, %h2, %h3;
min.f16 %h1, %h2, %h3;
min.NaN.f32 %f1, %f2, %f3;
max.xorsign.abs.f32 %f1, %f2, %f3;
tanh.approx.f16 %h1, %h2;
tanh.approx.bf16 %h1, %h2;
ex2.approx.ftz.bf16 %h1, %h2;
cvt.rna.tf32.f32 %r1, %f1;
cvt.rn.tf32.f32 %r1, %f1;
cvt.rn.bf16.f32 %h1, %f1;
cvt.f32.bf16 %f1, %h1;
cvt.rn.f16x2.f32 %r1, %f1, %f2;
cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;
atom.global.add.noftz.f16 %h1, [%d1], %h2;
atom.global.add.noftz.bf16x2 %r1, [%d1], %r2;
red.global.add.v4.f32 [%d1], {%f1, %f2, %f3, %f4};
atom.global.cas.b128 %q1, [%d1], %q2, %q3;
ld.global.L2::128B.u32 %r1, [%d1];
ld.global.L2::256B.u32 %r1, [%d1];
ld.global.L2::cache_hint.u32 %r1, [%d1], %d2;
ld.shared::cluster.u32 %r1, [%r2];
createpolicy.fractional.L2::evict_last.b64 %d1, 1.0;
add.f32 %f1, %f2, %f3;
""".strip().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_an_instruction_is_refused_where_ptxas_refuses_it(name: str) -> None:
    refused = ptxas_refuses(STATEMENTS, Emulator(name).architecture)
    for each in STATEMENTS:
        opcode = tuple(each.split()[0].removesuffix(";").split("."))
        assert (least_capability(opcode) > CAPABILITIES[name]) == (each in refused), each


def test_what_an_architecture_lacks_is_refused_by_name() -> None:
    (function,) = parse(ptx_kernel("cp.async.commit_group;")).values()
    translate(function, capability=(8, 0))
    with pytest.raises(UnsupportedInstruction, match=r"^cp\.async\.commit_group needs compute capability 8\.0$"):
        translate(function, capability=(7, 5))


WGMMA = """
extern "C" __global__ void multiply(const float* A, const float* B, float* C, int m, int n, int k) {
    asm volatile("wgmma.fence.sync.aligned;");
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0;
        for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + column];
        C[row * n + column] = sum;
    }
}"""


def declared(folder: Path, **further: Any) -> Kernel:
    (folder / "multiply.cu").write_text(WGMMA)
    return Kernel(name="tests.multiply", source=folder / "multiply.cu", configs=[{"block": (8, 8)}], **further)


def test_a_kernel_that_needs_9_0_is_refused_in_a_sentence(tmp_path: Path) -> None:
    cell = Cell("tests.multiply", 16, 16, 16)
    assert measure(cell, Emulator(), declared(tmp_path)).verified
    older = Emulator("emulator:sm_80")
    with pytest.raises(
        Unsupported, match=r"multiply\.cu uses wgmma\.fence, which sm_80 lacks; min_compute_cap"
    ) as said:
        measure(cell, older, declared(tmp_path))
    assert isinstance(said.value, CompileError)  # which conform calls a failure of the declaration
    with pytest.raises(ConstraintViolation, match=r"needs compute capability 9\.0; the device has 8\.0"):
        measure(cell, older, declared(tmp_path, min_compute_capability=(9, 0)))
    with pytest.raises(Unsupported, match=r"multiply\.cu is made for sm_90a; sm_80 does not run it"):
        measure(cell, older, declared(tmp_path, architecture="90a"))
    with pytest.raises(CompileError, match="does not compile"):  # the declaration names the wrong architecture
        measure(cell, Emulator(), declared(tmp_path, architecture="80"))


def test_clusters_are_refused_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "nothing.cu").write_text('extern "C" __global__ void nothing(float *C) { C[0] = 1; }')
    launch = mmcore.Launch(grid=(2,), block=(32,), cluster=(2,))
    kernel = Kernel(
        name="tests.nothing", source=tmp_path / "nothing.cu", configs=[{"block": (32,)}], launch=lambda *_: launch
    )
    for name, refused in (("emulator", False), ("emulator:sm_89", True)):
        device = Emulator(name)
        planned = plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties)
        with LoadedKernel(planned, device) as loaded:
            if not refused:
                assert loaded.run() == []
                continue
            with pytest.raises(Unsupported, match=r"clusters of 2×1, which compute capability 8\.9 lacks"):
                loaded.run()


# Shared memory and special registers.


SHARED = r"""
extern "C" __global__ void f(unsigned long long* out) {
    __shared__ int s[20]; s[threadIdx.x] = 1; out[0] = __cvta_generic_to_shared(s);
}"""


@pytest.mark.parametrize("name", NAMES)
def test_shared_memory_begins_where_the_machine_code_of_the_architecture_has_it(name: str) -> None:
    """A CUBIN's section of shared memory includes what precedes the arrays; code has that address as an operand."""
    architecture = Emulator(name).architecture
    found = emulate(SHARED, np.zeros(1, np.uint64), block=(20,), architecture=architecture)
    begin = int(found.arrays[0][0]) & 0xFFFFF
    sections = dict(sections_of(cubin_of(SHARED, architecture)))
    operands = np.frombuffer(sections[".text.f"].content, np.uint32)[1::4]
    assert begin == sections[".nv.shared.f"].size - 20 * 4
    assert (0x400 in operands) == (begin == 0x400) == (architecture == "90a")


# Tensor cores.

WMMA = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void f(const half* A, const half* B, float* C) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::load_matrix_sync(a, A, 16);
    wmma::load_matrix_sync(b, B, 16);
    wmma::fill_fragment(c, 0.0f);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 16, wmma::mem_row_major);
}"""


def product_of_wmma(name: str, a: NDArray[np.float16], b: NDArray[np.float16]) -> NDArray[np.float32]:
    """A·B of 16×16 as a kernel with wmma computes it on an emulated architecture."""
    options, architecture = cuda_headers().options, Emulator(name).architecture
    made = emulate(WMMA, a, b, np.zeros((16, 16), np.float32), options=options, architecture=architecture)
    assert made.violations == []
    return made.arrays[2]


def test_tensor_cores_add_up_as_those_of_their_architecture() -> None:
    """A term of 1 and fifteen of 2^-24 or 2^-25, of which only Hopper keeps the last.

    Turing's, Ampere's and Ada's tensor cores are the same in the published model.
    """
    a, b = np.zeros((2, 16, 16), np.float16)
    a[0], a[1] = 2.0**-12, 2.0**-13
    a[:, 0], b[:, :] = 1, 2.0**-12
    b[0] = 1
    found = {name: product_of_wmma(name, a, b)[:2, 0].tolist() for name in NAMES}
    assert found["emulator:sm_90"] == [1 + 14 * 2.0**-24, 1 + 6 * 2.0**-24]
    assert found["emulator:sm_75"] == found["emulator:sm_80"] == found["emulator:sm_86"] == found["emulator:sm_89"]
    assert found["emulator:sm_80"] == [1 + 14 * 2.0**-24, 1.0]


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_with_wmma_is_what_the_arithmetic_of_its_architecture_says(name: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(2, 16, 16)) * 2.0 ** rng.integers(-8, 8, (2, 16, 16))).astype(np.float16)
    arithmetic = arithmetic_of(CAPABILITIES[name], "mma", "f16", "f16", "f32", 16)
    expected = multiply_add(a, b, np.zeros((16, 16)), arithmetic)
    np.testing.assert_array_equal(product_of_wmma(name, a, b), expected)
    older, newer = (
        multiply_add(a, b, np.zeros((16, 16)), arithmetic_of(capability, "mma", "f16", "f16", "f32", 16))
        for capability in ((8, 0), (9, 0))
    )
    assert not np.array_equal(older, newer)
