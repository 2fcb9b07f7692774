"""NVRTC: from CUDA source to machine code and PTX in one compilation, and what ptxas says of both."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from pathlib import Path

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.errors import CompileError, CompilerMissing
from mmcore.kernel.signature import signatures
from mmcore_binaries.ptx import parameter_bytes

_RESOURCES = re.compile(
    r"Compiling entry function '(?P<symbol>[^']+)'.*?"
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?:[^\n]*?(?P<shared>\d+) bytes smem)?",
    re.DOTALL,
)
# What NVRTC says of a name expression that names nothing, once for each.
_MISSING = re.compile(r"Input name expression was: \" ?([^\"]+)\"")
# An error in the source or a header may be why a name expression names nothing.
_ERROR_IN_A_FILE = re.compile(r"^(?!__nv_name_map\().*\(\d+\): (?:catastrophic )?error:", re.MULTILINE)
# With these NVRTC makes something else than machine code and PTX.
_MAKES_ELSE = ("-dlto", "--dlink-time-opt", "-optix-ir", "--optix-ir", "-fdevice-syntax-only", "--fdevice-syntax-only")


@functools.cache
def nvrtc_version() -> tuple[int, int]:
    """NVRTC's version.

    Raises:
        CompilerMissing: NVRTC cannot be loaded.
    """
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CompilerMissing(
            "NVRTC, CUDA's run-time compiler, cannot be loaded; python -m pip install 'cuda-toolkit[nvrtc]==13.*' "
            f"brings it ({reason})"
        ) from None
    return int(major), int(minor)


def compile_source(
    kernel: str, source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...]
) -> CompiledModule:
    """What NVRTC makes of a source.

    Args:
        kernel: name of the kernel that it is compiled for.
        source: path of the source, as error messages have it.
        text: the source itself.
        options: NVRTC's; the first says the architecture, "-arch=sm_90".
        entries: name expressions of the functions that are needed.

    Raises:
        CompileError: NVRTC rejects it; the text holds its log.
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
        # NVRTC writes into the object itself. Python has only one b" ", which an empty text would turn into b"\0"
        # for the whole process; bytes(1) holds already what is written there.
        content = bytes(size)
        call(f"Get{what}", program, content)
        return content

    program = call("CreateProgram", text.encode(), str(source).encode(), 0, [], [])
    try:
        for entry in entries:
            call("AddNameExpression", program, entry.encode())
        encoded = [option.encode() for option in options]
        (result,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
        log = text_of("ProgramLog").rstrip(b"\0 \n").decode(errors="replace")
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(f"{kernel}: {_failure(source, text, log or result.name, entries)}")
        resources = {found["symbol"]: found for found in _RESOURCES.finditer(log)}
        ptx = text_of("PTX").rstrip(b"\0").decode()
        functions = {}
        for entry in entries:
            symbol = str(call("GetLoweredName", program, entry.encode()), "utf-8")  # type: ignore[call-overload]
            if symbol not in resources:
                not_code = "NVRTC does not make the machine code and the PTX that mmcore needs"
                reasons = [f"with the option {option} {not_code}" for option in options if option in _MAKES_ELSE]
                raise CompileError(
                    f"{kernel}: {[*reasons, f'{entry} in {source.name} is not a __global__ function'][0]}"
                )
            found = resources[symbol]
            functions[entry] = CompiledFunction(
                symbol=symbol,
                registers=int(found["registers"]),
                static_shared_bytes=int(found["shared"] or 0),
                spill_bytes=int(found["stores"]) + int(found["loads"]),
                parameter_bytes=parameter_bytes(ptx, symbol),
            )
        return CompiledModule(options[0].removeprefix("-arch="), source.name, functions, text_of("CUBIN"), ptx)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _failure(source: Path, text: str, log: str, entries: tuple[str, ...]) -> str:
    """What went wrong, with NVRTC's log where that is about the source."""
    if "__nv_name_map(" in log and not _ERROR_IN_A_FILE.search(log):
        return _no_function(source, text, _MISSING.findall(log) or entries)
    missing = re.search(r"(could not|cannot) open source file", log)
    absent = "includes what is not there (NVRTC has CUDA's headers, but not the C library's)"
    return f"{source.name} {absent if missing else 'does not compile'}:\n{log}"


def _no_function(source: Path, text: str, missing: Iterable[str]) -> str:
    """That name expressions name nothing, and what there is."""
    functions = {signature.name: signature.template for signature in signatures(text)}
    # NVRTC puts spaces around the signs that qualify a name.
    missing = list(dict.fromkeys(name.replace(" :: ", "::") for name in missing))
    templates = [name for name in missing if functions.get(name.rpartition("::")[2])]
    reasons = [
        f"{name} in {source.name} is a template, whose instances are named {name}<16> or {name}<{{block.x}}>, "
        "with a value for each of its parameters"
        for name in templates
    ]
    if absent := [name for name in missing if name not in templates]:
        has = f"; it has {', '.join(functions)}" if functions else ""
        reasons.insert(0, f"{source.name} has no function {' or '.join(absent)}{has}")
    return "; ".join(reasons)
