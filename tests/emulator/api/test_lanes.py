"""The threads that a report names of barriers in branches."""

from __future__ import annotations

import numpy as np

from mmcore_emulator import Report, launch


def report(body: str, *, block: tuple[int, ...]) -> Report:
    source = f'extern "C" __global__ void f(float* out) {{\n{body}\n}}'
    return launch(source, "f", grid=1, block=block, args=(np.zeros(64, np.float32),))


def test_threads_of_a_torn_warp_are_named_where_they_wait_and_no_others() -> None:
    body = """
    if (threadIdx.x < 16) {
        out[threadIdx.x] = 1; asm volatile("bar.sync 0;");
    } else {
        out[threadIdx.x] = 2; asm volatile("bar.sync 0;");
    }"""
    found = {(each.kind, each.line, each.count) for each in report(body, block=(64,)).hazards}
    assert found == {("divergent-barrier", 4, 16), ("divergent-barrier", 6, 16)}


def test_barriers_of_two_lines_at_which_warps_meet_are_a_warning_in_either_order() -> None:
    body = """
    if (threadIdx.x {} 32) {{
        out[threadIdx.x] = 1; __syncthreads();
    }} else {{
        out[threadIdx.x] = 2; __syncthreads();
    }}"""
    for less in ("<", ">="):
        warnings = report(body.format(less), block=(64,)).warnings
        assert {(each.kind, each.line) for each in warnings} == {("split-barrier", 4), ("split-barrier", 6)}
