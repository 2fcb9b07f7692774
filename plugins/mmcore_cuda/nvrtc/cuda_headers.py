"""CUDA's own headers, from Python packages, an installed toolkit, or NVRTC itself."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcore.errors import MmcoreError
from mmcore.files import cache_directory, read_text
from mmcore_cuda.nvrtc.bindings import nvrtc_version

# A header of each part, which shows that the part is installed, and the extra of cuda-toolkit that brings it.
_PARTS = {"cuda_runtime.h": "cudart", "crt/host_defines.h": "crt", "cuda/std/version": "cccl"}
_VERSION = re.compile(r"^#define\s+CUDART_VERSION\s+(\d+)", re.MULTILINE)
_BRINGS_ITS_OWN = (13, 4)


@dataclass(frozen=True)
class CudaHeaders:
    """The location of CUDA's own headers."""

    folders: tuple[str, ...]  # the folders of the installed headers
    version: tuple[int, int] | None  # their version, (major, minor); None if it is unknown
    missing: tuple[str, ...]  # the parts that no folder contains, by the name of their extra of cuda-toolkit
    unpacked: str = ""  # the folder for the headers that NVRTC brings; empty if they are not used

    @property
    def options(self) -> tuple[str, ...]:
        bundled = (f"--use-bundled-headers={self.unpacked}",) if self.unpacked else ()
        return (*(f"-I{folder}" for folder in self.folders), *bundled)

    @property
    def all_folders(self) -> tuple[str, ...]:
        return (*self.folders, *((self.unpacked,) if self.unpacked else ()))

    def findings(self) -> dict[str, str]:
        version = "of an unknown version" if self.version is None else "of CUDA {}.{}".format(*self.version)
        where = ", ".join(self.folders)
        parts = [f"{where} ({version})"] if self.folders else []
        parts += [f"those that NVRTC brings, in {self.unpacked}"] if self.unpacked else []
        if lacking := self.lacking():
            parts.append(lacking)
        elif differing := self.differing():
            parts.append(differing)
        return {"headers": "; ".join(parts)}

    def lacking(self) -> str:
        """Return which parts are missing and how to install them; empty if none is."""
        if not self.missing or self.unpacked:
            return ""
        major, minor = nvrtc_version()
        parts = ["nvcc" if part == "crt" and major < 13 else part for part in self.missing]
        install = f"python -m pip install 'cuda-toolkit[{','.join(parts)}]=={major}.{minor}.*'"
        return f"some of CUDA's headers are not installed; {install} brings them"

    def differing(self) -> str:
        """Return that the headers are not of NVRTC's version; empty if they are."""
        if self.version is None or self.version == nvrtc_version():
            return ""
        installed, bundled = (".".join(map(str, version)) for version in (self.version, nvrtc_version()))
        return f"CUDA's headers in {self.folders[0]} are of CUDA {installed}, NVRTC is of {bundled}"


@functools.cache
def cuda_headers() -> CudaHeaders:
    """Find CUDA's headers; those of Python packages win over those of a toolkit."""
    folders: list[str] = []
    for header, library in (("cuda_runtime.h", "cudart"), ("cuda/std/version", "cccl"), ("crt/host_defines.h", "nvcc")):
        if not _has(folders, header):
            folder = _located(library)
            folders += [] if folder is None or folder in folders else [folder]
        if library == "cudart" and folders and os.path.isdir(cccl := os.path.join(folders[0], "cccl")):
            folders.append(cccl)
    missing = tuple(part for header, part in _PARTS.items() if not _has(folders, header))
    brings = missing and nvrtc_version() >= _BRINGS_ITS_OWN
    return CudaHeaders(tuple(folders), _version(folders), missing, _unpacked() if brings else "")


def _has(folders: Sequence[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, header)) for folder in folders)


def _located(library: str) -> str | None:
    from cuda.pathfinder import find_nvidia_header_directory

    try:
        folder: str | None = find_nvidia_header_directory(library)
    except RuntimeError:  # a library that this version of cuda-pathfinder does not know
        return None
    return folder


def _unpacked() -> str:
    try:
        return str(cache_directory() / "cuda-headers")
    except MmcoreError:  # no home directory
        return ""


def _version(folders: Sequence[str]) -> tuple[int, int] | None:
    for folder in folders:
        try:
            definition = _VERSION.search(read_text(Path(folder, "cuda_runtime_api.h"), "replace"))
        except OSError:
            continue
        if definition:
            return int(definition[1]) // 1000, int(definition[1]) % 1000 // 10
    return None
