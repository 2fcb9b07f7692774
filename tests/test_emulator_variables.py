"""A module's variables on the emulator: what they hold, how long, and what is said of a wrong access."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mmcore_emulator
from mmcore import Cell, Launch
from mmcore.api import cell
from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundLaunch, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore_emulator.adapter.device import EmulatedBuffer, EmulatedModule, Emulator
from mmcore_emulator.adapter.profile import over_read_elements
from mmcore_emulator.errors import PtxError, UnsupportedInstruction
from mmcore_emulator.executor.layout import as_written
from mmcore_emulator.profiler.counters import Counters
from mmcore_emulator.ptx.declarations import Variable, module_variables, variable
from mmcore_emulator.ptx.reader import parse
from tests.emulation import emulate, ptx_kernel, ptx_of, words
from tests.own_kernel import FIRST_LINE, own


def value(declarations: str, expression: str, **run: Any) -> Any:
    """What an expression gives a kernel's only thread, which knows the declarations and i = 1."""
    source = f'{declarations}\nextern "C" __global__ void f(double* out, int i) {{ out[0] = {expression}; }}'
    emulated = emulate(source, np.zeros(1), np.int32(1), block=(1,), **run)
    assert emulated.violations == []
    return emulated.arrays[0][0]


def kernel_of(declarations: str, body: str) -> str:
    """A kernel whose body begins on line 3."""
    return f'{declarations}\nextern "C" __global__ void f(int* out, int n) {{\n{body}\n}}'


class Loaded:
    """A program on an emulator, with an array to work on."""

    def __init__(self, source: str, emulator: Emulator | None = None) -> None:
        self.emulator = emulator or Emulator()
        self.program: EmulatedModule = self.emulator.load(CompiledModule("sm_90", "test.cu", {}, b"", ptx_of(source)))
        self.buffer: EmulatedBuffer = self.emulator.allocate("out", 128)
        self.buffer.upload(np.zeros(32, np.int32))

    def launch(self, n: int = 0, *, grid: Sequence[int] = (1,), block: Sequence[int] = (32,)) -> list[Violation]:
        launch = Launch(grid=tuple(grid), block=tuple(block))
        return self.program.run([BoundLaunch(CompiledFunction("f", 16, 0, 0), launch, (self.buffer, np.int32(n)))])

    @property
    def out(self) -> NDArray[np.int32]:
        out = np.empty(32, np.int32)
        self.buffer.download(out)
        return out


# What a variable holds at first.


@pytest.mark.parametrize(
    ("declarations", "expression", "expected"),
    [
        ("__device__ int x;", "x", 0),
        ("__device__ int x = -7;", "x", -7),
        ("__device__ short x = -7;", "x", -7),
        ("__device__ bool x = true;", "x", 1),
        ("__device__ unsigned char x[3] = {1, 250};", "x[i] + x[i + 1]", 250),
        ("__device__ long long x = -123456789012345LL;", "x", -123456789012345),
        ("__device__ unsigned long long x = ~0ull;", "x >> 40", 2**24 - 1),
        ("__device__ float x = -0.0f;", "signbit(x)", 1),
        ("__device__ float x = 0.1f;", "x", float(np.float32(0.1))),
        ("__device__ double x = 0.1;", "x", 0.1),
        ("__device__ float x[1024];", "x[1023 * i]", 0),
        ("__device__ const float x[4] = {1.0f, 2.5f, -3.0f, 4.0f};", "x[i] + x[i + 1]", -0.5),
        ("__device__ int x[2][5] = {{1, 2, 3}, {4, 5, 6, 7, 8}};", "x[i][i + 1] * 10 + x[0][i + 3]", 60),
        ("struct Pair { int a; double b; }; __device__ Pair x[2] = {{1, 2.5}, {3, 4.5}};", "x[i].a + x[i].b", 7.5),
        ("__device__ float4 x = {1, 2, 3, 4};", "x.x + 10 * x.w", 41),
        ("__constant__ float x[16] = {1.0f, 2.5f};", "x[i] + x[i + 1]", 2.5),
        ("__constant__ int x = 12;", "x", 12),
        ("__constant__ double x[2];", "x[i]", 0),
        ("__managed__ int x = 5;", "x", 5),
        ("static __device__ int x = 5;", "x", 5),
        (
            "namespace { __device__ int x = 5; } namespace a { namespace b { __device__ int x = 6; } }",
            "x * a::b::x",
            30,
        ),
        ("template <int N> __device__ int x = N;", "x<3> * x<4>", 12),
    ],
)
def test_a_variable_holds_what_the_source_sets_it_to_and_else_zeros(
    declarations: str, expression: str, expected: float
) -> None:
    assert value(declarations, expression) == expected


