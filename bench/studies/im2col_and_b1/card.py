"""The card: kernels compiled by NVRTC, launched through the CUDA driver, with tensor maps in im2col mode."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from cuda.bindings import driver
from numpy.typing import NDArray

from bench.studies.im2col_and_b1.cases import Bytes, Case
from bench.studies.im2col_and_b1.kernels import BITS, COPIES
from mmcore.compile.compiled_module import CompiledModule
from mmcore_cuda.nvrtc.source_compilation import compile_source

_BUFFER = 16 << 20


def compiled(source: str) -> CompiledModule:
    """Compile CUDA C++ for sm_90a."""
    return compile_source("im2col_and_b1", Path("im2col.cu"), source, ("-arch=sm_90a",), ())[0]


def _checked(result: tuple[Any, ...]) -> Any:
    """Return what a function of the driver returns.

    Raises:
        RuntimeError: it failed.
    """
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"the driver returns {error}")
    return values[0] if values else None


class Card:
    """The first GPU; arrays are copied to it before a launch and back after it."""

    def __init__(self) -> None:
        _checked(driver.cuInit(0))
        device = _checked(driver.cuDeviceGet(0))
        _checked(driver.cuCtxSetCurrent(_checked(driver.cuDevicePrimaryCtxRetain(device))))
        self.name = _checked(driver.cuDeviceGetName(96, device)).rstrip(b"\0").decode()
        self.driver_version = int(_checked(driver.cuDriverGetVersion()))
        self._modules = [_checked(driver.cuModuleLoadData(compiled(each).cubin)) for each in (COPIES, BITS)]
        self._memory = int(_checked(driver.cuMemAlloc(_BUFFER)))

    def copy(self, name: str, case: Case, tensor: NDArray[Any], shared: Bytes) -> bool:
        """Copy by a case's map; ``tensor`` and ``shared`` change in place. Return whether all bytes arrived."""
        status = np.zeros(1, np.uint32)
        tensor_map = _checked(self._encoded(case, self._memory))
        words = (ctypes.c_uint64 * 16)(*(int(word) for word in tensor_map.opaque))
        # The tensor is the first array in device memory, where the map expects it.
        self._launch(self._modules[0], name, [tensor, case.operands(), shared, status], words, case.region, 1)
        return bool(status[0])

    def takes(self, case: Case) -> bool:
        """Return whether the driver makes a case's map."""
        return bool(self._encoded(case, self._memory)[0] == driver.CUresult.CUDA_SUCCESS)

    def bits(self, name: str, arrays: tuple[NDArray[Any], ...], strides: NDArray[np.uint32]) -> None:
        """Multiply bits: D, A, B and C; D changes in place."""
        self._launch(self._modules[1], name, [*arrays, strides], None, 0, 0)

    def _encoded(self, case: Case, address: int) -> tuple[Any, ...]:
        itemsize = case.numpy_type.itemsize
        strides = [int(each) for each in np.cumprod(case.extents[:-1]) * itemsize]
        swizzle = f"CU_TENSOR_MAP_SWIZZLE_{f'{case.swizzle}B' if case.swizzle else 'NONE'}"
        fill = "NAN_REQUEST_ZERO_FMA" if case.nan else "NONE"
        encoded: tuple[Any, ...] = driver.cuTensorMapEncodeIm2col(
            getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{case.kind.upper()}"),
            case.rank,
            address,
            [driver.cuuint64_t(each) for each in case.extents],
            [driver.cuuint64_t(each) for each in strides],
            list(case.lower),
            list(case.upper),
            case.channels,
            case.pixels,
            [driver.cuuint32_t(each) for each in case.steps],
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(driver.CUtensorMapSwizzle, swizzle),
            driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            getattr(driver.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
        )
        return encoded

    def _launch(
        self, module: Any, name: str, arrays: list[NDArray[Any]], tensor_map: Any, shared_bytes: int, hidden: int
    ) -> None:
        """Launch a warp with pointers to arrays, without the first ``hidden``, and a tensor map."""
        function = _checked(driver.cuModuleGetFunction(module, name.encode()))
        addresses, place = [], self._memory
        for array in arrays:
            addresses.append(place)
            _checked(driver.cuMemcpyHtoD(place, array.ctypes.data, array.nbytes))
            place += -(-array.nbytes // 1024) * 1024
        held: list[Any] = [ctypes.c_uint64(each) for each in addresses[hidden:]]
        held += [tensor_map] if tensor_map is not None else []
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(each) for each in held))
        sizes = (1, 1, 1, 32, 1, 1, shared_bytes, 0)
        _checked(driver.cuLaunchKernel(function, *sizes, ctypes.addressof(pointers), 0))
        _checked(driver.cuCtxSynchronize())
        for array, address in zip(arrays, addresses, strict=True):
            _checked(driver.cuMemcpyDtoH(array.ctypes.data, address, array.nbytes))
