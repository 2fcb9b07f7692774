"""Mbarrier objects in 64-bit words: their phases, their misuse and the forms of their instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.verify.elements import POISON_HALFWORD
from mmcore_emulator.isa.asynchronous import mbarriers
from mmcore_emulator.machine.machine import MbarrierLog
from mmcore_emulator.ptx.instructions import Instruction
from tests.tables import table, words_of

Words = NDArray[Any]
ARRIVE = mbarriers.MbarrierKind("arrive")


def one(number: int) -> Words:
    return np.array([number], np.uint32)


def after(history: str) -> Words:
    """Return the word that operations such as "init 3, arrive 1" leave."""
    word: Words = np.zeros(1, np.uint64)
    for name, operand in (each.split() for each in history.split(", ")):
        word = getattr(mbarriers, name)(word, one(int(operand)))
    return word


def clauses(opcode: str, word: Words, operand: int | None = None) -> list[str]:
    kind = mbarriers.parse(tuple(opcode.split(".")))
    assert kind
    return [problem.clause for problem in mbarriers.problems(kind, word, None if operand is None else one(operand))]


@table(
    "parity tx expected pending history",
    """
    # A phase ends with its last arrival, and the next one expects as many.
    0 0 3 3  init 3
    0 0 3 1  init 3, arrive 1, arrive 1
    1 0 3 3  init 3, arrive 1, arrive 1, arrive 1
    0 0 3 3  init 3, arrive 1, arrive 1, arrive 1, arrive 3
    # A phase waits for bytes, which may come before or after they are expected.
    0 8192 1 0   init 1, arrive_expect_tx 8192
    0 4096 1 0   init 1, arrive_expect_tx 8192, complete_tx 4096
    1 0 1 1      init 1, arrive_expect_tx 8192, complete_tx 4096, complete_tx 4096
    0 -4096 1 1  init 1, complete_tx 4096
    1 0 1 1      init 1, complete_tx 4096, arrive_expect_tx 4096
    0 16 2 0     init 2, expect_tx 16, arrive 1, arrive 1
    1 0 2 2      init 2, expect_tx 16, arrive 1, arrive 1, complete_tx 16
    # A thread that drops out is not expected in the next phase. Copies that arrive by themselves are counted in first.
    1 0 2 2   init 3, arrive_drop 1, arrive 2
    1 32 1 1  init 3, arrive_drop 1, arrive 2, arrive_drop_expect_tx 32
    0 0 1 1   init 1, expect_arrival 1, arrive 1
    1 0 1 1   init 1, expect_arrival 1, arrive 1, arrive 1
    """,
)
def test_phases_by_their_history(parity: str, tx: str, expected: str, pending: str, history: str) -> None:
    word, phase = after(history), int(parity)
    assert [each.item() for each in mbarriers.contents(word)] == [phase, int(tx), int(expected), int(pending)]
    assert mbarriers.completed(word, one(1 - phase)).all(), "the phase before is over"
    assert not mbarriers.completed(word, one(phase)).any()


def test_a_state_holds_the_phase_and_the_pending_arrivals() -> None:
    state, word = after("init 3, arrive 1"), after("init 3, arrive 1, arrive 1")
    assert mbarriers.pending_count(state) == 2
    assert not mbarriers.completed_of_state(word, state).any()
    assert mbarriers.completed_of_state(mbarriers.arrive(word, one(1)), state).all()


def test_objects_are_independent_of_each_other() -> None:
    words = mbarriers.init(np.zeros(4, np.uint64), np.array([1, 2, 3, 65535], np.uint32))
    words = mbarriers.arrive(words, np.array([1, 2, 2, 65534], np.uint32))
    assert mbarriers.contents(words).parity.tolist() == [1, 1, 0, 0]
    assert mbarriers.contents(words).pending.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("halfword", [POISON_HALFWORD, 0, 0xFFFF, 0x7FFF, 0x3C00, 0x7F80, 0xFF80, 0xFC00, 0xBF80])
def test_other_contents_are_no_objects_and_do_not_change(halfword: int) -> None:
    word = np.full(4, halfword, np.uint16).view(np.uint64)
    assert not mbarriers.initialised(word).any()
    assert mbarriers.arrive(word, one(1)) == word
    assert mbarriers.completed(word, one(0)).all()
    (clause,) = clauses("mbarrier.arrive.shared::cta.b64", word)
    assert clause == "there is no mbarrier, initialised and not made invalid"
    assert clauses("mbarrier.try_wait.parity.shared::cta.b64", word, 0)


def test_invalid_and_random_words_are_no_objects() -> None:
    assert not mbarriers.initialised(mbarriers.inval(after("init 1"))).any()
    assert not clauses("mbarrier.inval.shared::cta.b64", after("init 1"))
    words = np.random.default_rng(0).integers(2**64, size=100_000, dtype=np.uint64)
    assert mbarriers.initialised(words).mean() < 1 / 500


@table(
    "opcode operand clause",
    """
    arrive                3       more arrivals come than the phase waits for
    arrive                0       it counts for less than one arrival
    arrive.noComplete     2       it completes the phase, as .noComplete must not
    expect_tx.relaxed.cta 2**20   its tx-count leaves ±1048575
    arrive.expect_tx      2**32-1 its tx-count leaves ±1048575
    complete_tx.relaxed.cta 2**20 its tx-count leaves ±1048575
    init                  1       it initialises an mbarrier again without mbarrier.inval
    init                  0       it expects not between 1 and 65535 arrivals
    arrive 2 none;            arrive.noComplete 1 none;             arrive.expect_tx 2**20-1 none
    try_wait.parity 1 none;   complete_tx.relaxed.cta 2**20-1 none
    """,
)
def test_misuse_of_an_object_of_two_arrivals(opcode: str, operand: str, clause: str) -> None:
    found = clauses(f"mbarrier.{opcode}.shared::cta.b64", after("init 2"), eval(operand))
    assert (found or ["none"]) == [clause]


def test_only_the_lanes_that_misuse_an_object_are_named() -> None:
    words = np.concatenate([after("init 2"), np.zeros(1, np.uint64), after("init 1")])
    first, second = mbarriers.problems(ARRIVE, words, np.full(3, 2, np.uint32))
    assert first.lanes.tolist() == [False, True, False]
    assert second.lanes.tolist() == [False, False, True]


@table(
    "opcode expected",
    """
    mbarrier.init.shared::cta.b64                             init space=cta
    mbarrier.init.b64  init
    mbarrier.inval.shared.b64                                 inval space=cta
    mbarrier.arrive.shared.b64                                arrive space=cta semantics=release
    mbarrier.arrive.expect_tx.release.cta.shared::cta.b64     arrive tx=True space=cta semantics=release
    mbarrier.arrive.release.cluster.shared::cluster.b64       arrive space=cluster semantics=release scope=cluster
    mbarrier.arrive.noComplete.release.cta.shared::cta.b64    arrive completes=False space=cta semantics=release
    mbarrier.arrive_drop.expect_tx.shared::cta.b64            arrive_drop tx=True space=cta semantics=release
    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64      try_wait parity=True space=cta semantics=acquire
    mbarrier.test_wait.relaxed.cluster.shared.b64             test_wait space=cta semantics=relaxed scope=cluster
    mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64  complete_tx space=cluster semantics=relaxed scope=cluster
    mbarrier.expect_tx.b64                                    expect_tx semantics=relaxed
    mbarrier.pending_count.b64                                pending_count space=
    cp.async.mbarrier.arrive.shared::cta.b64                  copies_arrive increments=True space=cta
    cp.async.mbarrier.arrive.noinc.b64  copies_arrive;  mbarrier.arrive.parity.b64  none
    mbarrier.arrive.acquire.cta.b64  none;              mbarrier.init.shared::cta.b32  none
    mbarrier.arrive.gpu.b64  none;                      mbarrier.arrive.release.release.b64  none
    mbarrier.wait.b64  none;                            cp.async.mbarrier.arrive.local.b64  none
    bar.sync  none
    """,
)
def test_forms_of_mbarrier(opcode: str, expected: str) -> None:
    assert words_of(mbarriers.parse(tuple(opcode.split(".")))) == expected


def test_an_object_is_described() -> None:
    missing = "phase of parity 0: 2 of 2 arrivals and 0 bytes are missing"
    surplus = ", and at least 1048575 bytes have come that it does not expect"
    word, many = after("init 2"), mbarriers.complete_tx(after("init 2"), np.array(2**21))
    assert mbarriers.described(int(word[0])) == missing
    assert mbarriers.described(int(many[0])) == missing + surplus
    assert mbarriers.described(0) == "no mbarrier object"


@pytest.mark.parametrize(
    ("lines", "arrived", "found"),
    [
        ((1, 1, 2), {0, 16}, [True, True, False]),
        ((1, 1, 1), {0, 16}, [False] * 3),
        ((1, 1, 2), set(), [True, True, False]),
    ],
)
def test_an_object_is_of_copies_if_those_of_the_same_line_expect_bytes(
    lines: tuple[int, ...], arrived: set[int], found: list[bool]
) -> None:
    log = MbarrierLog(arrived=arrived)
    log.initialised_at = {8 * i: Instruction(("mbarrier",), (), line=line) for i, line in enumerate(lines)}
    log.expected_at = {0: Instruction(("mbarrier",), ())}
    assert [log.is_of_copies(8 * i) for i in range(3)] == found
