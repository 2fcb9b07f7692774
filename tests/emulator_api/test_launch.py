"""``mmcore_emulator.launch``: sources, arguments, reports, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmcore_emulator
from mmcore_emulator import (
    CompileError,
    EmulatorError,
    LaunchError,
    PtxError,
    Report,
    TensorMap,
    UnsupportedInstruction,
    launch,
)
from mmcore_emulator.api import nvrtc
from mmcore_emulator.api.arguments import Argument
from mmcore_emulator.api.signature import parameter_names
from mmcore_emulator.api.source import plain_name
from mmcore_emulator.machine.limits import LARGEST_BLOCK, LARGEST_GRID, LIMITS, THREADS_PER_BLOCK
from mmcore_occupancy.capabilities import capability_properties, multiprocessor
from tests.emulation import ptx_kernel

PTX = ptx_kernel("st.global.u32 [%d2], %r1;")
COPIES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "float16": "unsigned short",
    "int64": "long long",
    "complex128": "double2",
}
SCALARS = """
struct Pair { int first; float second; };
extern "C" __global__ void scalars(
    double* out, signed char a, unsigned short b, int c, unsigned long long d, float e, double f, bool g, Pair h,
    int* i)
{
    out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f; out[6] = g; out[7] = h.first;
    out[8] = h.second; out[9] = i == nullptr;
}
"""
COPY = """
extern "C" __global__ void copy(const TYPE* from, TYPE* to, int n)
{
    if (threadIdx.x < n)
        to[threadIdx.x] = from[threadIdx.x];
}
"""
KERNELS = """
namespace first { __global__ void same(int* x) { *x = 1; } }
namespace second { __global__ void same(int* x) { *x = 2; } __global__ void other(int* x) { *x = 3; } }
__global__ void plain(int* x) { *x = 4; }
__global__ void plain(float* x) { *x = 5; }
template <int N> __global__ void instance(int* x) { *x = N; }
"""


def one(source: str, kernel: str, *arguments: Argument, **further: Any) -> Report:
    """Launch one block of one thread."""
    return launch(source, kernel, **{"grid": 1, "block": 1, "args": arguments, **further})


def refusal(error: type[EmulatorError], source: str | Path = PTX, kernel: str = "f", **further: Any) -> str:
    """The sentence with which a launch is refused."""
    asked = {"grid": 1, "block": 32, "args": (np.zeros(32, np.uint32),), **further}
    with pytest.raises(error) as raised:
        launch(source, kernel, **asked)
    assert issubclass(error, EmulatorError)
    return str(raised.value)


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


@pytest.mark.parametrize("dtype", COPIES)
def test_arrays_of_any_type_go_there_and_back(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    y = np.zeros_like(x)
    assert one(COPY.replace("TYPE", COPIES[dtype]), "copy", x, y, 6, block=32).ok
    assert (x == y).all()


def test_arrays_of_any_shape_have_a_place() -> None:
    source = 'extern "C" __global__ void f(int* scalar, int* grid, int* empty) { *scalar += 2; grid[5] = 7; }'
    scalar, grid = np.array(3, np.int32), np.zeros((2, 3), np.int32)
    assert one(source, "f", scalar, grid, np.zeros(0, np.int32)).ok
    assert (int(scalar), int(grid[1, 2])) == (5, 7)


@pytest.mark.parametrize("dtype", ["V3", "i4,i1,i8", "V0", "m8[s]"])
def test_elements_of_any_size_have_shadows(dtype: str) -> None:
    source = 'extern "C" __global__ void f(unsigned char* x) { x[0] = 1; }'
    x = np.zeros(4, dtype)
    report = one(source, "f", x)
    assert [each.kind for each in report.hazards] == ["out-of-bounds-write"] * (x.nbytes == 0)


def test_a_masked_array_changes_in_place() -> None:
    x = np.ma.masked_array(np.zeros(4, np.int32), [True, False, False, False])
    assert one('extern "C" __global__ void f(int* x) { x[0] = 1; }', "f", x).ok
    assert x.data.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"])
def test_a_kernel_runs_on_every_architecture(architecture: str) -> None:
    x = np.zeros(1, np.int32)
    report = one("__global__ void f(int* x) { *x = __CUDA_ARCH__ / 10; }", "f", x, architecture=architecture)
    assert report.ok
    assert report.architecture == architecture
    assert f"sm_{x[0]}" == architecture.removesuffix("a")


def test_an_array_that_is_passed_twice_is_one_in_device_memory() -> None:
    x = np.arange(4, dtype=np.int32)
    source = 'extern "C" __global__ void f(int* a, int* b) { a[0] = 8; b[1] = a == b; }'
    assert one(source, "f", x, x.view(np.uint32)).ok
    assert x.tolist() == [8, 1, 2, 3]


@pytest.mark.parametrize("check", [True, False])
def test_a_read_only_array_is_an_input(check: bool) -> None:
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    x.flags.writeable = False
    source = COPY.replace("TYPE", "int")
    assert one(source, "copy", x, y, 4, block=32, check=check).ok
    assert y.tolist() == [0, 1, 2, 3]
    y[:] = 9
    report = one(source, "copy", y, x, 2, block=32, check=check)
    assert [(each.kind, each.array) for each in report.hazards] == [("input-overwritten", "to")]
    assert x.tolist() == [0, 1, 2, 3]


def test_numbers_take_the_sizes_of_the_parameters() -> None:
    out = np.zeros(10)
    pair = np.array((-3, 0.5), np.dtype([("first", np.int32), ("second", np.float32)]))[()]
    arguments: tuple[Argument, ...] = (out, -128, 65535, -(2**31), 2**63, 3, 0.1, True, pair, None)
    assert one(SCALARS, "scalars", *arguments).ok
    assert out.tolist() == [-128, 65535, -(2**31), 2.0**63, 3, 0.1, 1, -3, 0.5, 1]
    typed = (np.int8(5), np.uint16(6), np.int32(7), np.uint64(8), np.float32(0.1), np.float64(9), np.bool_(0))
    assert one(SCALARS, "scalars", out, *typed, pair.tobytes(), np.uint64(0)).ok
    assert out.tolist() == [5, 6, 7, 8, float(np.float32(0.1)), 9, 0, -3, 0.5, 1]


@pytest.mark.parametrize(
    ("number", "argument", "sentence"),
    [
        (1, 256, "argument 1 (a) is 256, which does not fit into the parameter's 8 bits"),
        (2, -32769, "argument 2 (b) is -32769, which does not fit into the parameter's 16 bits"),
        (3, 2**32, "argument 3 (c) is 4294967296, which does not fit into the parameter's 32 bits"),
        (3, 1.0, "argument 3 (c) is a float, and the parameter an integer of 32 bits"),
        (3, np.int64(1), "argument 3 (c) has the dtype int64, and the parameter an integer of 32 bits"),
        (3, np.float32(1), "argument 3 (c) has the dtype float32, and the parameter an integer of 32 bits"),
        (3, None, "argument 3 (c) is None, and the parameter an integer of 32 bits"),
        (3, "one", "argument 3 (c) is a str, and the parameter an integer of 32 bits"),
        (4, 1.5, "argument 4 (d) is a float, and the parameter a pointer or an integer of 64 bits"),
        (5, 1e39, "argument 5 (e) is 1e+39, which does not fit into a float of 32 bits"),
        (5, 10**400, "argument 5 (e) is an int, which does not fit into a float of 32 bits"),
        (5, np.zeros(1), "argument 5 (e) is an array, and the parameter a float of 32 bits"),
        (8, 1, "argument 8 (h) is an int, and the parameter a structure of 8 bytes; pass bytes or a numpy.void"),
        (8, b"four", "argument 8 (h) has 4 bytes, and the parameter 8"),
        (9, np.zeros((4, 4), np.int32).T, None),
        (9, np.zeros(3, ">i4"), "argument 9 (i) is an array of >i4, which a kernel cannot read"),
        (9, np.zeros(3, object), "argument 9 (i) is an array of object, which a kernel cannot read"),
    ],
)
def test_an_argument_that_does_not_fit_is_refused(number: int, argument: Any, sentence: str | None) -> None:
    pair = np.zeros(1, np.dtype([("first", np.int32), ("second", np.float32)]))[0]
    arguments = [np.zeros(10), 1, 1, 1, 1, 1.0, 1.0, True, pair, None]
    arguments[number] = argument
    text = refusal(LaunchError, SCALARS, "scalars", args=arguments)
    expected = sentence or "argument 9 (i) is an array that is not C-contiguous; pass numpy.ascontiguousarray of it"
    assert text == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the kernel takes 3 arguments (from, to, n), not 0"),
        ((1, 2, 3, 4), "the kernel takes 3 arguments (from, to, n), not 4"),
    ],
)
def test_too_few_and_too_many_arguments_are_refused(arguments: tuple[Argument, ...], sentence: str) -> None:
    assert refusal(LaunchError, COPY.replace("TYPE", "int"), "copy", args=arguments) == sentence
    assert refusal(LaunchError, args=()) == "the kernel takes 1 argument, not 0"


def test_arrays_that_overlap_in_part_are_refused() -> None:
    x = np.zeros(9, np.int32)
    text = refusal(LaunchError, COPY.replace("TYPE", "int"), "copy", args=(x, x[1:], 8))
    assert text == "argument 1 (to) overlaps argument 0 (from) in part; pass the whole array, and an offset"


@pytest.mark.parametrize(
    ("further", "sentence"),
    [
        ({"grid": 0}, "grid=0 is not one to three positive integers"),
        ({"block": (1, 2, 3, 4)}, "block=(1, 2, 3, 4) is not one to three positive integers"),
        ({"block": 1.5}, "block=1.5 is not one to three positive integers"),
        ({"block": 1025}, "a block of 1025×1 is too large; 1024×1024×64 is the most along each axis"),
        ({"block": (64, 32)}, "a block of 64×32 has 2048 threads; 1024 is the most"),
        ({"grid": (1, 65536)}, "a grid of 1×65536 is too large; 2147483647×65535×65535 is the most along each axis"),
        ({"shared_bytes": -1}, "shared_bytes=-1 is no number of bytes"),
        (
            {"shared_bytes": 228 << 10},
            "a block takes 233472 bytes of shared memory; 232448 is the most of compute capability 9.0",
        ),
        ({"cluster": 2}, "a grid of 1×1 blocks cannot be cut into clusters of 2×1"),
        ({"grid": 32, "cluster": 32}, "a cluster of 32×1 has 32 blocks; 16 is the most"),
        (
            {"grid": 10000, "cooperative": True},
            "10000 blocks cannot wait for each other: the device holds 4224 at once",
        ),
        ({"architecture": "sm_70"}, None),
        ({"architecture": "sm_80"}, "the PTX is made for sm_90, which sm_80 does not run"),
        ({"timeout": 0}, "timeout=0 is no number of seconds above 0"),
        ({"kernel": "g"}, "source.cu has no kernel g; it has f"),
        ({"options": ["-DX"]}, "source.cu is PTX, which takes no options of a compiler"),
        ({"variables": {"x": np.zeros(1)}}, "the kernel uses no variable x"),
        ({"source": "folder/kernel.cu"}, "'folder/kernel.cu' is no source but a path, which is passed as pathlib.Path"),
        ({"source": Path("/dev/zero")}, "/dev/zero cannot be read: it is no file"),
        ({"source": Path("\0.cu")}, "'\\x00.cu' cannot be read: it is no UTF-8 text"),
        ({"source": Path("absent.cu")}, "absent.cu cannot be read: No such file or directory"),
    ],
)
def test_a_launch_that_cannot_be_made_is_refused(further: dict[str, Any], sentence: str | None) -> None:
    architectures = "the emulator has no architecture 'sm_70'; it has sm_75, sm_80, sm_86, sm_89, sm_90"
    assert refusal(LaunchError, **further) == (sentence or architectures)


def test_the_bounds_of_a_source_are_those_of_its_launches() -> None:
    source = 'extern "C" __global__ void __launch_bounds__(64) f(int* x) {}'
    text = refusal(LaunchError, source, block=65, args=(None,))
    assert text == "f is made for blocks of at most 64 threads; a 65×1 block has 65"
    source = 'extern "C" __global__ void __cluster_dims__(2) f(int* x) {}'
    assert refusal(LaunchError, source, grid=4, cluster=4, args=(None,)) == "f is made for clusters of 2×1, not of 4×1"
    text = refusal(LaunchError, 'extern "C" __global__ void f() {}', grid=2, cluster=2, args=(), architecture="sm_80")
    assert text == "compute capability 8.0 has no clusters; 9.0 has"


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


def test_an_instruction_that_the_emulator_does_not_know_is_refused_with_its_name() -> None:
    assert "tex.1d" in refusal(
        UnsupportedInstruction, ptx_kernel("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}];")
    )
    x = np.zeros(32, np.uint32)
    source = 'extern "C" __global__ void f(unsigned* x) { *x = 1; if (x[1] == 0) free(malloc(8)); }'
    with pytest.raises(UnsupportedInstruction, match=r"malloc|free"):
        launch(source, "f", grid=1, block=1, args=(x,))
    assert not x.any()


def test_a_launch_that_takes_too_long_is_stopped_and_reported() -> None:
    source = """
