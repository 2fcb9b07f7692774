"""Arguments that a kernel with a line of its PTX changed computes the same as before, at one size.

An argument is a run: the kernel gets a trap, which must never be reached, before the line that is changed. The trap is
conditional on registers, so that a proof of this kernel also shows that no value of A or B could reach it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mmcore_cuda.binaries.code import sections_of
from mmcore_cuda.binaries.compiler import linked

SAME_CODE = "ptxas makes the same machine code of both"
NOT_EXECUTED = "no thread executes the instruction at this size"
SAME_ADDRESS = "both addresses are the same in all threads at this size"
SAME_RESULT = "both instructions have the same result in all threads at this size"
SAME_OPERAND = "both registers have the same value in all threads at this size"

_INSTRUCTION = re.compile(r"^(?P<guard>@!?%p\d+\s+)?(?P<opcode>\S+)\s+(?P<operands>[^;]*);")
_PURE = re.compile(
    r"(?:add|sub|mul|mad|shl|shr|shf|and|or|xor|not|neg|abs|min|max|div|rem|mov|cvta?|setp|selp|bfe|bfi|lop3|prmt)\b"
)
_ADDRESS = re.compile(r"\[(?P<base>%r[d]?\d+)(?:\+(?P<offset>-?\d+))?\]")
_TYPES = {"%r": "b32", "%rd": "b64", "%rs": "b16", "%p": "pred"}


def argument(ptx: str, line: int, old: str, new: str, proves: Callable[[str], bool]) -> str:
    """Return an argument that a line may be replaced by another; "" if none was found.

    ``proves`` returns True if a proof of other PTX of the same kernel succeeds, with no violation on its way.
    """
    lines = ptx.splitlines()
    changed = [*lines[: line - 1], lines[line - 1].replace(old, new), *lines[line:]]
    if (code := _code("\n".join(changed))) and code == _code("\n".join(lines)):
        return SAME_CODE
    for text, before in _traps(old, new):
        if proves("\n".join([*lines[: line - 1], *before, *lines[line - 1 :]]) + "\n"):
            return text
    return ""


def _code(ptx: str) -> list[tuple[str, bytes]]:
    """Return the sections of code and constants of a kernel's machine code; none without nvJitLink."""
    cubin = linked(ptx, "90a")[0]
    sections = sections_of(cubin) if cubin else ()
    return [(name, section.content) for name, section in sections if name.startswith((".text", ".nv.constant"))]


def _traps(old: str, new: str) -> Iterator[tuple[str, list[str]]]:
    """Yield arguments, each with the instructions that trap where it does not hold."""
    one, other = _INSTRUCTION.match(old), _INSTRUCTION.match(new)
    if not one or not other:
        return
    guard = one["guard"] or ""
    if guard != (other["guard"] or ""):
        yield NOT_EXECUTED, ["trap;"]
        return
    yield NOT_EXECUTED, [f"{guard}trap;"]
    if _ADDRESS.sub("", old) == _ADDRESS.sub("", new):
        two = [[each["base"], each["offset"] or "0"] for each in map(_ADDRESS.search, (old, new)) if each]
        if two and {_kind(base) for base, _ in two} <= {"b32", "b64"}:
            kind = _kind(two[0][0])
            values = [f"add.s{kind[1:]} {{}}, {base}, {offset};" for base, offset in two]
            yield SAME_ADDRESS, _differ(kind, guard, values)
        return
    target = re.match(r"(%[a-z]+\d+)\s*,", one["operands"])
    if target and (kind := _kind(target[1])) and _PURE.match(one["opcode"]):
        both = [f"{each['opcode']} {{}}{each['operands'].removeprefix(target[1])};" for each in (one, other)]
        yield SAME_RESULT, _differ(kind, guard, both)
    pairs = zip(*(re.findall(r"%[a-z]+\d+", each["operands"]) for each in (one, other)), strict=True)
    different = [pair for pair in pairs if pair[0] != pair[1]]
    if len(different) == 1 and (kind := _kind(different[0][0])):
        yield SAME_OPERAND, _differ(kind, guard, [f"mov.{kind} {{}}, {each};" for each in different[0]])


def _kind(register: str) -> str:
    """Return the type of an integer register or a predicate, by its name; "" for others."""
    return _TYPES.get(register.rstrip("0123456789"), "")


def _differ(kind: str, guard: str, values: list[str]) -> list[str]:
    """Return instructions that trap if two instructions, each with a place for its result, have different results."""
    a, b, differs = "%mm_a", "%mm_b", "%mm_differs"
    zeros = [f"setp.ne.s32 {each}, 0, 0;" if kind == "pred" else f"mov.{kind} {each}, 0;" for each in (a, b)]
    compared = f"xor.pred {differs}, {a}, {b};" if kind == "pred" else f"setp.ne.{kind} {differs}, {a}, {b};"
    made = [guard + value.replace("{}", each, 1) for value, each in zip(values, (a, b), strict=True)]
    return ["{", f".reg .{kind} {a}, {b};", f".reg .pred {differs};", *zeros, *made, compared, f"@{differs} trap;", "}"]
