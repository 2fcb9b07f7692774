"""Compilation of a source as it is or, if that fails, of its device half; and the error if neither compiles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import CompileError, Unsupported
from mmcore.kernel.missing_source import installed_package
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.project_folders import folders_of_headers
from mmcore_cuda.nvrtc.bindings import (
    Diagnostic,
    Rejected,
    SourceRejected,
    compile_once,
    diagnostics,
    ineffective_macro,
)
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.dependencies import unreadable
from mmcore_cuda.nvrtc.device_code import DeviceHalf, DeviceHalfSearch

# Each attempt excludes something more; NVRTC stops after 100 errors.
_MOST_ATTEMPTS = 20
_CAST = re.compile(r"^\( void .*\) (?=\w)")  # of a name expression, as NVRTC writes it
# NVRTC's message about a name expression that matches no function.
_UNMATCHED_NAME = re.compile(r"Input name expression was: \" ?([^\"]+)\"")
_C_LINKAGE = r'\bextern\s*"C"\s[^;{{}}]*\b__global__\b[^;{{}}]*\b{}\s*\('
_IN_NAMES = "__nv_name_map("  # NVRTC's file of name expressions, in its log
_WARNING = re.compile(r".*: warning #|Remark: ")  # the beginning of a paragraph of its log
# The text of the #error that NVRTC reads in place of a header that mmcore does not read.
_REFUSED = "a header that is not read: "
# NVRTC's message about an undefined name that looks like a macro.
_NO_CONSTANT = re.compile(r'error: identifier "([A-Z][A-Z0-9_]*)" is undefined')
# The names of constants in a line that declares them.
_CONSTANTS, _INITIALIZED = re.compile(r"\b(?:const|constexpr|enum)\b"), re.compile(r"\b(\w+) *[={](?!=)")
# NVRTC's messages about sources written in C++20 or later, and words in the lines that it prints.
_NEEDS_NEWER = re.compile(
    r"\b(?:concept|requires|consteval|constinit|co_await|co_yield|co_return|char8_t)\b|<=>|\bc\+\+ ?2|__cplusplus|"
    r'"auto" is not allowed',
    re.IGNORECASE,
)
# NVRTC's message about a word that C++17 no longer takes, nvcc ignores, and an empty macro removes.
_NO_REGISTER, _REGISTER = '"register" storage class specifier', "-Dregister="
_OLDER, _NEWER = re.compile(r"(?:-std|--std|--dialect)=c\+\+1\d"), "-std=c++20"


class LackingArchitecture(Unsupported, CompileError):
    """An architecture that lacks instructions of a source, which does not declare ``min_compute_capability``."""


def compile_source(
    kernel: str,
    source: Path,
    text: str,
    options: tuple[str, ...],
    entries: tuple[str, ...],
    needed: tuple[str, ...] = (),
) -> tuple[CompiledModule, DeviceHalf]:
    """Return the code that NVRTC makes of a source, and the device half that it compiled.

    The arguments are those of :func:`compile_once`; ``needed`` names the kernels that must compile, the entries by
    default, or all. Raises SourceRejected, with NVRTC's log, if NVRTC rejects it.
    """
    half, search = DeviceHalf(text, {}, (), ()), None
    expressions = dict[str, str]()
    project_options = [option for option in options if option not in cuda_headers().options]
    # NVRTC would wait for a pipe, and read a device without end.
    reasons_by_header = unreadable(source, text, project_options)
    refused = {name: f"#error {_REFUSED}{why}\n" for name, why in reasons_by_header.items()}
    for _ in range(_MOST_ATTEMPTS):
        headers = {**half.headers, **refused}
        try:
            module = compile_once(kernel, source, half.text, (*options, *half.options), entries, headers, expressions)
        except Rejected as rejected:
            log = rejected.log
            if _IN_NAMES in log and not expressions and (expressions := _expressions(text, entries)):
                continue
            if _NO_REGISTER in log and _REGISTER not in options:
                return compile_source(kernel, source, text, (*options, _REGISTER), entries, needed)
            if why := re.search(f"{_REFUSED}(.*)", log):
                raise SourceRejected(kernel, f"{source.name} includes {why[1]}") from None
        else:
            if search is None or not search.missing:
                return module, half
            break
        if search is None:
            search = DeviceHalfSearch(source, text, options, cuda_headers().all_folders, needed or entries)
        if not search.learn(log):
            break
        half = search.half()
    assert search is not None
    if search.missing:
        raise SourceRejected(kernel, _no_headers(source, search.missing))
    reasons, newer = search.reasons(log), tuple(_OLDER.sub(_NEWER, option) for option in options)
    if newer != options and _NEEDS_NEWER.search("".join([log, *(each.reason for each in half.excluded)])):
        with suppress(CompileError):
            return compile_source(kernel, source, text, newer, entries, needed)
    constant = _constant_of_option(source, text, reasons + log, options)
    raise SourceRejected(kernel, constant or _failure(source, text, reasons, log, entries))


def _expressions(text: str, entries: Iterable[str]) -> dict[str, str]:
    """Return name expressions for entries whose names are ambiguous, as a header declares other functions of that name.

    An empty one is for a function that the source declares as extern "C": the entry is its symbol.
    """
    found = dict[str, str]()
    functions = {each.name: each for each in read_program(text).functions if not each.template}
    for entry in entries:
        if re.search(_C_LINKAGE.format(re.escape(entry)), text):
            found[entry] = ""
        elif entry in functions:
            types = ", ".join(
                f"{'const ' * each.const}{each.type}{'*' * each.pointer}" for each in functions[entry].parameters
            )
            found[entry] = f"(void (*)({types})){entry}"
    return found


def _no_headers(source: Path, missing: dict[str, Diagnostic]) -> str:
    """Return that headers are not found, and what to do."""
    named = ", ".join(f"{name} ({Path(each.path).name}:{each.line})" for name, each in missing.items())
    headers, them = ("headers that are", "them") if len(missing) > 1 else ("a header that is", "it")
    lacking = cuda_headers().lacking()
    if not lacking and (package := installed_package(source.absolute())):
        own = f"package-data in the pyproject.toml of {package}, which is installed, lists its own headers"
        others = f"include= in its declaration names the folders that have {them}"
        return f"{source.name} includes {headers} not found: {named}; {own}; {others}"
    folders = dict.fromkeys(each for name in missing for each in _having(source.absolute(), name))
    options = f"{' '.join(f'--option=-I{each}' for each in folders)}, or " * bool(folders)
    return (
        f"{source.name} includes {headers} not found: {named}; {options}include= in its declaration names the folders "
        f"that have {them}" + (f" ({lacking})" if lacking else "")
    )


def _having(source: Path, header: str) -> Iterator[Path]:
    """Yield the folder nearest to a source that has a header, if there is one."""
    with suppress(OSError):
        yield from islice((each for each in folders_of_headers(source) if (each / header).is_file()), 1)


def _constant_of_option(source: Path, text: str, log: str, options: Iterable[str]) -> str:
    """Return that the line of an error declares a constant with the name of an option's macro; empty if none does."""
    lines = text.splitlines()
    for line in (each.line for each in diagnostics(log) if each.path == str(source)):
        for name in _INITIALIZED.findall(lines[line - 1]) if _CONSTANTS.search(lines[line - 1]) else ():
            if reason := ineffective_macro(f"line {line} of {source.name}", name, options):
                return reason
    return ""


