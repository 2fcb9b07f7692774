"""Which cells the --mm- options select, and what is said of options that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmcore.pytest_plugin.cells import Cells, find_cells
from mmcore.pytest_plugin.options import Selection
from mmcore.pytest_plugin.sizes import Sizes, parse_sizes
from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.devices.base import Device
from mmcore.registry import registry
from mmcore_emulator.device import Emulator
from tests.timed_emulator import TimedEmulator

GPU = TimedEmulator(lambda source: 1e-4)
USUAL = Selection((), (), (), (), "auto", ("kernel",), ("pageable",), ("warm",), 60)


def select(device: Device = GPU, **wanted: Any) -> Cells:
    return find_cells(Selection(**{**vars(USUAL), **wanted}), registry(), device)


def ids(device: Device = GPU, **wanted: Any) -> list[str]:
    return [cell.id for cell in select(device, **wanted).cells.values()]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("640", [(640, 640, 640)]),
        ("512x256x128", [(512, 256, 128)]),
        ("512×256×128", [(512, 256, 128)]),
        ("8:24:8", [(8, 8, 8), (16, 16, 16), (24, 24, 24)]),
        ("8:23:8", [(8, 8, 8), (16, 16, 16)]),
        ("3:5", [(3, 3, 3), (4, 4, 4), (5, 5, 5)]),
        ("2, 1x2x3,1:2", [(2, 2, 2), (1, 2, 3), (1, 1, 1)]),
        ("7:7:5", [(7, 7, 7)]),
    ],
)
def test_sizes_are_read(text: str, sizes: list[tuple[int, int, int]]) -> None:
    assert list(parse_sizes(text)) == [Sizes(*each) for each in sizes]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'' is not a size: give N, or all of MxNxK"),
        ("640,", "'' is not a size: give N, or all of MxNxK"),
        ("64x", "'64x' is not a size: give N, or all of MxNxK"),
        (":64", "':64' is not a range of sizes: give START:STOP or START:STOP:STEP"),
        ("0", "'0' is not a whole number from 1 to 2147483647"),
        ("-3", "'-3' is not a whole number from 1 to 2147483647"),
        ("1e3", "'1e3' is not a whole number from 1 to 2147483647"),
        ("٣", "'٣' is not a whole number from 1 to 2147483647"),
        ("2147483648", "'2147483648' is not a whole number from 1 to 2147483647"),
        ("9" * 5000, f"'{'9' * 5000}' is not a whole number from 1 to 2147483647"),
        ("8x8", "'8x8' is not a size: give N, or all of MxNxK"),
        ("8xax8", "'a' in '8xax8' is not a whole number from 1 to 2147483647"),
        ("1:2:3:4", "'1:2:3:4' is not a range of sizes: give START:STOP or START:STOP:STEP"),
        ("1:9:0", "'0' in '1:9:0' is not a whole number from 1 to 2147483647"),
        ("9:1:2", "the range '9:1:2' is empty: it stops before it starts"),
    ],
)
def test_what_is_no_size_is_refused_in_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        parse_sizes(text)
    assert str(refusal.value) == reason


@given(st.integers(1, 5000), st.integers(0, 300), st.integers(1, 40))
def test_a_range_holds_its_start_and_no_more_than_its_stop(start: int, steps: int, step: int) -> None:
    stop = start + steps * step
    sizes = [sizes.n for sizes in parse_sizes(f"{start}:{stop}:{step}")]
    assert sizes[0] == start
    assert sizes[-1] == stop
    assert len(sizes) == steps + 1


@given(st.text(max_size=20))
def test_any_text_is_sizes_or_refused(text: str) -> None:
    try:
        sizes = parse_sizes(text)
    except InvalidProblem:
        return
    assert all(size > 0 for each in sizes for size in each)


def test_ids_say_kernel_problem_and_block() -> None:
    found = ids(kernels=("upc.kernel11",), sizes=(Sizes(640, 640, 640), Sizes(5, 6, 7)))
    assert sorted(found) == sorted(
        f"upc.kernel11-{size}-b{block}" for block in (8, 16, 32) for size in ("640x640x640", "5x6x7")
    )


def test_ids_tell_other_ways_of_measuring() -> None:
    wanted: dict[str, Any] = {
        "kernels": ("upc.kernel11",),
        "sizes": (Sizes(64, 64, 64),),
        "blocks": ("16", "32x8", "64x1x1"),
        "measures": ("kernel", "global"),
        "memories": ("pageable", "pinned"),
        "caches": ("warm", "cold"),
    }
    assert ids(**wanted) == [
        f"upc.kernel11-64x64x64-b16{way}" for way in ("", "-cold", "-global-pageable", "-global-pinned")
    ]
    refused = [str(refusal).split(":")[0] for refusal in select(**wanted).refused]
    assert refused == [f"upc.kernel11 64×64×64 in {block} blocks" for block in ("32×8", "64×1")]


def test_every_kernel_without_known_faults_has_a_cell_for_each_of_its_blocks_by_default() -> None:
    for device in (GPU, Emulator()):
        found = select(device)
        kernels = {name: each.kernel for name, each in registry().kernels.items()}
        assert set(found.faulty) == {name for name, kernel in kernels.items() if kernel.known_bugs}
        assert not found.refused
        measured = {(cell.point.kernel.name, cell.point.block) for cell in found.cells.values()}
        assert measured == {
            (name, block) for name, kernel in kernels.items() if name not in found.faulty for block in kernel.blocks
        }


def test_an_emulator_is_given_smaller_problems() -> None:
    largest = [max(cell.point.problem.n for cell in select(device).cells.values()) for device in (GPU, Emulator())]
    assert largest[0] > 1000 > 200 > largest[1]


def test_a_variant_with_known_faults_is_measured_when_it_is_named() -> None:
    faulty = "upc.kernel11_naive_guard"
    assert not any(faulty in each for each in ids(kernels=("upc.*",)))
    assert ids(kernels=(faulty,), blocks=("32",), sizes=(Sizes(64, 64, 64),)) == [f"{faulty}-64x64x64-b32"]


def test_sizes_that_a_rule_forbids_are_refused_with_its_reason() -> None:
    found = select(kernels=("poznan.v3", "upc.kernel01"), blocks=("16",), sizes=(Sizes(65, 65, 65),))
    assert [cell.id for cell in found.cells.values()] == ["upc.kernel01-65x65x65-b16"]
    (refusal,) = found.refused
    assert str(refusal) == "poznan.v3 65×65×65 in 16×16 blocks: n = 65 is not a multiple of block.x = 16"


def test_a_device_limit_is_a_reason_too() -> None:
    ((_, reason),) = select(kernels=("unsa.tiled",), blocks=("50",), sizes=(Sizes(500, 500, 500),)).refused
    assert reason == "a 50×50 block has 2500 threads; the device allows 1024"


def test_kernels_are_chosen_by_type() -> None:
    found = select(dtypes=("float64",))
    theirs, ours = {"lezione9.kernel1", "lezione9.kernel2"}, {"mmcore.kernel1_columns", "mmcore.kernel2_columns"}
    assert {cell.point.kernel.name for cell in found.cells.values()} == theirs | ours


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"kernels": ("upc.kernel12",)}, "there is no kernel 'upc.kernel12'; did you mean "),
        ({"kernels": ("acme.*",)}, "no kernel's name matches 'acme.*'; mmcore list-kernels shows what there is"),
        ({"kernels": ("upc.*",), "dtypes": ("float64",)}, "none of the selected kernels takes float64"),
    ],
)
def test_a_selection_of_nothing_is_refused(wanted: dict[str, Any], reason: str) -> None:
    with pytest.raises(MmcoreError) as refusal:
        select(**wanted)
    assert str(refusal.value).startswith(reason)


@pytest.mark.parametrize("wanted", [{"measures": ("global",)}, {"caches": ("cold",)}])
def test_an_emulator_measures_neither_copies_nor_caches(wanted: dict[str, Any]) -> None:
    with pytest.raises(MmcoreError, match="emulator keeps no device time"):
        select(Emulator(), **wanted)
