"""Reading PTX: literals, functions, declarations of variables, as NVRTC and inline assembly write them."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore_emulator.executor.translation.layout import as_written
from mmcore_emulator.executor.translation.translate import translate
from mmcore_emulator.profiler.by_line import Counting
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx import calls
from mmcore_emulator.ptx.declarations import Variable, module_variables, variable
from mmcore_emulator.ptx.reader import parse
from mmcore_emulator.ptx.types import Constant
from tests.emulation import PtxError, UnsupportedInstruction, emulate, function_of, ptx_kernel, ptx_of, words
from tests.emulator.kernels import kernel_source
from tests.emulator.templates import template_file
from tests.emulator.test_corpus import CORPUS


@pytest.mark.parametrize(
    ("text", "bits"),
    [("0", 0), ("42", 42), ("-1", 2**64 - 1), ("0x1F", 31), ("0XfU", 15), ("0b101", 5), ("017", 15),
     ("-0x10", 2**64 - 16), ("18446744073709551615", 2**64 - 1)],
)  # fmt: skip
def test_an_integer_is_read_in_its_base(text: str, bits: int) -> None:
    assert function_of(ptx_kernel(f"mov.b64 %d3, {text};")).body[-2].operands[1] == Constant(bits)


def test_a_module_may_have_several_kernels_and_arrays_of_its_other_functions() -> None:
    text = ptx_kernel("st.global.u32 [%d2], 1;") + ptx_kernel("st.global.u32 [%d2], 2;").replace(" f(", " g(")
    assert set(parse(text)) == {"f", "g"}
    module = ".shared .align 4 .b8 mine[64];\n.shared .align 4 .b8 theirs[4096];"
    layout = translate(function_of(ptx_kernel("mov.u32 %r2, mine;", module=module))).layout
    assert [nbytes for _, nbytes in layout.shared] == [64]


def test_the_size_of_a_cluster_is_read() -> None:
    source = (CORPUS / "cluster_memory.cu").read_text(encoding="utf-8")
    assert function_of(ptx_of(source, architecture="90a")).cluster == (2, 1, 1)


def test_untyped_registers_may_hold_floats() -> None:
    halved = np.arange(32, dtype=np.float32) / 2 + 2
    expected = np.where(halved > 4, np.float32(-3), halved)
    out = emulate("", np.arange(32, dtype=np.float32), np.uint64(0), text=kernel_source("hand_written.ptx")).arrays[0]
    np.testing.assert_array_equal(out, expected)


# Functions.


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


def chain(functions: int, calls_of_each: int) -> str:
    """Return functions that each call the next one a number of times; the last does nothing."""
    each = " ".join(f".func g{i} () {{ {f'call.uni g{i + 1}, ();' * calls_of_each} ret; }}" for i in range(functions))
    return f"{each} .func g{functions} () {{ ret; }}"


def test_a_kernel_that_calls_too_much_is_refused_where_a_thread_makes_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "LARGEST", 2000)
    call = "setp.eq.u32 %p1, %r1, 31; @%p1 call.uni g0, ();"
    assert words(call, module=chain(6, 2)).violations == []
    for depth, each, words_of_error in (
        (40, 2, r"g\d+, with which the kernel has more than 2000 inst"),
        (400, 1, r"the instruction call\.uni of g\d+, 50 calls deep"),
    ):
        with pytest.raises(UnsupportedInstruction, match=words_of_error):
            words(call, module=chain(depth, each))


def test_a_function_that_is_not_called_is_not_read() -> None:
    module = ".func (.reg .b32 y) g (.reg .b32 x) { nonsense ( ; }"
    assert set(parse(ptx_kernel("", module=module))) == {"f"}


# Variables.


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


@pytest.mark.parametrize("line", template_file("damaged_declarations").splitlines())
def test_a_damaged_declaration_is_refused_in_words(line: str) -> None:
    text, _, reason = line.partition(" => ")
    with pytest.raises(PtxError) as refusal:
        module_variables(text.replace("\\n", "\n"))
    assert reason in str(refusal.value)


def test_a_long_declaration_is_not_quoted_in_full() -> None:
    with pytest.raises(PtxError) as refusal:
        module_variables(f".global .b8 x[9999 = {{{'1, ' * 9999}}};")
    assert len(str(refusal.value)) < 200


def test_the_declarations_of_a_function_are_not_those_of_the_module() -> None:
    text = ".func g(.param .b32 p) { .shared .b32 inner; .reg .b32 %r<2>; ret; }\n.global .b32 x;"
    assert set(parse(ptx_kernel("", module=text))["f"].variables) == {"x"}


def test_a_kernel_may_be_declared_before_a_table_of_kernels() -> None:
    table = ".visible .entry f ( .param .u64 p );\n.global .align 8 .u64 table[1] = {f};"
    assert set(parse(ptx_kernel("", module=table))) == {"f"}


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
        ("_ZZ1kILi12EEvPKfS_E2sA", "sA"),
        ("_Z9templatedILi3EE", "_Z9templatedILi3EE"),
    ],
)
def test_a_variable_has_the_name_that_the_source_gives_it(symbol: str, name: str) -> None:
    assert as_written(symbol) == name
