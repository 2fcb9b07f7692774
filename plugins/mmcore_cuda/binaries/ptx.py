"""The kernel functions of PTX text: parameters and static shared memory. Reference: Parallel Thread Execution ISA."""

from __future__ import annotations

import functools
import re

from mmcore_cuda.binaries.code import Code, CodeFunction, UnreadableCode

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+[af]?)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?[^{;]*\{")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)\b[^,\[]*(?:\[(\d+)\])?")
_SHARED = re.compile(
    r"(?P<extern>\.extern\s+)?\.shared\s+(?:\.align\s+(?P<align>\d+)\s+)?\.[a-z]+(?P<bits>\d+)\s+"
    r"(?P<name>[\w$%]+)\s*(?P<extents>(?:\[\d*\]\s*)*)"
)


@functools.lru_cache(maxsize=64)
def read_ptx(text: str) -> Code:
    """Return the facts in PTX text; raise :class:`UnreadableCode` if it is not PTX."""
    text = _COMMENT.sub(" ", text)
    target = _TARGET.search(text)
    if target is None:
        raise UnreadableCode("PTX has a line such as .target sm_90")
    spans = [(entry, entry.end(), _end(text, entry.end())) for entry in _ENTRY.finditer(text)]
    outside, position = "", 0
    for entry, _, end in spans:
        outside, position = outside + text[position : entry.start()], end
    outside += text[position:]
    functions = {
        entry[1]: CodeFunction(entry[1], _parameter_bytes(entry["parameters"] or ""), _shared(outside, text[begin:end]))
        for entry, begin, end in spans
    }
    return Code(target[1], functions)


def parameter_bytes(text: str, symbol: str) -> tuple[int, ...]:
    """Return the size of each parameter of a kernel function, as its PTX declares them."""
    declaration = re.search(rf"\.entry\s+{re.escape(symbol)}\s*\(([^)]*)\)", text)
    return _parameter_bytes(declaration[1]) if declaration else ()


def _parameter_bytes(declarations: str) -> tuple[int, ...]:
    return tuple(int(bits) // 8 * int(count or 1) for bits, count in _PARAMETER.findall(declarations))


def _end(text: str, position: int) -> int:
    """Return the end of the body that begins at ``position``, after its brace."""
    depth = 1
    for brace in re.compile("[{}]").finditer(text, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    raise UnreadableCode("the body of a function does not end")


def _shared(outside: str, body: str) -> int:
    """Return the bytes of shared memory that a function declares, or uses from its module."""
    size = 0
    used = [
        variable
        for variable in _SHARED.finditer(outside)
        if re.search(rf"(?<![\w$]){re.escape(variable['name'])}\b", body)
    ]
    for variable in (*used, *_SHARED.finditer(body)):
        extents = re.findall(r"\d+", variable["extents"])
        # The size of an array without extents is the launch's.
        if variable["extern"] or (variable["extents"] and not extents):
            continue
        element = int(variable["bits"]) // 8
        align = int(variable["align"] or element)
        size = -(-size // align) * align + element * functools.reduce(int.__mul__, map(int, extents), 1)
    return size
