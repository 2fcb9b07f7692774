"""GEMMul8's shared library: its build from a checkout, and its products."""

from __future__ import annotations

import ctypes
import functools
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuda.core import Device
from cuda.pathfinder import find_nvidia_binary_utility, find_nvidia_header_directory, load_nvidia_dynamic_lib

from mmcore.devices.base import Operand
from mmcore.errors import DeviceError, MmcoreError, Unsupported
from mmcore.files import cache_directory
from mmcore.kernel.problem import Problem
from mmcore_cuda.cuda_module import device_errors

_LIBRARIES = ("cublas", "cublasLt")
_HOW = (
    "python -m mmcore_libraries.gemmul8 CHECKOUT builds it from a checkout of github.com/RIKEN-RCCS/GEMMul8, with nvcc"
)


class Gemmul8:
    """A product of matrices in device memory; calling it with a stream's handle enqueues the product there.

    GEMMul8 reads matrices by columns: C stored by rows is its transpose by columns, Cᵀ = Bᵀ·Aᵀ.
    """

    def __init__(self, problem: Problem, moduli: int, operands: Mapping[str, Operand]) -> None:
        library, handle = _library(), _handle()
        m, n, k = problem.m, problem.n, problem.k
        size = library.workspace_bytes(n, m, k, moduli)
        device = Device()
        stream = device.create_stream()
        _check(library.prepare())
        with device_errors(f"the {size} bytes of GEMMul8's workspace cannot be allocated"):
            self._workspace = device.allocate(size, stream=stream)
            stream.sync()
        self._multiply = getattr(library, f"multiply_{problem.dtype}")
        a, b, c = (operands[matrix].address for matrix in "ABC")
        lda, ldb, ldc = map(problem.leading, "ABC")
        self._arguments = (
            *(handle, n, m, k, problem.alpha, b, ldb, a, lda, problem.beta, c, ldc, moduli),
            int(self._workspace.handle),
        )
        self(int(stream.handle))  # loads the code, which is not allowed during a graph capture
        stream.sync()

    def __call__(self, stream: int) -> None:
        _check(self._multiply(*self._arguments, stream))


def _check(error: int) -> None:
    if error:
        raise DeviceError(f"GEMMul8 failed with error {error} of CUDA's runtime")


def library_path() -> Path:
    """Return the path of the library, which is in the cache."""
    return cache_directory() / "libraries" / "libmmcore_gemmul8.so"


def build(checkout: Path, architecture: str = "") -> Path:
    """Build the library from a checkout for an architecture, such as "90", and return its path.

    Without an architecture, it is built for the first GPU. Raises MmcoreError if it cannot be built.
    """
    root = next((each for each in (checkout, checkout / "GEMMul8") if (each / "src/gemmul8_real.hpp").is_file()), None)
    if root is None:
        raise MmcoreError(f"{checkout} is no checkout of GEMMul8: it has no GEMMul8/src/gemmul8_real.hpp")
    nvcc = find_nvidia_binary_utility("nvcc") or shutil.which("nvcc")
    if nvcc is None:
        raise MmcoreError("nvcc, which builds GEMMul8, was found neither in the packages nor on the PATH")
    architecture = architecture or "".join(map(str, Device(0).compute_capability))
    headers = find_nvidia_header_directory("cublas")
    path = library_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{secrets.token_hex(4)}.so")
    command = [
        *(nvcc, "-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC", "-diag-suppress", "177,174"),
        *("-gencode", f"arch=compute_{architecture},code=sm_{architecture}"),
        *(f"-I{folder}" for folder in (root, headers) if folder),
        str(Path(__file__).with_name("entry.cu")),
        *(word for name in _LIBRARIES for word in ("-Xlinker", _loaded(name))),
        *("-o", str(partial)),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MmcoreError(f"nvcc cannot build GEMMul8:\n{done.stderr.strip()}")
        os.replace(partial, path)
    except OSError as error:
        raise MmcoreError(f"GEMMul8 cannot be built: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def _loaded(name: str) -> str:
    """Return the path of one of CUDA's libraries, loaded. Raises Unsupported if it is not installed."""
    try:
        return str(load_nvidia_dynamic_lib(name).abs_path)
    except Exception as error:
        raise Unsupported(f"GEMMul8 needs {name}: python -m pip install 'mmcore-cuda[cublas]' ({error})") from None


@functools.cache
def _library() -> Any:
    path = library_path()
    if not path.is_file():
        raise Unsupported(f"GEMMul8 is not built: {_HOW}")
    for name in _LIBRARIES:
        _loaded(name)
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Unsupported(f"GEMMul8 cannot be loaded ({error}): {_HOW}") from None
    size, pointer, number = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double
    library.workspace_bytes.argtypes, library.workspace_bytes.restype = [size, size, size, ctypes.c_uint], size
    for multiply in (library.multiply_float64, library.multiply_float32):
        multiply.argtypes = [
            *(pointer, size, size, size, number, pointer, size, pointer, size, number, pointer, size),
            *(ctypes.c_uint, pointer, pointer),
        ]
    return library


@functools.cache
def _handle() -> int:
    """Return this process's cuBLASLt handle for GEMMul8."""
    handle = ctypes.c_void_p()
    if ctypes.CDLL(_loaded("cublasLt")).cublasLtCreate(ctypes.byref(handle)) or handle.value is None:
        raise DeviceError("cuBLASLt cannot be started for GEMMul8")
    return handle.value
