"""All instructions that are a function of the machine, by their opcode."""

from __future__ import annotations

import functools
import re

import numpy as np

from mmcore_emulator.actions import Action, Part
from mmcore_emulator.asynchronous.bulk_actions import bulk_action
from mmcore_emulator.asynchronous.mbarrier_actions import mbarrier_action
from mmcore_emulator.asynchronous.thread_copies import copy_action
from mmcore_emulator.asynchronous.wgmma_actions import wgmma_action
from mmcore_emulator.warp_matrices import matrix_action

# What has nothing to do where every access is made in order and registers are never scarce.
_WITHOUT_EFFECT = re.compile(
    r"fence\.proxy\.(async|alias)(\.(shared::(cta|cluster)|global))?"
    r"|fence\.proxy\.(async|alias)(::generic)?\.(acquire|release)\.sync_restrict::shared::(cta|cluster)\.cluster"
    r"|fence\.proxy\.tensormap::generic\.(acquire|release|acq_rel)\.\w+"
    r"|fence\.mbarrier_init\.release\.cluster"
    r"|setmaxnreg\.(inc|dec)\.sync\.aligned\.u32|griddepcontrol\.(wait|launch_dependents)|nanosleep\.u32"
    r"|prefetchu?(\.(global|local|const|param))?(\.L[12]\S*|\.tensormap)?|applypriority\S*|discard\S*"
)
_POLICY = re.compile(r"createpolicy\.(fractional|range|cvt)\.\S*")


@functools.cache
def action_of(opcode: tuple[str, ...], capability: tuple[int, int] = (9, 0)) -> Action | None:
    """What runs an instruction on a compute capability; None where it is no such instruction, or not known.

    Raises:
        UnsupportedInstruction: nothing is known of its arithmetic there.
    """
    if _WITHOUT_EFFECT.fullmatch(".".join(opcode)):
        return Action(lambda *_: (), (Part("source", count=0),) * 3, least=0)
    if _POLICY.fullmatch(".".join(opcode)):
        return Action(
            lambda ports, *_: [np.zeros((1,) * 6, np.uint64)],
            (Part("result", "b64"), *(Part("source", count=0),) * 3),
            1,
        )
    return (
        matrix_action(opcode, capability)
        or copy_action(opcode)
        or mbarrier_action(opcode)
        or bulk_action(opcode)
        or wgmma_action(opcode, capability)
    )
