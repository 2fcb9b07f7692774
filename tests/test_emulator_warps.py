"""What the threads of a warp do together: shuffles, votes, matches, reductions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulation import emulate, ptx_kernel

WARPS = np.random.default_rng(1).integers(0, 1000, (2, 32), dtype=np.uint32)


def told(expression: str, before: str = "") -> np.ndarray:
    """What each of 64 threads of two warps gets of an expression of its value ``v`` and its lane ``t``."""
    source = f"""
    extern "C" __global__ void f(unsigned* in, unsigned* out) {{
        const unsigned i = threadIdx.x, t = i % 32, v = in[i];
        {before}
        out[i] = {expression};
    }}"""
    made = emulate(source, WARPS, np.zeros((2, 32), np.uint32), block=(64,))
    assert made.violations == []
    return made.arrays[1]


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("__shfl_xor_sync(~0u, v, 5)", [t ^ 5 for t in range(32)]),
        ("__shfl_up_sync(~0u, v, 3)", [t - 3 if t >= 3 else t for t in range(32)]),
        ("__shfl_up_sync(~0u, v, 3, 8)", [t - 3 if t % 8 >= 3 else t for t in range(32)]),
        ("__shfl_down_sync(~0u, v, 3)", [t + 3 if t < 29 else t for t in range(32)]),
        ("__shfl_down_sync(~0u, v, 3, 16)", [t + 3 if t % 16 < 13 else t for t in range(32)]),
        ("__shfl_sync(~0u, v, 7)", [7] * 32),
        ("__shfl_sync(~0u, v, 11, 8)", [t // 8 * 8 + 3 for t in range(32)]),
        ("__shfl_sync(~0u, v, (t * 7) % 32)", [t * 7 % 32 for t in range(32)]),
    ],
)
def test_a_shuffle_hands_on_the_value_of_another_lane(call: str, source: list[int]) -> None:
    np.testing.assert_array_equal(told(call), WARPS[:, source])


def test_values_of_a_tree_of_shuffles_sum_up() -> None:
    loop = "unsigned sum = v; for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);"
    np.testing.assert_array_equal(told("sum", loop), np.repeat(WARPS.sum(axis=1, keepdims=True), 32, axis=1))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("__ballot_sync(~0u, v & 1)", lambda row: sum(int(v & 1) << t for t, v in enumerate(row))),
        ("__any_sync(~0u, v == in[40])", lambda row: int(WARPS[1, 8] in row)),
        ("__all_sync(~0u, v < 990)", lambda row: int(row.max() < 990)),
        ("__reduce_max_sync(~0u, v)", np.max),
        ("__reduce_min_sync(~0u, v)", np.min),
        ("__reduce_add_sync(~0u, v)", np.sum),
        ("__reduce_or_sync(~0u, v)", np.bitwise_or.reduce),
        ("__reduce_xor_sync(~0u, v)", np.bitwise_xor.reduce),
        ("__reduce_and_sync(~0u, v | 3)", lambda row: np.bitwise_and.reduce(row | 3)),
        ("__activemask()", lambda row: 0xFFFFFFFF),
    ],
)
def test_all_lanes_of_a_warp_are_told_the_same(call: str, expected: object) -> None:
    assert callable(expected)
    np.testing.assert_array_equal(told(call), [[expected(row)] * 32 for row in WARPS])


def test_lanes_of_the_same_value_find_each_other() -> None:
    masks = [[sum(int(v % 4 == w % 4) << t for t, w in enumerate(row)) for v in row] for row in WARPS]
    np.testing.assert_array_equal(told("__match_any_sync(~0u, v % 4)"), masks)
    both = "int alike; unsigned mask = __match_all_sync(~0u, t < 16 ? i / 32 : v * 0 + i / 32, &alike);"
    np.testing.assert_array_equal(told("alike ? mask : 7", both), np.full((2, 32), 0xFFFFFFFF))
    np.testing.assert_array_equal(told("alike ? 7 : mask", both.replace("i / 32", "t")), np.zeros((2, 32)))


def test_lanes_of_a_branch_shuffle_among_themselves() -> None:
    branch = (
        "unsigned got = 5, active = 0; if (t % 2) { active = __activemask(); got = __shfl_sync(0xAAAAAAAA, v, 9); }"
    )
    odd = np.arange(32) % 2 == 1
    np.testing.assert_array_equal(told("got", branch), np.where(odd, WARPS[:, 9:10], 5))
    np.testing.assert_array_equal(told("active", branch), np.where(odd, [[0xAAAAAAAA]] * 2, 0))


def test_lanes_wait_for_those_that_come_to_a_shuffle_by_another_way() -> None:
    late = "unsigned sum = v; for (unsigned p = 0; p < t % 3; ++p) sum += in[p];"
    sums = WARPS + np.array([[0, WARPS[0, 0], WARPS[0, 0] + WARPS[0, 1]]])[:, np.arange(32) % 3]
    np.testing.assert_array_equal(told("__shfl_xor_sync(~0u, sum, 1)", late), sums[:, np.arange(32) ^ 1])


def test_a_lane_that_the_mask_of_its_shuffle_does_not_name_is_told() -> None:
    source = 'extern "C" __global__ void f(unsigned* out) { out[threadIdx.x] = __shfl_sync(0xFFFF, threadIdx.x, 3); }'
    (found,) = emulate(source, np.zeros(32, np.uint32)).violations
    assert found.kind == "divergent-barrier"
    assert "thread (16, 0) of block (0, 0)" in found.message
    assert "with the mask 0x0000ffff, which does not name it" in found.message


def test_one_lane_is_elected() -> None:
    body = """
    elect.sync %r2|%p1, 0xffffffff;
    selp.b32 %r3, 100, 200, %p1;
    add.u32 %r3, %r3, %r2;
    st.global.u32 [%d2], %r3;"""
    made = emulate("", np.zeros(32, np.uint32), text=ptx_kernel(body))
    np.testing.assert_array_equal(made.arrays[0], [100] + [200] * 31)


def test_labels_of_two_braces_may_have_one_name() -> None:
    turn = "{ .reg .pred %p1; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %s; @%p1 bra L; @!%p1 bra DONE; DONE: }"
    body = f"mov.u32 %r2, 0; {turn.replace('%s', '5')} {turn.replace('%s', '9')} st.global.u32 [%d2], %r2;"
    made = emulate("", np.zeros(32, np.uint32), text=ptx_kernel(body))
    np.testing.assert_array_equal(made.arrays[0], [9] * 32)


LOAD = r"""asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
    : "=r"(x) : "r"((unsigned)__cvta_generic_to_shared(s + t % 8 * 4)));"""


def divergences(body: str) -> list[str]:
    """Say what is wrong with two warps of threads ``i``, of lane ``t``, that compute ``x`` and store it."""
    source = f"""
    extern "C" __global__ void f(unsigned* out, unsigned n) {{
        __shared__ unsigned s[64];
        const unsigned i = threadIdx.x, t = i % 32;
        unsigned x = s[i] = i;
        __syncthreads();
        {body}
        out[i] = x;
    }}"""
    found = emulate(source, np.zeros(64, np.uint32), np.uint32(40), block=(64,)).violations
    assert {each.kind for each in found} <= {"divergent-barrier"}
    return [each.message for each in found]


@pytest.mark.parametrize(
    "call",
    [
        "__syncwarp()",
        "x = __shfl_xor_sync(~0u, x, 2)",
        "x = __any_sync(~0u, x)",
        "x = __match_any_sync(~0u, x)",
        "x = __reduce_add_sync(~0u, x)",
    ],
)
def test_a_lane_that_others_wait_for_must_not_go_past(call: str) -> None:
    for condition in ("t % 2", "i < 40 && t != 0"):
        (message,) = divergences(f"if ({condition}) {call};")
        assert message.startswith("thread (1, 0) of block (0, 0) comes to ")
        assert "with the mask 0xffffffff, and lane 0, which that names, goes on behind it without coming" in message
    assert len(divergences(f"for (unsigned p = 0; p < n; ++p) if (t % 2) {call};")) == 1
    assert "lane 4, " in divergences(f"for (unsigned p = t; p < 100; p += 32) {{ {call}; }}")[0]


@pytest.mark.parametrize(
    "body",
    [
        "if (i >= n) return; __syncwarp();",  # who has left is not waited for
        "if (i >= n) { out[i] = 7; out[0] = 1; return; } x = __reduce_add_sync(~0u, x);",
        "if (i < n) { __syncwarp(); out[i] = x; } if (i >= n || t) return;",
        "for (unsigned p = 0; p < n; ++p) { __syncwarp(); if (p == t) return; }",
        "if (i < 32) x = __shfl_xor_sync(~0u, x, 2);",  # of whole warps
        "if (t % 2) __syncwarp(0xAAAAAAAA); else x += 5;",
        "if (t % 2) { ++x; __syncwarp(); } else { x += s[i ^ 1]; __syncwarp(); }",  # from two places
        "if (t < 16) x = __reduce_add_sync(0xFFFF, x); else x = __any_sync(0xFFFF0000, x);",
        "if (t % 3) x = __shfl_sync(__activemask(), x, 5);",
        "if (i < 32) { " + LOAD + " }",
    ],
)
def test_lanes_may_leave_or_come_by_other_ways(body: str) -> None:
    assert divergences(body) == []


def test_lanes_that_wait_for_each_other_execute_the_same_instruction() -> None:
    for one, other in (("x = __shfl_xor_sync(~0u, x, 2)", "__syncwarp()"), ("x = __any_sync(~0u, x)", "__syncwarp()")):
        messages = divergences(f"if (t % 2) {one};\nelse {{ {other}; ++x; }}")
        assert len(messages) == 2
        assert all("they must execute the same instruction" in message for message in messages)


@pytest.mark.parametrize(
    "body",
    [
        f"if (t < 16) {{ {LOAD} }}",
        f"if (t == 31) return; {LOAD}",
        f"if (t < 16) {{ {LOAD} }} else {{ __syncwarp(); ++x; }}",
    ],
)
def test_all_lanes_of_a_warp_load_a_matrix_together(body: str) -> None:
    (message,) = divergences(body)
    assert "executes ldmatrix.sync.aligned.m8n8.x1.shared.b16 without all threads of its warp" in message
