"""Kernels that compute a product of float32 matrices wrongly in one way each, or rightly in an unusual way."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from mmcore import Kernel
from tests.wrong_kernels import covering

FOLDER = Path(__file__).parent
SIZES = 32, 32, 16
"""The m, n and k at which the kernels are launched."""
_ARGUMENTS = {"TERM": "(a, b)", "ADD": "(sum, term)", "STORE": "(sum)"}


def read(name: str) -> dict[str, dict[str, str]]:
    """Return the kernels of a file by their titles: macros, and the outcome of the proof."""
    document: dict[str, dict[str, dict[str, str]]] = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    return document[name]


def kernel(folder: Path, title: str, macros: Mapping[str, str]) -> Kernel:
    """Return a kernel, whose source it writes into a folder."""
    defined = {name: value for name, value in macros.items() if name.isupper() and name != "PRELUDE"}
    lines = ["#include <cuda_bf16.h>", "#include <cuda_fp16.h>", macros.get("PRELUDE", "")]
    lines += [f"#define {name}{_ARGUMENTS.get(name, '')} {value}" for name, value in defined.items()]
    path = folder / f"{re.sub('[^a-z0-9]+', '_', title.lower())}.cu"
    path.write_text("\n".join([*lines, (FOLDER / "frame.cu").read_text("utf-8")]))
    return Kernel(name="tests.own", source=path, entry="own", launch=covering, configs=[{"block": (32, 4)}])
