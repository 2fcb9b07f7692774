"""Values that were never set: reported where the output or a branch depends on them, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore_emulator import launch
from mmcore_emulator.machine.violations import Violation

KERNEL = """extern "C" __global__ void f(float* out, const float* in, int k, unsigned bits) {{
    int i = threadIdx.x;
    {body}
}}"""
# Thread i sets all elements of a local array but element 7. k is 40, bits is 0xff.
LOCAL = "volatile float t[8]; for (int q = 0; q < 7; ++q) t[q] = q;"
SHARED = "__shared__ volatile float s[32];"
# Thread 31 leaves its element unset.
UNWRITTEN = f"{SHARED} if (i < 31) s[i] = in[i]; __syncthreads();"

HAZARDS = {
    "stored": f"{LOCAL} out[i] = t[(k + 7) % 8];",
    "stored after arithmetic": f"{LOCAL} out[i] = fmaf(t[(k + 7) % 8], 0.0f, in[i]);",
    "a comparison chooses": f"{LOCAL} out[i] = t[(k + 7) % 8] > 1e30f ? 1.0f : 2.0f;",
    "a branch": f"{LOCAL} if (t[(k + 7) % 8] > 1.0f) out[i] = __sinf(in[i]); else __trap();",
    "from another lane": f"{LOCAL} out[i] = __shfl_xor_sync(~0u, t[(k + 7) % 8], 1);",
    "through shared memory": f"{LOCAL} {SHARED} s[i] = t[(k + 7) % 8]; __syncthreads(); out[i] = s[31 - i];",
    "through local memory": f"{LOCAL} volatile float u[2]; u[k % 2] = t[(k + 7) % 8]; u[1] = 0; out[i] = u[k % 2];",
    "one byte": "volatile unsigned char b[4]; b[0] = b[1] = b[2] = 1; out[i] = *(volatile unsigned*)b;",
    "the low bits": f"{LOCAL} unsigned u = __float_as_uint(t[(k + 7) % 8]); out[i] = u & bits;",
    "shifted": f"{LOCAL} unsigned u = __float_as_uint(t[(k + 7) % 8]); out[i] = u >> (k - 30);",
    "converted": f"{LOCAL} out[i] = (float)(int)t[(k + 7) % 8];",
    "unwritten shared memory": f"{UNWRITTEN} out[i] = s[31 - i];",
    "unwritten times 0": f"{UNWRITTEN} out[i] = fmaf(s[31 - i], 0.0f, in[i]);",
    "a branch by unwritten memory": f"{UNWRITTEN} if (s[31 - i] > 1.0f) out[i] = __sinf(in[i]); else __trap();",
    "an address": f"{UNWRITTEN} int at = __float_as_int(s[31 - i]); out[i] = in[at & 31];",
    "added in memory": f"{UNWRITTEN} atomicAdd(out + i, s[31 - i]);",
    "unwritten vector": "__shared__ float2 v[32]; if (i < 31) v[i].x = k; __syncthreads(); out[i] = v[31 - i].y;",
}
RIGHT = {
    "set": f"{LOCAL} out[i] = t[(k + 6) % 8];",
    "read and dropped": f"{LOCAL} float x = t[(k + 7) % 8]; out[i] = k == 40 ? 1.0f : x;",
    "masked out": f"{LOCAL} unsigned u = __float_as_uint(t[(k + 7) % 8]); out[i] = u & (bits - 255);",
    "masked in": f"{LOCAL} unsigned u = __float_as_uint(t[(k + 7) % 8]); out[i] = u | (bits - 256);",
    "shifted out": f"{LOCAL} unsigned u = __float_as_uint(t[(k + 7) % 8]); out[i] = u >> (k - 40) << 31 << 1;",
    "set later": f"{LOCAL} t[(k + 7) % 8] = 1; out[i] = t[7];",
    "set in shared memory": f"{SHARED} s[i] = in[i]; __syncthreads(); out[i] = s[31 - i];",
    "other lanes": f"{LOCAL} float x = i < 16 ? t[(k + 7) % 8] : 1.0f; if (i >= 16) out[i] = x;",
    "other bytes": "volatile unsigned char b[4]; b[0] = b[1] = 1; out[i] = *(volatile unsigned short*)b;",
    "unwritten and dropped": f"{UNWRITTEN} float x = s[31 - i]; if (i > 0) out[i] = x;",
    "unwritten, and not chosen": f"{UNWRITTEN} float x = s[31 - i]; out[i] = i > 0 ? x : 1.0f;",
    "the same either way": f"{LOCAL} out[i] = t[(k + 7) % 8] > 1e30f ? in[k - 40] : in[0];",
}


def hazards(body: str) -> tuple[Violation, ...]:
    out, numbers = np.zeros(32, np.float32), np.ones(64, np.float32)
    arguments = (out, numbers, 40, np.uint32(0xFF))
    return launch(KERNEL.format(body=body), "f", grid=1, block=32, args=arguments).hazards


@pytest.mark.parametrize("body", HAZARDS.values(), ids=HAZARDS)
def test_an_output_that_depends_on_an_unset_value_is_reported_with_its_line(body: str) -> None:
    kinds = {(each.kind, each.line) for each in hazards(body) if each.kind != "trap"}
    assert kinds == {("uninitialized-read", 3)}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_an_unset_value_without_effect_on_the_output_is_no_hazard(body: str) -> None:
    assert hazards(body) == ()
