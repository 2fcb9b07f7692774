"""Reading PTX: scopes, literals, labels and source lines, as NVRTC and inline assembly write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundLaunch
from mmcore.errors import DeviceError
from mmcore.kernel.launch import Launch
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.errors import PtxError, UnsupportedInstruction
from mmcore_emulator.executor.translate import translate
from mmcore_emulator.ptx.reader import parse
from mmcore_emulator.ptx.types import Constant
from tests.emulation import emulate, function_of, ptx_kernel, words


def literal(text: str) -> Any:
    return function_of(ptx_kernel(f"mov.b64 %d3, {text};")).body[-2].operands[1]


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("0", 0),
        ("42", 42),
        ("-1", 2**64 - 1),
        ("0x1F", 31),
        ("0XfU", 15),
        ("0b101", 5),
        ("017", 15),
        ("-0x10", 2**64 - 16),
        ("18446744073709551615", 2**64 - 1),
    ],
)
def test_an_integer_is_read_in_its_base(text: str, bits: int) -> None:
    assert literal(text) == Constant(bits)


@pytest.mark.parametrize("text", ["08", "0b2", "0x", "1e5", "abc", "²", "1_0"])
def test_what_is_no_integer_is_not_taken_for_one(text: str) -> None:
    with pytest.raises((PtxError, UnsupportedInstruction)):
        translate(function_of(ptx_kernel(f"mov.b64 %d3, {text};")))


@pytest.mark.parametrize("offset", ["8", "0x8", "010", "0b1000"])
def test_an_address_may_be_offset_in_any_base(offset: str) -> None:
    run = words(f"st.global.u32 [%d1+{offset}], 7;", block=(1,))
    assert run.arrays[0].tolist() == [0, 0, 7, *(0,) * 29]


def test_the_bits_of_a_nan_literal_are_kept() -> None:
    run = words("mov.f32 %f1, 0f7F812345; st.global.f32 [%d2], %f1;", block=(1,))
    assert run.arrays[0][0] == 0x7F812345


def test_an_inner_scopes_registers_are_its_own() -> None:
    body = """
    { .reg .b32 t; .reg .b32 %r<3>; mov.b32 t, 1; mov.b32 %r1, 50;
      { .reg .b32 t; mov.b32 t, 2; }
      mov.b32 %r2, t; { .reg .b32 %r<3>; mov.b32 %r2, 9; } mad.lo.u32 %r1, %r1, %r2, t; mov.b32 %r19, %r1; }
    add.u32 %r19, %r19, %r1;
    st.global.u32 [%d2], %r19;"""
    assert words(body).arrays[0].tolist() == [51 + thread for thread in range(32)]


def test_a_guard_may_be_a_register_that_inline_assembly_declares() -> None:
    body = "{ .reg .pred p; setp.gt.u32 p, %r1, 29; @p st.global.u32 [%d2], 1; @!p st.global.u32 [%d2], 2;; }"
    assert words(body).arrays[0].tolist() == [2] * 30 + [1] * 2


def test_a_label_that_stands_twice_is_refused() -> None:
    with pytest.raises(PtxError, match="label L stands twice in f"):
        function_of(ptx_kernel("{ bra L; L: mov.u32 %r2, 1; L: }"))


def test_a_line_of_a_header_is_told_by_the_line_that_calls_it() -> None:
    body = """
    .loc 1 20 3
    .loc 2 489 9, function_name $L__info_string0, inlined_at 1 20 3
    .loc 3 87 13, function_name $L__info_string1, inlined_at 2 489 9
    add.xx.f32 %f1, %f1, %f1;"""
    files = '.file 2 "/cuda/include/outer.h"\n.file 3 "/cuda/include/inner.h"\n'
    with pytest.raises(UnsupportedInstruction, match=r"add\.xx\.f32 \(test\.cu:20\)$"):
        translate(function_of(ptx_kernel(body, module=files)))


def test_a_line_of_the_same_file_is_its_own_wherever_it_was_inlined() -> None:
    body = ".loc 1 20 3\n.loc 1 4 3, function_name $L__info_string0, inlined_at 1 20 3\nadd.xx.f32 %f1, %f1, %f1;"
    with pytest.raises(UnsupportedInstruction, match=r"\(test\.cu:4\)$"):
        translate(function_of(ptx_kernel(body)))


@pytest.mark.parametrize(
    "statement",
    [
        "setp.eq %p1, %r1, %r1;",
        "cvt.u32 %r2, %r1;",
        "cvta %d3, %d1;",
        "mov %d3, %d1;",
        "mov.b32 %r2, {%h1, %h2, %h3};",
        "mov.b32 %r2, 0d3FF0000000000000;",
        "ld.global.u32;",
        "ld.global.u32 %r2, [%d1], %r1;",
        "st.global.u32 [%d1];",
        "st.param.u32 [f_param_0], %r1;",
        "red.global.add.u32 [%d1];",
        "red.global.add.bf16 [%d1], %h1;",
        "bra;",
        "shf..wrap.b32 %r2, %r1, %r1, %r1;",
        "shf.lr.wrap.b32 %r2, %r1, %r1, %r1;",
    ],
)
def test_a_malformed_instruction_is_refused(statement: str) -> None:
    with pytest.raises((PtxError, UnsupportedInstruction)):
        translate(function_of(ptx_kernel(statement)))


def test_shared_arrays_of_a_modules_other_functions_take_no_room() -> None:
    module = ".shared .align 4 .b8 mine[64];\n.shared .align 4 .b8 theirs[4096];"
    layout = translate(function_of(ptx_kernel("mov.u32 %r2, mine;", module=module))).layout
    assert [nbytes for _, nbytes in layout.shared] == [64]


def launch(directives: str, *block: int) -> None:
    emulator = Emulator()
    text = ptx_kernel("st.global.u32 [%d2], %r1;", directives=directives)
    program = emulator.load(CompiledModule("sm_90", "test.cu", {}, b"", text))
    buffer = emulator.allocate("A", 4096)
    function = CompiledFunction("f", 16, 0, 0)
    assert program.run([BoundLaunch(function, Launch(grid=(1,), block=block), (buffer,))]) == []


@pytest.mark.parametrize("directives", ["", ".maxntid 64, 1, 1", ".maxntid 64\n.reqntid 8, 8", ".minnctapersm 2"])
def test_a_kernel_runs_in_the_blocks_it_is_made_for(directives: str) -> None:
    launch(directives, 8, 8)


@pytest.mark.parametrize(
    ("directives", "reason"),
    [
        (".maxntid 63, 1, 1", "at most 63 threads; a 8×8 block has 64"),
        (".reqntid 16, 8", "exactly 128 threads; a 8×8 block has 64"),
    ],
)
def test_a_kernel_does_not_run_in_blocks_it_is_not_made_for(directives: str, reason: str) -> None:
    with pytest.raises(DeviceError, match=f"f is made for blocks of {reason}"):
        launch(directives, 8, 8)


def test_functions_are_told_apart_by_their_symbols() -> None:
    text = ptx_kernel("st.global.u32 [%d2], 1;") + ptx_kernel("st.global.u32 [%d2], 2;").replace(" f(", " g(")
    assert set(parse(text)) == {"f", "g"}


def test_a_kernel_compiled_for_debugging_does_the_same() -> None:
    source = """
    extern "C" __global__ void f(int* out) {
        int sum = 0;
        for (int i = 0; i < (int)threadIdx.x; ++i) sum += i * i;
        out[threadIdx.x] = sum;
    }"""
    out = emulate(source, np.zeros(32, np.int32), options=["-G"]).arrays[0]
    assert out.tolist() == [sum(i * i for i in range(thread)) for thread in range(32)]
