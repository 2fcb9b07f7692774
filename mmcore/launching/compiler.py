"""From a plan to code: out of an on-disk cache, or from NVRTC, which runs in a process of its own.

NVRTC can take for ever over a source, or crash on it; whoever asks for the code survives both.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import threading
from base64 import b64decode, b64encode
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from mmcore.cache import cache_directory
from mmcore.errors import CompileError, CompilerStopped
from mmcore.launching.code import Code, Function
from mmcore.launching.deadline import Deadline
from mmcore.launching.headers import Included, cudas_folder, included
from mmcore.launching.nvrtc import compile_in, nvrtc_version
from mmcore.planning.geometry import dim3
from mmcore.planning.kernel import Kernel
from mmcore.planning.plan import Plan

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

    from mmcore.launching.isolation.process import WorkerProcess

_CACHE_FORMAT = b"mmcore code 4"
_CACHE_BYTES = 256 << 20
_RECENT = 256
_recent: dict[bytes, Code] = {}
# A worker answers one question after the other.
_asking = threading.Lock()


def compile_plan(plan: Plan, architecture: str, deadline: Deadline | None = None) -> Code:
    """Compile what a plan launches.

    Args:
        plan: the plan; its kernel's own ``architecture`` wins over the device's.
        architecture: the device's, such as "90".
        deadline: when NVRTC is stopped; never when None.

    Raises:
        InvalidKernel: the source cannot be read.
        CompileError: NVRTC rejects it, and the text holds its log; or NVRTC crashed.
        CompilerStopped: NVRTC had not ended at the deadline.
        CompilerMissing: NVRTC is not installed.
    """
    kernel = plan.kernel
    text = kernel.source_text()
    defines = {name: kernel.expand(value, plan.problem, plan.block) for name, value in kernel.defines.items()}
    options = (
        f"-arch=sm_{kernel.architecture or architecture}",
        "-std=c++17",
        "-lineinfo",
        # The resources are read from ptxas's report, which a hit in NVRTC's own cache would leave out.
        "--ptxas-options=-v",
        "--no-cache",
        *(f"-D{name}={value}" for name, value in sorted(defines.items())),
        *(kernel.expand(option, plan.problem, plan.block) for option in kernel.options),
    )
    folder = _working_directory()
    read = included(kernel.source, text, options, folder)
    if read.elsewhere:
        options += header_options()
    key = _key(kernel.source, options, plan.entries, read)
    code = (_recent.get(key) or _read(key)) if read.complete else None
    if code is None:
        asked = (kernel.source, text, options, plan.entries, read.replacements())
        code = _compile(deadline or Deadline(), kernel.name, folder, *asked)
        # NVRTC read the headers later than they were read here.
        if not read.complete or included(kernel.source, text, options, folder).texts != read.texts:
            return code
        _write(key, code)
    _recent[key] = code
    if len(_recent) > _RECENT:
        del _recent[next(iter(_recent))]
    return code


def _working_directory() -> Path:
    """Where relative paths begin; the root when it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return Path("/")


def _key(source: Path, options: tuple[str, ...], entries: tuple[str, ...], read: Included) -> bytes:
    """What the code depends on."""
    key = hashlib.sha256(_CACHE_FORMAT)
    texts = (part for path, text in read.texts.items() for part in (str(path), text))
    for part in (str(nvrtc_version()), str(source), *options, "", *entries, "", *texts):
        key.update(part.encode(errors="surrogateescape") + b"\0")
    return key.digest()


def _read(key: bytes) -> Code | None:
    """The code of that key; None where it must be compiled."""
    # A cache that cannot be read or written costs a recompilation, not the result.
    with contextlib.suppress(OSError):
        cache = program_cache()
        return None if cache is None else _unpacked(key, cache.get(key))
    return None


def _write(key: bytes, code: Code) -> None:
    with contextlib.suppress(OSError):
        if (cache := program_cache()) is not None:
            cache[key] = _packed(key, code)


def _compile(deadline: Deadline, kernel: str, folder: Path, *asked: Any) -> Code:
    """What :func:`~mmcore.launching.nvrtc.compile_in` makes of it in another process."""
    # What the cache holds needs no process, nor what it takes to have one.
    from mmcore.launching.isolation.process import WorkerLost

    with _asking:
        # Starting has a time of its own: the limit is for what NVRTC does.
        worker = _worker(os.getpid())
        try:
            code = worker.ask(compile_in, folder, kernel, *asked, seconds=deadline.remaining)
        except CompileError:
            raise
        except BaseException as error:
            # Nobody waits for its answer any more.
            worker.end()
            _worker.cache_clear()
            if not isinstance(error, WorkerLost):
                raise
            if error.kind == "timeout":
                raise CompilerStopped(f"{kernel}: NVRTC had not ended after {deadline.limit:g} s") from None
            raise CompileError(f"{kernel}: NVRTC crashed: {error}") from None
    assert isinstance(code, Code)
    return code


@functools.cache
def _worker(parent: int) -> WorkerProcess:
    """The process in which NVRTC runs for process ``parent``: one that was forked off needs another.

    It ends when nobody can ask it any more.
    """
    from mmcore.launching.isolation.process import WorkerProcess

    worker = WorkerProcess()
    worker.ask(nvrtc_version, seconds=None)
    return worker


@functools.cache
def program_cache() -> FileStreamProgramCache | None:
    """The on-disk cache, or None where its directory cannot be made."""
    from cuda.core.utils import FileStreamProgramCache

    try:
        return FileStreamProgramCache(cache_directory(), max_size_bytes=_CACHE_BYTES)
    except (OSError, RuntimeError):  # Path.home() knows no home
        return None


def _packed(key: bytes, code: Code) -> bytes:
    """A cache entry: the code, behind a checksum of it and of the key that it is the code of."""
    body = json.dumps(asdict(code) | {"cubin": b64encode(code.cubin).decode()}).encode()
    return hashlib.sha256(key + body).digest() + body


def _unpacked(key: bytes, entry: bytes | None) -> Code | None:
    """The code in a cache entry; None when there is none, or it is damaged or another's, and must be compiled again."""
    if entry is None or hashlib.sha256(key + entry[32:]).digest() != entry[:32]:
        return None
    fields = json.loads(entry[32:])
    functions = {
        name: Function(**values | {"parameter_bytes": tuple(values["parameter_bytes"])})
        for name, values in fields.pop("functions").items()
    }
    return Code(functions=functions, cubin=b64decode(fields.pop("cubin")), **fields)


def source_texts(kernel: Kernel) -> list[str]:
    """The kernel's source and the headers that it is compiled from, CUDA's own excepted.

    Where reading them does not tell all of them, one text more, which is different every time.

    Raises:
        InvalidKernel: the source cannot be read.
    """
    problem, block = kernel.problem(64, 64, 64), dim3(kernel.blocks[0])
    options = [kernel.expand(option, problem, block) for option in kernel.options]
    read = included(kernel.source, kernel.source_text(), options, _working_directory())
    return [*read.texts.values(), *([] if read.complete else [uuid4().hex])]


def header_options() -> tuple[str, ...]:
    """Where NVRTC finds CUDA's own headers (cuda_bf16.h and the like)."""
    if directory := cudas_folder():
        return (f"-I{directory}",)
    if nvrtc_version() >= (13, 4):
        return (f"--use-bundled-headers={cache_directory() / 'cuda-headers'}",)
    return ()
