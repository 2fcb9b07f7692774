"""Pictures of fragments and banks: the PTX manual's layouts, and the passes that the profiler counts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmcore_emulator.explain import banks
from mmcore_emulator.explain.fragments import Held, has_pictures
from mmcore_emulator.explain.picture import WIDTH, Cell, Picture, svg_of
from mmcore_emulator.machine.asynchronous.tensor_maps import SPANS, swizzled
from mmcore_emulator.profiler.coalescing import matrix_wavefronts, wavefronts

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
LOAD, TRANSPOSED = "ldmatrix.sync.aligned.m8n8.x1.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
OPCODES = f"""{MMA} {WGMMA} {LOAD} {TRANSPOSED} stmatrix.sync.aligned.m8n8.x2.shared.b16
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32
mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32
wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32
wmma.load.a.sync.aligned.row.m32n8k16.shared.f16 wmma.store.d.sync.aligned.row.m16n16k16.global.f32
wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3""".split()
Elements = dict[tuple[int, int], tuple[int, int]]


def pictures(opcode: str, *, a_in_registers: bool = True) -> list[Picture]:
    return list(Held(opcode, a_in_registers).pictures())


def elements(picture: Picture) -> Elements:
    """Return the thread and number of every element by its row and column, read from the headings and cells."""
    found: Elements = {}
    for (row, column), cell in picture.cells.items():
        places = itertools.product(numbers(picture.rows[row]), numbers(picture.columns[column]))
        thread, held = cell.text.split(":")
        found |= {place: (int(thread[1:]), number) for place, number in zip(places, numbers(held), strict=True)}
    return found


def numbers(text: str) -> list[int]:
    """Return the numbers of "k0,1", "a4-7" or "m3"."""
    first, *last = map(int, re.findall(r"\d+", text))
    return list(range(first, (last or [first])[0] + 1))


def by_formula(count: int, place: Callable[[int, int, int], tuple[int, int]]) -> Elements:
    """Return elements by PTX ISA's groupID, threadID_in_group and i."""
    return {place(t // 4, t % 4, i): (t, i) for t, i in itertools.product(range(32), range(count))}


def test_pictures_of_fragments_are_those_of_the_ptx_manual() -> None:
    """A warpgroup's accumulators are drawn for one warp and eight columns; notes describe the others."""
    a, b, d = (elements(picture) for picture in pictures(MMA))
    assert a == by_formula(8, lambda g, t, i: (g + 8 * (i // 2 % 2), t * 2 + i % 2 + 8 * (i // 4)))
    assert b == by_formula(4, lambda g, t, i: (t * 2 + i % 2 + 8 * (i // 2), g))
    assert d == by_formula(4, lambda g, t, i: (g + 8 * (i // 2), t * 2 + i % 2))
    (wgmma_a, accumulators) = pictures(WGMMA)
    assert (elements(wgmma_a), elements(accumulators)) == (a, d)
    assert "Rows 16 to 63 are as these, 32 threads further for every 16 rows." in accumulators.notes
    assert "Columns 8 to 255 are as these, 4 elements further for every 8 columns." in accumulators.notes
    assert [each.title[0] for each in pictures(WGMMA, a_in_registers=False)] == ["D"]
    (rows,), (columns,) = pictures(LOAD), pictures(TRANSPOSED)
    assert elements(rows) == by_formula(2, lambda g, t, i: (g, t * 2 + i))
    assert elements(columns) == by_formula(2, lambda g, t, i: (t * 2 + i, g))
    assert any("0 to 7" in note for note in rows.notes)
    assert any("0 to 31" in note for note in columns.notes)
    assert not any(map(has_pictures, ("ld.shared.f32", "wgmma.fence.sync.aligned")))


@pytest.mark.parametrize("opcode", OPCODES)
def test_every_matrix_is_drawn_whole_within_80_columns(opcode: str) -> None:
    assert has_pictures(opcode)
    for picture in pictures(opcode):
        assert set(Counter(elements(picture).values()).values()) == {1}, "each place another thread and element"
        assert len(picture.cells) == len(picture.rows) * len(picture.columns)
        text = picture.text()
        assert max(map(len, text.split("\n"))) <= WIDTH
        assert all(cell.text in text for cell in picture.cells.values())


def access(opcode: str, nbytes: int, address: Callable[[int], int | None]) -> banks.WarpAccess:
    return banks.WarpAccess(opcode, nbytes, (1, 2, 0), 3, tuple(map(address, range(32))))


MOVES = [("ld.shared.u8", 1), ("ld.shared.f32", 4), ("ld.shared.v2.f32", 8), ("ld.shared.v4.f32", 16), (LDMATRIX, 16)]


@given(st.sampled_from(MOVES), st.integers(0, 2**32 - 1), st.sampled_from([2, 20, 300]))
def test_a_picture_has_the_passes_that_the_profiler_counts(how: tuple[str, int], seed: int, extent: int) -> None:
    (opcode, nbytes), rng = how, np.random.default_rng(seed)
    active = rng.random(32) < rng.choice([0.5, 0.9, 1])
    address = rng.integers(0, extent, 32) * nbytes
    seen = access(opcode, nbytes, lambda lane: int(address[lane]) if active[lane] else None)
    rows, taking = address[np.newaxis].astype(np.uint64), active[np.newaxis]
    counted, conflicts = matrix_wavefronts(rows, taking) if opcode == LDMATRIX else wavefronts(rows, taking, nbytes)
    found = banks.touches(seen)
    assert seen.cost == sum(banks.passes(found).values()) == counted
    assert sorted(lane for touch in found for lane in touch.lanes) == np.flatnonzero(active).tolist()
    picture = next(seen.pictures())
    assert len(picture.columns) == counted
    assert len({column for (_, column), cell in picture.cells.items() if cell.conflict}) == conflicts
    assert max(map(len, picture.text().split("\n"))) <= WIDTH


def test_lanes_are_drawn_by_bank_and_pass() -> None:
    """Words three lines apart for every eighth lane: four lanes to each of eight banks; and all lanes to one word."""
    picture = next(access("ld.shared.f32", 4, lambda lane: lane % 8 * 16 + lane // 8 * 384).pictures())
    assert picture.rows == tuple(f"bank {bank}" for bank in range(0, 32, 4))
    assert (picture.cells[1, 0], picture.cells[1, 3]) == (Cell("1", 0), Cell("25", 0, conflict=True))
    assert "warp 3 in block (1, 2)" in picture.title
    assert picture.notes[-1].startswith("4 wavefronts, 3 by conflicts")
    picture = next(access("ld.shared.v4.f32", 16, lambda lane: 64).pictures())
    assert dict(picture.cells) == {(0, 0): Cell("0×16", 0), (0, 1): Cell("16×16", 2)}
    assert picture.rows == ("banks 16-19",)
    assert "No lane touches banks 0-15, 20-31." in picture.notes


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128])
def test_chunks_of_a_box_are_drawn_at_their_addresses(span: int, row_bytes: int) -> None:
    picture = next(banks.Box("cp.async.bulk.tensor", 1024 + 256, 64, row_bytes, span).pictures())
    assert len(picture.cells) == 64
    for (line, group), cell in picture.cells.items():
        row, chunk = (int(each[1:]) for each in cell.text.split())
        place = int(picture.rows[line], 16) + 16 * group
        assert int(swizzled(np.uint64(1024 + 256 + row * row_bytes + 16 * chunk).reshape(1), span)[0]) == place
    assert any("by conflicts" in note for note in picture.notes) == (max(span, 16) < row_bytes)


def test_short_boxes_and_operands_are_drawn_at_their_addresses() -> None:
    """A product reads chunks 2 and 3, swizzled, of an operand's rows of 128 bytes."""
    picture = next(banks.Box("cp.async.bulk.tensor", 1024, 3, 32, 0).pictures())
    assert sorted(cell.text for cell in picture.cells.values()) == [f"r{r} c{c}" for r in range(3) for c in range(2)]
    addresses = np.arange(8)[:, np.newaxis] * 128 + 1024 + np.array([32, 48])
    places = swizzled(addresses.astype(np.uint64), 128).astype(np.int64)
    operand = banks.Operand("wgmma", "A", 64, tuple(map(tuple, places.tolist())), "swizzle 128")
    picture = next(operand.pictures())
    found = {cell.text: place for place, cell in picture.cells.items()}
    assert found == {f"r{row} c{chunk}": (row, chunk + 2 ^ row) for row in range(8) for chunk in range(2)}
    assert picture.rows[1] == "0x480"
    assert "takes a pass" in picture.notes[-1]


def test_a_drawing_has_every_cell_marks_conflicts_and_escapes_text() -> None:
    seen = next(access(LDMATRIX, 16, lambda lane: lane * 64).pictures())
    drawn = [*pictures(MMA), seen, Picture("a < b & c", ("r",), ("c",), {(0, 0): Cell("<x>")})]
    drawing = svg_of(drawn)
    texts = Counter(each.text for each in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text"))
    cells = Counter(cell.text for picture in drawn for cell in picture.cells.values())
    assert all(texts[text] >= count for text, count in cells.items())
    assert {"a < b & c", "<x>"} <= texts.keys()
    assert drawing.count("fill='#fca5a5'") == sum(cell.conflict for cell in seen.cells.values()) == 24
