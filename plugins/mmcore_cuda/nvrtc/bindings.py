"""Calls of NVRTC, which compiles CUDA source to machine code and PTX at once, and the errors in its log."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.errors import CompileError, CompilerMissing
from mmcore_cuda.binaries.code import parameter_bytes, read_cubin
from mmcore_cuda.binaries.ptxas_log import resources, without_resources
from mmcore_emulator.ptx.asm_lines import with_first_lines

_ERROR = re.compile(
    r"^(?P<path>[^\n(][^\n]*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<message>.*)\n"
    r"(?:  (?P<shown>.*)\n  (?P<before>\s*)\^)?",
    re.MULTILINE,
)
_NO_FILE = re.compile(r"(?:could not|cannot) open source file \"(.*?)\"")
_OF_PTXAS = re.compile(r"^ptxas .*?; error *: (?P<message>.*)$", re.MULTILINE)
# NVRTC's warning about a macro that an option defines and the source defines differently.
_REDEFINED = re.compile(r'^(.+?)\((\d+)\): warning #47-D: incompatible redefinition of macro "(\w+)"', re.MULTILINE)
_LACKING = re.compile(
    r"\w+ '(?P<name>[^']+)'.* (?:(?:requires|not supported on) \.target|cannot be compiled for architecture) .*"
)
# Code that NVRTC takes from its cache has no report of its registers, and no warnings.
_ASKS_REPORT, _NO_CACHE = "--ptxas-options=-v", "--no-cache"
# NVRTC's file name for an error in a name expression.
_NAME_EXPRESSIONS = "__nv_name_map"
# Options with which NVRTC does not make machine code and PTX.
_MAKES_ELSE = ("-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir", "-fdevice-syntax-only", "--fdevice-syntax-only")


@dataclass(frozen=True)
class Diagnostic:
    """An error that NVRTC reports."""

    path: str  # the file, as NVRTC names it
    line: int  # its line, from 1
    column: int  # its column, from 0; -1 if the log does not show it
    message: str
    text: str  # the lines of the log about it

    @property
    def of_host(self) -> bool:
        """True if the code is for the host only, which NVRTC does not compile."""
        return "not allowed in JIT mode" in self.message

    @property
    def missing_header(self) -> str:
        """The header that is not found; empty for other errors."""
        match = _NO_FILE.search(self.message)
        return match[1] if match else ""


def lacking(log: str) -> list[str]:
    """Return the instructions and features that ptxas reports as missing; empty if there are other errors."""
    matches = [_LACKING.fullmatch(message) for message in _OF_PTXAS.findall(log)]
    return list(dict.fromkeys(each["name"] for each in matches if each)) if all(matches) else []


def diagnostics(log: str) -> Iterator[Diagnostic]:
    """Yield the errors in files, in the order of the log."""
    for error in _ERROR.finditer(log):
        if error["path"] != _NAME_EXPRESSIONS:
            column = -1 if error["before"] is None else len(error["before"])
            yield Diagnostic(error["path"], int(error["line"]), column, error["message"], error[0].rstrip())


def ineffective_macro(place: str, name: str, options: Iterable[str]) -> str:
    """Return that a line, such as "line 5 of my.cu", defines the macro of an option; empty if no option gives a value.

    A macro that stands for its own name has none.
    """
    named = (option[2:] for option in options if option.startswith(f"-D{name}="))
    macro = next((each for each in named if each != f"{name}={name}"), "")
    return macro and f"{place} defines {name}, so that {macro} has no effect; put #ifndef {name} around it"


@functools.cache
def nvrtc_version() -> tuple[int, int]:
    """Return NVRTC's version. Raises CompilerMissing if NVRTC cannot be loaded."""
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CompilerMissing(
            f"NVRTC, CUDA's run-time compiler, cannot be loaded; python -m pip install 'mmcore-cuda[{_extra()}]' "
            f"brings it ({reason})"
        ) from None
    return int(major), int(minor)


def _extra() -> str:
    """Return the extra that brings what the installed bindings need."""
    try:
        return "cu12" if version("cuda-bindings").startswith("12.") else "cu13"
    except PackageNotFoundError:
        return "cu13"


