"""A kernel with a space of configs for tuners to search, and a device whose times depend only on the config.

The device infers a launch's config from its dynamic shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Space, ceil_div, hookimpl
from mmcore.compile.compiled_module import CompiledModule
from mmcore.devices.base import BoundLaunch, Call, Refresh
from tests.command_line import install
from tests.timed_emulator import MadeUpTimer, TimedEmulator, TimedModule, TimedProvider

# The values of P, Q and R; the fastest config computes a wrong product.
VALUES = {"P": tuple(range(12)), "Q": (1, 2, 4, 8, 16), "R": (0, 1, 2, 3)}
WRONG = 11


def seconds(config: Mapping[str, Any]) -> float:
    """Return a config's time: a valley along P and Q with its minimum at P = 7, Q = 4, R = 2."""
    if config["P"] == WRONG:
        return 1e-6
    bowl: float = (config["P"] - 7) ** 2 / 20 + abs(VALUES["Q"].index(config["Q"]) - 2) / 4
    return 1e-4 * (1 + bowl + (0, 0.3, 0.1, 0.2)[config["R"] - 2])


def least() -> dict[str, int]:
    """Return the fastest config that is right."""
    each = ({"P": p, "Q": q, "R": r} for p in VALUES["P"] for q in VALUES["Q"] for r in VALUES["R"] if p != WRONG)
    return min(each, key=seconds)


def _launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
    grid = ceil_div(problem.n, 8), ceil_div(problem.m, 8)
    code = config.P + 16 * VALUES["Q"].index(config.Q) + 128 * config.R
    return Launch(grid=grid, block=config.block, shared_bytes=4 * code)


class _Module(TimedModule):
    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
        if not calls:
            return MadeUpTimer(lambda: 0.0)
        (call,) = calls
        assert isinstance(call, BoundLaunch)
        code = call.launch.shared_bytes // 4
        time = seconds({"P": code % 16, "Q": VALUES["Q"][code // 16 % 8], "R": code // 128})
        return MadeUpTimer(lambda: time)


class _Landscape(TimedEmulator):
    name = "landscape:0"
    identity = "landscape-number-0"

    def __init__(self) -> None:
        super().__init__(lambda source: 1e-4, flops=1e15)

    @property
    def properties(self) -> DeviceProperties:
        return replace(super().properties, card="Test GPU")

    def load(self, code: CompiledModule) -> _Module:
        return _Module(self._memory, code, self.deadline, self._seconds)


class _Provider(TimedProvider):
    name = "landscape"

    def open(self, index: int) -> TimedEmulator:
        return _Landscape()


@hookimpl
def mmcore_devices() -> list[_Provider]:
    return [_Provider()]


class NotBoth:
    """A constraint."""

    description = "P = 5 goes without Q = 16"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return "P = 5 and Q = 16 are too much together" if (config.P, config.Q) == (5, 16) else None


def valley(source: Path) -> Kernel:
    """Return the kernel; ``source`` is a copy of landscape.cu."""
    space = {"block": [(8, 8)], **VALUES}
    return Kernel(
        name="acme.valley",
        source=source,
        configs=Space(space, where=lambda config: config.P != 3, default=[{"block": (8, 8), "P": 0, "Q": 1, "R": 0}]),
        launch=_launch,
        defines={"WRONG": str(WRONG)},
        constraints=(NotBoth(),),
    )


def install_both(site: Path) -> None:
    """Install the device and the kernel as two packages."""
    install(site, "landscape-device", "landscape", "from tests.landscape import mmcore_devices\n")
    source = site / "landscape.cu"
    install(site, "valley", "valley", _PLUGIN.format(source=str(source)))
    source.write_bytes(Path(__file__).with_suffix(".cu").read_bytes())


_PLUGIN = """from pathlib import Path
from mmcore import hookimpl
from tests.landscape import valley

@hookimpl
def mmcore_kernels():
    return valley(Path({source!r}))
"""
