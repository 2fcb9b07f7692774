"""Arguments of a program that a kernel reads otherwise than the program may mean them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.tree import parse, text_of, walk
from mmcore_sources.cuda_file.inference.roles import ELEMENTS
from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram

_RESPECTS_STRIDES = re.compile(r"\bcontiguous\(|\bis_contiguous\(|\bstrides?\(|packed_accessor")
_TRANSPOSED = ("T", "transpose", "swapaxes")
_CONTIGUOUS = {"CuPy": "cupy.ascontiguousarray({})", "PyTorch": "{}.contiguous()"}


def passed_otherwise(
    program: PythonProgram, text: str, language: str, function: Function, launches: Sequence[PythonLaunch]
) -> Iterator[str]:
    """Yield a sentence for each array or number that does not reach a kernel as the program means it.

    ``text`` is the string with the kernel, which a library of the ``language`` compiles.
    """
    reader = ArrayReader(program)
    for launch in launches:
        for parameter, argument in zip(function.parameters, launch.arguments, strict=False):
            shown = f"line {launch.line} passes {ast.unparse(argument)}"
            array = reader.read(argument, launch.scope, launch.line)
            taken = ELEMENTS.get(parameter.type, "")
            if parameter.pointer and array.dtype and taken and array.dtype != taken:
                yield f"{shown}, an array of {array.dtype}, as {str(parameter)!r}"
            if parameter.pointer and array.by_columns:
                yield f"{shown}, {_by_columns(argument, language)}"
            if language == "CuPy" and taken == "float32" and _is_real(program, argument, launch):
                right = f"numpy.float32({ast.unparse(argument)})"
                yield f"{shown}, which CuPy passes as a double, as {str(parameter)!r}; {right} is right"
    yield from _of_extension(program, text, reader) if language == "PyTorch" else ()


def transposed_views(program: PythonProgram, launches: Sequence[PythonLaunch]) -> Iterator[str]:
    """Yield a sentence for each transposed view that a kernel gets with its strides; a copy by rows is none."""
    reader = ArrayReader(program)
    for launch in launches:
        for argument in launch.arguments:
            if reader.read(argument, launch.scope, launch.line).by_columns and _is_transposed(
                program, argument, launch
            ):
                shown = f"line {launch.line} passes {ast.unparse(argument)}"
                yield f"{shown}, a transposed view: the program multiplies the transposed matrix"


def _is_transposed(program: PythonProgram, argument: ast.expr, launch: PythonLaunch) -> bool:
    nodes = ast.walk(_value(program, argument, launch))
    return any(isinstance(each, ast.Attribute) and each.attr in _TRANSPOSED for each in nodes)


def _by_columns(argument: ast.expr, language: str) -> str:
    """Return the clause on an array whose memory has another order than its indexes."""
    copy = _CONTIGUOUS.get(language, "numpy.ascontiguousarray({})").format(ast.unparse(argument))
    return f"which is stored by columns, and the kernel gets its address alone; {copy} is stored by rows"


def _is_real(program: PythonProgram, argument: ast.expr, launch: PythonLaunch) -> bool:
    """Return whether an argument is a real number of Python's."""
    value = _value(program, argument, launch)
    return isinstance(value, ast.Constant) and isinstance(value.value, float)


def _value(program: PythonProgram, argument: ast.expr, launch: PythonLaunch) -> ast.expr:
    """Return the expression that a name was last assigned, or another argument itself."""
    found = program.value_of(argument.id, launch.scope, launch.line) if isinstance(argument, ast.Name) else None
    return argument if found is None else found.value


def _of_extension(program: PythonProgram, text: str, reader: ArrayReader) -> Iterator[str]:
    """Yield the same for calls of the host functions of a PyTorch extension, unless these look at the strides."""
    functions = {}
    for node in walk(parse(text.encode())):
        declarator = node.child_by_field_name("declarator") if node.type == "function_definition" else None
        if declarator is not None and "Tensor" in text_of(declarator) and not _RESPECTS_STRIDES.search(text_of(node)):
            functions[text_of(declarator).partition("(")[0].strip("*& ")] = node
    for call, scope in program.calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        for argument in call.args if name in functions else ():
            if reader.read(argument, scope, call.lineno).by_columns:
                yield f"line {call.lineno} passes {ast.unparse(argument)}, {_by_columns(argument, 'PyTorch')}"
