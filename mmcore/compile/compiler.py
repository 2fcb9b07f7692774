"""From a plan to code: out of an on-disk cache, or from NVRTC."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from base64 import b64decode, b64encode
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mmcore.cache import cache_directory
from mmcore.compile.fingerprint import fingerprint, includes_headers
from mmcore.compile.module import CompiledFunction, CompiledModule
from mmcore.compile.nvrtc import compile_source, nvrtc_version
from mmcore.planning.plan import Plan

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

_CACHE_FORMAT = b"mmcore code 5"
_CACHE_BYTES = 256 << 20
_RECENT = 256
_recent: dict[bytes, CompiledModule] = {}


def compile_plan(plan: Plan, architecture: str) -> CompiledModule:
    """Compile what a plan launches.

    Args:
        plan: the plan; its kernel's own ``architecture`` wins over the device's.
        architecture: the device's, such as "90".

    Raises:
        InvalidKernel: the source cannot be read.
        CompileError: NVRTC rejects it, and the text holds its log.
        CompilerMissing: NVRTC is not installed.
    """
    kernel = plan.kernel
    text = kernel.source_text()
    options = compile_options(plan, architecture)
    if includes_headers(text):
        options += header_options()
    headers = fingerprint(kernel.source, text, options)
    key = None if headers is None else _key(kernel.source, text, options, plan.entries, headers)
    module = None if key is None else _recent.get(key) or _read(key)
    if module is None:
        module = compile_source(kernel.name, kernel.source, text, options, plan.entries)
        # NVRTC read the headers later than they were looked at here.
        if key is None or fingerprint(kernel.source, text, options) != headers:
            return module
        _write(key, module)
    assert key is not None
    _recent[key] = module
    if len(_recent) > _RECENT:
        del _recent[next(iter(_recent))]
    return module


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


def _key(source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...], headers: str) -> bytes:
    """What the code depends on."""
    key = hashlib.sha256(_CACHE_FORMAT)
    parts = (str(nvrtc_version()), str(source), os.path.abspath("."), *options, "", *entries, "", text, headers)
    for part in parts:
        key.update(part.encode(errors="surrogateescape") + b"\0")
    return key.digest()


def _read(key: bytes) -> CompiledModule | None:
    """The code of that key; None where it must be compiled."""
    # A cache that cannot be read or written costs a recompilation, not the result.
    with contextlib.suppress(OSError):
        cache = program_cache()
        return None if cache is None else _unpacked(key, cache.get(key))
    return None


def _write(key: bytes, module: CompiledModule) -> None:
    with contextlib.suppress(OSError):
        if (cache := program_cache()) is not None:
            cache[key] = _packed(key, module)


@functools.cache
def program_cache() -> FileStreamProgramCache | None:
    """The on-disk cache, or None where its directory cannot be made."""
    from cuda.core.utils import FileStreamProgramCache

    try:
        return FileStreamProgramCache(cache_directory(), max_size_bytes=_CACHE_BYTES)
    except (OSError, RuntimeError):  # Path.home() knows no home
        return None


def _packed(key: bytes, module: CompiledModule) -> bytes:
    """A cache entry: the code, behind a checksum of it and of the key that it is the code of."""
    body = json.dumps(asdict(module) | {"cubin": b64encode(module.cubin).decode()}).encode()
    return hashlib.sha256(key + body).digest() + body


def _unpacked(key: bytes, entry: bytes | None) -> CompiledModule | None:
    """The code in a cache entry; None when there is none, or it is damaged or another's, and must be compiled again."""
    if entry is None or hashlib.sha256(key + entry[32:]).digest() != entry[:32]:
        return None
    fields = json.loads(entry[32:])
    functions = {
        name: CompiledFunction(**values | {"parameter_bytes": tuple(values["parameter_bytes"])})
        for name, values in fields.pop("functions").items()
    }
    return CompiledModule(functions=functions, cubin=b64decode(fields.pop("cubin")), **fields)


@functools.cache
def header_options() -> tuple[str, ...]:
    """Where NVRTC finds CUDA's own headers (cuda_bf16.h and the like)."""
    from cuda.pathfinder import find_nvidia_header_directory

    if directory := find_nvidia_header_directory("cudart"):
        return (f"-I{directory}",)
    if nvrtc_version() >= (13, 4):
        return (f"--use-bundled-headers={cache_directory() / 'cuda-headers'}",)
    return ()
