"""Experiments as plugins declare them, and how the registry takes them."""

from __future__ import annotations

import re
from typing import Any

import pytest

import mmcore
from mmcore import Sweep
from mmcore.pytest_plugin.sizes import Sizes
from mmcore.errors import InvalidSweep
from mmcore.registry import Registry, registry
from tests.test_registry import plugin


def sweep(name: str = "acme-sizes", **changes: Any) -> Sweep:
    attributes: dict[str, Any] = {
        "name": name,
        "title": "a test's own",
        "lecture": "none",
        "shows": "that it works",
        "kernels": ("upc.kernel01",),
        "sizes": (64, (5, 6, 7)),
        "quick_sizes": (32,),
    }
    return Sweep(**attributes | changes)


def test_one_number_is_a_cube_and_a_square() -> None:
    declared = sweep(blocks=(8, (32, 4), (64,)))
    assert declared.problems == (Sizes(64, 64, 64), Sizes(5, 6, 7))
    assert declared.block_texts == ("8", "32x4x1", "64x1x1")


def test_the_reduced_form_has_sizes_of_its_own_and_blocks_if_it_declares_some() -> None:
    assert sweep(blocks=(8, 16)).reduced.sizes == (32,)
    assert sweep(blocks=(8, 16)).reduced.blocks == (8, 16)
    assert sweep(blocks=(8, 16), quick_blocks=(4,)).reduced.blocks == (4,)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "sizes"}, "'sizes' is not an experiment's name"),
        ({"name": "acme.sizes"}, "'acme.sizes' is not an experiment's name"),
        ({"name": None}, "None is not an experiment's name"),
        ({"shows": " "}, "acme-sizes: its shows must be a non-empty text"),
        ({"kernels": ()}, "it declares no kernels"),
        ({"kernels": "upc.kernel01"}, "its kernels are several, such as kernels=(…,), not 'upc.kernel01'"),
        ({"kernels": ("upc.*",)}, "'upc.*' is not a kernel name"),
        ({"sizes": 640}, "its sizes are several, such as sizes=(…,), not 640"),
        ({"sizes": (0,)}, "m must be a positive whole number, but is 0"),
        ({"sizes": ((1, 2),)}, "(1, 2) is not a size: one number, or m, n and k"),
        ({"sizes": (1.5,)}, "m must be a positive whole number, but is 1.5"),
        ({"quick_sizes": ()}, "it declares no quick_sizes"),
        ({"blocks": (0,)}, "(0, 1, 1) is not a block shape"),
        ({"blocks": (8.0,)}, "8.0 is none of its blocks"),
        ({"measures": ("global",)}, "'global' is no way of measuring; there are kernel-warm, kernel-cold, global-"),
        ({"max_time": 0}, "its max_time is not a number of seconds: 0"),
        ({"min_rounds": 0.5}, "its min_rounds is not a whole number from 1: 0.5"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_rejected_in_words(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidSweep) as error:
        sweep(**changes)
    assert reason in str(error.value)


def test_the_lectures_experiments_are_registered() -> None:
    assert {"upc-sizes", "upc-remainders", "upc-transfers", "unsa-blocks", "lezione9-coalescing", "poznan-first",
            "poznan-second"} <= set(registry().sweeps)  # fmt: skip


@pytest.mark.parametrize("name", sorted(registry().sweeps))
def test_an_experiment_names_kernels_that_are_there(name: str) -> None:
    declared = registry().sweep(name)
    assert {registry().kernel(kernel).name for kernel in declared.kernels} == set(declared.kernels)


def test_the_extents_are_the_lectures() -> None:
    sizes, remainders = registry().sweep("upc-sizes"), registry().sweep("upc-remainders")
    assert (sizes.sizes[0], sizes.sizes[1], sizes.sizes[-1], sizes.blocks) == (128, 160, 3200, (8, 16, 32))
    assert (remainders.sizes, remainders.blocks) == (tuple(range(1000, 1101)), (16, 32))
    assert set(registry().sweep("unsa-blocks").blocks) >= {5, 10, 20, 25, 50}


def test_a_third_partys_experiments_are_taken_like_ours() -> None:
    found = Registry()
    found.add(plugin(mmcore_experiments=[sweep(), sweep("acme-blocks")]), "acme", "acme-kernels")
    assert found.sweep("acme-sizes") == sweep()
    assert (found.sweeps["acme-blocks"].plugin, found.sweeps["acme-blocks"].distribution) == ("acme", "acme-kernels")
    assert not found.complaints()


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (ValueError("no luck"), "ValueError: no luck"),
        ([1], "mmcore_experiments returned 1, which is not a Sweep"),
        (sweep(), "mmcore_experiments returned Sweep, not a list"),
    ],
)
def test_a_plugin_whose_experiments_are_nonsense_is_set_aside_with_its_reason(returned: Any, reason: str) -> None:
    found = Registry()
    found.add(plugin(mmcore_experiments=returned), "acme", "acme-kernels")
    (complaint,) = found.complaints()
    # What was raised, and not only returned, has a place.
    where = r" \(test_registry\.py:\d+\)" if isinstance(returned, Exception) else ""
    assert re.fullmatch(re.escape(f"plugin acme of acme-kernels is set aside: {reason}") + where, complaint), complaint
    with pytest.raises(mmcore.UnknownSweep, match="a plugin that is set aside may bring it"):
        found.sweep("acme-sizes")


def test_a_name_that_two_plugins_claim_belongs_to_neither() -> None:
    found = Registry()
    found.add(plugin(mmcore_experiments=[sweep(), sweep("acme-other")]), "one", "first-package")
    found.add(plugin(mmcore_experiments=[sweep()]), "two", "second-package")
    assert set(found.sweeps) == {"acme-other"}
    with pytest.raises(mmcore.ConflictingSweeps) as conflict:
        found.sweep("acme-sizes")
    assert str(conflict.value).startswith(
        "experiment 'acme-sizes' is claimed by one of first-package and two of second-package"
    )
    assert found.complaints() == [str(conflict.value)]


def test_a_misspelt_experiment_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(mmcore.UnknownSweep, match=r"there is no experiment 'upc-size'; did you mean upc-sizes"):
        registry().sweep("upc-size")
