"""What ``mmcore doctor`` finds: the document that its text and its JSON are made from."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mmcore.cache import cache_directory
from mmcore.errors import MmcoreError
from mmcore.devices.choose import open_device
from mmcore.compile.nvrtc import nvrtc_version

if TYPE_CHECKING:
    from mmcore.devices.base import DeviceProvider
    from mmcore.registry import Registry

#: What mmcore is built on, with the parts of cuda-python and cuda-toolkit that it calls.
DEPENDENCIES = (
    "click",
    "cuda-python",
    "cuda-bindings",
    "cuda-core",
    "cuda-toolkit",
    "nvidia-cuda-nvrtc",
    "numpy",
    "pluggy",
    "pytest",
    "pytest-benchmark",
    "rich",
)

_T = TypeVar("_T")


def examine(registry: Registry) -> dict[str, Any]:
    """Look at everything a run needs; nothing that is missing or broken raises."""
    nvrtc, nvrtc_problem = _attempt(nvrtc_version)
    devices = [_device(provider) for provider in registry.providers.values()]
    auto, auto_problem = _attempt(lambda: open_device("auto", registry.providers).name)
    return {
        "can_run": nvrtc is not None and any(device["count"] for device in devices),
        "python": platform.python_version(),
        "executable": sys.executable,
        "mmcore": _version("mmcore"),
        "dependencies": {name: _version(name) for name in DEPENDENCIES},
        "nvrtc": {"version": nvrtc and ".".join(map(str, nvrtc)), "problem": nvrtc_problem},
        "devices": devices,
        "auto": {"device": auto, "problem": auto_problem},
        "cache": _cache(),
        "distributions": dict(sorted(Counter(each.distribution for each in registry.kernels.values()).items())),
        "broken": [
            {"plugin": broken.plugin, "distribution": broken.distribution, "reason": broken.reason}
            for broken in registry.broken
        ],
        "contested": [complaint for complaint in registry.complaints() if complaint not in map(str, registry.broken)],
    }


def _attempt(look: Callable[[], _T]) -> tuple[_T | None, str | None]:
    """What ``look`` returns, or why it does not; a third party's code may raise anything."""
    try:
        return look(), None
    except MmcoreError as error:
        return None, str(error)
    except (Exception, SystemExit) as error:
        return None, f"{type(error).__name__}: {error}".rstrip(".")


def _device(provider: DeviceProvider) -> dict[str, Any]:
    count, count_problem = _attempt(provider.count)
    findings, problem = _attempt(lambda: {str(name): str(text) for name, text in provider.findings().items()})
    return {
        "name": provider.name,
        "count": count or 0,
        "findings": findings or {},
        "problem": count_problem or problem,
    }


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cache() -> dict[str, Any]:
    directory, problem = _attempt(cache_directory)
    if directory is None:
        return {"directory": None, "writable": False, "megabytes": 0.0, "problem": problem or "there is no such place"}
    _, problem = _attempt(lambda: _write_into(directory))
    size, _ = _attempt(lambda: sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()))
    return {
        "directory": str(directory),
        "writable": problem is None,
        "megabytes": (size or 0) / 1e6,
        "problem": problem,
    }


def _write_into(directory: Path) -> None:
    """Write a file that leaves no trace into the directory, or where the directory would be made."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    try:
        tempfile.TemporaryFile(dir=directory).close()
    except OSError as error:
        raise MmcoreError(f"{directory} is not writable ({error.strerror})") from None
