"""The ladder's kernels are right at ragged sizes and in each layout, free of hazards, and as accurate as declared."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mmcore
from mmcore import Config, DeviceProperties, Kernel, Result, Space
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import Device
from mmcore.kernel.configs import resolve
from mmcore.planning.plan import plan, resource_violations
from mmcore.verdict import judged
from mmcore_emulator.adapter.api import check, profile
from mmcore_ladder import f32, f64
from mmcore_ladder.shares import parts_of_k
from mmcore_tools.conform import conformance
from mmcore_tools.conform.conformance import conform_kernel

LADDER = {name: kernel for name, kernel in mmcore.kernels().items() if name.startswith("ladder.")}
RUNGS = {name: kernel for name, kernel in LADDER.items() if not kernel.variant_of}
RESULTS = Path(__file__).parents[2] / "bench" / "results"
RAGGED = {"m": 135, "n": 75, "k": 70}
PARTS = ["ladder.f32.10_f16x3", "ladder.f32.11_bf16x6"]
RESIDUES = ["ladder.f64.04_int8", "ladder.f32.12_int8"]
SEVERAL = [*PARTS, *RESIDUES]
INTEGERS = [*RESIDUES, "ladder.i8.02_slices", "ladder.i8.03_residues"]
SLOW = [*PARTS, *INTEGERS]
SPACES = {
    name: [resolve(declared) for declared in kernel.configs]
    for name, kernel in RUNGS.items()
    if isinstance(kernel.configs, Space) and "any" not in name and name not in SLOW
}


def sizes(kernel: Kernel) -> dict[str, Any]:
    """Return sizes that overhang the tiles, or else the least that the kernel allows."""
    config = kernel.usual_configs[0]
    if not kernel.violations(kernel.problem(**RAGGED), config):
        return RAGGED
    n = kernel.square_problem(1, config).n
    return {"m": n, "n": n, "k": n}


def without_hazards(name: str, **launch: Any) -> Result:
    """Return the result of a product whose code is also checked for hazards at a small size."""
    return judged(mmcore.run(name, **launch, hazards=False), LADDER[name], "hazards")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW or "any" in name else ()) for name in RUNGS]
)
def test_each_rung_is_right(device: Device, name: str) -> None:
    result = mmcore.run(name, **sizes(RUNGS[name]), device=device.name, seed=1, hazards=False)
    assert result.verified, result.failures()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ladder.bf16.12_any_nt", "ladder.e4m3.01_any_nt"])
def test_rows_that_begin_anywhere_are_stored_by_neighbours(name: str) -> None:
    stores = profile(name, m=257, n=257, k=64).launches[-1].counters
    # A warp's store of eight rows touches eight sectors at least.
    assert stores.global_store_sectors < 4 * stores.global_store_requests


@pytest.mark.slow
@pytest.mark.parametrize("name", LADDER)
def test_nothing_is_found_in_any(name: str) -> None:
    found = check(name, **sizes(LADDER[name]), seed=1)
    assert (found.violations, found.warnings) == ((), ())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SEVERAL, *(name for name in RUNGS if "any" in name)])
def test_nothing_is_found_where_c_is_small_and_k_is_split(name: str) -> None:
    found = check(name, m=40, n=48, k=1200, seed=1)
    assert (found.violations, found.warnings) == ((), ())


@pytest.mark.slow
@pytest.mark.parametrize("name", LADDER)
def test_each_is_right_in_its_usual_configs(device: Device, name: str) -> None:
    for config in LADDER[name].usual_configs:
        n = LADDER[name].square_problem(65, config).n
        result = without_hazards(name, m=n, n=n, k=n, config=config.to_json(), device=device.name)
        assert result.verified, (config, result.failures())


@pytest.mark.parametrize("name", SPACES)
def test_the_default_config_is_one_of_several_that_a_search_goes_over(name: str) -> None:
    assert LADDER[name].usual_configs[0] in SPACES[name]
    assert 10 <= len(SPACES[name]) == len({config.id for config in SPACES[name]}) <= 300


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
def test_configs_of_a_space_compile_and_a_multiprocessor_has_room_for_them(name: str) -> None:
    """In every eighth of them, which are enough to notice what changes the registers of many."""
    kernel, device = LADDER[name], DeviceProperties()
    for config in SPACES[name][::8]:
        planned = plan(kernel, kernel.square_problem(1, config), config, device)
        functions = compile_plan(planned, "90a").functions
        for launch in planned.launches:
            function = functions[planned.entry(launch)]
            shared_bytes = function.static_shared_bytes + launch.shared_bytes
            assert not resource_violations(device, launch.block_dim, function.registers, shared_bytes), config
            spilled = function.spill_store_bytes, function.spill_load_bytes
            assert None not in spilled, config
            assert sum(filter(None, spilled)) < 100, config


def whole_tiles(config: Config) -> dict[str, Any]:
    """Return the sizes of a product with two tiles of C, and enough tiles along k to fill every stage twice."""
    stages, depth = config.get("STAGES", 1), config.get("BK", 64)
    return {"m": 2 * config.BM, "n": config.BN, "k": 2 * stages * depth}


@pytest.mark.slow
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_configs_of_a_space_are_right(name: str, place: str) -> None:
    configs = SPACES[name]
    config = configs[{"first": 0, "middle": len(configs) // 2, "last": -1}[place]]
    asked = {**whole_tiles(config), "config": config.to_json(), "device": "emulator", "seed": 1}
    result = mmcore.run(name, **asked, hazards=False)
    assert result.verified, result.failures()
    found = check(name, **asked)
    assert (found.violations, found.warnings) == ((), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ladder.f64.02_dmma", "ladder.f64.03_ring", *(name for name in RUNGS if "any" in name)]
)
def test_configs_drawn_at_random_are_right_at_ragged_sizes(name: str) -> None:
    """Use sizes where tiles overhang the edges, and a long k with few tiles of C."""
    for config in random.Random(name).sample([resolve(declared) for declared in LADDER[name].configs], 3):
        for m, n, k in ((70, 45, 300), (16, 200, 1100)):
            result = without_hazards(name, m=m, n=n, k=k, config=config.to_json(), device="emulator", seed=1)
            assert result.verified, (config.id, m, n, k, result.failures())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "resident"), [("ladder.f32.09_any", f32.resident), ("ladder.f64.03_ring", f64.resident)]
)
def test_resident_blocks_are_those_of_launch_bounds(name: str, resident: Callable[[Config], int]) -> None:
    for config in [resolve(declared) for declared in LADDER[name].configs][::8]:
        planned = plan(LADDER[name], LADDER[name].problem(64, 64, 64), config, DeviceProperties())
        (asked,) = set(re.findall(r"\.minnctapersm (\d+)", compile_plan(planned, "90").ptx))
        assert int(asked) == resident(config), config


@pytest.mark.parametrize(
    ("tiles", "parts"), [(1, 8), (14, 8), (16, 6), (22, 5), (29, 4), (41, 3), (44, 2), (66, 2), (67, 1)]
)
def test_all_clusters_that_share_k_run_at_once_whatever_gpcs_a_card_has(tiles: int, parts: int) -> None:
    assert parts_of_k(tiles, 1000, DeviceProperties(multiprocessors=132)) == parts


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNGS)
def test_each_conforms(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In few cases; the command tries all."""
    monkeypatch.setattr(conformance, "CAPABILITIES", ("9.0",))
    monkeypatch.setattr("mmcore_tools.conform.cases.MOST_PER_CONFIG", 5)
    monkeypatch.setattr("mmcore_tools.conform.worker._CODE_WORK", 2.0)
    found = conform_kernel(name, "emulator", seed=1)
    assert found.conforms, found.failures


