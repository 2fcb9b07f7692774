"""Programs that are no matrix products, with results that numpy computes.

Each is a .cu file in ``programs/``. The comment at its top has these lines, whose values are Python:

``// given: x = np.zeros(8)``
    Variables, before the launch.
``// launch: kernel<<<grid, block>>>(x, 8)``
    The launch in CUDA's notation.
``// variables: weights=x``
    Variables of the module.
``// expect: y = 2 * x within 1e-6``
    The content of an array after the launch, with a relative tolerance of floats if the bits may differ.

A comment such as ``// MISSING_BARRIER: shared-race`` in a line says that defining the macro causes this hazard there.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator import Report, TensorMap, launch

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.cu"))
LAUNCH = re.compile(r"(.+?)<<<(.*)>>>\((.*)\)")


def random() -> np.random.Generator:
    return np.random.default_rng(7)


def mandelbrot(height: int, width: int, most: int) -> NDArray[np.uint8]:
    """Return the number of steps, up to a limit, until each point leaves the circle of radius 2."""
    steps = np.zeros((height, width), np.uint8)
    c = (-2 + np.arange(width) * 0.15) + 1j * (0.75 - np.arange(height)[:, None] * 0.15)
    x, y = np.zeros(c.shape), np.zeros(c.shape)
    for _ in range(most):
        inside = x * x + y * y <= 4
        steps += inside
        x, y = np.where(inside, x * x - y * y + c.real, 9), np.where(inside, 2 * x * y + c.imag, 9)
    return steps


NAMES = {"np": np, "struct": struct, "TensorMap": TensorMap, "random": random, "mandelbrot": mandelbrot}


class Program:
    """A kernel with its arguments.

    Attributes:
        path: its .cu file.
        names: its variables by name.
    """

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.cu"
        header = re.findall(r"(?m)^// (given|launch|variables|expect): (.*)$", self.path.read_text())
        self.names: dict[str, Any] = dict(NAMES)
        for key, text in header:
            if key == "given":
                exec(text, self.names)
        lines = {key: text for key, text in header if key != "given"}
        found = LAUNCH.fullmatch(lines["launch"])
        assert found
        self._kernel, geometry, arguments = found.groups()
        self._grid, self._block = self._value(geometry)
        self._arguments = self._value(f"{arguments},")
        self._variables = self._value(f"dict({lines.get('variables', '')})")
        self._result, _, expected = lines["expect"].partition(" = ")
        expression, _, tolerance = expected.partition(" within ")
        self._expected, self._tolerance = np.array(self._value(expression)), float(tolerance or 0)

    def _value(self, expression: str) -> Any:
        return eval(expression, self.names)

    def launch(self, *macros: str, check: bool = True) -> Report:
        """Launch the kernel, with macros defined."""
        options = [f"-D{macro}" for macro in macros]
        given: dict[str, Any] = {"args": self._arguments, "variables": self._variables, "options": options}
        return launch(self.path, self._kernel, grid=self._grid, block=self._block, check=check, timeout=60, **given)

    def assert_right(self) -> None:
        """Assert that the result is the expected one."""
        found = self.names[self._result].astype(np.float64)
        np.testing.assert_allclose(found, self._expected, rtol=self._tolerance, atol=self._tolerance)


def broken() -> list[tuple[str, str, str, int]]:
    """Return each broken variant: the program, the macro that breaks it, the hazard's kind, and its line."""
    variants = []
    for name in PROGRAMS:
        for number, line in enumerate((FOLDER / f"{name}.cu").read_text().splitlines(), start=1):
            _, _, comment = line.partition("// ")
            variants += [(name, macro, kind, number) for macro, kind in re.findall(r"([A-Z_]+): ([a-z-]+)", comment)]
    return variants
