"""Stand-ins for host headers: those of the C and C++ libraries, and of CUDA's host libraries.

A .cu file includes them for its host half, and NVRTC has none of them. It knows printf, assert, malloc, memcpy, size_t,
dim3 and the mathematical functions by itself. Most stand-ins are empty. Those in the folder ``host_headers`` have what
a device half may need besides: std::min, uint32_t. Whole parts of the C++ library (type_traits, numeric_limits) come
from cuda::std. They take a second to compile, and are only included if ``FULL_STD`` is defined.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

FULL_STD = "MMCORE_FULL_STD"
PRELUDE = "mmcore/nvcc"
"""The stand-in for the headers that nvcc includes in every source."""

FAMILIES = ("thrust/", "cub/")
"""Host libraries among CUDA's headers that NVRTC cannot compile as a whole."""

# Headers of CUDA's host libraries, which a toolkit installs and NVRTC cannot compile.
_CUDA_HOST = (
    *("cublas.h", "cublas_v2.h", "cublas_api.h", "cublasLt.h", "cublasXt.h", "cuda_profiler_api.h", "cudaProfiler.h"),
    *("cuda_egl_interop.h", "cuda_gl_interop.h", "cudnn.h", "cufft.h", "cupti.h", "curand.h", "cusolverDn.h"),
    *("cusolverSp.h", "cusolver_common.h", "cusparse.h", "cusparseLt.h", "cusparse_v2.h", "cutensor.h", "nccl.h"),
    *("nvJitLink.h", "nvToolsExt.h", "nvblas.h", "nvml.h", "nvrtc.h", "nvtx3/nvToolsExt.h", "nvtx3/nvtx3.hpp"),
)
_EMPTY_BELOW = (
    *("sys/", "linux/", "arpa/", "net/", "netinet/", "torch/", "ATen/", "c10/", "pybind11/", "nlohmann/"),
    *("opencv2/", "boost/", "Eigen/", "gtest/", "gmock/", "gflags/", "glog/", "fmt/", "spdlog/", "benchmark/"),
    *("tensorflow/", "nvbench/"),
)
_OTHER_NAMES = {
    "mmcore/nvcc": "nvcc",
    "mmcore/std": "std",
    "climits": "limits.h",
    "limits.h": "limits.h",
    "cfloat": "float.h",
    "float.h": "float.h",
}
_FOLDER = Path(__file__).parent / "host_headers"
# The declaration of a function in the driver's interface.
_CALL = re.compile(r"\b(CUresult\s+)CUDAAPI\b")


def stand_in(name: str) -> str | None:
    """Return the content of a header's stand-in; None unless the header is known as a host header."""
    path = _FOLDER / _OTHER_NAMES.get(name, name)
    if "/" in name.removeprefix("mmcore/"):
        return "" if name.startswith(_EMPTY_BELOW) or name in (*_CUDA_HOST, *_empty()) else None
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "" if name in _CUDA_HOST or name in _empty() else None


def own_headers() -> dict[str, str]:
    """Return the stand-ins that other stand-ins include, with the prelude."""
    names = {path.name for path in _FOLDER.iterdir()} - {"EMPTY", *_OTHER_NAMES.values()}
    return {name: stand_in(name) or "" for name in sorted({*names, *_OTHER_NAMES})}


def of_device_alone(cuda_h: str) -> str:
    """Return cuda.h for NVRTC: its types, such as CUtensorMap, with functions declared for the device."""
    return _CALL.sub(r"\1__device__", cuda_h)


def hides_installed(name: str) -> bool:
    """Return whether a stand-in replaces CUDA's installed header, which NVRTC cannot compile."""
    return name in _CUDA_HOST


def is_of_samples(name: str) -> bool:
    """Return whether a header is one of CUDA's samples, which projects have their own copies of."""
    return name in _empty_paragraphs()[-1]


def _empty() -> frozenset[str]:
    return frozenset().union(*_empty_paragraphs())


@functools.cache
def _empty_paragraphs() -> tuple[frozenset[str], ...]:
    """Return the names of empty stand-ins: for C++, for C, for CUDA, and for CUDA's samples."""
    paragraphs = (_FOLDER / "EMPTY").read_text(encoding="utf-8").split("\n\n")
    return tuple(frozenset(each.split()) for each in paragraphs)
