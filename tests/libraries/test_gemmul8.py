"""GEMMul8's build from a checkout, with a compiler that only notes its command."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mmcore import Config
from mmcore.devices.base import Operand
from mmcore.errors import MmcoreError, Unsupported
from mmcore.kernel.problem import dtype_named
from mmcore.registry import registry
from mmcore_libraries.gemmul8 import library
from mmcore_libraries.gemmul8.__main__ import main


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Replace the compiler and CUDA's libraries, and empty the cache; return the compiler's commands."""
    made: list[list[str]] = []

    def run(command: Sequence[str], **options: object) -> SimpleNamespace:
        made.append([*command])
        failed = "fails" in command[0]
        if not failed:
            Path(command[-1]).write_bytes(b"code")
        return SimpleNamespace(returncode=int(failed), stderr="entry.cu(1): error: of the compiler\n")

    monkeypatch.setenv("MMCORE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(library, "find_nvidia_binary_utility", lambda name: "/cuda/nvcc")
    monkeypatch.setattr(library, "find_nvidia_header_directory", lambda name: "/cuda/include")
    monkeypatch.setattr(library, "_loaded", lambda name: f"/cuda/lib{name}.so")
    library._library.cache_clear()
    return made


def checkout_in(folder: Path) -> Path:
    (folder / "GEMMul8/src").mkdir(parents=True)
    (folder / "GEMMul8/src/gemmul8_real.hpp").touch()
    return folder


def test_it_is_built_from_a_checkout_into_the_cache(
    commands: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkout = checkout_in(tmp_path / "checkout")
    for folder in (checkout, checkout / "GEMMul8"):
        assert main([str(folder), "90"]) == 0
    path = tmp_path / "cache/libraries/libmmcore_gemmul8.so"
    assert capsys.readouterr().out == f"{path}\n" * 2
    assert path.read_bytes() == b"code"
    assert [*path.parent.iterdir()] == [path]
    for command in commands:
        assert command[0] == "/cuda/nvcc"
        assert {f"-I{checkout / 'GEMMul8'}", "-I/cuda/include", "arch=compute_90,code=sm_90"} <= {*command}
        assert {"/cuda/libcublas.so", "/cuda/libcublasLt.so"} <= {*command}


def test_what_cannot_be_built_is_refused_in_a_sentence(
    commands: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(MmcoreError, match="is no checkout of GEMMul8: it has no GEMMul8"):
        library.build(tmp_path)
    checkout = checkout_in(tmp_path / "checkout")
    monkeypatch.setattr(library, "find_nvidia_binary_utility", lambda name: "/cuda/fails")
    assert main([str(checkout), "90"]) == 2
    assert capsys.readouterr().err == "Error: nvcc cannot build GEMMul8:\nentry.cu(1): error: of the compiler\n"
    assert not any((tmp_path / "cache/libraries").iterdir())
    monkeypatch.setattr(library, "find_nvidia_binary_utility", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MmcoreError, match="nvcc, which builds GEMMul8, was found neither"):
        library.build(checkout, "90")
    assert main([]) == main(["--help"]) == main(["a", "b", "c"]) == 2
    assert len(commands) == 1


@pytest.mark.usefixtures("commands")
def test_without_the_library_a_sentence_says_how_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = registry().kernel("gemmul8.float32")
    operand = Operand(256, (16, 16), (16, 1), dtype_named("float32"))
    monkeypatch.setattr("mmcore_libraries.gemmul8.in_gpu_memory", lambda address: True)
    assert kernel.call is not None
    with pytest.raises(Unsupported, match=r"^GEMMul8 is not built: python -m mmcore_libraries.gemmul8 CHECKOUT builds"):
        kernel.call(kernel.problem(16, 16, 16), Config({}), dict.fromkeys("ABC", operand))
    library.library_path().parent.mkdir(parents=True)
    library.library_path().write_bytes(np.arange(9).tobytes())
    with pytest.raises(Unsupported, match=r"^GEMMul8 cannot be loaded"):
        kernel.call(kernel.problem(16, 16, 16), Config({}), dict.fromkeys("ABC", operand))
