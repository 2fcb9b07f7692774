"""A trial: what was tried of a kernel, what came of it, and the command that does it again."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from typing import Any

from mmcore_conform.cases import Case
from mmcore.deadline import USUAL_SECONDS
from mmcore.reproduce import launch_command

ASPECTS = {
    "product": "every element that is written is within its bound",
    "written": "every element of C is written",
    "bounds": "nothing outside the matrices is touched, between the rows of a strided C neither",
    "inputs": "A and B are left as they were",
    "repeatable": "the same inputs give the same bits, whatever memory held before",
    "hazards": "no race, no divergent barrier, no misaligned access, no element written in vain",
    "over-read": "what is declared to be read past a matrix is enough, and is needed",
    "refusals": "what breaks a constraint is refused in its words, before anything is compiled or launched",
    "geometry": "block, grid, registers and shared memory fit compute capabilities 7.5 to 12.0",
    "known-violations": "nothing is declared to be wrong",
}
"""Every aspect of conformance, with what it asks for."""

PASSED, FAILED, UNTRIED = "passed", "failed", "untried"


@dataclass(frozen=True)
class Trial:
    """One aspect of one case.

    Attributes:
        aspect: one of :data:`ASPECTS`.
        what: what was tried, in a few words.
        verdict: "passed", "failed", or "untried" where this machine cannot tell.
        reason: why it failed or was not tried; of a refusal that was right, its words. Empty otherwise.
        reproduce: the command that does it again.
    """

    aspect: str
    what: str
    verdict: str
    reason: str
    reproduce: str

    def to_json(self) -> dict[str, Any]:
        """The trial as JSON-ready values."""
        return asdict(self)


@dataclass(frozen=True)
class Setting:
    """What all trials of a kernel have in common.

    Attributes:
        kernel: the kernel's name.
        device: the name of the device that runs it.
        watcher: the name of the device that looks for hazards.
        seed: seed of the inputs.
        seconds: how long a case may take on each of the devices, in the host's time.
    """

    kernel: str
    device: str
    watcher: str
    seed: int
    seconds: float = USUAL_SECONDS

    def run(self, case: Case, *, force: bool = False) -> str:
        """The ``mmcore run`` that does a case again."""
        return self._launch("run", case, self.device, force)

    def check(self, case: Case, *, force: bool = False) -> str:
        """The ``mmcore check`` that does a case again."""
        return self._launch("check", case, self.watcher, force)

    def conform(self) -> str:
        """The ``mmcore conform`` that does everything again, for what takes several runs to see."""
        return shlex.join(["mmcore", "conform", self.kernel, "--device", self.device, "--seed", str(self.seed)])

    def _launch(self, command: str, case: Case, device: str, force: bool) -> str:
        again = launch_command(
            command, self.kernel, case.problem, case.block, device=device, seed=self.seed, force=force
        )
        return again if self.seconds == USUAL_SECONDS else f"{again} --timeout {self.seconds:g}"
