"""The model chooses fast configs for products for which none is tuned, of every kernel that declares its tiling."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import mmcore
from bench.studies import config_model
from bench.studies.study import RESULTS
from mmcore import DeviceProperties, InvalidKernel, Tiling, named_tiling
from mmcore.planning.plan import DEFAULT, usual_config
from mmcore_cuda.tuned_configs.model import MODELLED, Constants, modelled
from mmcore_ladder.wgmma_any import tiling

UNTUNED = DeviceProperties(card="Test GPU", compute_capability=(10, 0))
TIMES = config_model.times_of(json.loads((RESULTS / "nvidia-h200" / "config_model.json").read_text()))


def test_its_choices_are_near_the_fastest_configs() -> None:
    """Require them within 10 % in geometric mean, and never below three quarters of the fastest config's speed."""
    assert len(TIMES) == len(config_model.SHAPES) * len(config_model.KERNELS)
    found = config_model.ratios(TIMES, TIMES, config_model.works(TIMES, DeviceProperties()), Constants())
    assert config_model.mean(found) >= 0.90
    assert min(found.values()) >= 0.75, found


def test_another_plugins_kernel_has_a_model_if_its_parameters_have_the_usual_names() -> None:
    kernel = mmcore.kernels()["ladder.f32.05_register_tile"]
    problem = kernel.problem(4096, 4096, 4096)
    assert usual_config(kernel, problem, UNTUNED)[1] == DEFAULT
    kernel = replace(kernel, tiling=named_tiling)
    small, large = (usual_config(kernel, kernel.problem(n, n, n), UNTUNED) for n in (256, 8192))
    assert small[1] == large[1] == MODELLED
    assert small[0].BM * small[0].BN < large[0].BM * large[0].BN
    assert usual_config(kernel, problem, replace(UNTUNED, card=""))[1] == DEFAULT
    assert usual_config(kernel, problem, replace(UNTUNED, compute_capability=(7, 7)))[1] == DEFAULT
    assert not [*modelled(replace(kernel, tiling=None), problem, UNTUNED)]


def test_a_rule_that_fails_is_named() -> None:
    rule: Any = lambda *_: 1  # noqa: E731
    kernel = replace(mmcore.kernels()["ladder.f32.05_register_tile"], tiling=rule)
    with pytest.raises(InvalidKernel, match="its tiling rule returned 1, not a Tiling"):
        usual_config(kernel, kernel.problem(256, 256, 256), UNTUNED)


def test_a_narrow_product_is_turned() -> None:
    kernel = mmcore.kernels()["ladder.bf16.12_any_nt"]
    config = kernel.all_configs.own(BM=64, BN=32, DEPTH_BYTES=128, CONSUMERS=1, CLUSTER=2, GROUP=8)
    assert tiling(kernel.problem(16, 4096, 4096), config, UNTUNED) == Tiling(64, 32, 64, 96, 8, 1, turned=True)
    assert tiling(kernel.problem(8192, 8192, 4096), config, UNTUNED) == Tiling(64, 32, 64, 96, 8, 2)
