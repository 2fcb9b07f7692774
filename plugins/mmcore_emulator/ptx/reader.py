"""A reader of PTX text, as NVRTC writes it, that returns functions of instructions.

It understands structure only: functions, declarations, labels, operands, source lines. The table in ``isa`` defines
the instructions. Reference: NVIDIA, Parallel Thread Execution ISA.
"""

from __future__ import annotations

import functools
import math
import re

from mmcore_emulator.errors import PtxError
from mmcore_emulator.ptx.calls import with_calls_expanded
from mmcore_emulator.ptx.declarations import module_variables
from mmcore_emulator.ptx.file_names import files_of
from mmcore_emulator.ptx.function_body import FunctionBody, parameter
from mmcore_emulator.ptx.instructions import Function, Parameter
from mmcore_emulator.ptx.types import whole_number

FUNCTIONS = """
.func (.param .b32 count) vprintf(.param .b64 format, .param .b64 arguments)
{
    .reg .b32 %count; .reg .b64 %format, %arguments;
    ld.param.b64 %format, [format];
    ld.param.b64 %arguments, [arguments];
    vprintf %count, %format, %arguments;
    st.param.b32 [count], %count;
    ret;
}
.func __assertfail(
    .param .b64 text, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 character)
{
    .reg .b32 %line; .reg .b64 %text, %file;
    ld.param.b64 %text, [text];
    ld.param.b64 %file, [file];
    ld.param.b32 %line, [line];
    assertfail %text, %file, %line;
    exit;
}
"""
"""Their PTX, with instructions that exist in the emulator only."""


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(\((?P<parameters>[^)]*)\))?(?P<directives>[^{;]*)")
_CALLABLE = re.compile(r"\.func\b(?P<head>[^{;]*)\{")
_HEAD = re.compile(r"(?:\((?P<returns>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?")
_THREADS = re.compile(r"\.(maxntid|reqntid)\s+([\d\s,]+)")
_CLUSTER = re.compile(r"\.reqnctapercluster\s+([\d\s,]+)")


def parse(text: str) -> dict[str, Function]:
    """Return the kernels of a PTX module by symbol, with their calls expanded.

    Raises:
        PtxError: the text cannot be read; the message quotes the statement.
    """
    files = {whole_number(number): path for number, path in files_of(text)}
    text = FUNCTIONS + _COMMENT.sub(" ", text)
    declared = (match for match in _ENTRY.finditer(text) if text[match.end() : match.end() + 1] != ";")
    entries = [(match, *_body(text, match.end())) for match in declared]
    callables = [(match, *_body(text, match.end() - 1)) for match in _CALLABLE.finditer(text)]
    outside = _outside(text, sorted((match.start(), end) for match, _, end in (*entries, *callables)))
    variables = module_variables(outside)
    heads = ((_HEAD.search(match["head"]), begin, end) for match, begin, end in callables)
    # Functions of the oldest ABI, whose parameters are registers, count as unknown.
    bodies = {head["name"]: (head, begin, end) for head, begin, end in heads if head and ".reg" not in head[0]}

    @functools.cache
    def called(name: str) -> Function | None:
        """Return the module's function of that name; it is read at its first call."""
        if name not in bodies:
            return None
        head, begin, end = bodies[name]
        returns, parameters = _parameters(head["returns"] or ""), _parameters(head["parameters"] or "")
        function = Function(name, parameters, dict(variables), returns=returns)
        FunctionBody(function, files).read(text[begin : end - 1])
        return function

    functions: dict[str, Function] = {}
    for match, begin, end in entries:
        parameters = _parameters(match["parameters"] or "")
        directives = match["directives"]
        function = Function(match[1], parameters, dict(variables), _threads(directives), _cluster(directives))
        FunctionBody(function, files).read(text[begin : end - 1])
        functions[function.name] = with_calls_expanded(function, called)
    return functions


def _body(text: str, position: int) -> tuple[int, int]:
    """Return the beginning of the text inside the braces at ``position``, and the end of the braces."""
    if text[position : position + 1] != "{":
        raise PtxError("a PTX function has no body")
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return position + 1, brace.end()
    raise PtxError("a PTX function's body does not end")


def _threads(directives: str) -> dict[str, int]:
    limits = _THREADS.findall(directives)
    return {name: math.prod(whole_number(extent) for extent in re.findall(r"\d+", extents)) for name, extents in limits}


def _cluster(directives: str) -> tuple[int, ...]:
    match = _CLUSTER.search(directives)
    extents = [whole_number(extent) for extent in re.findall(r"\d+", match[1])] if match else []
    return (*extents, *[1] * (3 - len(extents))) if extents else ()


def _outside(text: str, spans: list[tuple[int, int]]) -> str:
    kept, position = [], 0
    for begin, end in spans:
        kept.append(text[position:begin])
        position = end
    return " ".join([*kept, text[position:]])


def _parameters(text: str) -> list[Parameter]:
    parameters = [parameter(item) for item in text.split(",") if item.strip()]
    names = [each.name for each in parameters]
    for name in names:
        if names.count(name) > 1:
            raise PtxError(f"PTX parameter {name} is declared twice")
    return parameters