def _failure(source: Path, text: str, reasons: str, log: str, entries: tuple[str, ...]) -> str:
    """Return why a source does not compile, with NVRTC's log if that is about the source."""
    errors = list(diagnostics(log))
    if _IN_NAMES in log and not errors and not reasons:
        return _no_function(source, text, _UNMATCHED_NAME.findall(log) or entries)
    differing = cuda_headers().differing() if any(folder in log for folder in cuda_headers().all_folders) else ""
    absent = "" if reasons else ", ".join(dict.fromkeys(_NO_CONSTANT.findall(log)))
    define = f"--define NAME=VALUE or defines= would define {absent}" if absent else ""
    notes = "".join(f" ({each})" for each in (define, differing) if each)
    return f"{source.name} does not compile{notes}:\n{reasons}{_without_warnings(log)}"


def _without_warnings(log: str) -> str:
    """Return the paragraphs of a log that are no warnings, nor the remark on how to suppress these."""
    return "\n\n".join(each for each in log.split("\n\n") if not _WARNING.match(each.lstrip("\n")))


def _no_function(source: Path, text: str, missing: Iterable[str]) -> str:
    """Return that name expressions match no function, and which functions there are."""
    functions = {function.word: function.template for function in read_program(text).functions}
    # NVRTC puts spaces around the signs that qualify a name.
    missing = list(dict.fromkeys(_CAST.sub("", name.replace(" :: ", "::")) for name in missing))
    templates = [name for name in missing if functions.get(name.rpartition("::")[2])]
    reasons = [
        f"{name} in {source.name} is a template, whose instances are named {name}<16> or {name}<{{block.x}}>, "
        "with a value for each of its parameters"
        for name in templates
    ]
    if hidden := [name for name in missing if name in functions and name not in templates and "#if" in text]:
        reasons.append(f"a condition of the preprocessor leaves {' and '.join(hidden)} out of {source.name}")
    if absent := [name for name in missing if name not in (*templates, *hidden)]:
        has = f"; it has {', '.join(functions)}" if functions else ""
        reasons.insert(0, f"{source.name} has no function {' or '.join(absent)}{has}")
    return "; ".join(reasons)
