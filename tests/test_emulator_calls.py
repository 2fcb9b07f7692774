"""Functions that were not inlined, and branches by index, on the emulator."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.errors import EmulatorError, PtxError, UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx import calls
from mmcore_emulator.ptx.reader import parse
from tests.emulation import emulate, function_of, ptx_kernel, ptx_of, words

ARCHITECTURES = pytest.mark.parametrize("architecture", ["75", "90", "100"])


def ints(count: int = 32) -> NDArray[np.int32]:
    return np.zeros(count, np.int32)


TWO_PLACES = """
__device__ __noinline__ int steps(int x) {
    int count = 0;
    while (x > 1) { x = x % 2 ? 3 * x + 1 : x / 2; ++count; }
    return count;
}
extern "C" __global__ void f(int* out) {
    const int t = threadIdx.x;
    if (t % 3) out[t] = steps(t) + 1000;
    else out[t] = steps(t + 7);
}"""


def steps(x: int) -> int:
    count = 0
    while x > 1:
        x, count = (3 * x + 1 if x % 2 else x // 2), count + 1
    return count


@ARCHITECTURES
def test_a_function_is_called_from_branches_that_threads_of_a_warp_take_apart(architecture: str) -> None:
    assert len(re.findall(r"\bcall\b", ptx_of(TWO_PLACES, architecture=architecture))) == 2
    out = emulate(TWO_PLACES, ints(64), block=(64,), architecture=architecture).arrays[0].tolist()
    assert out == [steps(t) + 1000 if t % 3 else steps(t + 7) for t in range(64)]


LOCAL_ARRAYS = """
__device__ __noinline__ int sorted(int seed, int which) {
    int a[8];
    for (int i = 0; i < 8; ++i) a[i] = (seed * (i + 3) * 7919) % 101;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j + 1 < 8 - i; ++j)
            if (a[j] > a[j + 1]) { int b = a[j]; a[j] = a[j + 1]; a[j + 1] = b; }
    return a[which];
}
__device__ __noinline__ int median(int seed) {
    int b[4];
    for (int i = 0; i < 4; ++i) b[i] = sorted(seed + i, 3) + sorted(seed, 4);
    return b[seed % 4];
}
extern "C" __global__ void f(int* out) {
    int mine[2] = {median(threadIdx.x), median(threadIdx.x + 5)};
    out[threadIdx.x] = mine[threadIdx.x % 2] * 1000 + sorted(threadIdx.x, threadIdx.x % 8);
}"""


@ARCHITECTURES
@pytest.mark.parametrize("options", [(), ("-G",)])
def test_functions_have_arrays_in_local_memory(architecture: str, options: tuple[str, ...]) -> None:
    def in_order(seed: int, which: int) -> int:
        return sorted((seed * (i + 3) * 7919) % 101 for i in range(8))[which]

    def median(seed: int) -> int:
        return in_order(seed + seed % 4, 3) + in_order(seed, 4)

    out = emulate(LOCAL_ARRAYS, ints(), architecture=architecture, options=options).arrays[0].tolist()
    assert out == [median(t + 5 * (t % 2)) * 1000 + in_order(t, t % 8) for t in range(32)]


STRUCTURES = """
struct Pair { double sum; float low; short count; char tag[5]; };
__device__ __noinline__ Pair joined(Pair a, const Pair b, float scale) {
    a.sum += scale * b.sum;
    a.low = fminf(a.low, b.low);
    a.count += b.count;
    for (int i = 0; i < 5; ++i) a.tag[i] += b.tag[4 - i];
    return a;
}
extern "C" __global__ void f(float* out, int which) {
    const int t = threadIdx.x;
    Pair a = {1.0 + t, 2.0f * t, (short)-t, {1, 2, 3, 4, (char)t}}, b = {0.5, 31.0f, 1000, {5, 4, 3, 2, 1}};
    const Pair c = joined(joined(a, b, 2.0f), a, -1.0f);
    out[t] = c.sum * 1000 + c.low + c.count * 0.5f + c.tag[which];
}"""


@ARCHITECTURES
@pytest.mark.parametrize("options", [(), ("-G",)])
def test_structures_are_passed_and_returned_by_value(architecture: str, options: tuple[str, ...]) -> None:
    values = np.zeros(32, np.float32)
    out = emulate(STRUCTURES, values, np.int32(3), architecture=architecture, options=options).arrays[0]
    t = np.arange(32)
    total = (1.0 + t + 2 * 0.5 - (1.0 + t)) * 1000 + np.minimum(np.minimum(2.0 * t, 31.0), 2.0 * t)
    assert out.tolist() == (total + (1000 - 2 * t) * 0.5 + (4 + 4 + 2)).tolist()


SMALL = """
__device__ __noinline__ bool odd(char a, unsigned char b, short c, bool d, long long e) {
    return (a < 0) ^ (b > 200) ^ (c < -5) ^ d ^ (e < -4000000000ll);
}
__device__ __noinline__ signed char minus(signed char a, unsigned short b) { return -a - b; }
__device__ __noinline__ float4 times(float4 a, int4 b, double s) {
    return make_float4(a.x * b.w, a.y * b.z, a.z * b.y, (float)(a.w * b.x * s));
}
extern "C" __global__ void f(int* out) {
    const int t = threadIdx.x;
    const bool x = odd((char)(t - 5), (unsigned char)(190 + t), (short)-t, t & 1, t * -1000000000ll);
    const float4 v = times(make_float4(t, t + 1, t + 2, t + 3), make_int4(1, 2, 3, t), 0.5);
    out[t] = x + 10 * minus((signed char)(t * 9), (unsigned short)(65530 + t));
    out[t] += 10000 * (int)(v.x + v.y + v.z + 2 * v.w);
}"""


@ARCHITECTURES
@pytest.mark.parametrize("options", [(), ("-G",)])
def test_arguments_and_results_may_be_of_any_type(architecture: str, options: tuple[str, ...]) -> None:
    def byte(x: int) -> int:
        return (x + 128) % 256 - 128

    expected = []
    for t in range(32):
        x = (t < 5) ^ (190 + t > 200) ^ (t > 5) ^ t % 2 ^ (t > 4)
        total = t * t + 3 * (t + 1) + 2 * (t + 2) + (t + 3)
        expected.append(x + 10 * byte(-byte(t * 9) - (65530 + t) % 65536) + 10000 * total)
    assert emulate(SMALL, ints(), architecture=architecture, options=options).arrays[0].tolist() == expected


def test_a_function_may_change_memory_and_return_nothing() -> None:
    source = """
    __device__ __noinline__ void add(int* to, int what) { atomicAdd(to, what); }
    __device__ __noinline__ void twice(int* to, int what) { add(to, what); if (what % 2) return; add(to, what); }
    extern "C" __global__ void f(int* out) { twice(out, threadIdx.x); twice(out + threadIdx.x % 4, 1); }"""
    even = sum(range(0, 32, 2))
    assert emulate(source, ints(4)).arrays[0].tolist() == [2 * even + sum(range(1, 32, 2)) + 8, 8, 8, 8]


def test_threads_may_leave_the_kernel_in_a_function() -> None:
    source = """
    __device__ __noinline__ int leave(int x) { if (x % 3 == 0) asm volatile("exit;"); return 2 * x; }
    extern "C" __global__ void f(int* out) {
        if (threadIdx.x < 16) out[threadIdx.x] = leave(threadIdx.x);
        __syncthreads();
        out[threadIdx.x] += 1;
    }"""
    expected = [0 if t < 16 and t % 3 == 0 else 2 * t + 1 if t < 16 else 1 for t in range(32)]
    run = emulate(source, ints())
    assert (run.arrays[0].tolist(), run.violations) == (expected, [])


def test_a_barrier_and_shared_memory_in_a_function_are_the_blocks() -> None:
    source = """
    __device__ __noinline__ int turned(int x) {
        __shared__ int s[64];
        s[threadIdx.x] = x;
        __syncthreads();
        const int y = s[63 - threadIdx.x];
        __syncthreads();
        return y;
    }
    extern "C" __global__ void f(int* out) {
        out[threadIdx.x] = 100 * turned(threadIdx.x) + turned(threadIdx.x % 8);
    }"""
    run = emulate(source, ints(64), block=(64,))
    assert run.arrays[0].tolist() == [100 * (63 - t) + (63 - t) % 8 for t in range(64)]
    assert run.violations == []
    assert run.run.translation.layout.shared_bytes == 256


def test_instructions_of_a_function_belong_to_its_lines() -> None:
    source = """__device__ __noinline__ float far(const float* a, int i) {
        return a[i];
    }
    extern "C" __global__ void f(float* out) {
        float x = far(out, threadIdx.x);
        if (threadIdx.x < 2) x += far(out, threadIdx.x + 1000);
        out[threadIdx.x] = x;
    }"""
    run = emulate(source, np.zeros(32, np.float32), observers=lambda translation: (Counting(translation.blocks),))
    (violation,) = run.violations
    assert (violation.kind, violation.source, violation.line) == ("out-of-bounds-read", "test.cu", 2)
    assert violation.message.startswith("thread (0, 0) of block (0, 0) reads 3872 bytes past the end of P")
    (counting,) = run.run.observers
    assert isinstance(counting, Counting)
    assert counting.lines[Line("test.cu", 2)].global_loads == 34


def test_what_is_passed_takes_no_memory() -> None:
    source = """
    __device__ __noinline__ int at(const int* a, int i) { return a[i]; }
    extern "C" __global__ void f(int* out, int n) {
        int sum = 0;
        for (int i = 0; i < n; ++i) sum += at(out, i);
        out[n] = sum;
    }"""
    run = emulate(source, np.arange(32, dtype=np.int32), np.int32(31))
    assert run.arrays[0][31] == sum(range(31))
    assert run.run.translation.layout.local_bytes == 0


# As other compilers write it.

HALF = """
.func (.param .b32 result) half(.param .align 8 .b8 given[8])
{
    .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .pred %p<2>;
    BODY
}"""
CALL = """
{
    .param .align 8 .b8 given[8]; .param .b32 result;
    st.param.v2.b32 [given], {%r1, 5};
    GUARD call.uni (result), half, (given);
    ld.param.b32 %r2, [result];
}
st.global.u32 [%d2], %r2;"""


def called(body: str, guard: str = "") -> list[int]:
    found = words(
        "mov.u32 %r2, 77; setp.lt.u32 %p1, %r1, 3;" + CALL.replace("GUARD", guard), module=HALF.replace("BODY", body)
    )
    return [int(each) for each in found.arrays[0]]


@pytest.mark.parametrize(
    "body",
    [
        "ld.param.b32 %r1, [given]; ld.param.b32 %r2, [given+4]; add.u32 %r1, %r1, %r2; st.param.b32 [result], %r1;",
        # The halves of what the caller stores as two words.
        "ld.param.b64 %d1, [given]; mov.b64 {%r1, %r2}, %d1; add.u32 %r1, %r1, %r2; st.param.b32 [result], %r1;",
        "ld.param.v2.b32 {%r1, %r2}, [given]; add.u32 %r1, %r1, %r2; st.param.b32 [result+0], %r1; ret;",
        # By its address, which is one in local memory.
        """mov.b64 %d1, given; ld.local.u32 %r1, [%d1]; cvta.local.u64 %d1, %d1; ld.u32 %r2, [%d1+4];
        add.u32 %r1, %r1, %r2; st.param.b32 [result], %r1;""",
        """ld.param.b32 %r1, [given]; setp.lt.u32 %p1, %r1, 9; add.u32 %r2, %r1, 5; st.param.b32 [result], %r2;
        @%p1 ret; ld.param.b32 %r1, [given+4]; add.u32 %r2, %r2, %r1; sub.u32 %r2, %r2, %r1;
        st.param.b32 [result], %r2; ret.uni;""",
    ],
)
def test_what_is_passed_may_be_divided_in_any_way(body: str) -> None:
    assert called(body) == [t + 5 for t in range(32)]


@pytest.mark.parametrize(("guard", "those"), [("@%p1", range(3)), ("@!%p1", range(3, 32))])
def test_a_call_may_be_guarded(guard: str, those: range) -> None:
    found = called("ld.param.b32 %r1, [given]; st.param.b32 [result], %r1;", guard)
    assert [found[t] for t in those] == list(those)


def test_functions_have_names_of_their_own_for_what_others_call_alike() -> None:
    module = """
    .global .u32 number = 5;
    .func (.param .b32 y) g(.param .b32 x)
    {
        .local .u32 number; .reg .b32 %r<4>; .reg .pred %p<2>;
        ld.param.b32 %r1, [x];
        st.local.u32 [number], %r1;
        setp.gt.u32 %p1, %r1, 15;
        @%p1 bra L;
        st.local.u32 [number], 100;
    L:  ld.local.u32 %r2, [number];
        st.param.b32 [y], %r2;
    }"""
    body = """
    .local .u32 x; st.local.u32 [x], %r1; setp.gt.u32 %p1, %r1, 15;
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %r1; call.uni (y), g, (x); ld.param.b32 %r2, [y]; }
    @%p1 bra L;
    add.u32 %r2, %r2, 1;
