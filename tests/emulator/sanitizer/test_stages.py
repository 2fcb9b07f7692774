"""Reads of a matrix that reach into the copies of another stage of a ring."""

from __future__ import annotations

import re
from unittest import mock

import numpy as np
import pytest

from mmcore_emulator.machine.asynchronous.events import Transfer
from mmcore_emulator.ptx.instructions import Instruction
from mmcore_emulator.sanitizer.asynchronous.stages import Stages

TILES = {1000: (0, 64), 1008: (64, 128)}  # words of a tile of each stage, by the place of its mbarrier


def _copy(mbarrier: int) -> Transfer:
    words = np.arange(*TILES[mbarrier])[np.newaxis]
    return Transfer(Instruction(("",), ()), np.zeros((1, 1), np.int64), words, True, mbarriers=np.array([mbarrier]))


@pytest.mark.parametrize(
    ("read", "waited", "clause"),
    [
        ((16, 80), 1000, "begins in the tile at byte 0 and ends 64 bytes behind it, at byte 256, into which another"),
        ((64, 128), 1000, "reads byte 256, into which a bulk copy may still be copying; .* last is that of byte 1000"),
        ((0, 64), 1000, ""),
        ((64, 128), 1008, ""),
        ((64, 128), None, ""),
    ],
)
def test_a_read_beyond_the_stage_that_was_waited_for_is_named(
    read: tuple[int, int], waited: int | None, clause: str
) -> None:
    report = mock.Mock()
    report.name = lambda word: f"byte {4 * word}"
    stages, lanes = Stages(4, report), np.arange(4)
    stages.land(_copy(1000))
    if waited is not None:
        stages.wait(lanes[:1], np.array([waited]))
    said = stages.beyond(_copy(1008), np.arange(*read), lanes)
    assert (said == "") == (clause == "")
    assert not clause or re.search(clause, said)
