"""All instructions that are a function of the machine, by their opcode."""

from __future__ import annotations

import functools
import re

import numpy as np

from mmcore_emulator.isa.asynchronous.bulk_actions import bulk_action
from mmcore_emulator.isa.asynchronous.mbarrier_actions import mbarrier_action
from mmcore_emulator.isa.asynchronous.remote_stores import remote_action
from mmcore_emulator.isa.asynchronous.thread_copies import copy_action
from mmcore_emulator.isa.asynchronous.wgmma_actions import wgmma_action
from mmcore_emulator.isa.entries import Action, Part
from mmcore_emulator.isa.matrix import matrix_action
from mmcore_emulator.isa.register_pool import register_action
from mmcore_emulator.isa.system_calls import system_action
from mmcore_emulator.machine.asynchronous.events import GridAwaited, ProxyFenced
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Machine
from mmcore_emulator.machine.memory.addresses import (
    LOCAL_WINDOW,
    MOST_RANK,
    PARAMETER_WINDOW,
    RANK_BEGIN,
    RANK_SHIFT,
    SHARED_WINDOW,
)
from mmcore_emulator.numerics.floats import Values

# What has nothing to do where every access is made in order.
_WITHOUT_EFFECT = re.compile(
    r"(fence|membar)\.proxy\.alias|pmevent(\.mask)?"
    r"|fence\.proxy\.(async|alias)(::generic)?\.(acquire|release)\.sync_restrict::shared::(cta|cluster)\.cluster"
    r"|fence\.proxy\.tensormap::generic\.(acquire|release|acq_rel)\.\w+"
    r"|griddepcontrol\.launch_dependents|nanosleep\.u32"
    r"|prefetchu?(\.(global|local|const|param))?(\.L[12]\S*|\.tensormap)?|applypriority\S*|discard\S*"
)
_PROXY_FENCE = re.compile(r"(fence|membar)\.proxy\.async(\.(shared::(cta|cluster)|global))?")
_INIT_FENCE = "fence.mbarrier_init.release.cluster"
_POLICY = re.compile(r"createpolicy\.(fractional|range|cvt)\.\S*")


def _address_action(opcode: tuple[str, ...]) -> Action | None:
    """Addresses in the shared memory of the cluster's blocks, and whose they are."""
    name, *space, kind = opcode
    if space not in ([], ["shared::cluster"]) or kind not in ("u32", "u64"):
        return None
    if name == "mapa":
        return Action(_mapped, (Part("result", kind), Part("source", kind), Part("source", "u32")))
    return Action(_rank_of, (Part("result", "u32"), Part("source", kind)))


_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")


def _space_action(opcode: tuple[str, ...]) -> Action | None:
    """``isspacep``: whether a generic address leads into a memory."""
    if len(opcode) != 2 or opcode[1] not in _SPACES:
        return None
    return Action(functools.partial(_leads_into, opcode[1]), (Part("result", "pred"), Part("source", "u64")))


def _leads_into(space: str, machine: Machine, mask: object, at: object, address: list[Values]) -> list[Values]:
    window = address[0] // np.uint64(SHARED_WINDOW) * np.uint64(SHARED_WINDOW)
    if space == "shared::cluster":
        return [window == SHARED_WINDOW]
    if space in ("shared", "shared::cta"):
        inside = (address[0] & np.uint64(SHARED_WINDOW - 1)).astype(np.uint32)
        (rank,) = _rank_of(machine, mask, at, [inside])
        return [(window == SHARED_WINDOW) & (rank == machine.special("%cluster_ctarank"))]
    if space in ("local", "param", "param::entry"):
        return [window == (LOCAL_WINDOW if space == "local" else PARAMETER_WINDOW)]
    # Constants lie among the device's arrays. Parameters are a part of global memory.
    places, which = np.unique(address[0], return_inverse=True)
    arrays = [machine.memory.spaces["global"].at(int(each)) for each in places]
    constant = np.array([array is not None and array.read_only for array in arrays])[which.reshape(address[0].shape)]
    return [constant if space == "const" else ~constant & (window != SHARED_WINDOW) & (window != LOCAL_WINDOW)]


def _mapped(machine: Machine, mask: object, at: object, address: list[Values], rank: list[Values]) -> list[Values]:
    kind = address[0].dtype.type
    inside = address[0] & kind(RANK_BEGIN - 1 | (0 if kind is np.uint32 else 2**64 - 2**32))
    return [inside | ((np.minimum(rank[0], np.uint32(MOST_RANK)) + np.uint32(1)).astype(kind) << kind(RANK_SHIFT))]


def _rank_of(machine: Machine, mask: object, at: object, address: list[Values]) -> list[Values]:
    rank = ((address[0] & address[0].dtype.type(2**32 - 1)) >> address[0].dtype.type(RANK_SHIFT)).astype(np.uint32)
    return [np.where(rank, rank - np.uint32(1), machine.special("%cluster_ctarank"))]


def _fence_init(machine: Machine, mask: Mask | None, at: object) -> tuple[()]:
    """What threads have made of mbarriers is ordered before what the cluster and asynchronous instructions do."""
    machine.observers.fence("gpu", mask)
    machine.observers.event(ProxyFenced(mask))
    return ()


@functools.cache
def action_of(opcode: tuple[str, ...], capability: tuple[int, int]) -> Action | None:
    """What runs an instruction on a compute capability; None where it is no such instruction, or not known.

    Raises:
        UnsupportedInstruction: nothing is known of its arithmetic there.
    """
    if _WITHOUT_EFFECT.fullmatch(".".join(opcode)):
        return Action(lambda *_: (), (Part("ignored"),) * 3, least=0)
    if _PROXY_FENCE.fullmatch(".".join(opcode)):
        whole = not any("shared" in each for each in opcode)
        return Action(lambda machine, mask, at: machine.observers.event(ProxyFenced(mask, whole)) or ())
    if ".".join(opcode) == _INIT_FENCE:
        return Action(_fence_init)
    if opcode == ("griddepcontrol", "wait"):
        return Action(lambda machine, mask, at: machine.observers.event(GridAwaited(mask)) or ())
    if _POLICY.fullmatch(".".join(opcode)):
        given = (Part("ignored"),) * 4
        return Action(lambda *_: [np.zeros((1,) * 6, np.uint64)], (Part("result", "b64"), *given), least=1)
    if opcode[:3] == ("barrier", "cluster", "arrive"):
        relaxed = "relaxed" in opcode
        return Action(lambda machine, mask, at: machine.cluster_barrier.arrive(mask, relaxed=relaxed) or ())
    if opcode[0] in ("mapa", "getctarank"):
        return _address_action(opcode)
    if opcode[0] == "isspacep":
        return _space_action(opcode)
    return (
        matrix_action(opcode, capability)
        or copy_action(opcode)
        or mbarrier_action(opcode)
        or bulk_action(opcode)
        or remote_action(opcode)
        or wgmma_action(opcode, capability)
        or register_action(opcode)
        or system_action(opcode)
    )
