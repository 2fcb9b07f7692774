"""Which cells the --mm- options select, and what is said of options that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmcore import Kernel, Launch, Space
from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.pytest_plugin.collection import Found, find_benchmarks
from mmcore.pytest_plugin.options import Selection
from mmcore.pytest_plugin.sizes import Sizes, parse_sizes
from mmcore.registry import Origin, Registered, registry

USUAL = Selection((), (), (), (), False, (), "auto", ("kernel",), ("pageable",), ("warm",), 60, "usual")


def select(*, supports_timing: bool = True, **wanted: Any) -> Found:
    return find_benchmarks(Selection(**{**vars(USUAL), **wanted}), registry(), supports_timing=supports_timing)


def ids(**wanted: Any) -> list[str]:
    return [each.id for each in select(**wanted).benchmarks.values()]


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


def test_ids_say_kernel_problem_and_config() -> None:
    found = ids(kernels=("upc.kernel11",), sizes=(Sizes(640, 640, 640), Sizes(5, 6, 7)))
    assert sorted(found) == sorted(
        f"upc.kernel11-{size}-b{block}" for block in (8, 16, 32) for size in ("640x640x640", "5x6x7")
    )


def test_ids_tell_other_ways_of_measuring() -> None:
    wanted: dict[str, Any] = {
        "kernels": ("upc.kernel11",),
        "sizes": (Sizes(64, 64, 64),),
        "blocks": ("16", "32x8", "64x1x1"),
        "measures": ("kernel", "end-to-end"),
        "memories": ("pageable", "pinned"),
        "caches": ("warm", "cold"),
    }
    assert ids(**wanted) == [
        f"upc.kernel11-64x64x64-b16{way}" for way in ("", "-cold", "-end-to-end-pageable", "-end-to-end-pinned")
    ]
    refused = [each.split(":")[0] for each in select(**wanted).refused]
    assert refused == [
        f"upc.kernel11 64×64×64 with block={block}, TILE={tile}" for block, tile in (("32x8", 32), ("64x1", 64))
    ]


@pytest.mark.parametrize("supports_timing", [True, False])
def test_every_kernel_without_known_bugs_has_a_cell_for_each_of_its_configs_by_default(supports_timing: bool) -> None:
    found = select(supports_timing=supports_timing)
    kernels = {name: each.item for name, each in registry().kernels.items()}
    assert set(found.buggy) == {name for name, kernel in kernels.items() if kernel.known_bugs}
    assert not found.refused
    assert {(each.kernel.name, each.config) for each in found.benchmarks.values()} == {
        (name, config) for name, kernel in kernels.items() if name not in found.buggy for config in kernel.usual_configs
    }


def test_an_emulator_is_given_smaller_problems() -> None:
    largest = [max(each.problem.n for each in select(supports_timing=t).benchmarks.values()) for t in (True, False)]
    assert largest[0] > 1000 > 200 > largest[1]


def test_a_variant_with_known_bugs_is_measured_when_it_is_named() -> None:
    buggy = "upc.kernel11_naive_guard"
    assert not any(buggy in each for each in ids(kernels=("upc.*",)))
    assert ids(kernels=(buggy,), blocks=("32",), sizes=(Sizes(64, 64, 64),)) == [f"{buggy}-64x64x64-b32"]


def test_sizes_that_a_constraint_forbids_are_listed_with_its_reason() -> None:
    found = select(kernels=("poznan.v3", "upc.kernel01"), blocks=("16",), sizes=(Sizes(65, 65, 65),))
    assert [each.id for each in found.benchmarks.values()] == ["upc.kernel01-65x65x65-b16"]
    assert found.refused == ["poznan.v3 65×65×65 with block=16x16: n = 65 is not a multiple of block.x = 16"]


def test_a_devices_limits_are_asked_when_a_cells_turn_comes() -> None:
    found = select(kernels=("unsa.tiled",), blocks=("50",), sizes=(Sizes(500, 500, 500),))
    assert len(found.benchmarks) == 1
    assert not found.refused


@pytest.fixture
def tiled(monkeypatch: pytest.MonkeyPatch) -> str:
    """A kernel of a space of configs, of which one is usual."""
    kernel = Kernel(
        name="acme.tiled",
        configs=Space(
            {"BM": (32, 64), "BN": (32, 64), "block": lambda config: (config.BM * config.BN // 16,)},
            where=lambda config: config.BM * config.BN < 4096,
            default=[{"BM": 64, "BN": 32}],
        ),
        launch=lambda problem, config, device: Launch(grid=(1,), block=config.block),
        arguments=("A", "B", "C"),
        entry="f",
    )
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return kernel.name


def test_configs_are_chosen_by_their_parameters(tiled: str) -> None:
    wanted: dict[str, Any] = {"kernels": (tiled,), "sizes": (Sizes(64, 64, 64),)}
    assert ids(**wanted) == ["acme.tiled-64x64x64-BM64-BN32"]
    assert ids(**wanted, configs=({"BM": 32},)) == ["acme.tiled-64x64x64-BM32-BN32"]
    assert ids(**wanted, all_configs=True) == [
        f"acme.tiled-64x64x64-BM{m}-BN{n}" for m, n in ((64, 32), (32, 32), (32, 64))
    ]
    assert ids(**wanted, all_configs=True, configs=({"BN": 64},)) == ["acme.tiled-64x64x64-BM32-BN64"]
    with pytest.raises(MmcoreError, match=r"acme\.tiled: there is no parameter 'BK'; there are block, BM, BN"):
        select(**wanted, configs=({"BK": 8},))
    assert ids(kernels=("acme.*", "upc.kernel0*"), configs=({"BM": 64},)) == [
        "acme.tiled-640x640x640-BM64-BN32",
        "acme.tiled-1024x1024x1024-BM64-BN32",
    ]


def test_kernels_are_chosen_by_type() -> None:
    found = select(dtypes=("float64",))
    theirs, ours = {"lezione9.kernel1", "lezione9.kernel2"}, {"mmcore.kernel1_columns", "mmcore.kernel2_columns"}
    assert {each.kernel.name for each in found.benchmarks.values()} == theirs | ours


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"kernels": ("upc.kernel12",)}, "there is no kernel 'upc.kernel12'; did you mean "),
        ({"kernels": ("acme.*",)}, "no kernel's name matches 'acme.*'; mmcore list-kernels shows what there is"),
        ({"kernels": ("upc.*",), "dtypes": ("float64",)}, "none of the selected kernels takes float64"),
    ],
)
def test_a_selection_of_nothing_is_refused(wanted: dict[str, Any], reason: str) -> None:
    with pytest.raises(MmcoreError) as error:
        select(**wanted)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize("wanted", [{"measures": ("end-to-end",)}, {"caches": ("cold",)}])
def test_a_device_without_timing_measures_neither_copies_nor_caches(wanted: dict[str, Any]) -> None:
    with pytest.raises(MmcoreError, match="supports no timing, so there are neither"):
        select(supports_timing=False, **wanted)
