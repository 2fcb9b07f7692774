"""Barriers of blocks and clusters, and fences, which only notify observers: all accesses are made in order.

Reference: PTX ISA, "Parallel Synchronization and Communication Instructions: bar, membar, fence".
"""

from __future__ import annotations

import numpy as np

from mmcore_emulator.isa.entries import (
    CLUSTER_SPACE,
    Entry,
    Execute,
    Family,
    Function,
    Opcode,
    OperandSpec,
    Wait,
    nothing,
)
from mmcore_emulator.machine.asynchronous.events import GridAwaited, ProxyFenced
from mmcore_emulator.machine.barriers import BarrierKind, Reduction
from mmcore_emulator.machine.lanes import THREAD_AXES
from mmcore_emulator.machine.machine import Execution

# The reductions, by name and result type.
_FINDINGS: dict[tuple[str, str], Function] = {
    ("popc", "u32"): lambda votes, present: (votes & present).sum(THREAD_AXES, np.uint32, keepdims=True),
    ("or", "pred"): lambda votes, present: (votes & present).any(THREAD_AXES, keepdims=True),
    ("and", "pred"): lambda votes, present: (votes | ~present).all(THREAD_AXES, keepdims=True),
}
_SCOPES = {"cta": "cta", "cluster": "gpu", "gpu": "gpu", "gl": "gpu", "sys": "gpu"}
_RESTRICTED = r"sync_restrict::shared::(cta|cluster)\.cluster"


def _kinds() -> dict[tuple[str, ...], BarrierKind]:
    kinds: dict[tuple[str, ...], BarrierKind] = {}
    names: list[tuple[str, ...]] = [("bar",), ("barrier",), ("bar", "cta"), ("barrier", "cta")]
    for name in names:
        modifiers: list[tuple[str, ...]] = [(), ("aligned",)] if name[0] == "barrier" else [()]
        for aligned in modifiers:
            together = name[0] == "bar" or bool(aligned)
            kinds |= {(*name, action, *aligned): BarrierKind(action, together) for action in ("sync", "arrive")}
            for finding, kind in _FINDINGS:
                kinds[*name, "red", finding, *aligned, kind] = BarrierKind("red", together, finding, kind)
    return kinds


_KINDS = _kinds()


def reduction(kind: BarrierKind, slot: int) -> Reduction:
    """Return the reduction of a barrier, with the register of its result."""
    return Reduction(_FINDINGS[kind.finding, kind.kind], slot)


def _block_barrier(opcode: Opcode) -> Wait | None:
    """Return the semantics of ``bar.sync a{, b}``, ``bar.arrive a, b`` or ``bar.red p, a{, b}, c``."""
    kind = _KINDS.get(opcode)
    if kind is None:
        return None
    result = (OperandSpec("result", kind.kind),) * (kind.action == "red")
    return Wait("block", (*result, *(OperandSpec("source", ""),) * 3), kind)


def _arrive_in_cluster(opcode: Opcode) -> Execute:
    relaxed = "relaxed" in opcode
    return Execute(lambda execution: execution.machine.cluster_barrier.arrive(execution.mask, relaxed=relaxed))


FAMILY = Family(
    "Barriers",
    (
        Entry("bar.warp.sync", Wait("warp", (OperandSpec("source", "u32"),)), r"bar\.warp\.sync"),
        Entry("bar|barrier", _block_barrier, r"bar(rier)?\.(?!cluster).*"),
        Entry("barrier.cluster.arrive", _arrive_in_cluster, r"barrier\.cluster\.arrive.*"),
        Entry("barrier.cluster.wait", Wait("cluster"), r"barrier\.cluster\.wait.*"),
    ),
    since=(CLUSTER_SPACE,),
    proof="opaque: `red`",
)


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


FENCES = Family(
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
