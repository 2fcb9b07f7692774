"""PTX statements of every family, right and wrong, and the ones that ptxas refuses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from cuda.bindings import nvrtc

from tests.emulator.templates import expanded, template_file

REGISTERS = """.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .f64 %g<9>;
.reg .b128 %q<9>;"""
_PREFIX = {
    **dict.fromkeys(("f16", "bf16", "b16", "u16", "s16", "u8", "s8", "e4m3x2", "e5m2x2"), "h"),
    **dict.fromkeys(("b64", "u64", "s64"), "d"),
    **dict(zip(("f32", "f64", "pred", "b128"), "fgpq", strict=True)),
}


def ptxas_refuses(statements: Sequence[str], architecture: str) -> set[str]:
    """Return the statements that ptxas refuses for an architecture such as "90a"."""
    refused: set[str] = set()
    while rest := [each for each in statements if each not in refused]:
        ptx, log = (_compiled(rest, f"-arch={kind}_{architecture}")[kind == "sm"] for kind in ("compute", "sm"))
        lines = ptx.splitlines()
        found = {lines[int(number) - 1].strip() for number in re.findall(r"line (\d+); (?:error|fatal)", log)}
        if not found:
            assert "error" not in log, log
            return refused
        assert found <= {*rest}, log
        refused |= found
    return refused


def _compiled(statements: Sequence[str], option: str) -> tuple[str, str]:
    """Return the PTX of inline assembly, with a line for each statement, and the compiler's log."""
    lines = "\\n".join(["{", *REGISTERS.splitlines(), *statements, "}"])
    source = f'extern "C" __global__ void f() {{ asm volatile("{lines}"); }}'
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"test.cu", 0, [], [])
    nvrtc.nvrtcCompileProgram(program, 2, [option.encode(), b"--no-cache"])
    texts = []
    for what in ("PTX", "ProgramLog"):
        _, size = getattr(nvrtc, f"nvrtcGet{what}Size")(program)
        text = bytes(size)
        getattr(nvrtc, f"nvrtcGet{what}")(program, text)
        texts.append(text.decode())
    return texts[0], texts[1]


def statements(templates: str) -> list[str]:
    """Return the statements of templates, which are complete or an opcode with the types of its registers.

    For example ``add.<u32|s64> $1 $1 $1`` gives ``add.u32 %r1, %r2, %r3;`` and ``add.s64 %d1, %d2, %d3;``. In complete
    statements, ``{f32}2`` is the second register of a type.
    """
    made = []
    for text in expanded(templates):
        if text.endswith(";"):
            made.append(re.sub(r"\{(\w+)\}(\d)", lambda found: f"%{_PREFIX.get(found[1], 'r')}{found[2]}", text))
        else:
            opcode, *types = text.split()
            registers = (f"%{_PREFIX.get(kind, 'r')}{place}" for place, kind in enumerate(types, start=1))
            made.append(f"{opcode} {', '.join(registers)};")
    return list(dict.fromkeys(made))


_SPACES = (
    {"SPACE": "<|.global|.const>", "PLACE": "[%d1]"},
    {"SPACE": "<.shared|.shared::cta|.shared::cluster|.local>", "PLACE": "[%r1]"},
)
_PARAMETERS = {"SPACE": "<.param|.param::entry>", "PLACE": "[%r1]"}
_HINTS = ({"HINT": "", "POLICY": ""}, {"HINT": ".L2::cache_hint", "POLICY": ", %d8"})


def _listed(letter: str, count: int) -> str:
    return f"{{{', '.join(f'%{letter}{number}' for number in range(1, count + 1))}}}"


_BOXES = [
    {"AXES": f"{axes}d", "BOX": f"[%d1, {_listed('r', axes)}]", "OFFSETS": _listed("h", max(axes - 2, 1))}
    for axes in range(1, 6)
]
_COMMON = {
    "ORDER": "<|.weak|.volatile|.relaxed.gpu|.acquire.cluster|.release.sys|.mmio.relaxed.sys>",
    "COMPLETE": "mbarrier::complete_tx::bytes",
    "MANY": "mbarrier::complete_tx::bytes.multicast::cluster",
    "REDUCTION": "<add|min|inc|xor>.<u32|s32|u64|s64|b32|f32>",
    "LANES": "{%r1, %r2, %r3, _}",
}
_GROUPS: dict[str, tuple[Sequence[Mapping[str, str]], Sequence[Mapping[str, str]]]] = {
    "copies": ([{}], _HINTS),
    "loads": ([*_SPACES, _PARAMETERS], _HINTS),
    "stores": (_SPACES, _HINTS),  # NVRTC 13.5 crashes on some stores to parameters
    "tensor_copies": (_BOXES, _HINTS),
    "others": ([{}], [{}]),
    "im2col": (_BOXES[1:], _HINTS),
    "wmma_of_bits": ([{}], [{}]),
}
"""Replacements in each file of templates."""


def accesses(*files: str) -> list[str]:
    """Return the statements of files of templates, with and without their optional operands."""
    made = []
    for name in files:
        for replacements in itertools.product([_COMMON], *_GROUPS[name]):
            text = template_file(name)
            for old, new in itertools.chain(*(each.items() for each in replacements)):
                text = text.replace(old, new)
            made += statements(text)
    return list(dict.fromkeys(made))
