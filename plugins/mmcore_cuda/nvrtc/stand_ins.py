"""Stand-ins for headers of the host: the C and C++ libraries', and those of CUDA's host libraries.

A .cu file includes them for its host half. NVRTC has none of them; what it knows by itself is printf, assert, malloc,
memcpy, size_t, dim3 and the mathematical functions. Most stand-ins are empty; those in the folder ``host_headers`` have
what a device half may need besides: std::min, uint32_t. Whole parts of the C++ library (type_traits, numeric_limits)
come from cuda::std, in a second to compile, and so only where ``FULL_STD`` is defined.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

FULL_STD = "MMCORE_FULL_STD"
PRELUDE = "mmcore/nvcc"
"""The header that stands for what nvcc includes in every source."""

FAMILIES = ("thrust/", "cub/")
"""Libraries for the host that are where CUDA's headers are, but do not compile with NVRTC as a whole."""

# CUDA's libraries for the host; where a toolkit is installed they are there, and NVRTC cannot compile them.
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
# A function of the driver's interface, where it is declared.
_CALL = re.compile(r"\b(CUresult\s+)CUDAAPI\b")


def stand_in(name: str) -> str | None:
    """The content of what stands for a header; None for one that is not known to be the host's."""
    path = _FOLDER / _OTHER_NAMES.get(name, name)
    if "/" in name.removeprefix("mmcore/"):
        return "" if name.startswith(_EMPTY_BELOW) or name in (*_CUDA_HOST, *_empty()) else None
    if path.is_file():
        return path.read_text(encoding="utf-8")
    return "" if name in _CUDA_HOST or name in _empty() else None


def own_headers() -> dict[str, str]:
    """The stand-ins that other stand-ins include, the prelude among them."""
    names = {path.name for path in _FOLDER.iterdir()} - {"EMPTY", *_OTHER_NAMES.values()}
    return {name: stand_in(name) or "" for name in sorted({*names, *_OTHER_NAMES})}


def of_device_alone(cuda_h: str) -> str:
    """cuda.h for NVRTC: its types, such as CUtensorMap, and functions that are not taken for the host's."""
    return _CALL.sub(r"\1__device__", cuda_h)


def hides_installed(name: str) -> bool:
    """Whether the stand-in is taken even where CUDA's headers are installed, as NVRTC cannot compile the real one."""
    return name in _CUDA_HOST


@functools.cache
def _empty() -> frozenset[str]:
    return frozenset((_FOLDER / "EMPTY").read_text(encoding="utf-8").split())
