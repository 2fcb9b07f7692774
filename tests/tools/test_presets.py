"""Presets as plugins declare them, and how they are collected."""

from __future__ import annotations

import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from mmcore import hookimpl
from mmcore.errors import DuplicateName, UnknownName
from mmcore.registry import Registry, registry
from mmcore_tools.experiments import InvalidPreset, Preset
from mmcore_tools.experiments.preset import presets
from tests.tables import cases

PRESETS = presets(registry())


def preset(name: str = "acme-sizes", **changes: Any) -> Preset:
    texts = {"name": name, "title": "a test's own", "reference": "none", "shows": "that it works"}
    products = {"kernels": ("upc.kernel01",), "sizes": (64, (5, 6, 7)), "quick_sizes": (32,)}
    attributes: dict[str, Any] = {**texts, **products, **changes}
    return Preset(**attributes)


def preset_plugin(returned: Any) -> ModuleType:
    """Return a plugin with a hook that returns, or raises, a given value."""

    def mmcore_presets() -> Any:
        if isinstance(returned, BaseException):
            raise returned
        return returned

    module = ModuleType("acme")
    module.mmcore_presets = hookimpl(mmcore_presets)  # type: ignore[attr-defined]
    return module


def collected(**plugins: Any) -> Registry:
    """Return a registry of plugins with these names and these results of their hooks."""
    found = Registry()
    for name, returned in plugins.items():
        found.add(preset_plugin(returned), name, f"{name}-package")
    return found


def test_one_number_is_a_cube_and_a_square() -> None:
    declared = preset(blocks=(8, (32, 4), (64,)), configs=[{"BM": 128}])
    assert declared.problems == ((64, 64, 64), (5, 6, 7))
    assert declared.block_texts == ("8", "32x4x1", "64x1x1")
    assert [*declared.parameters] == [{"block": "8"}, {"block": "32x4x1"}, {"block": "64x1x1"}, {"BM": 128}]


def test_the_reduced_form_has_its_declared_sizes_and_blocks() -> None:
    reduced = preset(blocks=(8, 16)).form(quick=True, timed=True)
    assert (reduced.sizes, reduced.blocks) == ((32,), (8, 16))
    assert preset(blocks=(8, 16), quick_blocks=(4,)).form(quick=True, timed=True).blocks == (4,)


def test_the_title_names_what_is_measured() -> None:
    def title(quick: bool = True, timed: bool = True, **changes: Any) -> str:
        return preset(**changes).form(quick=quick, timed=timed).title

    assert title(quick=False) == "a test's own"
    assert title(blocks=(8,)) == "Times of upc.kernel01 at n = 32 in blocks of 8"
    counts = "Counts, no times, of upc.kernel01 at 64×64×64, 5×6×7 in blocks of 8"
    assert title(quick=False, timed=False, blocks=(8,)) == counts
    assert title(kernels=tuple(f"acme.k{index}" for index in range(5))) == "Times of 5 kernels at n = 32"


@cases(__file__, "contradictions", "changes, reason")
def test_a_declaration_that_contradicts_itself_is_an_error(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidPreset) as error:
        preset(**changes)
    assert reason in str(error.value)


def test_a_name_may_be_one_word_and_a_baseline_a_pattern() -> None:
    declared = preset("acme", baseline="cublas.*").form(quick=True, timed=True)
    assert (declared.name, declared.to_json()["baseline"]) == ("acme", "cublas.*")


def test_the_ladders_preset_has_every_rung_in_one_layout() -> None:
    layout = re.compile("_(nt|tn|tt)$")
    rungs = [layout.sub("", name) for name in PRESETS.named("ladder").kernels]
    assert len(set(rungs)) == len(rungs)
    assert set(rungs) == {layout.sub("", name) for name in registry().kernels if name.startswith("ladder.")}


def test_the_ladders_sizes_have_the_last_rungs_of_every_type() -> None:
    rungs, tops = (PRESETS.named(name).kernels for name in ("ladder", "ladder-sizes"))
    last = {registry().kernel(name).dtype: name for name in rungs}
    further = {"ladder.f32.09_any", "ladder.f32.10_f16x3", "ladder.f32.11_bf16x6", "ladder.f64.03_ring"}
    assert set(tops) - set(last.values()) == further
    assert set(last.values()) - set(tops) == {"ladder.i8.01_wgmma"}  # which takes multiples of 16 along k only


def test_the_extents_are_the_lectures() -> None:
    sizes, remainders = PRESETS.named("upc-sizes"), PRESETS.named("upc-remainders")
    assert (sizes.sizes[0], sizes.sizes[1], sizes.sizes[-1], sizes.blocks) == (128, 160, 3200, (8, 16, 32))
    assert (remainders.sizes, remainders.blocks) == (tuple(range(1000, 1101)), (16, 32))


def test_a_third_partys_presets_are_collected_like_ours() -> None:
    found = presets(collected(acme=[preset(), preset("acme-blocks")]))
    assert found["acme-sizes"].item == preset()
    assert str(found["acme-blocks"].origin) == "acme of acme-package"


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (ValueError("no luck"), "ValueError: no luck (test_presets.py:"),
        ([1], "mmcore_presets returned 1, which is not a Preset"),
        (1, "mmcore_presets returned int, not a list"),
    ],
)
def test_an_invalid_result_of_the_hook_is_a_warning(returned: Any, reason: str) -> None:
    found = collected(acme=returned)
    assert not presets(found)
    (warning,) = found.warnings()
    assert warning.startswith(f"plugin acme of acme-package failed in mmcore_presets: {reason}")


def test_a_name_that_two_plugins_bring_belongs_to_neither() -> None:
    found = presets(collected(one=[preset(), preset("acme-other")], two=[preset()]))
    assert set(found) == {"acme-other"}
    with pytest.raises(DuplicateName, match=r"preset 'acme-sizes' is brought by one of one-package and two of two-"):
        found.named("acme-sizes")


def test_a_misspelt_preset_is_answered_with_the_nearest_names() -> None:
    with pytest.raises(UnknownName, match=r"there is no preset 'upc-size'; did you mean upc-sizes"):
        PRESETS.named("upc-size")


def test_declaring_a_preset_imports_neither_numpy_nor_click() -> None:
    heavy = {"numpy", "click", "rich", "pytest"}
    code = f"import sys, mmcore_tools.experiments; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