def share_of_tolerance(name: str, a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the largest error of the product, relative to the tolerance of sums in the matrices' type."""
    c = mmcore.matmul(a, b, kernel=name, device="emulator")
    magnitude = np.abs(a).astype(np.longdouble) @ np.abs(b).astype(np.longdouble)
    errors = np.abs(c - a.astype(np.longdouble) @ b.astype(np.longdouble))
    allowed = 2 * np.sqrt(a.shape[1]) * (2.0**-24 if a.dtype == np.float32 else 2.0**-52) * magnitude
    assert np.isfinite(c).all()
    return float((errors / np.where(magnitude, allowed, 1)).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("k", [1, 8, 64, 300])
@pytest.mark.parametrize("inputs", ["of one sign", "of any sign", "of twelve binades", "of other scales"])
def test_parts_and_residues_are_as_accurate_as_their_type(name: str, k: int, inputs: str) -> None:
    """Use numbers with several parts, and sums of one sign, so that errors add up."""
    rng = np.random.default_rng(k)
    a, b = rng.uniform(0.5, 1, (40, k)), rng.uniform(0.5, 1, (k, 24))
    if inputs == "of any sign":
        a *= rng.choice([-1, 1], a.shape)
    elif inputs == "of twelve binades":
        a = np.ldexp(a, -rng.integers(0, 12, a.shape))
    elif inputs == "of other scales":
        a, b = np.ldexp(a, rng.integers(-50, 50, (40, 1))), np.ldexp(b, rng.integers(-50, 50, (1, 24)))
    dtype = LADDER[name].dtype
    assert share_of_tolerance(name, a.astype(dtype), b.astype(dtype)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("inputs", ["normal", "of one value"])
def test_products_of_bytes_are_more_accurate_than_sums_in_their_type(name: str, inputs: str) -> None:
    """Use lines that are not left to the CUDA cores, whose sums of equal terms err most."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(20, 512)), rng.normal(size=(512, 12))
    if inputs == "of one value":
        a[:], b[:] = 1 / 3, 1 / 7
    assert share_of_tolerance(name, a.astype(LADDER[name].dtype), b.astype(LADDER[name].dtype)) < 0.15


@pytest.mark.parametrize("name", INTEGERS)
def test_the_tensor_cores_multiply_magnitudes_from_half_to_one(name: str) -> None:
    launches = profile(
        name, m=20, n=20, k=64, config={"BM": 64, "BN": 64, "CONSUMERS": 1, "CLUSTER": 1, "GROUP": 8}
    ).launches
    assert sum(launch.counters.tensor_flops for launch in launches) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", RESIDUES)
@pytest.mark.parametrize("inputs", ["mostly zeros", "mostly small", "tiny", "huge", "hidden"])
def test_lines_that_cannot_be_rounded_are_left_to_the_cuda_cores(name: str, inputs: str) -> None:
    """A line that rounding to integers would spoil makes the whole product native."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(20, 1200)), rng.normal(size=(1200, 12))
    if inputs == "mostly zeros":
        a[3, :1000] = 0
    elif inputs == "mostly small":
        a[3, :1000] *= 1e-12
    elif inputs in ("tiny", "huge"):
        b[:, 5] *= {"float64": 1e160, "float32": 1e18}[LADDER[name].dtype] ** (-1 if inputs == "tiny" else 1)
    elif inputs == "hidden":  # large numbers meet zeros
        a[3], b[:, 5] = 1e-14 * a[3], 1
        a[3, 7], b[7, 5] = 1, 0
    assert share_of_tolerance(name, a.astype(LADDER[name].dtype), b.astype(LADDER[name].dtype)) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("odd", [1e-38, 1e-44, 3e38, -2e-39])
def test_numbers_that_have_no_parts_are_left_to_the_cuda_cores(name: str, odd: float) -> None:
    a, b = np.ones((3, 20), np.float32), np.ones((20, 5), np.float32)
    a[1] = 0
    a[1, 7] = odd
    a[2, 3], a[2, 4] = 1e20, 1e-20
    b[3] = 0
    assert share_of_tolerance(name, a, b) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
def test_what_is_no_number_spoils_its_row_alone(name: str) -> None:
    a, b = np.ones((3, 20), LADDER[name].dtype), np.ones((20, 5), LADDER[name].dtype)
    a[1, 7], a[2, 7] = np.inf, np.nan
    c = mmcore.matmul(a, b, kernel=name, device="emulator")
    assert (c[0] == 20).all()
    assert np.isposinf(c[1]).all()
    assert np.isnan(c[2]).all()


@pytest.mark.parametrize(("card", "without"), [("nvidia-h200", "^$"), ("nvidia-h100", r"int8|\.i8\.")])
def test_the_gpus_bits_were_the_emulators(card: str, without: str) -> None:
    """Check the statement of docs/ladder.md about the committed comparisons."""
    document = json.loads((RESULTS / card / "ladder_bits.json").read_text())
    assert {row["kernel"] for row in document["rows"]} == {name for name in LADDER if not re.search(without, name)}
    for row in document["rows"]:
        assert [row["differing"], row["uniform"]["differing"]] == [0, 0], row["kernel"]