L:  ld.local.u32 %r3, [x]; mad.lo.u32 %r2, %r3, 1000, %r2;
    ld.global.u32 %r3, [number]; add.u32 %r2, %r2, %r3;
    st.global.u32 [%d2], %r2;"""
    expected = [1000 * t + (t if t > 15 else 101) + 5 for t in range(32)]
    assert words(body, module=module).arrays[0].tolist() == expected


EIGHT = """
{ .reg .b32 %x; and.b32 %x, %r1, MASK; mov.u32 %r2, 5;
  GUARD brx.idx.uni %x, targets;
  bra.uni DONE;
  targets: .branchtargets A, B, C, D, E, F, G, A;
A: add.u32 %r2, %r1, 100; bra.uni DONE;
B: mul.lo.u32 %r2, %r1, %r1;
C: add.u32 %r2, %r2, 1; bra.uni DONE;
D: mov.u32 %r2, 9; bra.uni DONE;
E: sub.u32 %r2, 50, %r1; bra.uni DONE;
F: xor.b32 %r2, %r1, 85; bra.uni DONE;
G: ret;
DONE: bar.sync 0; st.global.u32 [%d2], %r2; }"""


# What cannot be expanded is refused where a thread comes by.


def refusal(source: str, argument: int, text: str = "") -> str:
    with pytest.raises(UnsupportedInstruction) as refused:
        emulate(source, np.full(2, argument, np.int32), block=(1,), text=text)
    return str(refused.value)


@pytest.mark.parametrize(
    ("functions", "what"),
    [
        (
            "__device__ __noinline__ int g(int x) { return x > 4 ? g(x / 2) * g(x - 1) + x : 1; }",
            "g, which calls itself",
        ),
        (
            """__device__ int even(int x);
            __device__ __noinline__ int odd(int x) { return x > 4 ? even(x - 1) * x + even(x / 2) : 0; }
            __device__ __noinline__ int even(int x) { return x > 4 ? odd(x - 1) + odd(x / 2) : 1; }
            __device__ __noinline__ int g(int x) { return even(x); }""",
            "even, which calls itself through odd",
        ),
    ],
)
def test_a_function_that_calls_itself_is_refused_by_name_where_it_does(functions: str, what: str) -> None:
    source = functions + 'extern "C" __global__ void f(int* out) { out[0] = out[1] > 2 ? g(out[1]) : 3; }'
    for argument, result in ((1, 3), (3, 1), (4, 1)):
        assert emulate(source, np.full(2, argument, np.int32), block=(1,)).arrays[0][0] == result
    assert re.fullmatch(
        rf"the emulator does not know the instruction call\.uni of {what} \(test\.cu:\d\)", refusal(source, 9)
    )


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("void* p = malloc(out[1]); out[0] = p == 0; free(p);", "malloc"),
        ("free((void*)(long long)out[1]);", "free"),
        ("out[0] = unknown(3);", "unknown"),
    ],
)
def test_functions_of_others_are_refused_by_name_where_somebody_calls_them(statement: str, what: str) -> None:
    source = f"""extern "C" __device__ int unknown(int);
    extern "C" __global__ void f(int* out) {{ if (out[1]) {{ {statement} }} out[1] = 5; }}"""
    text = ptx_of(source, "-rdc=true")
    assert emulate("", ints(2), block=(1,), text=text).arrays[0].tolist() == [0, 5]
    assert refusal("", 1, text) == f"the emulator does not know the instruction call.uni of {what} (test.cu:2)"


def test_a_call_through_a_pointer_is_refused_where_somebody_makes_it() -> None:
    call = "{ .param .b32 y; p_0: .callprototype (.param .b32 _) _ (); @%p1 call (y), %d1, (), p_0; }"
    assert words("setp.eq.u32 %p1, %r1, 32;" + call).violations == []
    with pytest.raises(UnsupportedInstruction, match=r"the instruction call of a function through a pointer$"):
        words("setp.eq.u32 %p1, %r1, 31;" + call)


def test_a_call_that_passes_registers_is_refused_where_somebody_makes_it() -> None:
    module = ".func (.param .b32 y) g(.param .b32 x) { ret; }"
    with pytest.raises(
        UnsupportedInstruction, match=r"the instruction call of g with arguments or results in registers$"
    ):
        words("call (%r2), g, (%r1);", module=module)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("call g, (x);", "0 results, not 1"),
        ("call (y), g, (x, x);", "2 arguments, not 1"),
        ("call (y), g;", "0 arguments, not 1"),
    ],
)
def test_a_call_that_contradicts_its_function_is_refused(call: str, reason: str) -> None:
    module = ".func (.param .b32 y) g(.param .b32 x) { ret; }"
    with pytest.raises(PtxError, match=f"a PTX call of g has {reason}"):
        function_of(ptx_kernel(f"{{ .param .b32 x; .param .b32 y; {call} }}", module=module))


@pytest.mark.parametrize("call", ["call;", "call 5, (x);", "call (x), (x);"])
def test_a_call_of_nothing_is_refused(call: str) -> None:
    with pytest.raises(PtxError, match="PTX call names no function"):
        function_of(ptx_kernel(f"{{ .param .b32 x; {call} }}"))


def chain(functions: int, calls_of_each: int) -> str:
    """Functions of which each calls the one behind it so often; the last does nothing."""
    each = " ".join(f".func g{i} () {{ {f'call.uni g{i + 1}, ();' * calls_of_each} ret; }}" for i in range(functions))
    return f"{each} .func g{functions} () {{ ret; }}"


def test_a_kernel_that_calls_too_much_is_refused_where_somebody_comes_by() -> None:
    call = "setp.eq.u32 %p1, %r1, 31; @%p1 call.uni g0, ();"
    assert words(call, module=chain(10, 2)).violations == []
    with pytest.raises(
        UnsupportedInstruction, match=rf"g\d+, with which the kernel has more than {calls.LARGEST} inst"
    ):
        words(call, module=chain(40, 2))
    with pytest.raises(UnsupportedInstruction, match=r"the instruction call\.uni of g\d+, 50 calls deep"):
        words(call, module=chain(400, 1))


@pytest.mark.parametrize(
    "text", [ptx_of(STRUCTURES, "-G"), ptx_of(SMALL), ptx_kernel(EIGHT)], ids=["structures", "small", "eight"]
)
def test_truncated_ptx_is_refused_in_words(text: str) -> None:
    for end in range(0, len(text), 97):
        with contextlib.suppress(EmulatorError):
            for function in parse(text[:end]).values():
                translate(function)


def test_a_function_that_nobody_calls_is_not_read() -> None:
    module = ".func (.reg .b32 y) g (.reg .b32 x) { nonsense ( ; }"
    assert set(parse(ptx_kernel("", module=module))) == {"f"}


# Branches by index.


def case(thread: int, index: int) -> int:
    return [thread + 100, thread * thread + 1, 6, 9, 50 - thread, thread ^ 85, 0, thread + 100][index]


def test_a_switch_leads_each_thread_to_its_case() -> None:
    run = words(EIGHT.replace("MASK", "7").replace("GUARD", ""))
    assert (run.arrays[0].tolist(), run.violations) == ([case(t, t % 8) for t in range(32)], [])


@pytest.mark.parametrize("mask", ["0", "1"])
def test_a_switch_may_lead_all_threads_to_few_cases(mask: str) -> None:
    found = words(EIGHT.replace("MASK", mask).replace("GUARD", "")).arrays[0].tolist()
    assert found == [case(t, t & int(mask)) for t in range(32)]


def test_a_switch_may_be_guarded() -> None:
    body = "setp.lt.u32 %p1, %r1, 20;" + EIGHT.replace("MASK", "7").replace("GUARD", "@!%p1")
    assert words(body).arrays[0].tolist() == [5 if t < 20 else case(t, t % 8) for t in range(32)]


def test_a_switch_in_a_function_has_targets_in_each_copy() -> None:
    switch = EIGHT.replace("MASK", "7").replace("GUARD", "").replace("bar.sync 0; st.global.u32 [%d2], %r2;", "")
    module = f""".func (.param .b32 y) g(.param .b32 x) {{ .reg .b32 %r<4>; ld.param.b32 %r1, [x]; {switch}
        st.param.b32 [y], %r2; ret; }}"""
    call = "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call.uni (y), g, (x); ld.param.b32 %r4, [y]; }"
    body = f"shr.u32 %r3, %r1, 3; {call} mov.u32 %r5, %r4; shr.u32 %r3, %r1, 4; {call} mad.lo.u32 %r5, %r4, 1000, %r5;"
    found = words(body + "st.global.u32 [%d2], %r5;", module=module).arrays[0].tolist()
    assert found == [1000 * case(t // 16, t // 16) + case(t // 8, t // 8) for t in range(32)]


def test_an_index_beyond_the_targets_is_a_violation() -> None:
    body = ".loc 1 12 3\n" + EIGHT.replace("MASK", "15").replace("GUARD", "")
    run = words(body)
    (violation,) = run.violations
    assert str(violation) == (
        "illegal-branch: thread (8, 0) of block (0, 0) branches by the index 8 into a list of 8 targets at test.cu:12"
    )
    assert run.arrays[0].tolist() == [case(t, t % 16) if t % 16 < 8 else 0 for t in range(32)]


@pytest.mark.parametrize(
    "branch",
    ["brx.idx %r1;", "brx.idx %r1, missing;", "L: brx.idx %r1, L;", "t: .branchtargets M; brx.idx %r1, t;", "brx.idx;"],
)
def test_a_switch_without_targets_is_refused(branch: str) -> None:
    with pytest.raises(PtxError, match=r"PTX branch brx\.idx (leads nowhere|has no list of targets)"):
        emulate("", ints(), text=ptx_kernel(branch))


# Special registers.


@pytest.mark.parametrize(
    ("register", "value"),
    [
        ("%dynamic_smem_size", 100),
        ("%total_smem_size", 256),
        ("%aggr_smem_size", 256 + 1024),
        ("%nsmid", 132),
        ("%nwarpid", 1),
        ("%globaltimer_hi", 0),
        ("%clock_hi", 0),
    ],
)
def test_special_registers_tell_of_the_launch(register: str, value: int) -> None:
    body = f".shared .align 16 .b8 s[96]; mov.u32 %r2, s; mov.u32 %r2, {register}; st.global.u32 [%d2], %r2;"
    assert emulate("", ints(), text=ptx_kernel(body), shared_bytes=100).arrays[0].tolist() == [value] * 32


@pytest.mark.parametrize("register", ["%envreg3", "%gridid", "%pm0", "%is_explicit_cluster"])
def test_special_registers_that_are_not_known_are_refused_by_name(register: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=rf"the instruction mov\.b32 of {register}$"):
        words(f"mov.b32 %r2, {register}; st.global.u32 [%d2], %r2;")