extern "C" __global__ void f(int* x)
{
    x[0] = 5;
    for (int i = 0; i >= 0; i = (i + 1) % 1000)
        x[1] = i;
}
"""
    x = np.zeros(2, np.int32)
    report = launch(source, "f", grid=1, block=1, args=(x,), timeout=0.5)
    assert report.timed_out
    assert not report.ok
    (hazard,) = (each for each in report.hazards if each.kind == "timeout")
    assert hazard.fatal
    assert hazard.line in (4, 5, 6)
    assert x[0] == 5


def test_without_the_sanitizer_only_what_the_launch_itself_notices_is_reported() -> None:
    source = """
extern "C" __global__ void f(int* x)
{
    __shared__ int own[32];
    own[threadIdx.x] = 1;
    x[threadIdx.x] = own[31 - threadIdx.x];
    x[32 + threadIdx.x] = 1;
}
"""
    x = np.zeros(32, np.int32)
    checked, unchecked = (launch(source, "f", grid=1, block=32, args=(x,), check=each) for each in (True, False))
    assert [(each.kind, each.line) for each in checked.hazards] == [("shared-race", 6), ("out-of-bounds-write", 7)]
    assert [(each.kind, each.line) for each in unchecked.hazards] == [("out-of-bounds-write", 7)]
    assert "were not looked for" in str(unchecked)


def test_a_deadlock_ends_the_launch_and_is_reported() -> None:
    source = 'extern "C" __global__ void f(volatile int* x) { while (*x == 0) {} x[1] = 1; }'
    x = np.zeros(2, np.int32)
    report = launch(source, "f", grid=1, block=32, args=(x,))
    assert [each.kind for each in report.hazards] == ["deadlock"]
    assert x[1] == 0


def test_blocks_of_a_cooperative_launch_wait_for_each_other() -> None:
    source = """
