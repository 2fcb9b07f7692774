"""Pictures of fragments and banks: the PTX manual's layouts, and the passes that the profiler counts."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore_emulator.explain.banks import (
    Box,
    Operand,
    WarpAccess,
    passes,
    picture_of_access,
    picture_of_box,
    picture_of_operand,
    touches,
)
from mmcore_emulator.explain.fragments import Held, has_pictures, pictures_of
from mmcore_emulator.explain.picture import WIDTH, Cell, Picture
from mmcore_emulator.explain.svg import svg_of
from mmcore_emulator.machine.asynchronous.swizzles import SPANS, swizzled
from mmcore_emulator.profiler.coalescing import matrix_wavefronts, wavefronts

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
OPCODES = (
    MMA,
    "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    "mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32",
    "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32",
    "wmma.load.a.sync.aligned.row.m32n8k16.shared.f16",
    "wmma.store.d.sync.aligned.row.m16n16k16.global.f32",
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16",
    "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16",
)


def pictures(opcode: str, *, a_in_registers: bool = True) -> list[Picture]:
    return list(pictures_of(Held(opcode, a_in_registers)))


def elements(picture: Picture) -> dict[tuple[int, int], tuple[int, int]]:
    """Thread and number of every element, read off the headings and cells: by the row's number and the column's."""
    found = {}
    for (row, column), cell in picture.cells.items():
        down, across = numbers(picture.rows[row]), numbers(picture.columns[column])
        thread, held = cell.text.split(":")
        for place, number in zip(itertools.product(down, across), numbers(held), strict=True):
            found[place] = int(thread.removeprefix("T")), number
    return found


def numbers(text: str) -> list[int]:
    """Of "k0,1", "a4-7" or "m3"."""
    first, *last = map(int, re.findall(r"\d+", text))
    return list(range(first, (last or [first])[0] + 1))


def test_an_mmas_matrices_are_held_as_the_ptx_manual_says() -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": groupID and threadID_in_group."""
    a, b, d = (elements(picture) for picture in pictures(MMA))
    for thread in range(32):
        group, member = thread // 4, thread % 4
        for i in range(8):
            row = group if i in (0, 1, 4, 5) else group + 8
            assert a[row, member * 2 + (i & 1) + (8 if i >= 4 else 0)] == (thread, i)
        for i in range(4):
            assert b[member * 2 + (i & 1) + (8 if i >= 2 else 0), group] == (thread, i)
            assert d[group + (0 if i < 2 else 8), member * 2 + (i & 1)] == (thread, i)
    assert (len(a), len(b), len(d)) == (16 * 16, 16 * 8, 16 * 8)


