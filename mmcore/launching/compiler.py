"""From CUDA source to code, with NVRTC, through an on-disk cache.

One compilation yields both what a GPU loads and what the emulator reads, so the two cannot differ. That takes
``cuda.bindings.nvrtc``: cuda.core's ``Program`` gives one of the two per compilation, and needs a driver for PTX.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mmcore.cache import cache_directory
from mmcore.errors import CompileError, CompilerMissing
from mmcore.launching.code import Code, Function
from mmcore.planning.kernel import Kernel
from mmcore.planning.plan import Plan

if TYPE_CHECKING:
    from cuda.core.utils import FileStreamProgramCache

_CACHE_FORMAT = b"mmcore code 3"
_CACHE_BYTES = 256 << 20
_QUOTED_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_ANGLED_INCLUDE = re.compile(r"^\s*#\s*include\s*<", re.MULTILINE)
_RESOURCES = re.compile(
    r"Compiling entry function '(?P<symbol>[^']+)'.*?"
    r"(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)\b[^,\[]*(?:\[(\d+)\])?")
_SHARED = re.compile(r"(\d+) bytes smem")


def compile_plan(plan: Plan, architecture: str) -> Code:
    """Compile what a plan launches.

    Args:
        plan: the plan; its kernel's own ``architecture`` wins over the device's.
        architecture: the device's, such as "90".

    Raises:
        InvalidKernel: the source cannot be read.
        CompileError: NVRTC rejects it; the text holds its log.
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
        *_header_options(kernel.source, text),
    )
    return _cached(kernel.name, kernel.source, text, options, plan.entries)


def _cached(kernel: str, source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...]) -> Code:
    key = hashlib.sha256(_CACHE_FORMAT)
    for part in (str(nvrtc_version()), str(source), *options, "", *entries, "", *_texts(source, text)):
        key.update(part.encode() + b"\0")
    return _compile_once(key.digest(), kernel, source, text, options, entries)


@functools.lru_cache(maxsize=256)
def _compile_once(
    key: bytes, kernel: str, source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...]
) -> Code:
    cache = program_cache()
    # A cache that cannot be read or written costs a recompilation, not the result.
    with contextlib.suppress(OSError):
        if cache is not None and (code := _unpacked(key, cache.get(key))) is not None:
            return code
    code = _compile(kernel, source, text, options, entries)
    with contextlib.suppress(OSError):
        if cache is not None:
            cache[key] = _packed(key, code)
    return code


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
    """The kernel's source and every file that it includes by a quoted name.

    Raises:
        InvalidKernel: the source cannot be read.
    """
    return list(_texts(kernel.source, kernel.source_text()))


def _texts(source: Path, text: str) -> Iterator[str]:
    """The source and every file it includes by a quoted name, whose changes must change the cache key."""
    seen = {source}
    waiting = [(source, text)]
    while waiting:
        path, text = waiting.pop()
        yield text
        for name in _QUOTED_INCLUDE.findall(text):
            header = path.parent / name
            if header not in seen and header.is_file():
                seen.add(header)
                waiting.append((header, header.read_text(encoding="utf-8", errors="replace")))


def _header_options(source: Path, text: str) -> tuple[str, ...]:
    """Where NVRTC finds CUDA's own headers (cuda_bf16.h and the like), for sources that include any."""
    if not any(map(_ANGLED_INCLUDE.search, _texts(source, text))):
        return ()
    from cuda.pathfinder import find_nvidia_header_directory

    if directory := find_nvidia_header_directory("cudart"):
        return (f"-I{directory}",)
    if nvrtc_version() >= (13, 4):
        return (f"--use-bundled-headers={cache_directory() / 'cuda-headers'}",)
    return ()


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


def nearest_architecture(capability: tuple[int, int]) -> str:
    """The architecture nearest to a compute capability that NVRTC compiles for, such as "75" for 6.1.

    Raises:
        CompilerMissing: NVRTC cannot be loaded.
    """
    nvrtc_version()
    from cuda.bindings import nvrtc

    _, supported = nvrtc.nvrtcGetSupportedArchs()
    wanted = capability[0] * 10 + capability[1]
    return str(min(supported, key=lambda number: abs(number - wanted)))


def _compile(kernel: str, source: Path, text: str, options: tuple[str, ...], entries: tuple[str, ...]) -> Code:
    from cuda.bindings import nvrtc

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
            raise CompileError(f"{kernel}: {_failure(source, entries, log)}:\n{log or result.name}")
        resources = _resources(log)
        ptx = text_of("PTX").rstrip(b"\0").decode()
        functions = {}
        for entry in entries:
            lowered = call("GetLoweredName", program, entry.encode())
            assert isinstance(lowered, bytes)
            symbol = lowered.decode()
            if symbol not in resources:
                raise CompileError(f"{kernel}: {entry} in {source.name} is not a __global__ function")
            functions[entry] = replace(resources[symbol], parameter_bytes=_parameter_bytes(ptx, symbol))
        return Code(
            architecture=options[0].removeprefix("-arch="),
            source=source.name,
            functions=functions,
            cubin=text_of("CUBIN"),
            ptx=ptx,
        )
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _failure(source: Path, entries: tuple[str, ...], log: str) -> str:
    """What went wrong, in words; NVRTC's log follows."""
    if "__nv_name_map(" in log:
        return f"{source.name} has no function {' or '.join(entries)}"
    if re.search(r"(could not|cannot) open source file", log):
        return f"{source.name} includes what is not there (NVRTC has CUDA's headers, but not the C library's)"
    return f"{source.name} does not compile"


def _parameter_bytes(ptx: str, symbol: str) -> tuple[int, ...]:
    """Size of each parameter of a kernel function, as its PTX declares them."""
    declaration = re.search(rf"\.entry\s+{re.escape(symbol)}\s*\(([^)]*)\)", ptx)
    parameters = _PARAMETER.findall(declaration[1]) if declaration else []
    return tuple(int(bits) // 8 * int(count or 1) for bits, count in parameters)


def _resources(log: str) -> dict[str, Function]:
    """What ptxas reports of each entry function, by symbol."""
    functions = {}
    for found in _RESOURCES.finditer(log):
        shared = _SHARED.search(found["rest"])
        functions[found["symbol"]] = Function(
            symbol=found["symbol"],
            registers=int(found["registers"]),
            static_shared_bytes=int(shared[1]) if shared else 0,
            spill_bytes=int(found["stores"]) + int(found["loads"]),
        )
    return functions