@pytest.mark.parametrize("options", [(), ("-rdc=true",)], ids=str)
def test_a_variable_may_be_visible_to_other_modules(options: tuple[str, ...]) -> None:
    source = "__device__ int x = 5; inline __device__ int y = 6; extern __constant__ int z; __constant__ int z = 7;"
    assert value(source, "x + 10 * y + 100 * z", options=options) == 765


# Where it lies.


def test_a_variables_elements_are_reached_by_name_by_offset_and_by_pointer() -> None:
    body = """
    const int i = threadIdx.x;
    int* cell = n ? &cache[i + n] : out;
    *cell = i;                     // a generic address
    int4* four = (int4*)cache;
    __syncthreads();
    if (i == 0) {
        cache[0] = 100;
        four[1] = four[8];
    }
    __syncthreads();
    out[i] = cache[i] + cache[4];"""
    run = Loaded(kernel_of("__device__ int cache[64];", body))
    assert run.launch(8) == []
    # Elements 8 to 39 hold 0 to 31; the first is 100, elements 4 to 7 are copies of 32 to 35.
    expected = [100 + 24, 24, 24, 24, 48, 49, 50, 51, *(24 + i for i in range(24))]
    assert run.out.tolist() == expected


def test_a_generic_address_may_be_of_a_variable_a_constant_or_shared_memory() -> None:
    body = """
    __shared__ int s[32];
    const int i = threadIdx.x;
    s[i] = 3 * i;
    const int* p = i % 3 == 0 ? table : i % 3 == 1 ? c : s;
    out[i] = p[n];"""
    run = Loaded(kernel_of("__device__ int table[2] = {1, 2}; __constant__ int c[2] = {10, 20};", body))
    assert run.launch(1) == []
    assert run.out.tolist() == [(2, 20, 3)[i % 3] for i in range(32)]


def test_threads_add_to_a_variable_one_after_the_other() -> None:
    body = """
    atomicAdd(&sum[threadIdx.x % 2], n);
    atomicAdd(n ? &total : out, 2);  // a generic address
    __syncthreads();
    out[threadIdx.x] = sum[threadIdx.x % 2] + total;"""
    run = Loaded(kernel_of("__device__ int sum[2] = {0, 1000}; __device__ int total;", body))
    assert run.launch(7, block=(3,)) == []
    assert run.out[:3].tolist() == [2 * 7 + 6, 1000 + 7 + 6, 2 * 7 + 6]


def test_a_volatile_variable_is_read_each_time() -> None:
    body = (
        "signal = n; __syncthreads(); out[threadIdx.x] = signal + 10 * signal; shared[0] = 1; out[1] = shared[0] * 9;"
    )
    declarations = "__device__ volatile int signal; __shared__ volatile int shared[1];"
    source = kernel_of(declarations, body)
    assert ptx_of(source).count("ld.volatile.global") == 2
    assert ptx_of(source).count("ld.volatile.shared") == 1
    run = Loaded(source)
    assert run.launch(3) == []
    assert run.out.tolist() == [33, 9, *[33] * 30]


@pytest.mark.parametrize(
    ("store", "load"),
    [("st.volatile", "ld.volatile"), ("st.relaxed.gpu", "ld.relaxed.sys"), ("st.release.gpu", "ld.acquire.cta")],
)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_ordered_accesses_are_made_in_order_like_all_others(store: str, load: str, space: str) -> None:
    declared = f".{space} .align 4 .b32 x;"
    body = f"{store}.{space}.u32 [x], 5; {load}.{space}.u32 %r2, [x]; st.global.u32 [%d2], %r2;"
    assert words(body, module=declared).arrays[0].tolist() == [5] * 32


def test_addresses_of_variables_are_operands_like_others() -> None:
    module = ".const .align 4 .b8 c[8] = {1, 0, 0, 0, 2};\n.global .align 8 .b32 g[2] = {3, 4};"
    body = """
    mov.u64 %d3, g; ld.global.u32 %r2, [%d3+4];
    cvta.const.u64 %d4, c; ld.u32 %r3, [%d4+4];
    cvta.to.const.u64 %d5, %d4; ld.const.u32 %r4, [%d5];
    ld.global.v2.u32 {%r5, %r6}, [g]; ld.const.v2.b32 {%r7, %r8}, [c+0];
    mad.lo.u32 %r2, %r2, 10, %r3; mad.lo.u32 %r2, %r2, 10, %r4;
    mad.lo.u32 %r2, %r2, 10, %r5; mad.lo.u32 %r2, %r2, 10, %r6; mad.lo.u32 %r2, %r2, 10, %r8;
    st.global.u32 [%d2], %r2;"""
    assert words(body, module=module).arrays[0].tolist() == [421342] * 32