def test_a_warpgroups_accumulators_are_held_as_the_ptx_manual_says() -> None:
    """Of a warp, eight columns; the sentences say how it goes on."""
    (a, d) = pictures("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16")
    found = elements(d)
    for thread, i in itertools.product(range(32), range(4)):
        assert found[thread // 4 + 8 * (i // 2), thread % 4 * 2 + i % 2] == (thread, i)
    assert "Rows 16 to 63 are as these, 32 threads further for every 16 rows." in d.notes
    assert "Columns 8 to 255 are as these, 4 elements further for every 8 columns." in d.notes
    assert len(elements(a)) == 16 * 16
    assert [each.title[0] for each in pictures(OPCODES[11], a_in_registers=False)] == ["D"]


def test_a_matrix_that_is_loaded_lies_along_rows_or_columns() -> None:
    (rows,), (columns,) = pictures(OPCODES[-3]), pictures(OPCODES[-2])
    for thread, half in itertools.product(range(32), range(2)):
        assert elements(rows)[thread // 4, thread % 4 * 2 + half] == (thread, half)
        assert elements(columns)[thread % 4 * 2 + half, thread // 4] == (thread, half)
    assert any("0 to 7" in note for note in rows.notes)
    assert any("0 to 31" in note for note in columns.notes)


@pytest.mark.parametrize("opcode", OPCODES)
def test_every_matrix_is_drawn_whole_within_80_columns(opcode: str) -> None:
    assert has_pictures(opcode)
    for picture in pictures(opcode):
        held = Counter(elements(picture).values())
        assert set(held.values()) == {1}, "each place another thread and element"
        assert len(picture.cells) == len(picture.rows) * len(picture.columns)
        text = picture.text()
        assert max(map(len, text.split("\n"))) <= WIDTH
        assert all(cell.text in text for cell in picture.cells.values())


def test_other_instructions_have_no_pictures_of_matrices() -> None:
    assert not has_pictures("ld.shared.f32")
    assert not has_pictures("wgmma.fence.sync.aligned")


def access(opcode: str, nbytes: int, address: Callable[[int], int | None]) -> WarpAccess:
    return WarpAccess(opcode, nbytes, (1, 2, 0), 3, tuple(map(address, range(32))))


LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
MOVES = [("ld.shared.u8", 1), ("ld.shared.f32", 4), ("ld.shared.v2.f32", 8), ("ld.shared.v4.f32", 16), (LDMATRIX, 16)]


@settings(deadline=None)
@given(st.sampled_from(MOVES), st.integers(0, 2**32 - 1), st.sampled_from([2, 20, 300]))
def test_a_picture_has_the_passes_that_the_profiler_counts(how: tuple[str, int], seed: int, extent: int) -> None:
    (opcode, nbytes), rng = how, np.random.default_rng(seed)
    taking = rng.random(32) < rng.choice([0.5, 0.9, 1])
    drawn = zip(rng.integers(0, extent, 32).tolist(), taking.tolist(), strict=True)
    places = [place if taken else None for place, taken in drawn]
    seen = access(opcode, nbytes, lambda lane: None if (place := places[lane]) is None else place * nbytes)
    rows = np.array([[(place or 0) * nbytes for place in places]], np.uint64)
    active = np.array([[place is not None for place in places]])
    counted, conflicts = matrix_wavefronts(rows, active) if opcode == LDMATRIX else wavefronts(rows, active, nbytes)
    found = touches(seen)
    assert seen.wavefronts == sum(passes(found).values()) == counted
    assert sorted(lane for touch in found for lane in touch.lanes) == [i for i in range(32) if places[i] is not None]
    picture = picture_of_access(seen)
    assert len(picture.columns) == counted
    marked = {column for (_, column), cell in picture.cells.items() if cell.conflict}
    assert len(marked) == conflicts
    assert max(map(len, picture.text().split("\n"))) <= WIDTH


def test_lanes_stand_by_bank_and_pass() -> None:
    """Words three lines apart for every eighth lane: four lanes to each of eight banks."""
    picture = picture_of_access(access("ld.shared.f32", 4, lambda lane: lane % 8 * 16 + lane // 8 * 384))
    assert picture.rows == tuple(f"bank {bank}" for bank in range(0, 32, 4))
    assert picture.cells[1, 0] == Cell("1", 0)
    assert picture.cells[1, 3] == Cell("25", 0, conflict=True)
    assert "warp 3 in block (1, 2)" in picture.title
    assert picture.notes[-1].startswith("4 wavefronts, 3 by conflicts")


def test_lanes_that_want_the_same_stand_together() -> None:
    picture = picture_of_access(access("ld.shared.v4.f32", 16, lambda lane: 64))
    assert dict(picture.cells) == {(0, 0): Cell("0×16", 0), (0, 1): Cell("16×16", 2)}
    assert picture.rows == ("banks 16-19",)
    assert "No lane touches banks 0-15, 20-31." in picture.notes


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128])
def test_chunks_of_a_box_stand_where_they_lie(span: int, row_bytes: int) -> None:
    picture = picture_of_box(Box("cp.async.bulk.tensor", 1024 + 256, 64, row_bytes, span))
    assert len(picture.cells) == 64
    for (line, group), cell in picture.cells.items():
        row, chunk = (int(each[1:]) for each in cell.text.split())
        there = int(picture.rows[line], 16) + 16 * group
        assert int(swizzled(np.uint64(1024 + 256 + row * row_bytes + 16 * chunk).reshape(1), span)[0]) == there
    conflicts = any("by conflicts" in note for note in picture.notes)
    assert conflicts == (max(span, 16) < row_bytes)


def test_a_short_box_has_its_own_chunks_only() -> None:
    picture = picture_of_box(Box("cp.async.bulk.tensor", 1024, 3, 32, 0))
    assert sorted(cell.text for cell in picture.cells.values()) == [f"r{r} c{c}" for r in range(3) for c in range(2)]


def test_an_operands_rows_stand_where_they_lie() -> None:
    """Rows of 128 bytes, of which a product reads 32: chunks 2 and 3, swizzled."""
    addresses = np.arange(8)[:, np.newaxis] * 128 + 1024 + np.array([32, 48])
    places = swizzled(addresses.astype(np.uint64), 128).astype(np.int64)
    picture = picture_of_operand(Operand("wgmma", "A", 64, tuple(map(tuple, places.tolist())), "swizzle 128"))
    found = {cell.text: place for place, cell in picture.cells.items()}
    assert found == {f"r{row} c{chunk}": (row, chunk + 2 ^ row) for row in range(8) for chunk in range(2)}
    assert picture.rows[1] == "0x480"
    assert "takes a pass" in picture.notes[-1]


def test_a_drawing_has_every_cell_and_marks_conflicts() -> None:
    seen = picture_of_access(access(LDMATRIX, 16, lambda lane: lane * 64))
    drawing = svg_of([*pictures(MMA), seen])
    root = ElementTree.fromstring(drawing)
    texts = Counter(each.text for each in root.iter("{http://www.w3.org/2000/svg}text"))
    cells = Counter(cell.text for picture in (*pictures(MMA), seen) for cell in picture.cells.values())
    assert all(texts[text] >= count for text, count in cells.items())
    assert drawing.count("fill='#fca5a5'") == sum(cell.conflict for cell in seen.cells.values()) == 24


def test_what_an_opcode_has_of_markup_is_text() -> None:
    picture = Picture("a < b & c", ("r",), ("c",), {(0, 0): Cell("<x>")})
    root = ElementTree.fromstring(svg_of([picture]))
    assert {"a < b & c", "<x>"} <= {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
