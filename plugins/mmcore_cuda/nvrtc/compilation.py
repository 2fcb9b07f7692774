"""A source compiled as it is or, where that fails, its device half; and what is said of one that does not compile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import CompileError, Unsupported
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.dependencies import unreadable
from mmcore_cuda.nvrtc.device_half import DeviceHalf, DeviceHalfSearch
from mmcore_cuda.nvrtc.diagnostics import Diagnostic, diagnostics
from mmcore_cuda.nvrtc.nvrtc import Rejected, compile_once

# Each attempt leaves out something more; NVRTC stops after 100 errors.
_MOST_ATTEMPTS = 20
# What NVRTC says of a name expression that names nothing, once for each.
_NAMES_NOTHING = re.compile(r"Input name expression was: \" ?([^\"]+)\"")
# How NVRTC is told of a header that is not to be read.
_REFUSED = "a header that is not read: "
# A name as macros have it.
_NO_CONSTANT = re.compile(r'error: identifier "([A-Z][A-Z0-9_]*)" is undefined')


# What NVRTC says of a source, and shows of it, that is written in C++20 or later.
_NEEDS_NEWER = re.compile(
    r"\b(?:concept|requires|consteval|constinit|co_await|co_yield|co_return|char8_t)\b|<=>|\bc\+\+ ?2|__cplusplus|"
    r'"auto" is not allowed',
    re.IGNORECASE,
)
_OLDER, _NEWER = re.compile(r"(?:-std|--std|--dialect)=c\+\+1\d"), "-std=c++20"


class SourceRejected(CompileError):
    """A source does not compile, whatever is tried; ``reason`` is why, without the kernel's name."""

    def __init__(self, kernel: str, reason: str) -> None:
        super().__init__(f"{kernel}: {reason}")
        self.reason = reason


class LackingArchitecture(Unsupported, CompileError):
    """An architecture lacks what a source uses, whose declaration does not say so by ``min_compute_capability``."""


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
        SourceRejected: NVRTC rejects it; the text holds its log.
        CompileError: NVRTC fails, or makes something else than code with these functions.
    """
    return compile_half(kernel, source, text, options, entries)[0]


def device_half(text: str, source: Path = Path("kernel.cu"), options: Sequence[str] = ()) -> DeviceHalf:
    """What NVRTC compiles of a source, and what it leaves out.

    Args:
        text: the source.
        source: its path; its headers are looked for beside it.
        options: NVRTC's, such as ``compile_options`` returns for a plan.

    Raises:
        CompileError: the device half does not compile; the text holds NVRTC's log.
    """
    asked = tuple(options) or ("-arch=sm_90", "-std=c++17", *cuda_headers().options)
    return compile_half(source.name, source, text, asked, ())[1]


def compile_half(
    kernel: str, source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...]
) -> tuple[CompiledModule, DeviceHalf]:
    """What NVRTC makes of a source, and of which part of it; takes and raises what :func:`compile_source` does."""
    half, search = DeviceHalf(text, {}, (), ()), None
    own = [option for option in options if option not in cuda_headers().options]
    # NVRTC would wait for a pipe, and read a device without end.
    refused = {name: f"#error {_REFUSED}{why}\n" for name, why in unreadable(source, text, own).items()}
    for _ in range(_MOST_ATTEMPTS):
        headers = {**half.headers, **refused}
        try:
            module = compile_once(kernel, source, half.text, (*options, *half.options), entries, headers)
        except Rejected as rejected:
            log = rejected.log
            if why := re.search(f"{_REFUSED}(.*)", log):
                raise SourceRejected(kernel, f"{source.name} includes {why[1]}") from None
        else:
            if search is None or not search.missing:
                return module, half
            break
        if search is None:
            search = DeviceHalfSearch(source, text, options, cuda_headers().all_folders, entries)
        if not search.learn(log):
            break
        half = search.half()
    assert search is not None
    if search.missing:
        raise SourceRejected(kernel, _no_headers(source, search.missing))
    reasons, newer = search.reasons(log), tuple(_OLDER.sub(_NEWER, option) for option in options)
    advice = ""
    if newer != options and _NEEDS_NEWER.search("".join([log, *(each.reason for each in half.excluded)])):
        with suppress(CompileError):
            compile_half(kernel, source, text, newer, entries)
            advice = f"with --option={_NEWER}, which options= of a declaration can have, it compiles"
    raise SourceRejected(kernel, _failure(source, text, reasons, log, entries, advice))


def _no_headers(source: Path, missing: dict[str, Diagnostic]) -> str:
    """That headers are not found, and what to do."""
    named = ", ".join(f"{name} ({Path(each.path).name}:{each.line})" for name, each in missing.items())
    headers, them = ("headers that are", "them") if len(missing) > 1 else ("a header that is", "it")
    lacking = cuda_headers().lacking()
    return (
        f"{source.name} includes {headers} not found: {named}; include= in its declaration names the folders that "
        f"have {them}" + (f" ({lacking})" if lacking else "")
    )


def _failure(source: Path, text: str, reasons: str, log: str, entries: tuple[str, ...], advice: str) -> str:
    """What went wrong, with NVRTC's log where that is about the source."""
    errors = list(diagnostics(log))
    if "__nv_name_map(" in log and not errors and not reasons:
        return _no_function(source, text, _NAMES_NOTHING.findall(log) or entries)
    differing = cuda_headers().differing() if any(folder in log for folder in cuda_headers().all_folders) else ""
    absent = "" if reasons or advice else ", ".join(dict.fromkeys(_NO_CONSTANT.findall(log)))
    define = f"--define NAME=VALUE or defines= would define {absent}" if absent else ""
    said = "".join(f" ({each})" for each in (advice, define, differing) if each)
    return f"{source.name} does not compile{said}:\n{reasons}{log}"


def _no_function(source: Path, text: str, missing: Iterable[str]) -> str:
    """That name expressions name nothing, and what there is."""
    functions = {function.word: function.template for function in read_program(text).functions}
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