# How long it lasts.

COUNTER = kernel_of(
    "__device__ int launches; __device__ int cache[32] = {5};",
    "static __device__ int own = 100; if (threadIdx.x == 0) { ++launches; ++own; } __syncthreads();"
    "cache[threadIdx.x] += threadIdx.x + n; out[threadIdx.x] = cache[threadIdx.x]; out[31] = launches * 1000 + own;",
)


def test_what_one_launch_leaves_in_a_variable_the_next_one_finds() -> None:
    run = Loaded(COUNTER)
    assert run.launch(1) == run.launch(1) == []
    assert run.out.tolist() == [7, *(2 * i + 2 for i in range(1, 31)), 2102]


def test_another_program_has_variables_of_its_own() -> None:
    first = Loaded(COUNTER)
    second = Loaded(COUNTER, first.emulator)
    assert first.launch() == first.launch() == second.launch() == []
    assert (first.out[31], second.out[31]) == (2102, 1101)


def test_a_closed_programs_variables_are_freed() -> None:
    emulator = Emulator()
    array = emulator.allocate("before", 4).array
    run = Loaded(COUNTER, emulator)
    assert run.launch() == []
    run.program.close()
    after = emulator.allocate("after", 4)
    # Arrays lie one behind the other: "before", "out", and what comes next.
    assert after.address - array.base == 2 * (run.buffer.address - array.base)


def test_every_device_keeps_a_variable_from_launch_to_launch_and_forgets_it_with_the_program(
    device: Device, cu_file: Path
) -> None:
    declarations = (
        "__device__ float launches = 10; __device__ const float table[4] = {1, 2}; __constant__ float c[2] = {100};"
    )
    body = "if (threadIdx.x == 0) launches += table[n]; __syncthreads(); C[threadIdx.x] = launches + c[threadIdx.x];"
    kernel = own(cu_file, body, declarations=declarations, block=(1,))
    planned = plan(kernel, kernel.problem(1, 1, 1), kernel.usual_configs[0], device.properties)
    for _ in range(2):
        with LoadedKernel(planned, device) as loaded:
            out = np.zeros((1, 1), np.float32)
            for expected in (112, 114):
                assert loaded.run() == []
                loaded.buffers["C"].download(out)
                assert out[0, 0] == expected


def test_the_functions_of_a_program_share_its_variables() -> None:
    source = """
    __device__ int x = 5;
    extern "C" __global__ void put(int* out, int n) { x = n; }
    extern "C" __global__ void f(int* out, int n) { out[threadIdx.x] = x + n; }"""
    run = Loaded(source)
    put = BoundLaunch(CompiledFunction("put", 16, 0, 0), Launch(grid=(1,), block=(1,)), (run.buffer, np.int32(40)))
    assert run.program.run([put]) == []
    assert run.launch(2) == []
    assert run.out.tolist() == [42] * 32


# What is refused.


@pytest.mark.parametrize(
    ("declarations", "use", "message"),
    [
        ("__device__ int x; __device__ int* p = &x;", "*p", "variables like p, which holds the address of x"),
        ("__device__ int x[9]; __device__ int* p = x + 3;", "*p", "variables like p, which holds the address of x"),
        (
            "__device__ int x; __device__ int* p[2] = {0, &x};",
            "*p[n]",
            "variables like p, which holds the address of x",
        ),
        (
            "__device__ int x; struct __attribute__((packed)) P { char c; int* p; }; __device__ P s = {1, &x};",
            "*s.p",
            "variables like s, which holds the address of x",
        ),
        ("namespace a { extern __device__ int x; }", "a::x", "variables like a::x, which another module defines"),
    ],
)
def test_a_variable_whose_first_value_is_not_known_is_refused_by_name(
    declarations: str, use: str, message: str
) -> None:
    with pytest.raises(UnsupportedInstruction, match=f"^the emulator does not know {message}$"):
        emulate(kernel_of(declarations, f"out[0] = {use};"), np.zeros(1, np.int32), np.int32(0), options=("-rdc=true",))


