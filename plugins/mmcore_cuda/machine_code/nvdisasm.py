"""NVIDIA's disassembler, ``nvdisasm``: from the Python package, the PATH, or a CUDA toolkit."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

MISSING = "machine code is not shown: python -m pip install 'mmcore-cuda[sass]' brings nvdisasm, which reads it"
"""A sentence for the user where there is no disassembler."""
_PACKAGE = "nvidia-cuda-nvdisasm"
_SECONDS = 60.0


@functools.lru_cache(maxsize=16)
def disassembly(cubin: bytes) -> str | None:
    """Return the text of a CUBIN's code with source lines and encodings; None if no disassembler reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.cubin"
        path.write_bytes(cubin)
        for program in programs():
            command = [program, "--print-code", "--print-line-info-inline", "--print-instruction-encoding", str(path)]
            try:
                answer = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
                continue
            if answer.returncode == 0:
                return answer.stdout
    return None


def programs() -> Iterator[str]:
    """Yield the disassemblers of this machine; one may be too old for an architecture that the next one knows.

    The package's is the first: that of CUDA 13.0 does not note which loads and stores are of spilled registers.
    """
    with contextlib.suppress(PackageNotFoundError):
        yield from (str(file.locate()) for file in files(_PACKAGE) or () if file.stem == "nvdisasm")
    if on_path := shutil.which("nvdisasm"):
        yield on_path
    toolkits = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    yield from (str(path) for toolkit in toolkits if (path := toolkit / "bin" / "nvdisasm").is_file())