class SourceRejected(CompileError):
    """A source that does not compile in any way; ``reason`` is the cause, without the kernel's name."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(f"{kernel}: {reason}")
        self.reason = reason


class Rejected(Exception):
    """A source that NVRTC does not compile; ``log`` is its output."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log


def compile_once(
    kernel: str,
    source: Path,
    text: str,
    options: tuple[str, ...],
    entries: tuple[str, ...],
    headers: Mapping[str, str] | None = None,
    expressions: Mapping[str, str] | None = None,
) -> CompiledModule:
    """Return the code that NVRTC makes of a source's text.

    The name and the path are for messages. The first option is the architecture, "-arch=sm_90"; ``entries`` are the
    name expressions of the functions to return. Those that are ambiguous have others in ``expressions``: an empty one
    if the entry is the symbol of a function with C linkage. NVRTC reads all headers itself but those given by name.

    Raises:
        Rejected: NVRTC does not compile it.
        SourceRejected: it defines a macro of the options itself, which then have no effect.
        CompileError: NVRTC fails, or the result is something other than code with these functions.
    """
    from cuda.bindings import nvrtc  # cuda.core's Program makes machine code or PTX, not both at once

    def call(function: str, *arguments: object) -> object:
        error, *values = getattr(nvrtc, f"nvrtc{function}")(*arguments)
        if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(f"{kernel}: NVRTC's {function} failed with {error.name}")
        return values[0] if values else None

    def text_of(what: str) -> bytes:
        size = call(f"Get{what}Size", program)
        assert isinstance(size, int)
        # NVRTC writes into the bytes object itself, so it must not be a shared constant such as b" ".
        content = bytes(size)
        call(f"Get{what}", program, content)
        return content

    expressions = {entry: entry for entry in entries} | {**(expressions or {})}
    names, contents = [[each.encode() for each in part] for part in (headers or {}, (headers or {}).values())]
    # PTX contains the name in quotes.
    program_name = str(source).replace('"', "'")
    program = call("CreateProgram", text.encode(), program_name.encode(), len(names), contents, names)
    try:
        for entry in filter(None, expressions.values()):
            call("AddNameExpression", program, entry.encode())
        encoded = [option.encode() for option in options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = text_of("ProgramLog").rstrip(b"\0 \n").decode(errors="replace")
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            if result not in (nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION, nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_OPTION):
                raise CompileError(f"{kernel}: NVRTC failed with {result.name}{log and ':'}\n{log}".rstrip())
            raise Rejected(without_resources(log) or result.name)
        if not log and _ASKS_REPORT in options and _NO_CACHE not in options:
            with suppress(Rejected):  # an NVRTC without that option
                return compile_once(kernel, source, text, (*options, _NO_CACHE), entries, headers, expressions)
        for path, line, name in _REDEFINED.findall(log):
            if reason := ineffective_macro(f"line {line} of {Path(path).name}", name, options):
                raise SourceRejected(kernel, reason)
        reports = resources(log)
        ptx, cubin = text_of("PTX").rstrip(b"\0").decode(), text_of("CUBIN")
        functions = {}
        for entry in entries:
            expression = expressions[entry].encode()
            lowered = call("GetLoweredName", program, expression) if expression else entry.encode()
            symbol = str(lowered, "utf-8")  # type: ignore[call-overload]
            if symbol not in reports:
                not_code = "NVRTC does not make the machine code and the PTX that mmcore needs"
                reasons = [f"with the option {option} {not_code}" for option in options if option in _MAKES_ELSE]
                raise CompileError(
                    f"{kernel}: {[*reasons, f'{entry} in {source.name} is not a __global__ function'][0]}"
                )
            functions[entry] = CompiledFunction(
                symbol=symbol,
                parameter_bytes=parameter_bytes(ptx, symbol),
                reallocates_registers=read_cubin(cubin).functions[symbol].reallocates_registers,
                **asdict(reports[symbol]),
            )
        ptx = with_first_lines(ptx, program_name, text)
        return CompiledModule(options[0].removeprefix("-arch="), source.name, functions, cubin, ptx)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
