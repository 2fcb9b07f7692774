"""Libraries as kernels and as baselines of others."""

from __future__ import annotations

import numpy as np
import pytest

from mmcore import Config, Unsupported
from mmcore.devices.base import Operand
from mmcore.kernel.problem import dtype_named
from mmcore.registry import registry
from mmcore_cuda import CudaProvider, in_gpu_memory


@pytest.mark.parametrize("name", ["cublas.float32", "cublas.float64_emulated", "gemmul8.float64", "gemmul8.float32"])
def test_memory_of_the_host_is_refused_before_anything_is_launched(name: str) -> None:
    kernel = registry().kernel(name)
    matrix = np.zeros((16, 16), kernel.dtype)
    operand = Operand(matrix.ctypes.data, (16, 16), (16, 1), dtype_named(kernel.dtype))
    assert kernel.call is not None
    with pytest.raises(Unsupported, match="GPU's memory"):
        kernel.call(kernel.problem(16, 16, 16), Config({}), dict.fromkeys("ABC", operand))


@pytest.mark.skipif(not CudaProvider().count(), reason="there is no GPU")
def test_memory_of_a_gpu_is_recognised() -> None:
    buffer = CudaProvider().open(0).allocate("A", 1024)
    assert in_gpu_memory(buffer.address)
    buffer.close()
