"""Launches of small kernels, and the sentences with which launches are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmcore_emulator import EmulatorError, Report, launch
from mmcore_emulator.api.arguments import Argument
from tests.emulation import ptx_kernel

PTX = ptx_kernel("st.global.u32 [%d2], %r1;")
COPY = """
extern "C" __global__ void copy(const TYPE* from, TYPE* to, int n)
{
    if (threadIdx.x < n)
        to[threadIdx.x] = from[threadIdx.x];
}
"""


def one(source: str, kernel: str, *arguments: Argument, **further: Any) -> Report:
    """Launch one block of one thread."""
    return launch(source, kernel, **{"grid": 1, "block": 1, "args": arguments, **further})


def refusal(error: type[EmulatorError], source: str | Path = PTX, kernel: str = "f", **further: Any) -> str:
    """Return the sentence with which a launch is refused."""
    arguments = {"grid": 1, "block": 32, "args": (np.zeros(32, np.uint32),), **further}
    with pytest.raises(error) as raised:
        launch(source, kernel, **arguments)
    assert issubclass(error, EmulatorError)
    return str(raised.value)


def refusals(name: str) -> pytest.MarkDecorator:
    """Parametrize a test with the lines of a file: keyword arguments => the sentence that refuses them."""
    rows = []
    for line in (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        arguments, _, sentence = line.partition(" => ")
        rows.append(pytest.param(eval(f"dict({arguments})", {"np": np, "Path": Path}), sentence, id=arguments))
    return pytest.mark.parametrize(("changed", "sentence"), rows)
