"""Compilation of a plan, by the cache on disk or by NVRTC."""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias

from mmcore.compile.compiled_module import CompiledModule
from mmcore.kernel.declaration import Kernel
from mmcore.planning.plan import Plan, static_memory_violations
from mmcore_cuda.binaries.ptxas_log import shared_memory_exceeded
from mmcore_cuda.nvrtc.bindings import SourceRejected, lacking, nvrtc_version
from mmcore_cuda.nvrtc.cache import Entry, cache_key, read_entry, write_entry
from mmcore_cuda.nvrtc.cuda_headers import cuda_headers
from mmcore_cuda.nvrtc.dependencies import dependencies, unchanged
from mmcore_cuda.nvrtc.source_compilation import LackingArchitecture, compile_source

Options: TypeAlias = tuple[str, ...]


def compile_plan(plan: Plan, architecture: str) -> CompiledModule:
    """Return the code that a plan launches, from the cache or newly compiled.

    It is for the kernel's own ``architecture``, or else for the device's, such as "90".

    Raises:
        InvalidKernel: the source cannot be read.
        LackingArchitecture: ptxas rejects it, because the device's architecture lacks instructions.
        CompileError: NVRTC rejects it; the text contains its log.
        CompilerMissing: NVRTC is not installed.
    """
    kernel, source = plan.kernel, plan.kernel.source
    text, options = kernel.source_text(), compile_options(plan, architecture)
    every_option = (*options, *(cuda_headers().options if _may_include(kernel, text) else ()))
    # Options may name paths relative to the current working directory.
    named = (str(nvrtc_version()), os.path.abspath(source), os.getcwd() if kernel.options else "", *every_option)
    key = cache_key(*named, "", *plan.entries, "", text)
    entry = read_entry(key)
    if entry is None or not unchanged(entry.states):
        states = dependencies(source, text, options) if _may_include(kernel, text) else {}
        entry = _compiled(states or {}, kernel.name, source, text, every_option, plan.entries)
        # NVRTC read the headers after their states were recorded.
        if states is not None and unchanged(states):
            write_entry(key, entry)
    if entry.module is None:
        if not kernel.architecture and (names := lacking(entry.failure)):
            what = f"{source.name} uses {', '.join(names)}, which sm_{architecture} lacks"
            raise LackingArchitecture(
                f"{kernel.name}: {what}; min_compute_capability= of its declaration, or --arch of a file, says so"
            )
        exceeded = shared_memory_exceeded(entry.failure)
        reasons = static_memory_violations(*exceeded, text) if exceeded else [entry.failure]
        raise SourceRejected(kernel.name, reasons[0])
    return entry.module


def compile_inputs(plan: Plan, architecture: str) -> dict[str, Any]:
    """Return the inputs of the code: the source's text, the state of its headers, and the options."""
    kernel, options = plan.kernel, compile_options(plan, architecture)
    text = kernel.source_text()
    states = dependencies(kernel.source, text, options) if _may_include(kernel, text) else {}
    return {"text": text, "headers": states, "options": options}


def _compiled(
    states: dict[str, str], kernel: str, source: Path, text: str, options: Options, entries: tuple[str, ...]
) -> Entry:
    try:
        module, half = compile_source(kernel, source, text, options, entries)
        return Entry(states, replace(module, excluded_host_code=[asdict(each) for each in half.excluded]))
    except SourceRejected as rejected:
        return Entry(states, None, rejected.reason)


def _may_include(kernel: Kernel, text: str) -> bool:
    """Return whether other files may be read; a spliced line may hide the word."""
    return bool(kernel.options) or any(sign in text for sign in ("include", "\\\n", "\\\r"))


def compile_options(plan: Plan, architecture: str) -> tuple[str, ...]:
    """Return NVRTC's options for a plan, except those for CUDA's own headers."""
    kernel, source = plan.kernel, plan.kernel.source
    macros = kernel.macros(plan.problem, plan.config)
    return (
        f"-arch=sm_{kernel.architecture or architecture}",
        "-std=c++17",
        "-lineinfo",
        # The resources are read from ptxas's report, which a hit in NVRTC's own cache would leave out.
        "--ptxas-options=-v",
        "--no-cache",
        *(f"-I{source.parent / folder}" for folder in kernel.include),
        *(f"-D{name}={value}" for name, value in sorted(macros.items())),
        *(kernel.expand(option, plan.problem, plan.config) for option in kernel.options),
    )