def test_what_a_function_does_not_use_is_none_of_its_faults() -> None:
    source = """
    __device__ int x; __device__ int* pointer = &x;
    extern "C" __global__ void other(int* out) { out[0] = *pointer; }
    extern "C" __global__ void f(int* out, int n) { out[0] = n + x; }"""
    run = Loaded(source)
    assert run.launch(3) == []
    assert run.out[0] == 3


def test_a_variable_beyond_all_memory_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"x has 2199023255552 bytes; the emulator has addresses for \d+ in an array"):
        Loaded(kernel_of("__device__ float x[1ull << 39];", "out[0] = x[n];")).launch()


def test_a_store_to_constant_memory_by_name_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match=r"st\.const\.u32"):
        words("st.const.u32 [c], %r1;", module=".const .align 4 .u32 c;")


# Faults.


def fault_of(declarations: str, body: str, n: int = 0) -> Violation:
    (violation,) = Loaded(kernel_of(declarations, body)).launch(n, block=(1,))
    return violation


@pytest.mark.parametrize(
    ("declarations", "body", "message"),
    [
        ("__device__ float x[4];", "out[0] = x[n];", "reads 16 bytes past the end of x"),
        ("__device__ float x[4];", "x[n] = n;", "writes 16 bytes past the end of x"),
        ("__device__ int x;", "(&x)[n - 9] = n;", "writes 4 bytes before the start of x"),
        ("__device__ int x;", "atomicAdd(&x + n, 1);", "writes 28 bytes past the end of x"),
        ("__constant__ int c[8];", "out[0] = c[n];", "reads the first byte past the end of c"),
        ("__constant__ int c[8];", "*(n ? (int*)c + 1 : out) = 5;", "writes to c, which is constant"),
        ("namespace a { __device__ int x; }", "(&a::x)[n] = 1;", "writes 28 bytes past the end of a::x"),
        ("", "static __device__ int x; (&x)[n] = 1; out[0] = x;", "writes 28 bytes past the end of x"),
        ("__device__ int out[8];", "::out[n] = 1;", "writes the first byte past the end of out (__device__)"),
    ],
)
def test_an_access_outside_a_variable_names_it(declarations: str, body: str, message: str) -> None:
    violation = fault_of(declarations, body, 8)
    kind = "out-of-bounds-read" if message.startswith("reads") else "out-of-bounds-write"
    assert (violation.kind, violation.line) == (kind, 3)
    assert violation.message == f"thread (0, 0) of block (0, 0) {message} at test.cu:3"
    assert violation.array is not None
    assert message.removesuffix(", which is constant").endswith(f" {violation.array}")


def test_a_misaligned_access_names_the_variable() -> None:
    violation = fault_of("__device__ int x[4];", "out[0] = *(int*)((char*)x + n);", 5)
    assert violation.kind == "misaligned"
    assert "5 bytes into x, no multiple of 4" in violation.message


def test_what_is_written_to_constant_memory_is_dropped() -> None:
    run = Loaded(kernel_of("__constant__ int c[2] = {1, 2};", "*(n ? (int*)c + 1 : out) = 5; out[0] = c[n];"))
    assert len(run.launch(1)) == 1
    assert run.out[0] == 2


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("cache", "cache"),
        ("x2ab", "x2ab"),
        ("_ZN4mine6spacedE", "mine::spaced"),
        ("_ZN1a1b1cE", "a::b::c"),
        ("_ZN32_INTERNAL_00000000_7_test_cu_man34_GLOBAL__N__00000000_7_test_cu_man4anonE", "anon"),
        ("_ZZ1kE7counter", "counter"),
        ("_ZZ1kE7counter_0", "counter"),
        ("_ZZN4mine1kEPfE4t1le", "t1le"),
        ("_Z9templatedILi3EE", "_Z9templatedILi3EE"),
    ],
)
def test_a_variable_is_called_what_the_source_calls_it(symbol: str, name: str) -> None:
    assert as_written(symbol) == name


# Counting and checking.

TABLE = "__device__ const float table[64] = {1.5f}; __constant__ float c[64] = {2.5f};"
PLACE = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"


def counters(path: Path, body: str, declarations: str = TABLE, *, grid: int = 1) -> Counters:
    profile = mmcore_emulator.profile(own(path, body, declarations=declarations, grid=(grid,)), 32, device="emulator")
    assert profile.violations == ()
    return profile.counters


