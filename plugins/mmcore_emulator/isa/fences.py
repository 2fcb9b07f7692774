"""Fences. The emulator makes all accesses in order, so fences only notify observers.

Reference: PTX ISA, "Parallel Synchronization and Communication Instructions: membar, fence".
"""

from __future__ import annotations

from mmcore_emulator.isa.entries import CLUSTER_SPACE, Entry, Execute, Family, Opcode, nothing
from mmcore_emulator.machine.asynchronous.events import GridAwaited, ProxyFenced
from mmcore_emulator.machine.machine import Execution

_SCOPES = {"cta": "cta", "cluster": "gpu", "gpu": "gpu", "gl": "gpu", "sys": "gpu"}
_RESTRICTED = r"sync_restrict::shared::(cta|cluster)\.cluster"


def _fence(opcode: Opcode) -> Execute:
    scope = _SCOPES[opcode[-1]]
    return Execute(lambda execution: execution.machine.observers.fence(scope, execution.mask))


def _proxy_fence(opcode: Opcode) -> Execute:
    whole = not any("shared" in part for part in opcode)
    return Execute(lambda execution: execution.machine.observers.event(ProxyFenced(execution.mask, whole)))


def _fence_init(execution: Execution) -> None:
    """Order the initialisation of mbarriers before accesses by the cluster and by asynchronous instructions."""
    execution.machine.observers.fence("gpu", execution.mask)
    execution.machine.observers.event(ProxyFenced(execution.mask))


def _await_grid(execution: Execution) -> None:
    execution.machine.observers.event(GridAwaited(execution.mask))


FAMILY = Family(
    "Fences",
    (
        Entry("membar", _fence, r"membar\.(cta|gl|sys|gpu|cluster)"),
        Entry("fence", _fence, r"fence(\.(acq_rel|sc|acquire|release))?\.(cta|cluster|gpu|gl|sys)"),
        Entry(
            "fence.sync_restrict",
            _fence,
            r"fence\.(acquire\.sync_restrict::shared::cluster|release\.sync_restrict::shared::cta)\.cluster",
        ),
        Entry("fence|membar.proxy.alias", Execute(nothing), r"(fence|membar)\.proxy\.alias"),
        Entry(
            "fence|membar.proxy.async", _proxy_fence, r"(fence|membar)\.proxy\.async(\.(shared::(cta|cluster)|global))?"
        ),
        Entry(
            "fence.proxy.tensormap::generic",
            Execute(nothing),
            rf"fence\.proxy\.(async|alias)(::generic)?\.(acquire|release)\.{_RESTRICTED}"
            r"|fence\.proxy\.tensormap::generic\.(acquire|release|acq_rel)\.\w+",
        ),
        Entry("fence.mbarrier_init", Execute(_fence_init), r"fence\.mbarrier_init\.release\.cluster"),
        Entry("griddepcontrol.wait", Execute(_await_grid), r"griddepcontrol\.wait"),
        Entry("griddepcontrol.launch_dependents", Execute(nothing), r"griddepcontrol\.launch_dependents"),
    ),
    since=(
        (
            (9, 0),
            r"griddepcontrol\..*|fence\.(acquire|release|mbarrier_init)\..*|(fence|membar)\.proxy\.(async|tensormap).*",
        ),
        CLUSTER_SPACE,
    ),
)
