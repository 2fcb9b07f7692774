"""The hooks a plugin can implement. A plugin is a module named by an entry point in the group ``mmcore``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from mmcore.launching.device import DeviceProvider
    from mmcore.planning.kernel import Kernel
    from mmcore.sweeping.sweep import Sweep

hookspec = pluggy.HookspecMarker("mmcore")
hookimpl = pluggy.HookimplMarker("mmcore")


@hookspec
def mmcore_kernels() -> Iterable[Kernel]:  # type: ignore[empty-body]
    """Return the kernels that this plugin adds."""


@hookspec
def mmcore_devices() -> Iterable[DeviceProvider]:  # type: ignore[empty-body]
    """Return the providers of devices that this plugin adds; nothing is searched for or opened yet."""


@hookspec
def mmcore_experiments() -> Iterable[Sweep]:  # type: ignore[empty-body]
    """Return the experiments that this plugin declares: sweeps over kernels, sizes and blocks."""