def test_loads_of_a_device_table_are_loads_from_global_memory(cu_file: Path) -> None:
    found = counters(cu_file, "C[threadIdx.x] = table[n + threadIdx.x - 31];")
    assert (found.global_loads, found.global_load_requests, found.global_load_bytes) == (32, 1, 128)
    assert found.global_load_sectors == 5, "from element 1 of a table that begins on a sector"


def test_stores_and_additions_to_a_variable_are_accesses_to_global_memory(cu_file: Path) -> None:
    body = "cache[threadIdx.x] = n; atomicAdd(&cache[n], 1.0f); C[threadIdx.x] = n;"
    found = counters(cu_file, body, "__device__ float cache[64];")
    assert (found.global_stores, found.global_store_sectors) == (64, 8)
    assert (found.global_atomics, found.global_atomic_requests) == (32, 1)


def test_loads_of_constants_go_by_the_constant_cache_and_are_no_global_loads(cu_file: Path) -> None:
    found = counters(cu_file, "C[threadIdx.x] = c[threadIdx.x % 3];")
    assert (found.global_loads, found.global_load_requests, found.global_stores) == (0, 0, 32)


def violations(path: Path, body: str, declarations: str, *, grid: int = 1) -> list[Violation]:
    kernel = own(path, body, declarations=declarations, grid=(grid,))
    found = mmcore_emulator.check(kernel, 32, device="emulator").violations
    return [violation for violation in found if violation.kind != "unwritten-output"]


def test_nothing_is_wrong_with_reading_tables_and_keeping_to_ones_own_elements(cu_file: Path) -> None:
    body = f"{PLACE} own_[i] += table[i] + c[n]; C[i] = own_[i] + first;"
    declarations = f"{TABLE} __device__ float own_[64]; __device__ double first;"
    assert violations(cu_file, body, declarations, grid=2) == []


def test_threads_that_write_one_variable_race(cu_file: Path) -> None:
    (violation,) = violations(cu_file, "last = threadIdx.x;", "__device__ int last;", grid=2)
    assert (violation.kind, violation.array, violation.line, violation.count) == ("global-race", "last", FIRST_LINE, 64)
    assert "writes element 0 of last, as other threads do at once" in violation.message


def test_blocks_that_tell_each_other_by_a_variable_race(cu_file: Path) -> None:
    body = "if (threadIdx.x == 0) ++launches;\nC[threadIdx.x] = A[threadIdx.x];"
    (violation, *_) = violations(cu_file, body, "__device__ volatile int launches;", grid=2)
    assert (violation.kind, violation.array, violation.line) == ("global-race", "launches", FIRST_LINE)


def test_a_check_sees_accesses_outside_a_variable(cu_file: Path) -> None:
    kinds = {(each.kind, each.array) for each in violations(cu_file, "C[0] = table[n + 32]; C[1] = c[n + 32];", TABLE)}
    assert {("out-of-bounds-read", "table"), ("out-of-bounds-read", "c")} <= kinds


def test_what_lies_behind_a_variable_is_no_over_read_of_a_matrix(cu_file: Path) -> None:
    kernel = own(cu_file, "C[threadIdx.x] = A[n * n + 1] + table[63] + c[n];", declarations=TABLE, over_read={"A": 5})
    assert over_read_elements(Cell(kernel.name, 32, 32, 32), Emulator(), kernel) == {"A": 2, "B": 0, "C": 0}


def test_a_product_with_rows_looked_up_in_a_table_is_verified(device: Device, cu_file: Path) -> None:
    declarations = "__device__ int launches; __constant__ int rows[4] = {2, 0, 3, 1};"
    body = """
    const int row = rows[threadIdx.y], column = threadIdx.x;
    float sum = 0;
    for (int p = 0; p < n; ++p) sum += A[row * n + p] * B[p * n + column];
    C[row * n + column] = sum;
    if (row == 0 && column == 0) ++launches;"""
    kernel = own(cu_file, body, declarations=declarations, block=(4, 4))
    assert measure(cell(kernel, 4)[0], device, kernel).verified
    assert mmcore_emulator.check(kernel, 4, device="emulator").violations == ()


