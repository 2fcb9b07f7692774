"""Kernels in CUDA C++ within strings: CuPy, PyCUDA, PyTorch's ``load_inline``, and any other string."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.files import headers_of
from mmcore_sources.cuda_file.host_bugs.find import host_bugs, translated_bugs
from mmcore_sources.cuda_file.inference.choice import is_product
from mmcore_sources.cuda_file.inference.infer import Inferred, infer
from mmcore_sources.cuda_file.syntax import compiled_first, refuse_syntax_errors
from mmcore_sources.python_file.fills import fills
from mmcore_sources.python_file.found import FoundKernel
from mmcore_sources.python_file.host_text import HostWriter, PythonLaunch, Unknown
from mmcore_sources.python_file.launch_bugs import launch_bugs, placed
from mmcore_sources.python_file.literals import Literal, LiteralReader
from mmcore_sources.python_file.passed_arguments import passed_otherwise
from mmcore_sources.python_file.program import PythonProgram, keywords_of
from mmcore_sources.python_file.rounded_grids import rounded_up
from mmcore_sources.python_file.scopes import Scope
from mmcore_sources.python_file.string_launches import launches
from mmcore_sources.python_file.values import ValueReader

_COMPILERS = {"RawKernel": "CuPy", "RawModule": "CuPy", "SourceModule": "PyCUDA", "DynamicSourceModule": "PyCUDA",
              "load_inline": "PyTorch", "_compile_kernel": "PyTorch", "Program": "cuda.core"}  # fmt: skip
_SOURCES = ("code", "source", "cuda_sources", "kernel_source", "path")  # keywords of these that take the code
_OF_ITSELF = re.compile(r"#\s*define\s+(\w+)\s+\1\s*(?://.*)?$")  # a placeholder that became the macro's own name
_OF_JINJA = re.compile(r"\{% *(?:for|if|macro|block|include)\b.*?%\}")
_DEFINES = re.compile(r"-D\s*(\w+)(?:=(.*))?")


@dataclass(frozen=True)
class Unit:
    """A string that is compiled by itself: its text, the library that compiles it, and the macros of its options."""

    literal: Literal
    language: str
    defines: Mapping[str, str]

    @property
    def first_line(self) -> int:
        return min(piece.line for piece in self.literal.pieces)

    @functools.cached_property
    def functions(self) -> tuple[Function, ...]:
        return read_program(self.literal.text).functions


def kernels_in_strings(program: PythonProgram) -> Iterable[FoundKernel]:
    """Return the kernels in a program's strings."""
    if "__global__" not in program.text:
        return []
    reader = _reader(program)
    found_launches = launches(program, reader)
    names = {each.name.partition("<")[0] for each in found_launches}
    kernels = []
    for unit in _units(program, reader):
        source = read_program(unit.literal.text)
        own = {launch.name for launch in source.launches}
        for function in unit.functions:
            declare = functools.partial(_declared, program, unit, function, found_launches)
            product, launched = is_product(function, source), bool({function.name, function.word} & (names | own))
            kernels.append(FoundKernel(function.name, unit.language, unit.first_line, declare, product, launched))
    return kernels


def unread_source(program: PythonProgram) -> str:
    """Return which library compiles code that only a run of the program has, and where; empty if none does."""
    reader = _reader(program)
    for call, _ in program.calls:
        language = _COMPILERS.get(program.full_name(call.func).rpartition(".")[2])
        keywords = keywords_of(call)
        sources = [*(keywords[name] for name in _SOURCES if name in keywords), *call.args[:1]]
        if language and sources and ("path" in keywords or reader.read(sources[0]) is None):
            return program.in_cells(f"{language} compiles code in line {call.lineno}")
    return ""


def _reader(program: PythonProgram) -> LiteralReader:
    writer = HostWriter(program)

    def value(node: ast.expr) -> str:
        try:
            return writer.number(node, Scope(), 1 << 30)
        except Unknown:
            return ""

    strings = {name: each.value for name, each in program.anywhere.items()}
    return LiteralReader(program.lines, strings, value)


def _units(program: PythonProgram, reader: LiteralReader) -> list[Unit]:
    """Return the strings with a kernel, each as it is compiled, with its placeholders filled in."""
    found: dict[frozenset[tuple[int, int]], tuple[int, Unit]] = {}
    for rank, node, language, defines in _candidates(program, reader):
        literal = reader.read(node)
        if literal is None or "__global__" not in literal.text:
            continue
        key = frozenset((piece.line, piece.column) for piece in literal.pieces)
        if key not in found or rank >= found[key][0]:
            found[key] = rank, Unit(literal, language, defines)
    largest = [key for key in found if not any(key < other for other in found)]
    return sorted((found[key][1] for key in largest), key=lambda unit: unit.first_line)


