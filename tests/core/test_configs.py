"""Configs: named and derived parameters, a user's notation, and invalid configs."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mmcore
from mmcore import ConstraintViolation, DeviceProperties, Dim3, InvalidBlock, InvalidConfig, Kernel, Space
from mmcore.kernel.configs import Configs, parse_config, resolve
from mmcore.planning.plan import plan
from mmcore_tools.list_kernels import configs

TILED = [{"block": (b, b), "TILE": "{block.x}"} for b in (32, 16, 8)]
GEMM: dict[str, Any] = {
    "BM": (64, 128),
    "BN": (64, 128),
    "TM": (4, 8),
    "block": lambda config: (config.BN // config.TM, config.BM // config.TM),
    "WORK": "{BM}x{BN}",
}


def ids(configs: Configs) -> list[str]:
    return [config.id for config in configs.usual]


def test_a_config_is_a_mapping_whose_values_are_attributes_too() -> None:
    config = resolve({"block": (32, 8), "BM": 128, "MODE": "fast"})
    assert config.block == config["block"] == Dim3(32, 8, 1)
    assert (config.BM, config.MODE) == (128, "fast")
    assert dict(config) == {"block": (32, 8, 1), "BM": 128, "MODE": "fast"}
    assert str(config) == "block=32x8, BM=128, MODE=fast"
    with pytest.raises(AttributeError, match=r"no parameter 'BK'; it has block, BM, MODE$"):
        _ = config.BK
    with pytest.raises(AttributeError, match=r"no parameter 'x'; it has .*MODE; the extent is config\.block\.x"):
        _ = config.x


def test_equal_configs_have_equal_hashes_and_survive_copying() -> None:
    config, other = resolve({"block": (32,), "BM": 128}), resolve({"BM": 128.0, "block": Dim3(32)})
    assert config == other
    assert hash(config) == hash(other)
    assert copy.deepcopy(config) == pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ({"block": (32, 32)}, "b32"),
        ({"block": (32, 8)}, "b32x8"),
        ({"block": 256}, "b256x1"),
        ({"block": (16, 16, 2)}, "b16x16x2"),
        ({"block": (32, 32), "TILE": "{block.x}"}, "b32"),
        ({"block": (256,), "BM": 128, "BN": 64}, "b256x1-BM128-BN64"),
        ({"BM": 128, "TM": 8, "block": lambda config: (config.BM // config.TM,) * 2}, "BM128-TM8"),
        ({"A": 1, "block": "{A}", "B": "{A}"}, "A1"),
        ({"block": lambda config: (8, 4), "TILE": "{block.x}"}, "b8x4"),
    ],
)
def test_an_id_names_the_parameters_that_do_not_follow_from_others(declared: dict[str, Any], expected: str) -> None:
    assert resolve(declared).id == expected


@pytest.mark.parametrize(
    ("declared", "tile"),
    [
        ({"block": (32, 8)}, (8, 32, 32)),
        ({"block": (32, 8), "TILE": 16}, (16, 16, 16)),
        ({"block": (256,), "BM": 128, "BN": 64, "BK": 8}, (128, 64, 8)),
        ({"block": (16, 16), "TILE": 32, "BK": 8}, (32, 32, 8)),
    ],
)
def test_a_tile_is_what_the_parameters_say_else_the_block(declared: dict[str, Any], tile: tuple[int, int, int]) -> None:
    assert resolve(declared).tile == tile


def test_numpys_numbers_and_truth_values_become_whole_numbers() -> None:
    config = resolve({"block": np.array([8, 8]), "BM": np.int64(4), "UNROLL": True})
    assert json.loads(json.dumps(config.to_json())) == {"block": [8, 8, 1], "BM": 4, "UNROLL": 1}
    assert str(config["UNROLL"]) == "1"


def test_the_first_declared_config_is_the_default_and_repetitions_are_one() -> None:
    assert ids(Configs([*TILED, *TILED])) == ["b32", "b16", "b8"]


def test_a_value_selects_every_config_that_has_it() -> None:
    configs = Configs([{"block": (b, b), "UNROLL": u} for b, u in itertools.product((32, 16), (1, 2))])
    assert [config.id for config in configs.matching(UNROLL=2)] == ["b32-UNROLL2", "b16-UNROLL2"]
    assert configs.matching(block=(16, 16)) == configs.usual[2:]
    assert configs.matching() == configs.usual


def test_one_number_is_a_square_block_unless_all_usual_blocks_are_rows() -> None:
    assert Configs([{"block": (16, 16)}, {"block": (256,)}]).block(32) == (32, 32, 1)
    assert Configs([{"block": (64,)}, {"block": (256,)}]).block(32) == (32, 1, 1)
    assert Configs([{"block": (64,)}, {"block": (64, 1, 2)}]).block(32) == (32, 32, 1)


def test_a_derived_value_follows_an_undeclared_block_unless_it_is_asked_for() -> None:
    (config,) = Configs(TILED).matching(block=(20, 20))
    assert (config.id, config.TILE) == ("b20", 20)
    (config,) = Configs(TILED).matching(TILE=4)
    assert (config.block, config.TILE, config.id) == (Dim3(32, 32), 4, "b32-TILE4")
    (config,) = Configs(TILED).matching(TILE=4, block=(4, 4))
    assert config.id == "b4"


def test_a_space_is_walked_over_under_its_condition_and_measured_in_its_default() -> None:
    space = Space(GEMM, where=lambda config: config.block.size <= 256, default=[{"BM": 128, "BN": 128, "TM": 8}])
    configs = Configs(space)
    assert ids(configs) == ["BM128-BN128-TM8"]
    every = list(configs)
    assert every[0] == configs.usual[0]
    assert [config.id for config in every[1:4]] == ["BM64-BN64-TM4", "BM64-BN64-TM8", "BM64-BN128-TM8"]
    assert len(every) == len(set(every)) == 5
    assert every[0].WORK == "128x128"
    # The first combination is the default of a space that declares none.
    assert ids(Configs(Space(GEMM))) == ["BM64-BN64-TM4"]
    assert ids(Configs(Space(GEMM, where=lambda config: config.BM == 128))) == ["BM128-BN64-TM4"]


def test_a_combination_that_a_space_forbids_is_launched_by_force_alone() -> None:
    space = Space({"BM": (2, 4), "block": "{BM}"}, where=lambda config: config.BM % 4, default=[{"BM": 4}])
    kernel = Kernel(name="test.space", configs=space, source=Path("f.cu"), entry="f", arguments=("A", "B", "C"))
    problem, device = kernel.problem(8, 8, 8), DeviceProperties()
    for allowed in (4, 2, 3):  # the default, a value of the space, and another
        assert allowed == plan(kernel, problem, kernel.config(BM=allowed), device).config.BM
    reason = "test.space: block=8x1, BM=8 is not among the combinations that where= allows"
    with pytest.raises(ConstraintViolation, match=reason):
        plan(kernel, problem, kernel.config(BM=8), device)
    assert plan(kernel, problem, kernel.config(BM=8), device, force=True).config.BM == 8


def test_a_large_space_costs_no_more_than_what_is_taken_of_it() -> None:
    many = {f"P{number}": range(100) for number in range(8)}
    assert len(list(itertools.islice(Configs(Space({"block": [(32, 1)], **many})), 3))) == 3


@pytest.mark.parametrize(
    ("configs", "reason"),
    [
        ((), "there is no config"),
        (Space({"block": [8]}, where=lambda config: False), "there is no config"),
        ({"block": (16, 16)}, r"configs are several, such as \[\{'block': \(16, 16\)\}\], not \{'block'"),
        ("block", "configs are several"),
        ([(16, 16)], "configs are several"),
        (Space({"block": [8]}, default={"block": 8}), "configs are several"),  # type: ignore[arg-type]
        ([{"block": 8}, {"block": 16, "BM": 8}], "all configs have the same parameters"),
        (Space({"block": [8], "BM": [4]}, default=[{"block": 8}]), "all configs have the same parameters"),
        ([{"block": 8, "B M": 1}], "'B M' is not a parameter's name"),
        ([{"block": 8, 3: 1}], "3 is not a parameter's name"),
        ([{"block": 8, "n": 1}], "a parameter cannot be called 'n'"),
        ([{"block": 8, "tile": 1}], "a parameter cannot be called 'tile'"),
        ([{"block": 8, "BM": (1, 2)}], r"'BM' is a number or a text, not \(1, 2\)"),
        ([{"block": 8, "BM": None}], "'BM' is a number or a text, not None"),
        ([{"block": 8, "BM": "{BN}"}], "'BM' cannot be derived: 'BN' is no parameter"),
        ([{"block": 8, "BM": "{block.w}"}], "'BM' cannot be derived: AttributeError: 'Dim3' object has no attribute"),
        ([{"block": 8, "BM": "{block.x"}], "'BM' cannot be derived: ValueError"),
        ([{"block": 8, "BM": lambda config: 1 // 0}], "'BM' cannot be derived: ZeroDivisionError"),
        ([{"block": lambda config: config.BM}], "'block' cannot be derived: AttributeError: .* no parameter 'BM'"),
        (Space({"block": [8]}, where=lambda config: config.BM > 2), "the condition of its space fails for block=8x1"),
    ],
)
def test_what_is_no_config_is_refused_in_one_sentence(
    configs: Sequence[Mapping[str, Any]] | Space, reason: str
) -> None:
    with pytest.raises(InvalidConfig, match=reason) as raised:
        Configs(configs)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("block", [(0, 1), (1.5,), (), (1, 2, 3, 4), "wide", None, (2**63,), lambda config: 16.0])
def test_a_block_is_one_to_three_positive_whole_numbers(block: Any) -> None:
    with pytest.raises(InvalidBlock):
        Configs([{"block": block}])


def test_an_unknown_parameter_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(InvalidConfig, match="there is no parameter 'BM'; there are block, TILE"):
        Configs(TILED).matching(BM=3)


def test_a_config_as_a_user_writes_it() -> None:
    assert parse_config("BM=128, MODE=fast,SCALE=0.5,block=32x8") == {
        "BM": 128,
        "MODE": "fast",
        "SCALE": 0.5,
        "block": (32, 8),
    }


@pytest.mark.parametrize("text", ["b32x8-BM128", "32×8 BM=128", "32x8  BM=128", "block=32×8, BM = 128", "BM128,b32x8"])
def test_a_config_as_reports_print_it(text: str) -> None:
    assert parse_config(text) == {"block": (32, 8), "BM": 128}
    assert parse_config("b8") == {"block": (8, 8)}


def test_every_kernel_takes_its_configs_as_they_are_printed() -> None:
    for kernel in mmcore.kernels().values():
        usual = [config for config in kernel.usual_configs if config]
        listed = configs(kernel)
        words = listed.split(", ") if "=" in listed else listed.split(" ")
        for config, word in zip(usual, words, strict=True) if len(usual) == len(words) else ():
            for text in (str(config), config.id, word):
                assert kernel.config(**parse_config(text)) == config, (kernel.name, text)


@pytest.mark.parametrize("text", ["", "BM", "BM=", "=3", "BM=1,,BN=2", "B-M=1", "block=wide", "block=0"])
def test_what_is_no_config_as_a_user_writes_it(text: str) -> None:
    with pytest.raises((InvalidConfig, InvalidBlock), match=r"is not (NAME=VALUE, such as|a block: give)"):
        parse_config(text)


def test_parameters_keep_the_order_in_which_they_are_declared() -> None:
    config = resolve({"TILE": "{block.x}", "block": (8, 4), "BM": 2, "WORK": "{BM}x{TILE}"})
    assert list(config) == list(config.to_json()) == ["TILE", "block", "BM", "WORK"]
    assert str(config) == "TILE=8, block=8x4, BM=2, WORK=2x8"


@pytest.mark.parametrize(
    ("derivation", "value"),
    [("{BM}", -4), ("0{UNROLL}", 2), ("{SCALE}", "0.5"), ("-{UNROLL}", -2), ("{BM}x", "-4x"), (lambda c: c.SCALE, 0.5)],
)
def test_a_derived_text_is_a_number_where_it_is_a_whole_one(derivation: Any, value: int | float | str) -> None:
    derived = resolve({"block": 8, "BM": -4, "UNROLL": 2, "SCALE": 0.5, "D": derivation})["D"]
    assert (derived, type(derived)) == (value, type(value))


def test_a_spaces_default_may_say_what_else_follows() -> None:
    configs = Configs(Space({"block": [8], "BM": (64, 32), "TM": "{BM}"}, default=[{"block": 8, "BM": 64, "TM": 16}]))
    assert [(each.BM, each.TM) for each in configs] == [(64, 16), (64, 64), (32, 32)]
    assert configs.usual == tuple(itertools.islice(configs, 1))
