"""The benchmark of ``mmcore bench``, for ``pytest bench/``."""

from mmcore_pytest.bench.test_kernels import test_kernel as test_kernel