# Reading declarations.


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (".global .align 4 .u32 x", Variable("x", "global", 4, 4)),
        (".const .b64 x", Variable("x", "const", 8, 8)),
        (".global .u16 x = -7", Variable("x", "global", 2, 2, b"\xf9\xff")),
        (".global .s32 x = 0xFFFFFFFF", Variable("x", "global", 4, 4, b"\xff" * 4)),
        (".global .align 16 .b8 x[2][3] = {1, 0x2 ,255}", Variable("x", "global", 6, 16, b"\x01\x02\xff")),
        (".global .f32 x[ 2 ] = {0f3F800000, 0F40000000}", Variable("x", "global", 8, 4, b"\0\0\x80?\0\0\0@")),
        (".global .f64 x=0d3FF0000000000000", Variable("x", "global", 8, 8, b"\0\0\0\0\0\0\xf0?")),
        (".global .attribute(.managed) .align 4 .u32 x = 3", Variable("x", "global", 4, 4, b"\x03\0\0\0")),
        (".global .u64 x = generic(y)+12", Variable("x", "global", 8, 8, unknown="holds the address of y")),
        (".global .u64 x[2] = {y+4, 0}", Variable("x", "global", 16, 8, unknown="holds the address of y")),
        (".global .u8 x[1] = {0xFF00(generic($y))}", Variable("x", "global", 1, 1, unknown="holds the address of $y")),
        (".shared .align 4 .b8 x[16]", Variable("x", "shared", 16, 4)),
    ],
)
def test_a_declaration_is_read(declaration: str, expected: Variable) -> None:
    assert variable(declaration) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".global .align 4 .u32;", "'.global .align 4 .u32' is not understood"),
        (".global .align 4 .u33 x;", "'.global .align 4 .u33 x' is not understood"),
        (".global .align four .u32 x;", "is not understood"),
        (".global .align 3 .u32 x;", "x has an alignment of 3, which is no power of two"),
        (".global .align 0 .u32 x;", "x has an alignment of 0, which is no power of two"),
        (".global .v4 .f32 x;", "is not understood"),
        (".global .u32 x, y;", "is not understood"),
        (".global .u32 x[;", "is not understood"),
        (".global .u32 x[-1];", "is not understood"),
        (".global .u32 x[];", "x has no size"),
        (".const .u32 x = ;", "x is set to '', which is no .u32"),
        (".const .u32 x = 5 6;", "x is set to '5 6', which is no .u32"),
        (".const .b8 x[2] = {1, 256};", "x is set to '256', which is no .b8"),
        (".const .b8 x[2] = {1, -129};", "x is set to '-129', which is no .b8"),
        (".const .b8 x[2] = {1, 2, 3};", "x of 2 bytes is set to 3 values of .b8"),
        (".const .b8 x[2] = {1,, 2};", "x of 2 bytes is set to 3 values of .b8"),
        (".const .b8 x[2] = {1,};", "x is set to '', which is no .b8"),
        (".const .b8 x[2] = {1, 2;", "x is set to '{1, 2', which is not understood"),
        (".const .b8 x[2] = 1;", "x is set to '1', which is not understood"),
        (".const .b8 x = {1};", "x is set to '{1}', which is not understood"),
        (".const .f32 x = 0f3F80;", "PTX constant '0f3F80' is not understood"),
        (".const .f32 x = 0d3FF0000000000000;", "which is no .f32"),
        (".const .f32 x = 1;", "x is set to '1', which is no .f32"),
        (".const .u32 x = 0f3F800000;", "which is no .u32"),
        (".extern .global .u32 x = 1;", "x cannot have an initial value"),
        (".shared .u32 x = 1;", "x cannot have an initial value"),
        (".global .u32 x = 1\n.global .u32 y;", "x is set to '1 .global .u32 y', which is no .u32"),
        (".global .u32 x = 1", "'.global .u32 x = 1' does not end"),
    ],
)
def test_a_damaged_declaration_is_refused_in_words(text: str, reason: str) -> None:
    with pytest.raises(PtxError) as refusal:
        module_variables(text)
    assert reason in str(refusal.value)


def test_a_long_declaration_is_not_quoted_in_full() -> None:
    with pytest.raises(PtxError) as refusal:
        module_variables(f".global .b8 x[9999 = {{{'1, ' * 9999}}};")
    assert len(str(refusal.value)) < 200


def test_a_functions_own_declarations_are_none_of_the_modules() -> None:
    text = ".func g(.param .b32 p) { .shared .b32 inner; .reg .b32 %r<2>; ret; }\n.global .b32 x;"
    assert set(parse(ptx_kernel("", module=text))["f"].variables) == {"x"}


def test_a_variable_of_its_own_hides_one_of_the_module() -> None:
    body = ".shared .b32 x; st.shared.u32 [x], 5; ld.shared.u32 %r2, [x]; st.global.u32 [%d2], %r2;"
    assert words(body, module=".global .b32 x = 7;").arrays[0].tolist() == [5] * 32
