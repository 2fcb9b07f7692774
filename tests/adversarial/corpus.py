"""The kernels in this folder, the verdict that each must get, and the one that it gets.

A kernel is a file ``KIND/NAME.py`` that holds:

- a docstring: what is particular about it;
- ``SOURCE``: the CUDA source, with one ``__global__`` function;
- ``DECLARED`` (optional): attributes of :class:`mmcore.Kernel` besides its name and source;
- ``SIZES`` (optional): the products it is tried with, (m, n, k) each;
- ``EXPECTED`` (optional): by command, what differs from the kind's own verdict in :data:`EXPECTED`;
- ``LIMIT`` and ``GPU_LIMIT`` (optional): why the emulator, or a GPU, calls a wrong one verified, as
  docs/verification.md says;
- ``GPU`` (optional): False where a GPU must not, or cannot, run it; ``EMULATED``: False where the emulator cannot.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mmcore
from mmcore import Kernel
from mmcore.api import cell
from mmcore.executor.worker import opened
from mmcore_emulator.adapter.check import check_cell

FOLDER = Path(__file__).parent
KINDS = ("wrong", "right", "hazardous", "innocent")
SIZES = ((33, 35, 37), (64, 64, 64))

EXPECTED = {
    # At one of the sizes at least it is found wrong.
    "wrong": {"run": "wrong"},
    # At every size it is verified, and the sanitizer finds nothing.
    "right": {"run": "verified", "check": "silent"},
    # At one of the sizes at least the sanitizer finds something; EXPECTED["check"] in the file says which kind.
    "hazardous": {"check": "found"},
    "innocent": {"run": "verified", "check": "silent"},
}
"""What the kernels of each kind get from each command."""


@dataclass(frozen=True)
class Adversary:
    """One kernel of the corpus.

    Attributes:
        kind, name: its folder and file.
        values: what its file defines.
    """

    kind: str
    name: str
    values: dict[str, Any]

    @property
    def sizes(self) -> list[tuple[int, int, int]]:
        return list(self.values.get("SIZES", SIZES))

    @property
    def emulated(self) -> bool:
        """Whether the emulator knows all its instructions."""
        return bool(self.values.get("EMULATED", True))

    @property
    def expected(self) -> dict[str, str]:
        """The verdict of each command."""
        return {**EXPECTED[self.kind], **self.values.get("EXPECTED", {})}

    def kernel(self, folder: Path) -> Kernel:
        """The kernel, its source written to ``folder``."""
        source = folder / f"{self.name}.cu"
        source.write_text(self.values["SOURCE"])
        usual: dict[str, Any] = {"name": f"{self.kind}.{self.name}", "configs": [{"block": (16, 16)}]}
        return Kernel(**{**usual, **self.values.get("DECLARED", {})}, source=source)


def adversary(path: Path) -> Adversary:
    """The kernel of one file."""
    return Adversary(path.parent.name, path.stem, runpy.run_path(str(path)))


def corpus() -> Iterator[Adversary]:
    """Every kernel, by kind and name."""
    for kind in KINDS:
        yield from map(adversary, sorted((FOLDER / kind).glob("[!_]*.py")))


def run_verdict(kernel: Kernel, size: tuple[int, int, int], device: str, timeout: float = 60.0) -> str:
    """ "verified", "out of time", or "wrong: " and why."""
    m, n, k = size
    result = mmcore.run(kernel, m=m, n=n, k=k, device=device, timeout=timeout)
    if result.timed_out:
        return "out of time"
    return "verified" if result.verified else f"wrong: {'; '.join(result.failures())}"


def check_verdict(kernel: Kernel, size: tuple[int, int, int], timeout: float = 60.0) -> list[str]:
    """What ``mmcore check`` finds, a line for each."""
    m, n, k = size
    asked, nameless = cell(kernel, m=m, n=n, k=k, device="emulator", timeout=timeout)
    device = opened("emulator")
    with device.deadline.within(timeout):
        checked = check_cell(asked, device, nameless)
    warnings = [f"warning: {found.kind}: {found.message}" for found in checked.warnings]
    return [f"{found.kind}: {found.message}" for found in checked.violations] + warnings