#include <cooperative_groups.h>
extern "C" __global__ void f(int* x)
{
    x[blockIdx.x] = blockIdx.x + 1;
    cooperative_groups::this_grid().sync();
    x[4 + blockIdx.x] = x[3 - blockIdx.x];
}
"""
    x = np.zeros(8, np.int32)
    report = launch(source, "f", grid=4, block=1, args=(x,), cooperative=True)
    assert report.ok, report
    assert x.tolist() == [1, 2, 3, 4, 4, 3, 2, 1]


def test_variables_are_set_and_those_in_device_memory_copied_back() -> None:
    source = """
__constant__ int table[2];
namespace a { __device__ float total = 1.5f; }
extern "C" __global__ void f(int* x) { x[0] = table[1]; a::total += table[0]; }
"""
    x, table, total = np.zeros(1, np.int32), np.array([3, 4], np.int32), np.zeros(1, np.float32)
    assert launch(source, "f", grid=1, block=1, args=(x,), variables={"table": table, "a::total": total}).ok
    assert (x.tolist(), total.tolist()) == ([4], [3.0])
    text = refusal(LaunchError, source, args=(x,), variables={"table": x})
    assert text == "variable table has 8 bytes, and its array 4"
    text = refusal(LaunchError, source, args=(x,), variables={"absent": x})
    assert text.startswith("the kernel uses no variable absent; it uses ")


@pytest.mark.parametrize(
    ("tensor_map", "sentence"),
    [
        (TensorMap(np.zeros((8, 3), np.float32), (8, 4)), "the tensor map cannot be made: a stride is no multiple of"),
        (TensorMap(np.zeros((8, 8), np.float32), (8,)), "the tensor map cannot be made: it has no box, extents and"),
        (
            TensorMap(np.zeros((8, 8), np.float32), (8, 8), swizzle=16),
            "a tensor map's swizzle is 0, 32, 64 or 128 byte",
        ),
        (TensorMap(np.zeros((8, 8), np.complex64), (8, 8)), "a tensor map cannot be made of complex64 as complex64; "),
    ],
)
def test_a_tensor_map_that_cannot_be_made_is_refused(tensor_map: TensorMap, sentence: str) -> None:
    source = '#include <cuda.h>\nextern "C" __global__ void f(const __grid_constant__ CUtensorMap map) {}'
    assert refusal(LaunchError, source, args=(tensor_map,)).startswith(sentence)


def test_the_report_is_short_and_readable() -> None:
    source = """
