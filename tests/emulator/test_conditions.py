"""The comparisons of PTX whose operands are known before a launch, and what they can be in several launches."""

from __future__ import annotations

import struct

import pytest

from mmcore_emulator.conditions.expressions import conditions
from mmcore_emulator.conditions.outcomes import LaunchValues, UnknownValue, outcomes
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.ptx.instructions import Register
from tests.emulation import function_of

TEXT = """
.version 8.8
.target sm_90
.address_size 64
.visible .entry f(.param .u64 out, .param .u32 m, .param .u64 k, .param .align 4 .b8 s[12])
{{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;
    ld.param.u32 %r1, [m];
    ld.param.u64 %d1, [out];
    {body}
    ret;
}}"""


def launch(grid: tuple[int, int], threads: int, m: int, k: int) -> LaunchValues:
    parameters = {"out": bytes(8), "m": struct.pack("i", m), "k": struct.pack("q", k), "s": struct.pack("3i", 7, m, -m)}
    return LaunchValues(Dim3(*grid, 1), Dim3(threads, 1, 1), parameters)


LAUNCHES = (launch((1, 1), 16, 5, 1), launch((3, 2), 32, 16, 2**33), launch((40, 1), 64, 100, -1))
TESTED = Register("%p1", "pred")
LETTERS = {(True, False): "T", (False, True): "F", (True, True): "B"}


def seen(body: str) -> str:
    """Return a letter for each launch of the comparison that sets %p1: true, false or both; "" if it is not known."""
    known = [each for each in conditions(function_of(TEXT.format(body=body))) if each.at.operands[0] == TESTED]
    if not known:
        return ""
    either = outcomes(known[0], LAUNCHES)
    return "".join(LETTERS[bool(true), bool(false)] for true, false in zip(*either, strict=True))


ROWS = {
    "a parameter": ("setp.gt.s32 %p1, %r1, 15;", "FTT"),
    "a selection without a branch": ("setp.gt.s32 %p1, %r1, 15; selp.f32 %f1, 0f3F800000, 0f00000000, %p1;", "FTT"),
    "a parameter of 8 bytes": ("ld.param.u64 %d2, [k]; setp.gt.s64 %p1, %d2, 4294967296;", "FTF"),
    "an unsigned comparison": ("ld.param.u64 %d2, [k]; setp.gt.u64 %p1, %d2, 4294967296;", "FTT"),
    "a member of a struct": ("ld.param.u32 %r2, [s+4]; setp.ge.s32 %p1, %r2, 16;", "FTT"),
    "two members at once": ("ld.param.v2.u32 {%r2, %r3}, [s+4]; setp.lt.s32 %p1, %r3, -5;", "FTT"),
    "a remainder": ("rem.s32 %r2, %r1, 48; setp.eq.s32 %p1, %r2, 4;", "FFT"),
    "a widened product": ("mul.wide.s32 %d2, %r1, 4; setp.ge.s64 %p1, %d2, 64;", "FTT"),
    "a complement": ("setp.gt.s32 %p2, %r1, 15; setp.gt.and.s32 %p1, %r1, 4, !%p2;", "TFF"),
    "the grid": ("mov.u32 %r2, %nctaid.x; setp.gt.u32 %p1, %r2, 2;", "FTT"),
    "a block inside the grid": ("mov.u32 %r2, %ctaid.x; setp.eq.u32 %p1, %r2, 17;", "FFB"),
    "the last block": ("mov.u32 %r2, %ctaid.y; setp.eq.u32 %p1, %r2, 1;", "FBF"),
    "a thread's row": (
        "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r2, %r3, %r4;"
        "setp.ge.s32 %p1, %r5, %r1;",
        "BBB",
    ),
    "a lane, and a size": ("mov.u32 %r2, %laneid; setp.lt.u32 %p1, %r2, %r1;", "BBT"),
    "a counter, at first and at its limit": (
        "mov.u32 %r2, 0; again: setp.gt.s32 %p1, %r2, 15;"
        "add.s32 %r2, %r2, 1; setp.lt.s32 %p2, %r2, %r1; @%p2 bra again;",
        "FBB",
    ),
    "a counter whose next value is compared": (
        "mov.u32 %r2, 0; again: setp.gt.s32 %p1, %r2, 15;"
        "add.s32 %r3, %r2, 1; mov.u32 %r2, %r3; setp.lt.s32 %p2, %r3, %r1; @%p2 bra again;",
        "FBB",
    ),
    "two definitions": (
        "mov.u32 %r2, 3; setp.gt.s32 %p2, %r1, 50; @%p2 bra on; mov.u32 %r2, %r1; on: setp.lt.s32 %p1, %r2, 4;",
        "BBB",
    ),
    "memory": ("ld.global.u32 %r2, [%d1]; setp.lt.s32 %p1, %r2, %r1;", ""),
    "threads alone": ("mov.u32 %r2, %tid.x; setp.eq.u32 %p1, %r2, 3;", ""),
    "real numbers": ("cvt.rn.f32.s32 %f1, %r1; setp.gt.f32 %p1, %f1, 0f41800000;", ""),
}


@pytest.mark.parametrize(("body", "expected"), ROWS.values(), ids=ROWS)
def test_the_outcomes_of_a_comparison_are_known_before_the_launches(body: str, expected: str) -> None:
    assert seen(body) == expected


@pytest.mark.parametrize("operand", ["mov.u32 %r2, %smid;", "ld.param.u32 %r2, [s+12];"])
def test_the_processors_number_and_what_lies_behind_a_parameter_are_unknown(operand: str) -> None:
    with pytest.raises(UnknownValue):
        seen(f"{operand} setp.lt.u32 %p1, %r2, %r1;")
