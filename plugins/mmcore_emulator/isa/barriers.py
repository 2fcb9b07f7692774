"""The instructions of barriers of a block."""

from __future__ import annotations

import numpy as np

from mmcore_emulator.isa.entries import CLUSTER_SPACE, Entry, Execute, Family, Function, Opcode, OperandSpec, Wait
from mmcore_emulator.machine.barriers import BarrierKind, Reduction
from mmcore_emulator.machine.lanes import THREAD_AXES

# The reductions, by name and result type.
_FINDINGS: dict[tuple[str, str], Function] = {
    ("popc", "u32"): lambda votes, present: (votes & present).sum(THREAD_AXES, np.uint32, keepdims=True),
    ("or", "pred"): lambda votes, present: (votes & present).any(THREAD_AXES, keepdims=True),
    ("and", "pred"): lambda votes, present: (votes | ~present).all(THREAD_AXES, keepdims=True),
}


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
)