def _candidates(
    program: PythonProgram, reader: LiteralReader
) -> Iterator[tuple[int, ast.expr, str, Mapping[str, str]]]:
    """Yield the expressions that may be sources, with a rank, the name of the library, and the options' macros."""
    yield from ((0, each.value, "CUDA C++", {}) for each in program.assignments)
    for call, _ in program.calls:
        word = program.full_name(call.func).rpartition(".")[2]
        language = _COMPILERS.get(word, "")
        keywords = keywords_of(call)
        options = keywords.get("options", keywords.get("extra_cuda_cflags"))
        defines = dict(_macros(program, options, reader)) if language else {}
        for node in (*call.args, *keywords.values()):
            yield (2 if language else 1), node, language or "CUDA C++", defines


def _macros(program: PythonProgram, options: ast.expr | None, reader: LiteralReader) -> Iterator[tuple[str, str]]:
    """Yield the macros that options define, as numbers where placeholders became names."""
    if isinstance(options, ast.Name):
        options = reader.strings.get(options.id)
    for each in options.elts if isinstance(options, ast.List | ast.Tuple) else ():
        literal = reader.read(each)
        if literal is not None and (match := _DEFINES.fullmatch(literal.text.strip())):
            assigned = program.anywhere.get(match[2]) if match[2] in literal.names else None
            number = assigned and ValueReader(program).value(assigned.value, assigned.scope, assigned.line)
            yield match[1], str(number) if isinstance(number, int) else match[2] if match[2] is not None else "1"


def _declared(
    program: PythonProgram, unit: Unit, function: Function, found: Sequence[PythonLaunch], given: Mapping[str, Any]
) -> Inferred:
    """Return the declaration of a kernel in a string."""
    lines = {line: _OF_ITSELF.sub("", text) for line, text in unit.literal.lines().items()}
    lines |= _placeholders(program, unit, lines)
    path, text = program.placed(unit.first_line), _text(lines)
    launched = [each for each in found if each.name.partition("<")[0] in (function.name, function.word)]
    own = launched[:1]
    writer = HostWriter(program)
    host: dict[int, str] = fills(program, own[0]) if own else {}
    for launch in own:
        host[launch.line] = f"{host.get(launch.line, '')} {writer.launch(launch)}"
    combined = dict(lines)
    for line, statement in host.items():
        combined[line] = f"{combined.get(line, '')} {statement}"
    options = {**given, "entry": given.get("entry") or function.name}
    options["defines"] = {**unit.defines, **given.get("defines", {})}
    for line, content in lines.items():
        if loop := _OF_JINJA.search(content):
            raise InvalidKernel(f"{path.name} has {loop[0]} in line {line}, which only Jinja can carry out")
    alone = program.shifted(text, unit.first_line)
    refuse_syntax_errors(path, alone, options)
    headers = [(each.name, content) for each, content in headers_of(path, text).items()]
    # The headers of PyTorch's types, which messages of the inference name, are not there to compile with.
    with compiled_first(path, alone, options) if unit.language != "PyTorch" else nullcontext():
        inferred = infer(path, _text(combined), options, headers)
    if "text" in inferred.attributes:  # sizes that were constants are macros there
        changed = enumerate(inferred.attributes["text"].splitlines(), 1)
        text = _text({line: each.removesuffix(f" {host[line]}") if line in host else each for line, each in changed})
    attributes = {**inferred.attributes, "text": program.shifted(text, unit.first_line), "source": path}
    if own:
        attributes["launch"] = replace(attributes["launch"], rounded_up=rounded_up(program, own[0]))
    warnings = (*inferred.warnings, *passed_otherwise(program, unit.literal.text, unit.language, function, own))
    loops = "gridDim" in unit.literal.text
    bugs = launch_bugs(program, launched, translated_bugs(_text(combined), inferred), loops=loops)
    if not own:  # a host function in the string launches the kernel
        bugs += placed(program, host_bugs(path.name, _text(lines), inferred, options))
    return replace(inferred, attributes=attributes, warnings=warnings, bugs=bugs)


def _text(lines: Mapping[int, str]) -> str:
    return "\n".join(lines.get(line, "") for line in range(1, max(lines) + 1)) + "\n"


def _placeholders(program: PythonProgram, unit: Unit, lines: Mapping[int, str]) -> dict[int, str]:
    """Return macros for the names that placeholders became, in free lines before the string's text, by line."""
    first = min(line for line, text in lines.items() if text.strip())
    free = list(range(program.lines_before(first) + 1, first))
    words = set(re.findall(r"[A-Za-z_]\w*", unit.literal.text))
    writer, macros = HostWriter(program), dict[int, str]()
    names = sorted(words & unit.literal.names)
    while names and free:
        name = names.pop()
        assigned = program.value_of(name, Scope(), 1 << 30) or program.anywhere.get(name)
        if assigned is None:
            continue
        try:
            value = writer.number(assigned.value, assigned.scope, assigned.line - 1)
        except Unknown:
            continue
        line = max((each for each in free if each <= assigned.line), default=free[0])
        free.remove(line)
        macros[line] = f"#define {name} {value}"
        names += [word for word in re.findall(r"[A-Za-z_]\w*", value) if word not in words]
        words |= set(names)
    return macros
