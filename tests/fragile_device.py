"""A device whose kernels can damage their process, as on a GPU, and that measures made-up times.

The name of the .cu file selects the damage. The module is the plugin that adds the device.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mmcore import hookimpl
from mmcore.compile.compiled_module import CompiledModule
from mmcore.devices.base import Call, Refresh
from mmcore.devices.violations import Violation
from mmcore.errors import DeviceError
from tests.timed_emulator import MadeUpTimer, TimedEmulator, TimedModule, TimedProvider


class FragileModule(TimedModule):
    """Code that misbehaves when it is run, or only when it is timed."""

    _runs = 0

    def run(self, calls: Sequence[Call]) -> list[Violation]:
        match self._source:
            case "segfaults.cu":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "exits.cu":
                os._exit(3)
            case "hangs.cu":
                time.sleep(3600)
            case "loses.cu":
                FragileDevice.lost = True
                return [Violation("illegal-address", "the kernel accessed memory that is not there", fatal=True)]
            case "raises.cu":
                raise RuntimeError("the driver is confused")
            case "tires.cu":
                self._runs += 1
                if self._runs > 1:
                    return []
            case "alternates.cu":
                self._runs += 1
                if self._runs % 2 == 0:
                    return []
            case "prints.cu":
                print("x" * 100_000)
        return super().run(calls)

    def timer(self, calls: Sequence[Call], *, cold: bool = False, refresh: Sequence[Refresh] = ()) -> Any:
        if self._source == "hangs_when_timed.cu":
            return HangingTimer(lambda: 1e-4)
        if self._source == "lazy.cu":
            # Copies take no time here.
            return MadeUpTimer(lambda: 0.0 if not calls else 1e-4 if len(refresh) > 1 else 1e-6)
        return super().timer(calls, cold=cold, refresh=refresh)


class HangingTimer(MadeUpTimer):
    """A launch that never ends."""

    def seconds(self, count: int) -> float:
        time.sleep(3600)
        return 0.0


class FragileDevice(TimedEmulator):
    """The device; each process has its own."""

    name = "fragile:0"
    identity = "fragile-number-0"
    lost = False

    def __init__(self) -> None:
        super().__init__(lambda source: 1e-4, flops=1e15)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {**super().facts, "process": os.getpid()}

    def allocate(self, label: str, nbytes: int, over_read_bytes: int = 0) -> Any:
        if nbytes > 1 << 20:
            raise DeviceError(f"the {nbytes} bytes of {label} cannot be allocated: out of memory")
        return super().allocate(label, nbytes, over_read_bytes)

    def load(self, code: CompiledModule) -> FragileModule:
        return FragileModule(self._memory, code, self.deadline, self._seconds)


class FragileProvider(TimedProvider):
    """Provides it."""

    name = "fragile"

    def open(self, index: int) -> TimedEmulator:
        if "FRAGILE_BROKEN" in os.environ:
            sys.exit("no such card")
        return FragileDevice()


@hookimpl
def mmcore_devices() -> list[FragileProvider]:
    return [FragileProvider()]
