"""The code that a launch executes, of which compilers make several copies."""

from __future__ import annotations

import pytest

from tests.emulator.loaded import Loaded

RING = """__device__ void put(int *at, int value)
{
    unsigned to = __cvta_generic_to_shared(at);
    asm volatile("st.volatile.shared.s32 [%0], %1;" :: "r"(to), "r"(value) : "memory");
}
extern "C" __global__ void f(int *out, int n)
{
    __shared__ int ring[4];
    int stage = 0;
    for (int step = 0; step < n; ++step) {
        put(&ring[stage], step);
        if (++stage == 4)
            stage = 0;
    }
    if (n > 100)
        out[1] = 1;
    out[0] = ring[0];
}
"""
LATER = (16, False, False)


@pytest.mark.parametrize(
    ("turns", "places"), [(1, [(10, True, True), LATER]), (4, [LATER]), (5, [LATER]), (8, [LATER])]
)
def test_turns_of_an_unrolled_loop_and_lines_that_its_remainder_repeats_are_executed(
    turns: int, places: list[tuple[int, bool, bool]]
) -> None:
    loaded = Loaded(RING)
    loaded.launch(turns)
    (name,) = {source for source, _ in loaded.program.coverage.lines if source.endswith(".cu")}
    missing = loaded.program.coverage.missing(name)
    assert [tuple(each.values())[1:] for each in missing] == places


STRIDED = """extern "C" __global__ void f(int *out, int n)
{
    for (int i = FIRST; i < 32 * TURNS; i += STEP)
        out[i % 32] = i;
}
"""


def turns_missing(source: str, *arguments: int) -> list[tuple[int, bool]]:
    loaded = Loaded(source)
    loaded.launch(*arguments)
    (name,) = {source for source, _ in loaded.program.coverage.lines if source.endswith(".cu")}
    return [(each["line"], each["loop"]) for each in loaded.program.coverage.missing(name)]


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("step", ["32", "blockDim.x"])
def test_a_loop_over_a_block_s_elements_takes_every_turn(turns: int, step: str) -> None:
    source = STRIDED.replace("TURNS", str(turns)).replace("STEP", step).replace("FIRST", "threadIdx.x")
    assert turns_missing(source) == []


@pytest.mark.parametrize(
    ("first", "step"), [("blockIdx.x", "32"), ("threadIdx.x", "n"), ("out[1]", "32"), ("threadIdx.x / n", "32")]
)
def test_a_turn_that_depends_on_the_size_the_grid_or_an_element_is_missing(first: str, step: str) -> None:
    source = STRIDED.replace("TURNS", "1").replace("STEP", step).replace("FIRST", first)
    assert turns_missing(source, 32) == [(3, True)]


CARRIED = """extern "C" __global__ void f(int *out, int n)
{
    int i = threadIdx.x;
    for (int t = 0; t < n; t += 8)
        do {
            out[i % 32] = i;
            i += blockDim.x;
        } while (i % 64 == 0);
}
"""


def test_a_turn_that_depends_on_an_outer_loop_is_missing() -> None:
    assert turns_missing(CARRIED, 8) == [(4, True), (8, True)]
