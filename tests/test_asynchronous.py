"""Mbarrier objects, tensor maps and wgmma's operands as the emulator keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.verify.elements import POISON_HALFWORD
from mmcore_emulator.asynchronous import mbarriers
from mmcore_emulator.asynchronous.mbarriers import MbarrierKind

Array = NDArray[Any]


def fresh(count: int) -> Array:
    return mbarriers.init(np.zeros(1, np.uint64), np.array([count], np.uint32))


def one(number: int) -> Array:
    return np.array([number], np.uint32)


def parity(word: Array) -> int:
    return int(mbarriers.contents(word).parity[0])


def clauses(opcode: str, word: Array, operand: int | None = None) -> list[str]:
    kind = mbarriers.parse(tuple(opcode.split(".")))
    assert kind
    return [problem.clause for problem in mbarriers.problems(kind, word, None if operand is None else one(operand))]


def test_a_phase_ends_with_its_last_arrival_and_the_next_expects_as_many() -> None:
    word = fresh(3)
    for _ in range(2):
        word = mbarriers.arrive(word, one(1))
        assert not mbarriers.completed(word, one(0)).any()
    word = mbarriers.arrive(word, one(1))
    assert mbarriers.completed(word, one(0)).all()
    assert not mbarriers.completed(word, one(1)).any()
    assert mbarriers.contents(word).pending == 3
    word = mbarriers.arrive(word, one(3))
    assert mbarriers.completed(word, one(1)).all()
    assert not mbarriers.completed(word, one(0)).any()


def test_of_a_new_object_the_phase_before_is_over() -> None:
    assert mbarriers.completed(fresh(1), one(1)).all()


def test_a_phase_waits_for_bytes() -> None:
    word = mbarriers.arrive_expect_tx(fresh(1), one(8192))
    assert parity(word) == 0
    word = mbarriers.complete_tx(word, one(4096))
    assert parity(word) == 0
    assert mbarriers.contents(word).tx == 4096
    word = mbarriers.complete_tx(word, one(4096))
    assert parity(word) == 1
    assert mbarriers.contents(word).tx == 0


def test_bytes_may_come_before_anybody_expects_them() -> None:
    word = mbarriers.complete_tx(fresh(1), one(4096))
    assert mbarriers.contents(word).tx == -4096
    assert parity(word) == 0
    assert parity(mbarriers.arrive_expect_tx(word, one(4096))) == 1


def test_bytes_that_others_expect_end_a_phase_after_its_arrivals() -> None:
    word = mbarriers.expect_tx(fresh(2), one(16))
    word = mbarriers.arrive(mbarriers.arrive(word, one(1)), one(1))
    assert parity(word) == 0
    assert parity(mbarriers.complete_tx(word, one(16))) == 1


def test_who_drops_out_is_not_waited_for_in_the_next_phase() -> None:
    word = mbarriers.arrive(mbarriers.arrive_drop(fresh(3), one(1)), one(2))
    assert parity(word) == 1
    assert mbarriers.contents(word).expected == mbarriers.contents(word).pending == 2
    word = mbarriers.arrive_drop_expect_tx(word, one(32))
    assert [each.item() for each in mbarriers.contents(word)] == [1, 32, 1, 1]


def test_copies_that_arrive_by_themselves_are_counted_in_first() -> None:
    word = mbarriers.expect_arrival(fresh(1), one(1))
    assert parity(mbarriers.arrive(word, one(1))) == 0
    assert parity(mbarriers.arrive(mbarriers.arrive(word, one(1)), one(1))) == 1


def test_a_state_tells_the_phase_and_the_arrivals_pending() -> None:
    state = mbarriers.arrive(fresh(3), one(1))
    word = mbarriers.arrive(state, one(1))
    assert mbarriers.pending_count(state) == 2
    assert not mbarriers.completed_of_state(word, state).any()
    assert mbarriers.completed_of_state(mbarriers.arrive(word, one(1)), state).all()


def test_objects_are_independent_of_each_other() -> None:
    words = mbarriers.init(np.zeros(4, np.uint64), np.array([1, 2, 3, 65535], np.uint32))
    words = mbarriers.arrive(words, np.array([1, 2, 2, 65534], np.uint32))
    assert mbarriers.contents(words).parity.tolist() == [1, 1, 0, 0]
    assert mbarriers.contents(words).pending.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("halfword", [POISON_HALFWORD, 0, 0xFFFF, 0x7FFF, 0x3C00, 0xFF80, 0xFC00, 0xBF80])
def test_other_contents_are_no_objects_and_stay_what_they_are(halfword: int) -> None:
    word = np.full(4, halfword, np.uint16).view(np.uint64)
    assert not mbarriers.initialised(word).any()
    assert mbarriers.arrive(word, one(1)) == word
    assert mbarriers.completed(word, one(0)).all()
    assert clauses("mbarrier.arrive.shared::cta.b64", word) == [
        "there is no mbarrier, initialised and not made invalid"
    ]
    assert clauses("mbarrier.try_wait.parity.shared::cta.b64", word, 0)


def test_an_object_made_invalid_is_none() -> None:
    assert not mbarriers.initialised(mbarriers.inval(fresh(1))).any()
    assert not clauses("mbarrier.inval.shared::cta.b64", fresh(1))


def test_random_words_are_hardly_ever_objects() -> None:
    words = np.random.default_rng(0).integers(2**64, size=100_000, dtype=np.uint64)
    assert mbarriers.initialised(words).mean() < 1 / 500


@pytest.mark.parametrize(
    ("opcode", "operand", "clause"),
    [
        ("mbarrier.arrive.shared::cta.b64", 3, "more arrivals come than the phase waits for"),
        ("mbarrier.arrive.shared::cta.b64", 0, "it counts for less than one arrival"),
        ("mbarrier.arrive.noComplete.shared::cta.b64", 2, "it completes the phase, as .noComplete must not"),
        ("mbarrier.expect_tx.relaxed.cta.shared::cta.b64", 2**20, "its tx-count leaves ±1048575"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64", 2**32 - 1, "its tx-count leaves ±1048575"),
        ("mbarrier.complete_tx.relaxed.cta.shared::cta.b64", 2**20, "its tx-count leaves ±1048575"),
        ("mbarrier.init.shared::cta.b64", 1, "it initialises an mbarrier again without mbarrier.inval"),
        ("mbarrier.init.shared::cta.b64", 0, "it expects not between 1 and 65535 arrivals"),
    ],
)
def test_misuse_is_named(opcode: str, operand: int, clause: str) -> None:
    assert clauses(opcode, fresh(2), operand) == [clause]


@pytest.mark.parametrize(
    ("opcode", "operand"),
    [
        ("mbarrier.arrive.shared::cta.b64", 2),
        ("mbarrier.arrive.noComplete.shared::cta.b64", 1),
        ("mbarrier.arrive.expect_tx.shared::cta.b64", 2**20 - 1),
        ("mbarrier.complete_tx.relaxed.cta.shared::cta.b64", 2**20 - 1),
        ("mbarrier.try_wait.parity.shared::cta.b64", 1),
    ],
)
def test_proper_use_is_not(opcode: str, operand: int) -> None:
    assert not clauses(opcode, fresh(2), operand)


def test_only_the_lanes_that_misuse_an_object_are_named() -> None:
    words = np.concatenate([fresh(2), np.zeros(1, np.uint64), fresh(1)])
    kind = MbarrierKind("arrive")
    first, second = mbarriers.problems(kind, words, np.full(3, 2, np.uint32))
    assert first.lanes.tolist() == [False, True, False]
    assert second.lanes.tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("mbarrier.init.shared::cta.b64", MbarrierKind("init", space="cta")),
        ("mbarrier.init.b64", MbarrierKind("init")),
        ("mbarrier.inval.shared.b64", MbarrierKind("inval", space="cta")),
        ("mbarrier.arrive.shared.b64", MbarrierKind("arrive", space="cta", semantics="release")),
        (
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64",
            MbarrierKind("arrive", tx=True, space="cta", semantics="release"),
        ),
        (
            "mbarrier.arrive.release.cluster.shared::cluster.b64",
            MbarrierKind("arrive", space="cluster", semantics="release", scope="cluster"),
        ),
        (
            "mbarrier.arrive.noComplete.release.cta.shared::cta.b64",
            MbarrierKind("arrive", completes=False, space="cta", semantics="release"),
        ),
        (
            "mbarrier.arrive_drop.expect_tx.shared::cta.b64",
            MbarrierKind("arrive_drop", tx=True, space="cta", semantics="release"),
        ),
        (
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64",
            MbarrierKind("try_wait", parity=True, space="cta", semantics="acquire"),
        ),
        (
            "mbarrier.test_wait.relaxed.cluster.shared.b64",
            MbarrierKind("test_wait", space="cta", semantics="relaxed", scope="cluster"),
        ),
        (
            "mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64",
            MbarrierKind("complete_tx", space="cluster", semantics="relaxed", scope="cluster"),
        ),
        ("mbarrier.expect_tx.b64", MbarrierKind("expect_tx", semantics="relaxed")),
        ("mbarrier.pending_count.b64", MbarrierKind("pending_count", space="")),
        ("cp.async.mbarrier.arrive.shared::cta.b64", MbarrierKind("copies_arrive", increments=True, space="cta")),
        ("cp.async.mbarrier.arrive.noinc.b64", MbarrierKind("copies_arrive")),
        ("mbarrier.arrive.parity.b64", None),
        ("mbarrier.arrive.acquire.cta.b64", None),
        ("mbarrier.init.shared::cta.b32", None),
        ("mbarrier.arrive.gpu.b64", None),
        ("mbarrier.arrive.release.release.b64", None),
        ("mbarrier.wait.b64", None),
        ("cp.async.mbarrier.arrive.local.b64", None),
        ("bar.sync", None),
    ],
)
def test_the_forms_of_mbarrier(opcode: str, kind: MbarrierKind | None) -> None:
    assert mbarriers.parse(tuple(opcode.split("."))) == kind


def test_an_object_is_described() -> None:
    assert mbarriers.described(int(fresh(2)[0])) == "phase of parity 0: 2 of 2 arrivals and 0 bytes pending"
    assert mbarriers.described(0) == "no mbarrier object"
