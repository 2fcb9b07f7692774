"""Mbarrier objects, tensor maps and wgmma's operands as the emulator keeps them."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from mmcore.devices.base import MatrixMap
from mmcore.kernel.arguments import TensorMap
from mmcore.verify.elements import POISON_HALFWORD
from mmcore_emulator.adapter.conversions import tensor_layout
from mmcore_emulator.isa.asynchronous import bulk_copies, mbarriers, wgmma_operands
from mmcore_emulator.isa.asynchronous.bulk_copies import BulkCopy, parse_copy
from mmcore_emulator.isa.asynchronous.mbarriers import MbarrierKind
from mmcore_emulator.isa.asynchronous.wgmma_operands import WgmmaKind, parse_wgmma
from mmcore_emulator.machine.asynchronous import swizzles, tensor_maps
from mmcore_emulator.machine.asynchronous.tensor_maps import TensorLayout
from mmcore_emulator.machine.memory.arrays import CopiedMemory, StrayAccess, copied_base
from mmcore_emulator.machine.memory.operations import atomic, load

Array = NDArray[Any]


def fresh(count: int) -> Array:
    return mbarriers.init(np.zeros(1, np.uint64), np.array([count], np.uint32))


def one(number: int) -> Array:
    return np.array([number], np.uint32)


def unexpected(access: StrayAccess) -> None:
    pytest.fail(access.kind)


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


def test_threads_that_arrive_together_come_one_after_the_other() -> None:
    shared = CopiedMemory("shared", [(copied_base(0), 64)], np.zeros((1,) * 6, np.int64))
    shape = (1, 1, 1, 1, 1, 8)
    address = np.full(shape, copied_base(0) + 8, np.uint64)

    def run(opcode: str, operand: int, lanes: Array) -> Array:
        kind = mbarriers.parse(tuple(opcode.split(".")))
        assert kind
        combine = mbarriers.combine(kind)
        assert combine
        operands = [np.full(shape, operand, np.uint32)]
        found, _ = atomic(shared, address, operands, np.dtype(np.uint64), lanes, unexpected, combine)
        return found.reshape(-1)

    everyone = np.ones(shape, np.bool_)
    first = everyone & (np.arange(8) == 0)
    run("mbarrier.init.shared::cta.b64", 9, first)
    run("mbarrier.arrive.expect_tx.shared::cta.b64", 64, first)
    states = run("mbarrier.arrive.shared::cta.b64", 1, everyone)
    assert mbarriers.pending_count(states).tolist() == list(range(8, 0, -1))
    word = load(shared, address, np.dtype(np.uint64), None, unexpected).reshape(-1)
    assert not mbarriers.completed_of_state(word, states).any()
    run("mbarrier.complete_tx.shared::cta.b64", 64, first)
    word = load(shared, address, np.dtype(np.uint64), None, unexpected).reshape(-1)
    assert mbarriers.completed_of_state(word, states).all()
    assert mbarriers.contents(word).pending.tolist() == [9] * 8


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
    assert mbarriers.described(int(fresh(2)[0])) == "phase of parity 0: 2 of 2 arrivals and 0 bytes are missing"
    assert mbarriers.described(0) == "no mbarrier object"
    many = mbarriers.complete_tx(fresh(2), np.array(2**21))
    assert mbarriers.described(int(many[0])).endswith("at least 1048575 bytes have come of which it was not told")


def layout_of(shape: tuple[int, ...], box: tuple[int, ...], swizzle: int = 0, **others: Any) -> TensorLayout:
    """A layout of packed uint16, extents slowest first; rows padded to 16 bytes."""
    row = -(-shape[-1] // 8) * 8
    strides, extent = [2], row
    for each in shape[-2::-1]:
        strides.append(extent * 2)
        extent *= each
    return TensorLayout(1 << 20, "uint16", shape[::-1], tuple(strides), box[::-1], swizzle, **others)


def naive_box(layout: TensorLayout, content: Array, first: tuple[int, ...], destination: int) -> dict[int, int]:
    """What a box holds, element by element, by its address in shared memory."""
    steps = layout.steps or (1,) * layout.rank
    bits = {0: 0, 32: 1, 64: 2, 128: 3}[layout.swizzle]
    found: dict[int, int] = {}
    ranges = [
        range(0, each, step if axis else 1) for axis, (each, step) in enumerate(zip(layout.box, steps, strict=True))
    ]
    for number, index in enumerate(itertools.product(*ranges[::-1])):
        place = [start + each for start, each in zip(first, index[::-1], strict=True)]
        inside = all(0 <= each < extent for each, extent in zip(place, layout.extents, strict=True))
        offset = sum(each * stride for each, stride in zip(place, layout.strides, strict=True))
        address = destination + 2 * number
        for bit in range(bits):
            if address >> (7 + bit) & 1:
                address ^= 1 << (4 + bit)
        found[address] = int(content[offset // 2]) if inside else 0
    return found


def copied_box(layout: TensorLayout, content: Array, first: tuple[int, ...], destination: int) -> dict[int, int]:
    offsets, inside, shared = tensor_maps.box_elements(layout, np.array(first, np.int32), destination)
    values = np.where(inside, content[np.where(inside, offsets, 0) // 2], 0)
    return dict(zip((destination + shared).tolist(), values.tolist(), strict=True))


BOXES = pytest.mark.parametrize(
    ("shape", "box", "first", "swizzle", "others"),
    [
        ((100,), (64,), (16,), 0, {}),
        ((100,), (64,), (80,), 0, {}),
        ((40, 100), (16, 64), (8, 3), 128, {}),
        ((40, 100), (16, 64), (72, 30), 128, {}),
        ((40, 100), (16, 64), (-5, -3), 128, {}),
        ((40, 40), (24, 32), (5, 7), 64, {}),
        ((40, 40), (24, 16), (30, 7), 32, {}),
        ((40, 40), (24, 32), (200, 7), 0, {}),
        ((40, 80), (8, 32), (40, 2), 128, {}),
        ((5, 9, 70), (2, 4, 64), (10, 7, 4), 128, {}),
        ((5, 9, 70), (4, 8, 16), (10, -1, 1), 32, {"steps": (8, 2, 3)}),
        ((3, 4, 5, 16), (2, 2, 4, 8), (0, 3, 1, 2), 0, {}),
        ((2, 3, 2, 5, 24), (1, 2, 2, 3, 16), (8, -1, 1, 2, 1), 32, {}),
    ],
)


@BOXES
@pytest.mark.parametrize("destination", [0, 128, 0x400 + 896])
def test_boxes_are_as_a_plain_loop_has_them(
    shape: tuple[int, ...],
    box: tuple[int, ...],
    first: tuple[int, ...],
    swizzle: int,
    others: dict[str, Any],
    destination: int,
) -> None:
    layout = layout_of(shape, box, swizzle, **others)
    content = np.random.default_rng(0).integers(1, 2**16, size=1 << 14, dtype=np.uint16)
    assert not layout.problems()
    expected = naive_box(layout, content, first, destination)
    assert copied_box(layout, content, first, destination) == expected
    assert layout.nbytes == 2 * len(expected)


@BOXES
def test_rows_of_boxes_have_the_bytes_of_their_elements(
    shape: tuple[int, ...], box: tuple[int, ...], first: tuple[int, ...], swizzle: int, others: dict[str, Any]
) -> None:
    layout = layout_of(shape, box, swizzle, **others)
    offsets, inside, _ = tensor_maps.box_elements(layout, np.array(first, np.int32))
    begin, nbytes = tensor_maps.box_rows(layout, np.array(first, np.int32))
    rows = zip((begin - layout.address).tolist(), nbytes.tolist(), strict=True)
    bytes_of_rows = [place for start, count in rows for place in range(start, start + count)]
    assert sorted(bytes_of_rows) == sorted(place + byte for place in offsets[inside].tolist() for byte in range(2))


def test_boxes_of_many_blocks_at_once() -> None:
    layout = layout_of((40, 100), (16, 64), 128)
    first = np.array([[[0, 0], [64, 8]], [[-1, 0], [0, 39]]], np.int32)
    destinations = np.array([[0, 128], [1024, 2048]], np.uint64)
    together = tensor_maps.box_elements(layout, first, destinations)
    assert together.inside.shape == together.global_offsets.shape == together.shared_offsets.shape == (2, 2, 1024)
    for place in np.ndindex(2, 2):
        alone = tensor_maps.box_elements(layout, first[place], int(destinations[place]))
        for whole, part in zip(together, alone, strict=True):
            assert (whole[place] == part).all()


def test_an_element_of_16_bytes_moves_the_same_bytes() -> None:
    layout = layout_of((40, 128), (16, 64), 128)
    content = np.arange(1 << 13, dtype=np.uint16)
    for first in ([64, 8], [96, 30], [-64, 0]):
        coordinates = np.array(first, np.int32)
        wide, wide_coordinates = tensor_maps.widened(layout, coordinates)
        assert wide.itemsize == 16
        assert wide.nbytes == layout.nbytes
        memories = []
        for each, where in ((layout, coordinates), (wide, wide_coordinates)):
            offsets, inside, shared = tensor_maps.box_elements(each, where, 1024)
            dtype = np.dtype(each.kind)
            memory = np.zeros(layout.nbytes, np.uint8)
            source = content.view(dtype)[np.where(inside, offsets, 0) // each.itemsize]
            memory.view(dtype)[shared // each.itemsize] = np.where(inside, source, np.zeros(1, dtype))
            memories.append(memory)
        assert (memories[0] == memories[1]).all()


@pytest.mark.parametrize(("columns", "first"), [(100, 0), (128, 3)])
def test_elements_stay_single_where_16_bytes_are_not_whole(columns: int, first: int) -> None:
    layout = layout_of((40, columns), (16, 64))
    assert tensor_maps.widened(layout, np.array([first, 0]))[0] == layout


def test_a_tensor_map_survives_its_bytes() -> None:
    layouts = [
        layout_of((100,), (64,)),
        layout_of((40, 2**32), (16, 64), 128),
        layout_of((2, 3, 2, 5, 24), (1, 2, 2, 3, 16), 32, steps=(1, 2, 3, 4, 5)),
        TensorLayout(1 << 40, "bfloat16", (8, 8), (2, 16), (8, 8), nan=True),
    ]
    for layout in layouts:
        assert len(layout.encode()) == 128
        assert tensor_maps.decode(layout.encode()) == layout


def test_other_bytes_are_no_tensor_map() -> None:
    content = bytearray(layout_of((100,), (64,)).encode())
    content[20] ^= 1
    assert tensor_maps.decode(bytes(content)) is None
    assert tensor_maps.decode(bytes(128)) is None
    assert tensor_maps.decode(layout_of((100,), (64,)).encode()[:64]) is None


class Elsewhere:
    label, address = "A", 1 << 30


@pytest.mark.parametrize(
    ("dtype", "kind", "size"),
    [("bfloat16", "uint16", 2), ("tf32", "float32", 4), ("int8", "uint8", 1), ("float64", "float64", 8)],
)
def test_a_launch_binds_what_the_gpu_would_get(dtype: str, kind: str, size: int) -> None:
    bound = MatrixMap(TensorMap("A", (16, 8), 0), cast(Any, Elsewhere()), (48, 64), (96, 1), dtype)
    assert tensor_layout(bound) == TensorLayout(1 << 30, kind, (64, 48), (size, 96 * size), (8, 16))


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        (layout_of((40, 100), (16, 4)), "a row of the box has 8 bytes, no multiple of 16"),
        (layout_of((40, 100), (16, 64), 64), "a row of the box has 128 bytes, more than the swizzle's 64"),
        (layout_of((40, 100), (257, 8)), "the box's extents are not between 1 and 256"),
        (TensorLayout(8, "uint8", (64,), (1,), (16,)), "its address 0x8 is no multiple of 16"),
        (TensorLayout(0, "uint8", (60, 8), (1, 60), (16, 8)), "a stride is no multiple of 16 bytes below 2^40"),
        (TensorLayout(0, "uint8", (64,), (1,), (16,), nan=True), "uint8 has no NaN"),
        (TensorLayout(0, "uint8", (64,), (2,), (16,)), "the first stride is 2 bytes, not an element's"),
        (TensorLayout(0, "uint8", (64,), (1,), (16, 1)), "it has no box, extents and strides of as many axes"),
    ],
)
def test_what_the_driver_refuses(layout: TensorLayout, sentence: str) -> None:
    assert layout.problems() == [sentence]


def test_boxes_lie_at_multiples_of_128_bytes() -> None:
    (problem,) = layout_of((40, 100), (16, 64)).destination_problems(np.array([0, 64, 128], np.uint64))
    assert problem.lanes.tolist() == [False, True, False]
    assert problem.clause == "its address in shared memory is no multiple of 128"


def test_nan_where_the_map_asks_for_it() -> None:
    layout = TensorLayout(0, "float32", (8, 8), (4, 32), (8, 8), nan=True)
    assert np.isnan(np.frombuffer(layout.fill, np.float32)).all()
    assert layout_of((8,), (8,)).fill == bytes(2)


def test_copies_of_bytes_are_of_multiples_of_16() -> None:
    addresses = np.array([0, 8, 16], np.uint64)
    size = np.array([16, 16, 20], np.uint32)
    first, second = bulk_copies.bulk_problems(addresses, np.zeros(3, np.uint64), size)
    assert first.lanes.tolist() == [False, True, False]
    assert first.clause == "its target is no multiple of 16 bytes"
    assert second.lanes.tolist() == [False, False, True]


LOADED = ("target", "tensor", "mbarrier")


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
            BulkCopy("copy", 2, "global", "cluster", "mbarrier", operands=LOADED),
        ),
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
            BulkCopy("copy", 2, "global", "cluster", "mbarrier", multicast=True, operands=(*LOADED, "mask", "policy")),
        ),
        (
            "cp.async.bulk.tensor.5d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint",
            BulkCopy("copy", 5, "global", "cta", "mbarrier", operands=(*LOADED, "policy")),
        ),
        (
            "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group",
            BulkCopy("copy", 3, "cta", "global", "bulk_group", operands=("tensor", "source")),
        ),
        (
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group",
            BulkCopy("reduce", 2, "cta", "global", "bulk_group", reduction="add", operands=("tensor", "source")),
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
            BulkCopy("copy", 0, "global", "cluster", "mbarrier", operands=("target", "source", "size", "mbarrier")),
        ),
        (
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
            BulkCopy("copy", 0, "cta", "cluster", "mbarrier", operands=("target", "source", "size", "mbarrier")),
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask",
            BulkCopy(
                "copy", 0, "cta", "global", "bulk_group", operands=("target", "source", "size", "policy", "bytes")
            ),
        ),
        (
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16",
            BulkCopy(
                "reduce",
                0,
                "cta",
                "global",
                "bulk_group",
                reduction="add",
                kind="bf16",
                operands=("target", "source", "size"),
            ),
        ),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile", BulkCopy("prefetch", 2, "global", operands=("tensor",))),
        ("cp.async.bulk.prefetch.L2.global", BulkCopy("prefetch", 0, "global", operands=("source", "size"))),
        ("cp.async.bulk.commit_group", BulkCopy("commit_group")),
        ("cp.async.bulk.wait_group.read", BulkCopy("wait_group", read=True, operands=("count",))),
        ("prefetch.tensormap", BulkCopy("prefetch_map", operands=("source",))),
        ("prefetch.param.tensormap", BulkCopy("prefetch_map", operands=("source",))),
        (
            "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster",
            BulkCopy(
                "copy",
                4,
                "global",
                "cluster",
                "mbarrier",
                multicast=True,
                im2col=True,
                operands=(*LOADED, "offsets", "mask"),
            ),
        ),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes", None),
        ("cp.async.bulk.tensor.3d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes", None),
        ("cp.async.bulk.tensor.3d.global.shared::cta.im2col.bulk_group", None),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes", None),
        ("cp.async.bulk.tensor.6d.shared::cluster.global.mbarrier::complete_tx::bytes", None),
        ("cp.async.bulk.tensor.2d.global.shared::cta.mbarrier::complete_tx::bytes", None),
        ("cp.async.bulk.tensor.2d.shared::cluster.shared::cta.mbarrier::complete_tx::bytes", None),
        ("cp.reduce.async.bulk.tensor.2d.global.shared::cta.bulk_group", None),
        ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add", None),
        ("cp.async.bulk.global.shared::cta", None),
        ("cp.async.ca.shared.global", None),
        ("prefetch.global.L2", None),
    ],
)
def test_the_forms_of_bulk_copies(opcode: str, expected: BulkCopy | None) -> None:
    assert parse_copy(tuple(opcode.split("."))) == expected


SHARED = 1 << 16


def shared_with_boxes(matrix: Array, box: tuple[int, int], swizzle: int, destination: int) -> Array:
    """Shared memory (bytes) with the boxes of one column of boxes after the other, as tensor maps write them."""
    layout = TensorLayout(
        0, matrix.dtype.name, matrix.shape[::-1], (matrix.itemsize, matrix.strides[0]), box[::-1], swizzle
    )
    assert not layout.problems()
    memory = np.zeros(SHARED, np.uint8)
    for column in range(0, matrix.shape[1], box[1]):
        for row in range(0, matrix.shape[0], box[0]):
            offsets, inside, shared = tensor_maps.box_elements(layout, np.array([column, row]), destination)
            assert inside.all()
            memory.view(matrix.dtype)[(destination + shared) // matrix.itemsize] = matrix.reshape(-1)[
                offsets // matrix.itemsize
            ]
            destination += layout.nbytes
    return memory


def random_matrix(rows: int, columns: int, dtype: Any = np.uint16) -> Array:
    return np.random.default_rng(rows).integers(1, 2 ** min(16, 8 * np.dtype(dtype).itemsize), (rows, columns), dtype)


def read(memory: Array, descriptor: int, rows: int, dtype: Any, major: str) -> Array:
    """The matrix [rows, k] of one instruction that a descriptor speaks of."""
    size = np.dtype(dtype).itemsize
    parts = wgmma_operands.decode(np.array([descriptor], np.uint64))
    (addresses,) = wgmma_operands.element_addresses(parts, rows, 32 // size, size, major)
    found: Array = memory.view(dtype)[addresses.astype(np.int64) // size]
    return found


@pytest.mark.parametrize("destination", [1024, 1024 + 384])
@pytest.mark.parametrize("swizzle", [128, 64, 32])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_a_k_major_tile_that_a_tensor_map_wrote(dtype: Any, swizzle: int, destination: int) -> None:
    columns = swizzle // np.dtype(dtype).itemsize
    matrix = random_matrix(64, columns, dtype)
    memory = shared_with_boxes(matrix, (64, columns), swizzle, destination)
    for start in range(0, swizzle, 32):
        descriptor = wgmma_operands.encode(destination + start, 16, 8 * swizzle, swizzle)
        first, last = (each // np.dtype(dtype).itemsize for each in (start, start + 32))
        assert (read(memory, descriptor, 64, dtype, "K") == matrix[:, first:last]).all()


@pytest.mark.parametrize("n", [8, 64, 128, 256])
@pytest.mark.parametrize("swizzle", [128, 64, 32])
def test_an_mn_major_tile_that_a_tensor_map_wrote(swizzle: int, n: int) -> None:
    depth, width = 64, swizzle // 2
    matrix = random_matrix(depth, max(n, width))
    memory = shared_with_boxes(matrix, (depth, width), swizzle, 2048)
    for k in range(0, depth, 16):
        descriptor = wgmma_operands.encode(2048 + k * swizzle, depth * swizzle, 8 * swizzle, swizzle)
        assert (read(memory, descriptor, n, np.uint16, "MN") == matrix[k : k + 16, :n].T).all()


def test_an_mn_major_tile_without_a_swizzle() -> None:
    matrix = random_matrix(64, 128)
    memory = shared_with_boxes(matrix, (64, 8), 0, 128)
    for k in range(0, 64, 16):
        # From eight rows of K to the next, and from eight columns of N to the next.
        descriptor = wgmma_operands.encode(128 + k * 16, 128, 64 * 16, 0)
        assert (read(memory, descriptor, 128, np.uint16, "MN") == matrix[k : k + 16].T).all()


def test_a_k_major_tile_of_core_matrices_without_a_swizzle() -> None:
    matrix = random_matrix(64, 16)
    cores = matrix.reshape(8, 8, 2, 8).transpose(0, 2, 1, 3)
    memory = np.zeros(SHARED, np.uint8)
    memory[256 : 256 + matrix.nbytes] = np.ascontiguousarray(cores).view(np.uint8).reshape(-1)
    assert (read(memory, wgmma_operands.encode(256, 128, 256, 0), 64, np.uint16, "K") == matrix).all()


@pytest.mark.parametrize("major", ["K", "MN"])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_layouts_are_as_the_table_of_canonical_layouts_has_them(swizzle: int, major: str) -> None:
    """PTX ISA, "Canonical Layouts": shapes and strides of CuTe, in elements of two bytes; T of them are a chunk."""
    rows, k, t, wide, leading, stride = 128, 16, 8, max(swizzle // 16, 1), 4096, 12288
    parts = wgmma_operands.decode(np.array([wgmma_operands.encode(1024, leading, stride, swizzle)], np.uint64))
    (addresses,) = wgmma_operands.element_addresses(parts, rows, k, 2, major)
    for row, column in np.ndindex(rows, k):
        if major == "K":
            along = leading if not swizzle else 2 * t
            offset = row % 8 * wide * 2 * t + row // 8 * stride + column % t * 2 + column // t * along
        else:
            far_row, far_column = (leading, stride) if swizzle else (stride, leading)
            offset = row % t * 2 + row // t % wide * 2 * t + row // (t * wide) * far_row
            offset += column % 8 * wide * 2 * t + column // 8 * far_column
        place = swizzles.swizzled(np.array([1024 + offset], np.uint64), swizzle)
        assert addresses[row, column] == place[0]


def test_descriptors_of_several_warpgroups_at_once() -> None:
    words = [wgmma_operands.encode(1024 * each, 128, 1024, (128, 0, 32)[each % 3]) for each in range(6)]
    parts = wgmma_operands.decode(np.array(words, np.uint64))
    together = wgmma_operands.element_addresses(parts, 64, 16, 2, "MN")
    assert together.shape == (6, 64, 16)
    for index, word in enumerate(words):
        alone = wgmma_operands.decode(np.array([word], np.uint64))
        assert (together[index] == wgmma_operands.element_addresses(alone, 64, 16, 2, "MN")[0]).all()


def test_a_descriptor_is_of_14_bits_and_16_bytes_each() -> None:
    word = wgmma_operands.encode(0x40000 + 0x3FFF0, 16, 1024, 64, base_offset=5)
    assert word == 2 << 62 | 5 << 49 | 64 << 32 | 1 << 16 | 0x3FFF
    parts = wgmma_operands.decode(np.array([word], np.uint64))
    assert [each.item() for each in parts] == [0x3FFF0, 16, 1024, 5, 64]


def test_a_base_offset_names_the_line_where_the_pattern_starts() -> None:
    matrix = random_matrix(64, 64)
    aligned, start = shared_with_boxes(matrix, (64, 64), 128, 0), 1024 + 384
    memory = np.roll(aligned, start)
    descriptor = wgmma_operands.encode(start, 16, 1024, 128, base_offset=start >> 7 & 7)
    assert (read(memory, descriptor, 64, np.uint16, "K") == matrix[:, :16]).all()


def test_the_accumulators_of_a_warpgroup_are_all_of_the_tile() -> None:
    rows, columns = wgmma_operands.accumulator_places(24)
    assert sorted(zip(rows.reshape(-1), columns.reshape(-1), strict=True)) == list(np.ndindex(64, 24))
    of_one = [*zip(rows[37].tolist(), columns[37].tolist(), strict=True)]
    assert of_one[:6] == [(17, 2), (17, 3), (25, 2), (25, 3), (17, 10), (17, 11)]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_registers_of_a_warpgroup_hold_all_of_a(size: int) -> None:
    rows, columns = wgmma_operands.a_places(size)
    assert rows.shape == columns.shape == (128, 4, 4 // size)
    assert sorted(zip(rows.reshape(-1), columns.reshape(-1), strict=True)) == list(np.ndindex(64, 32 // size))
    assert columns[33, :, 0].tolist() == [4 // size, 4 // size, 20 // size, 20 // size]
    assert rows[33, :, 0].tolist() == [16, 24, 16, 24]


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("m64n128k16.f32.bf16.bf16", WgmmaKind(128, 16, "f32", "bf16", "bf16")),
        ("m64n8k16.f16.f16.f16", WgmmaKind(8, 16, "f16", "f16", "f16")),
        ("m64n256k8.f32.tf32.tf32", WgmmaKind(256, 8, "f32", "tf32", "tf32")),
        ("m64n96k32.f32.e4m3.e5m2", WgmmaKind(96, 32, "f32", "e4m3", "e5m2")),
        ("m64n24k32.s32.s8.u8", WgmmaKind(24, 32, "s32", "s8", "u8")),
        ("m64n48k32.satfinite.s32.u8.u8", WgmmaKind(48, 32, "s32", "u8", "u8", saturates=True)),
        ("m64n16k256.s32.b1.b1.and.popc", WgmmaKind(16, 256, "s32", "b1", "b1")),
        ("m64n40k32.s32.s8.s8", None),
        ("m64n12k16.f32.f16.f16", None),
        ("m64n264k16.f32.f16.f16", None),
        ("m64n8k8.f32.f16.f16", None),
        ("m32n8k16.f32.f16.f16", None),
        ("m64n8k16.f32.f16.bf16", None),
        ("m64n8k16.f16.bf16.bf16", None),
        ("m64n8k16.satfinite.f32.f16.f16", None),
        ("m64n16k256.s32.b1.b1", None),
        ("satfinite.s32.s8", None),
        ("m64n8k32.satfinite.s32.s8", None),
    ],
)
def test_the_forms_of_wgmma(form: str, kind: WgmmaKind | None) -> None:
    assert parse_wgmma(("wgmma", "mma_async", "sync", "aligned", *form.split("."))) == kind


def test_other_instructions_of_wgmma_are_no_products() -> None:
    assert parse_wgmma(("wgmma", "fence", "sync", "aligned")) is None
    assert parse_wgmma(("wgmma", "mma_async", "sp", "sync", "aligned", "m64n8k32", "f32", "f16", "f16")) is None


def test_registers_and_operands_of_wgmma() -> None:
    half, integer = WgmmaKind(64, 16, "f16", "f16", "f16"), WgmmaKind(64, 32, "s32", "s8", "s8")
    assert (half.registers, integer.registers, half.a_registers, integer.a_registers) == (16, 32, 4, 4)
    assert half.operands(False) == ("d", "a", "b", "scale_d", "scale_a", "scale_b", "trans_a", "trans_b")
    assert half.operands(True) == ("d", "a", "b", "scale_d", "scale_a", "scale_b", "trans_b")
    assert WgmmaKind(64, 8, "f32", "tf32", "tf32").operands(False) == ("d", "a", "b", "scale_d", "scale_a", "scale_b")
    assert integer.operands(False) == ("d", "a", "b", "scale_d")
