"""Reductions by bulk copies, of bytes and of tensors; stores and reductions that an mbarrier is told of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.isa.asynchronous.bulk_reductions import merge_of_tensor
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.numerics.floats import from_bfloat16, to_bfloat16
from tests.emulation import Emulated, emulate, function_of, ptx_kernel

RNG = np.random.default_rng(4)
Numbers = NDArray[Any]
BYTES = 256


def reduced(opcode: str, there: Numbers, coming: Numbers, wait: str = "cp.async.bulk.wait_group 0;") -> Numbers:
    """Global memory after a reduction of 256 bytes, which threads have put into shared memory."""
    body = f"""
    mul.lo.u32 %r2, %r1, 16; mov.u32 %r3, s; add.u32 %r4, %r3, %r2; cvt.u64.u32 %d3, %r2; add.u64 %d3, %d3, %d1;
    ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%d3+{BYTES}]; st.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};
    fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    {opcode} [%d1], [%r3], {BYTES};
    cp.async.bulk.commit_group; {wait}
    ld.global.u32 %r9, [%d1]; st.global.u32 [%d1+{2 * BYTES}], %r9;"""
    data = np.concatenate([there.view(np.uint8), coming.view(np.uint8), np.zeros(4, np.uint8)])
    text = ptx_kernel(body, module=".shared .align 128 .b8 s[256];")
    made = emulate("", data, block=(16,), text=text, architecture="90a")
    assert made.violations == []
    seen = made.arrays[0][2 * BYTES :].view(np.uint32)[0]
    after: Numbers = made.arrays[0][:BYTES]
    assert (seen == after.view(np.uint32)[0]) == bool(wait)
    return after.view(there.dtype)


def whole(kind: str) -> Numbers:
    dtype = np.dtype({"u": "uint", "s": "int", "b": "uint"}[kind[0]] + kind[1:])
    return np.frombuffer(RNG.bytes(BYTES), dtype)


INTEGERS: dict[str, tuple[Callable[[Numbers, Numbers], Numbers], tuple[str, ...]]] = {
    "add": (lambda a, b: a + b, ("u32", "s32", "u64")),
    "min": (np.minimum, ("u32", "s32", "u64", "s64")),
    "max": (np.maximum, ("u32", "s32", "u64", "s64")),
    "and": (lambda a, b: a & b, ("b32", "b64")),
    "or": (lambda a, b: a | b, ("b32", "b64")),
    "xor": (lambda a, b: a ^ b, ("b32", "b64")),
    "inc": (lambda a, b: np.where(a >= b, 0, a + 1), ("u32",)),
    "dec": (lambda a, b: np.where((a == 0) | (a > b), b, a - 1), ("u32",)),
}
TO_GLOBAL = "cp.reduce.async.bulk.global.shared::cta.bulk_group"
TO_SHARED = "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, (_, kinds) in INTEGERS.items() for kind in kinds])
def test_integers_are_reduced_in_global_memory(name: str, kind: str) -> None:
    there, coming = whole(kind), whole(kind)
    found = reduced(f"{TO_GLOBAL}.{name}.{kind}", there, coming)
    np.testing.assert_array_equal(found, INTEGERS[name][0](there, coming).astype(there.dtype))


@pytest.mark.parametrize("name", ["add", "min", "max"])
def test_halves_are_reduced_in_global_memory(name: str) -> None:
    numbers = RNG.normal(size=(2, BYTES // 2))
    pick: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum}
    how = f"{name}.noftz" if name == "add" else name
    a, b = numbers.astype(np.float16)
    np.testing.assert_array_equal(reduced(f"{TO_GLOBAL}.{how}.f16", a, b), pick[name](a, b))
    c, d = (to_bfloat16(each.astype(np.float32)) for each in numbers)
    expected = to_bfloat16(pick[name](from_bfloat16(c), from_bfloat16(d)))
    np.testing.assert_array_equal(reduced(f"{TO_GLOBAL}.{how}.bf16", c, d), expected)


def test_subnormal_sums_are_kept_of_halves_and_flushed_of_single_precision() -> None:
    half = np.full(BYTES // 2, 2.0**-20, np.float16)
    assert (reduced(f"{TO_GLOBAL}.add.noftz.f16", half, half) == np.float16(2.0**-19)).all()
    single = np.full(BYTES // 4, 2.0**-140, np.float32)
    assert (reduced(f"{TO_GLOBAL}.add.f32", single, single) == 0).all()
    normal = np.linspace(1, 2, BYTES // 4, dtype=np.float32)
    np.testing.assert_array_equal(reduced(f"{TO_GLOBAL}.add.f32", normal, normal), 2 * normal)
    double = np.linspace(1, 2, BYTES // 8)
    np.testing.assert_array_equal(reduced(f"{TO_GLOBAL}.add.f64", double, double), 2 * double)


def test_what_does_not_wait_finds_what_was_there_before() -> None:
    there, coming = whole("u32"), whole("u32") | np.uint32(1)
    np.testing.assert_array_equal(reduced(f"{TO_GLOBAL}.add.u32", there, coming, wait=""), there + coming)


@pytest.mark.parametrize(
    "statement",
    [
        f"{TO_GLOBAL}.add.f16 [%d1], [%r1], 16;",
        f"{TO_GLOBAL}.min.noftz.f16 [%d1], [%r1], 16;",
        f"{TO_GLOBAL}.add.s64 [%d1], [%r1], 16;",
        f"{TO_GLOBAL}.min.f32 [%d1], [%r1], 16;",
        f"{TO_SHARED}.add.f32 [%r1], [%r2], 16, [%r3];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r1], {%d1, %d2, %d3, %d4}, [%r3];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.u64 [%r1], %d2, [%r3];",
    ],
)
def test_reductions_that_there_are_not_are_refused_by_name(statement: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=statement.split()[0].replace(".", r"\.")):
        translate(function_of(ptx_kernel(statement)))


# Tensors.

TENSOR = r"""
struct alignas(64) Map { char content[128]; };
extern "C" __global__ void f(TYPE* C, const __grid_constant__ Map map) {
    __shared__ __align__(128) TYPE box[8 * COLUMNS];
    for (int i = threadIdx.x; i < 8 * COLUMNS; i += 32) box[i] = (TYPE)(i + 1);
    asm volatile("fence.proxy.async.shared::cta;");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.REDUCTION.tile.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&map), "r"(COLUMN), "r"(3), "r"((unsigned)__cvta_generic_to_shared(box)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;");
    }
}"""


def into_tensor(kind: str, c_type: str, reduction: str, there: Numbers, column: int, columns: int) -> Emulated:
    """A matrix of 10 rows after a box of 8 rows came to row 3: what lies outside is left alone."""
    address = (1 << 40) + (1 << 39)  # of the first array on the emulator
    size = there.itemsize
    layout = TensorLayout(address, kind, (there.shape[1], 10), (size, size * there.shape[1]), (columns, 8))
    options = (f"-DTYPE={c_type}", f"-DREDUCTION={reduction}", f"-DCOLUMN={column}", f"-DCOLUMNS={columns}")
    source = TENSOR.replace("REDUCTION", reduction)
    return emulate(source, there, layout.encode(), options=options, architecture="90a")


@pytest.mark.parametrize(
    ("kind", "c_type", "reduction", "column"),
    [
        ("float32", "float", "add", 8),
        ("float32", "float", "add", 13),
        ("int32", "int", "min", -3),
        ("uint32", "unsigned", "inc", 16),
        ("uint32", "unsigned", "xor", 8),
        ("float64", "double", "add", 0),
        ("uint64", "unsigned long long", "max", 4),
        ("int64", "long long", "or", 4),
    ],
)
def test_boxes_are_reduced_element_by_element(kind: str, c_type: str, reduction: str, column: int) -> None:
    there = RNG.integers(0, 100, (10, 24)).astype(kind)
    made = into_tensor(kind, c_type, reduction, there, column, 8)
    assert made.violations == []
    box = (np.arange(64) + 1).astype(kind).reshape(8, 8)
    expected = there.copy()
    rows, columns = slice(3, 10), slice(max(column, 0), min(column + 8, 24))
    part = box[:7, columns.start - column : columns.stop - column]
    of = INTEGERS[reduction][0]
    expected[rows, columns] = of(there[rows, columns], part)
    np.testing.assert_array_equal(made.arrays[0], expected)


def test_a_reduction_that_a_type_has_not_is_refused() -> None:
    assert merge_of_tensor("add", "bfloat16") is not None
    assert merge_of_tensor("min", "float64") is None
    with pytest.raises(
        UnsupportedInstruction, match=r"cp\.reduce\.async\.bulk\.tensor\.\S* of elements of type float32"
    ):
        into_tensor("float32", "float", "max", np.zeros((10, 24), np.float32), 0, 8)


# The memory of another block of the cluster.

NEIGHBOURS = r"""
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned mapped(unsigned address, unsigned rank) {
    unsigned found;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(found) : "r"(address), "r"(rank));
    return found;
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) f(unsigned* out) {
    __shared__ __align__(128) unsigned mine[32], sent[32];
    __shared__ unsigned long long bar;
    const unsigned t = threadIdx.x, rank = blockIdx.x;
    mine[t] = 1000; sent[t] = 100 * rank + t;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" :: "r"(at(&bar)));
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("fence.proxy.async.shared::cta; barrier.cluster.arrive.release.aligned;"
                 " barrier.cluster.wait.acquire.aligned;" ::: "memory");
    const unsigned there = mapped(at(mine), rank ^ 1), told = mapped(at(&bar), rank ^ 1);
    SEND
    WAIT
    out[rank * 32 + t] = ((volatile unsigned*)mine)[t];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}"""
WAIT = """
    asm volatile("{ .reg .pred done;"
                 " AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], 0; @done bra DONE;"
                 " bra AGAIN; DONE: }" :: "r"(at(&bar)) : "memory");"""
ONE_THREAD = """
    if (t == 0) asm volatile("{}.mbarrier::complete_tx::bytes{} [%0], [%1], 128, [%2];"
                             :: "r"(there), "r"(at(sent)), "r"(told) : "memory");"""
EACH = """
    asm volatile("{}.mbarrier::complete_tx::bytes.{} [%0], %1, [%2];"
                 :: "r"(there + 4 * t), "r"(100 * rank + t), "r"(told) : "memory");"""
FOUR = """
    if (t % 4 == 0)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                     :: "r"(there + 4 * t), "r"(sent[t]), "r"(sent[t + 1]), "r"(sent[t + 2]), "r"(sent[t + 3]),
                        "r"(told) : "memory");"""


@pytest.mark.parametrize(
    ("send", "initial"),
    [
        (EACH.format("st.async.shared::cluster", "u32"), 0),
        (EACH.format("st.async.weak.shared::cluster", "b32"), 0),
        (FOUR, 0),
        (EACH.format("red.async.relaxed.cluster.shared::cluster", "add.u32"), 1000),
        (ONE_THREAD.format("cp.async.bulk.shared::cluster.shared::cta", ""), 0),
        (ONE_THREAD.format("cp.reduce.async.bulk.shared::cluster.shared::cta", ".add.u32"), 1000),
    ],
)
def test_a_neighbour_gets_what_is_sent_before_its_mbarrier_is_told(send: str, initial: int) -> None:
    source = NEIGHBOURS.replace("SEND", send)
    expected = [initial + 100 * (rank ^ 1) + t for rank in range(2) for t in range(32)]
    run = {"grid": (2,), "block": (32,), "architecture": "90a", "cluster": (2, 1, 1)}
    made = emulate(source.replace("WAIT", WAIT), np.zeros(64, np.uint32), **run)  # type: ignore[arg-type]
    assert made.violations == []
    assert made.arrays[0].tolist() == expected
    early = emulate(source.replace("WAIT", ""), np.zeros(64, np.uint32), **run)  # type: ignore[arg-type]
    assert early.arrays[0].tolist() == [1000] * 64
