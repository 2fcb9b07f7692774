"""Tests that use ``device`` run on the emulator and, if there is one, on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mmcore.devices.base import Device
from mmcore.executor.choose_device import open_device
from mmcore_cuda import CudaProvider

pytest_plugins = ["pytester"]

# Times on a shared machine say nothing about the product.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

DEVICES = ("emulator", "cuda") if CudaProvider().count() else ("emulator",)


@pytest.fixture(scope="session", autouse=True)
def _own_cache_and_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests separate folders for the cache and tuned configs, and let them measure in their own process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MMCORE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("MMCORE_TUNING_DIR", str(tmp_path_factory.mktemp("tuning")))
        patch.setenv("MMCORE_IN_PROCESS", "1")
        yield


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> Device:
    """Return each device of this machine in turn."""
    return open_device(request.param)


@pytest.fixture
def cu_file(tmp_path: Path) -> Path:
    """Return a path for a kernel's source."""
    return tmp_path / "kernel.cu"
