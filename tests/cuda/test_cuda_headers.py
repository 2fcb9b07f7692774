"""CUDA's own headers: their folders, and messages about missing ones and other versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import mmcore
from mmcore_cuda.nvrtc import cuda_headers
from mmcore_cuda.nvrtc.bindings import nvrtc_version
from mmcore_cuda.nvrtc.cuda_headers import CudaHeaders
from tests.cuda.test_compiler import SOURCE, compiled

HEADERS = (
    *("mma.h", "cuda_fp8.h", "cuda_bf16.h", "cuda_fp16.h", "cooperative_groups.h", "cuda/barrier", "cuda/pipeline"),
    *("cuda/ptx", "cuda/std/cstdint", "nv/target", "cuda.h", "cuda_pipeline.h", "cuda_runtime.h"),
)


@pytest.mark.parametrize("header", HEADERS)
def test_cudas_own_headers_compile(cu_file: Path, header: str) -> None:
    assert compiled(cu_file, f"#include <{header}>\n{SOURCE}", value="1.0f").functions


TOOLKIT = ("cuda_runtime.h", "crt/host_defines.h", "cccl/cuda/std/version")


@pytest.fixture
def located(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """Yield the folders of headers that cuda-pathfinder finds, by library."""
    found: dict[str, Path] = {}

    def find(library: str) -> str | None:
        return str(found[library]) if library in found else None

    monkeypatch.setattr("cuda.pathfinder.find_nvidia_header_directory", find)
    cuda_headers.cuda_headers.cache_clear()
    yield found
    cuda_headers.cuda_headers.cache_clear()


def made(folder: Path, *headers: str, version: str = "13050") -> Path:
    """Write these headers to a folder and return it."""
    for header in (*headers, "cuda_runtime_api.h"):
        (folder / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / header).write_text(f"#define CUDART_VERSION  {version}\n")
    return folder


@pytest.mark.parametrize(
    ("number", "version"), [("12040", (12, 4)), ("13000", (13, 0)), ("13110", (13, 11)), ("of its own", None)]
)
def test_a_toolkit_has_all_headers_in_one_folder(
    tmp_path: Path, located: dict[str, Path], number: str, version: tuple[int, int] | None
) -> None:
    located["cudart"] = made(tmp_path / "include", *TOOLKIT, version=number)
    found = cuda_headers.cuda_headers()
    assert found.options == (f"-I{tmp_path}/include", f"-I{tmp_path}/include/cccl")
    assert (found.version, found.missing, found.unpacked) == (version, (), "")
    (tmp_path / "include" / "cuda_runtime_api.h").unlink()
    cuda_headers.cuda_headers.cache_clear()
    assert cuda_headers.cuda_headers().version is None


def test_python_packages_may_have_a_folder_each(tmp_path: Path, located: dict[str, Path]) -> None:
    parts = {"cudart": "cuda_runtime.h", "cccl": "cuda/std/version", "nvcc": "crt/host_defines.h"}
    located.update({library: made(tmp_path / library, header) for library, header in parts.items()})
    assert cuda_headers.cuda_headers().folders == tuple(str(tmp_path / library) for library in parts)


@pytest.mark.parametrize("version", [(13, 4), (13, 3), (12, 9)])
def test_missing_headers_come_with_nvrtc_or_are_reported(
    tmp_path: Path, located: dict[str, Path], monkeypatch: pytest.MonkeyPatch, version: tuple[int, int]
) -> None:
    monkeypatch.setattr(cuda_headers, "nvrtc_version", lambda: version)
    monkeypatch.setattr(cuda_headers, "cache_directory", lambda: tmp_path)
    located["cudart"] = made(tmp_path / "include", "cuda_runtime.h", version="13040")
    found = cuda_headers.cuda_headers()
    assert found.missing == ("crt", "cccl")
    if version == (13, 4):
        assert found.options[1:] == (f"--use-bundled-headers={tmp_path}/cuda-headers",)
        assert found.lacking() == ""
    else:
        crt = "crt" if version[0] == 13 else "nvcc"
        installed = f"cuda-toolkit[{crt},cccl]=={version[0]}.{version[1]}.*"
        assert found.lacking() == (
            f"some of CUDA's headers are not installed; python -m pip install '{installed}' brings them"
        )


def test_headers_of_another_version_are_reported() -> None:
    major, minor = nvrtc_version()
    other = CudaHeaders(("/cuda/include",), (11, 8), ())
    assert other.findings() == {
        "headers": "/cuda/include (of CUDA 11.8); "
        f"CUDA's headers in /cuda/include are of CUDA 11.8, NVRTC is of {major}.{minor}"
    }
    assert CudaHeaders(("/cuda/include",), nvrtc_version(), ()).differing() == ""
    unknown = CudaHeaders(("/cuda/include",), None, ("cccl",))
    assert (unknown.differing(), unknown.options) == ("", ("-I/cuda/include",))
    assert unknown.findings() == {
        "headers": "/cuda/include (of an unknown version); some of CUDA's headers are not installed; "
        f"python -m pip install 'cuda-toolkit[cccl]=={major}.{minor}.*' brings them"
    }
    assert CudaHeaders((), None, ("cccl",), "/cache").findings() == {"headers": "those that NVRTC brings, in /cache"}


def test_an_error_in_other_versions_headers_says_so(cu_file: Path, tmp_path: Path, located: dict[str, Path]) -> None:
    located["cudart"] = made(tmp_path / "include", *TOOLKIT, version="11080")
    (tmp_path / "include" / "mma.h").write_text("flaot x;\n")
    with pytest.raises(mmcore.CompileError, match=r"does not compile \(CUDA's headers in \S+ are of CUDA 11\.8, NVRTC"):
        compiled(cu_file, f"#include <mma.h>\n{SOURCE}", value="1.0f")
