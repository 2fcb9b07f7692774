"""From a plan to code: out of an on-disk cache, or from NVRTC."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from base64 import b64decode, b64encode
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mmcore.cache_directory import cache_directory
from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.planning.plan import Plan
from mmcore_nvrtc.fingerprint import fingerprint
from mmcore_nvrtc.nvrtc import compile_source, nvrtc_version

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

_CACHE_FORMAT = "mmcore code 6"
_CACHE_BYTES = 256 << 20


def compile_plan(plan: Plan, architecture: str) -> CompiledModule:
    """Compile what a plan launches, or take it from the cache.

    Args:
        plan: the plan; its kernel's own ``architecture`` wins over the device's.
        architecture: the device's, such as "90".

    Raises:
        InvalidKernel: the source cannot be read.
        CompileError: NVRTC rejects it, and the text holds its log.
        CompilerMissing: NVRTC is not installed.
    """
    kernel, source = plan.kernel, plan.kernel.source
    text, options = kernel.source_text(), compile_options(plan, architecture)
    # A line that is spliced may hide the word.
    may_include = kernel.options or any(sign in text for sign in ("include", "\\\n"))
    headers = fingerprint(source, text, options) if may_include else ""
    every_option = (*options, *(() if headers == "" else header_options()))
    depends_on = (str(nvrtc_version()), str(source), *every_option, "", *plan.entries, "", text, headers)
    key = hashlib.sha256(_CACHE_FORMAT.encode())
    for part in depends_on:
        key.update((part or "").encode(errors="surrogateescape") + b"\0")
    module = None if headers is None else _read(key.digest())
    if module is None:
        module = compile_source(kernel.name, source, text, every_option, plan.entries)
        # NVRTC read the headers later than they were looked at here.
        if headers == "" or (headers is not None and fingerprint(source, text, options) == headers):
            _write(key.digest(), module)
    return module


def compile_inputs(plan: Plan, architecture: str) -> dict[str, Any]:
    """What the code depends on: the text of the source and what is known of the files that it can include."""
    text, options = plan.kernel.source_text(), compile_options(plan, architecture)
    return {"text": text, "headers": fingerprint(plan.kernel.source, text, options), "options": options}


def compile_options(plan: Plan, architecture: str) -> tuple[str, ...]:
    """NVRTC's options for a plan, but for those that say where CUDA's own headers are."""
    kernel = plan.kernel
    macros = kernel.macros(plan.problem, plan.config)
    return (
        f"-arch=sm_{kernel.architecture or architecture}",
        "-std=c++17",
        "-lineinfo",
        # The resources are read from ptxas's report, which a hit in NVRTC's own cache would leave out.
        "--ptxas-options=-v",
        "--no-cache",
        *(f"-D{name}={value}" for name, value in sorted(macros.items())),
        *(kernel.expand(option, plan.problem, plan.config) for option in kernel.options),
    )


@functools.cache
def header_options() -> tuple[str, ...]:
    """NVRTC's options that say where CUDA's own headers are (cuda_bf16.h and the like)."""
    from cuda.pathfinder import find_nvidia_header_directory

    if directory := find_nvidia_header_directory("cudart"):
        return (f"-I{directory}",)
    if nvrtc_version() >= (13, 4):
        return (f"--use-bundled-headers={cache_directory() / 'cuda-headers'}",)
    return ()


@functools.cache
def program_cache() -> FileStreamProgramCache | None:
    """The on-disk cache, or None where its directory cannot be made."""
    from cuda.core.utils import FileStreamProgramCache

    try:
        return FileStreamProgramCache(cache_directory(), max_size_bytes=_CACHE_BYTES)
    except (OSError, RuntimeError):  # Path.home() knows no home
        return None


def _read(key: bytes) -> CompiledModule | None:
    """The code of that key; None where there is none, or it is damaged or another's, and must be compiled."""
    # A cache that cannot be read or written costs a compilation, not the result.
    with contextlib.suppress(OSError):
        entry = cache.get(key) if (cache := program_cache()) is not None else None
        if entry is not None and hashlib.sha256(key + entry[32:]).digest() == entry[:32]:
            values = json.loads(entry[32:])
            functions = {
                name: CompiledFunction(**{**function, "parameter_bytes": tuple(function["parameter_bytes"])})
                for name, function in values["functions"].items()
            }
            return CompiledModule(**{**values, "functions": functions, "cubin": b64decode(values["cubin"])})
    return None


def _write(key: bytes, module: CompiledModule) -> None:
    """Store the code behind a checksum of it and of its key."""
    body = json.dumps(asdict(module) | {"cubin": b64encode(module.cubin).decode()}).encode()
    with contextlib.suppress(OSError):
        if (cache := program_cache()) is not None:
            cache[key] = hashlib.sha256(key + body).digest() + body