#include <cstdio>
__global__ void hello(float* x, int n)
{
    if (threadIdx.x <= n)
        x[threadIdx.x] *= 2;
    if (threadIdx.x == 3)
        printf("block %d says %g\\n", blockIdx.x, x[3]);
}
"""
    report = launch(source, "hello", grid=1, block=32, args=(np.ones(8, np.float32), 8))
    lines = str(report).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[:2] == ["hello: grid 1×1, block 32×1, sm_90", "2 hazards"]
    assert lines[-2:] == ["printed:", "  block 0 says 2"]
    assert report.printed == "block 0 says 2\n"
    assert str(launch(PTX, "f", grid=1, block=32, args=(np.zeros(32, np.uint32),))).splitlines() == [
        "f: grid 1×1, block 32×1, sm_90",
        "no hazards",
        "  thread instructions                                      192",
        "  warp instructions                                          6",
        "  global stores (bytes)                                    128",
        "  sectors of global stores                                   4",
    ]


def test_importing_and_launching_loads_nothing_of_mmcore() -> None:
    program = f"""
import sys
import numpy as np
from mmcore_emulator import launch
x = np.zeros(32, np.uint32)
report = launch({PTX!r}, "f", grid=1, block=32, args=(x,))
assert report.ok and x[31] == 31
print(sorted(name for name in sys.modules if name.startswith("mmcore") and not name.startswith("mmcore_emulator")))
print("cuda" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.split("\n") == ["[]", "False", ""]


def test_every_public_name_exists() -> None:
    for name in mmcore_emulator.__all__:
        assert getattr(mmcore_emulator, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = mmcore_emulator.absent


@pytest.mark.parametrize("capability", LIMITS)
def test_the_limits_are_those_of_the_occupancy_table(capability: tuple[int, int]) -> None:
    ours, table, device = LIMITS[capability], multiprocessor(capability), capability_properties(capability)
    for name in ("multiprocessors", "warps", "blocks", "shared_bytes", "shared_reserved"):
        assert getattr(ours, name) == getattr(table, name), name
    assert ours.shared_bytes_per_block == table.shared_bytes_per_block_optin
    assert device.threads_per_block == THREADS_PER_BLOCK
    assert (*device.block, *device.grid) == (*LARGEST_BLOCK, *LARGEST_GRID)


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


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("f", "f"),
        ("_Z6kernelPf", "kernel"),
        ("_ZN1a1bEPf", "a::b"),
        ("_Z5scaleILi2EfEvPT_i", "scale"),
        ("_ZN34_INTERNAL_c09f3fda_9_source_cu_fx_4kernEPi", "kern"),
    ],
)
def test_a_symbol_has_the_name_that_the_source_gives_it(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name
