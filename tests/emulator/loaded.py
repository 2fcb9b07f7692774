"""A program on an emulated device, and an array that outlives its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundLaunch
from mmcore.devices.violations import Violation
from mmcore.kernel.launch import Launch
from mmcore_emulator.adapter.device import EmulatedBuffer, EmulatedModule, Emulator
from tests.emulation import ptx_of


def content(buffer: EmulatedBuffer, count: int, dtype: Any = np.float32) -> NDArray[Any]:
    out = np.empty(count, dtype)
    buffer.download(out)
    return out


class Loaded:
    """A program with a kernel ``f``, which has an array ``out`` and a number as arguments."""

    def __init__(self, source: str = "", emulator: Emulator | None = None, *, text: str = "") -> None:
        self.emulator = emulator or Emulator()
        module = CompiledModule("sm_90", "test.cu", {}, b"", text or ptx_of(source))
        self.program: EmulatedModule = self.emulator.load(module)
        self.buffer: EmulatedBuffer = self.emulator.allocate("out", 128)
        self.buffer.upload(np.zeros(32, np.int32))

    def launch(
        self,
        n: int = 0,
        *,
        grid: Sequence[int] = (1,),
        block: Sequence[int] = (32,),
        function: str = "f",
        arguments: tuple[EmulatedBuffer, ...] = (),
    ) -> list[Violation]:
        given = arguments or (self.buffer, np.int32(n))
        launch = Launch(grid=tuple(grid), block=tuple(block))
        return self.program.run([BoundLaunch(CompiledFunction(function, 16, 0, 0), launch, given)])

    @property
    def out(self) -> NDArray[np.int32]:
        return content(self.buffer, 32, np.int32)


def kernel_of(declarations: str, body: str) -> str:
    """Return a kernel whose body begins on line 3."""
    return f'{declarations}\nextern "C" __global__ void f(int* out, int n) {{\n{body}\n}}'
