"""The order in which wgmma instructions read B: K-major tiles are those of a B that is stored by columns."""

from __future__ import annotations

import re

_INSTRUCTION = re.compile(r"wgmma\.mma_async[^;]*;")
_TYPE_OF_B = re.compile(r"\.(\w+)\s*$")
_WITH_ORDER = ("f16", "bf16")  # other types have no imm-trans-b: their tiles are K-major
_OPERANDS = re.compile(r'"[=+&]*[a-z]"\s*\(')
_CONSTANT = re.compile(r'[^;]*"n"\s*\(\s*(?:(?:\w+\s*|\(\s*int\s*\)\s*)\(?)??(\w+)\s*\)*\s*\)\s*(?::[^:;]*)?;')
_TEMPLATE = re.compile(r"template\s*<([^<>]*)>[^;{}]*?\b(\w+)\s*\([^;{}]*\)\s*\{")
_CUTE = re.compile(r"_[SR]S\s*<\s*(?:\w+::)*Major::\w+\s*,\s*(?:\w+::)*Major::(\w+)")
_MOST_CALLS = 4  # of templates that pass the number on


def is_b_k_major(text: str) -> bool:
    """Return whether all wgmma instructions of a text without comments read K-major tiles of B."""
    orders = [_is_k_major(text, match) for match in _INSTRUCTION.finditer(text)]
    orders += [match[1] == "K" for match in _CUTE.finditer(text)]
    return bool(orders) and all(orders)


def _is_k_major(text: str, instruction: re.Match[str]) -> bool:
    """Return whether an instruction's imm-trans-b is 0, or is lacking; False if its value is unknown."""
    words = re.sub(r'\\[nt]|"', " ", instruction[0])
    of_b = _TYPE_OF_B.search(words.partition("{")[0])
    if of_b is None or of_b[1] not in _WITH_ORDER:
        return of_b is not None
    last = words.rstrip("; ").rpartition(",")[2].strip()
    if not last.startswith("%"):
        return last == "0"
    constant = _CONSTANT.match(text, instruction.end())  # the last operand
    if constant is None or last != f"%{len(_OPERANDS.findall(constant[0])) - 1}":
        return False
    return _is_zero(text, instruction.start(), constant[1])


def _is_zero(text: str, place: int, number: str, calls: int = _MOST_CALLS) -> bool:
    """Return whether a number at a place of a text is 0, in all calls of a template that has it as a parameter."""
    if number.isdecimal() or not calls:
        return number == "0"
    templates = [each for each in _TEMPLATE.finditer(text) if each.end() <= place]
    if not templates:
        return False
    parameters, name = templates[-1].groups()
    names = [each.partition("=")[0].split()[-1:] for each in parameters.split(",")]
    if [number] not in names:
        return False
    at = names.index([number])
    uses = [(each.start(), each[1].split(",")) for each in re.finditer(rf"\b{name}\s*<([^<>;]*)>\s*\(", text)]
    return bool(uses) and all(
        at < len(values) and _is_zero(text, start, values[at].strip(), calls - 1) for start, values in uses
    )
