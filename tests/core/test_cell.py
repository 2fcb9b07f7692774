"""Cells: their JSON, the kernels that they name, and the command line that reproduces them."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore import InvalidKernel, InvalidProblem, Kernel, MmcoreError, Multiple
from mmcore.cell import SCHEMA, Cell, Timing
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import referenced_kernel, registry
from mmcore_emulator.adapter.launch_facts import launch_command
from tests.sources.test_source_file import NAIVE

COLD = Timing("kernel", "cold", 0.5, 2, 1e-3, 9, 20, 4, 0.1, 0.9)
TIMINGS = (COLD, Timing("end-to-end", "pinned"))
CELL = Cell("acme.fast", 2, 3, 5, {"block": [8, 4, 1]}, "cuda:1", TIMINGS, 7, 11, 13, 17, True, 9.5)


def test_json_of_a_cell_says_everything() -> None:
    document = CELL.to_json()
    cold = document.pop("timings")[0]
    assert document == {
        "schema": SCHEMA, "kernel": "acme.fast", "m": 2, "n": 3, "k": 5, "config": {"block": [8, 4, 1]},
        "device": "cuda:1", "lda": 7, "ldb": 11, "ldc": 13, "seed": 17, "force": True, "timeout": 9.5,
        "baseline": "", "against": "", "figures": (), "rival": {}, "inputs": "usual",
    }  # fmt: skip
    assert cold == {
        "what": "kernel", "how": "cold", "max_seconds": 0.5, "min_rounds": 2, "min_round_seconds": 1e-3,
        "max_rounds": 9, "resolutions": 20, "warmup_launches": 4, "precision": 0.1, "confidence": 0.9,
            "median_precision": 0.0, "min_seconds": 0.0,
    }  # fmt: skip
    assert Cell.from_json(json.loads(json.dumps(CELL.to_json()))) == CELL
    with pytest.raises(MmcoreError, match="of version 0; this mmcore reads version 1"):
        Cell.from_json({**CELL.to_json(), "schema": 0})


def test_a_seed_is_a_whole_number_and_a_time_one_of_four() -> None:
    seeds: tuple[Any, ...] = (True, 1.0, "1", -1)
    for seed in seeds:
        with pytest.raises(InvalidProblem, match=r"^a seed is a whole number from 0, not "):
            Cell("acme.fast", 2, 3, 5, seed=seed)
    for what, how in (("kernel", "pinned"), ("end-to-end", "cold"), ("copies", "warm")):
        ways = "kernel warm, kernel cold, end-to-end pageable, end-to-end pinned"
        with pytest.raises(InvalidProblem, match=f"^there is no {what} time '{how}'; there are {ways}$"):
            Timing(what, how)


def test_the_product_and_the_config_of_a_cell_are_a_kernels() -> None:
    configs = [{"block": (b, b), "BM": 4} for b in (16, 8)]
    kernel = Kernel(name="acme.fast", configs=configs, dtype="float64", constraints=(Multiple("n", of="block.x"),))
    problem = CELL.problem(kernel)
    assert (problem.dtype, problem.m, problem.n, problem.k) == ("float64", 2, 3, 5)
    assert (problem.lda, problem.ldb, problem.ldc) == (7, 11, 13)
    assert CELL.config_of(kernel).id == "b8x4-BM4"
    assert replace(CELL, n=8, config={}).config_of(kernel).id == "b8-BM4"
    assert CELL.on("cuda:2") == replace(CELL, device="cuda:2")


# The kernel that a cell names


def test_a_file_is_a_kernel_named_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Größe-2.cu").write_text(NAIVE)
    for reference in ("Größe-2.cu", {"file": "Größe-2.cu"}):
        kernel = referenced_kernel(reference)
        assert (kernel.name, kernel.source) == ("file.gr__e_2", tmp_path / "Größe-2.cu")
        assert [config.id for config in kernel.usual_configs] == ["b16"]


def test_whatever_else_is_said_of_a_file_is_the_kernels(cu_file: Path) -> None:
    cu_file.write_text(NAIVE)
    declared = {"name": "acme.own", "dtype": "float64", "configs": [{"block": [8, 4]}]}
    kernel = referenced_kernel({"file": str(cu_file), **declared})
    assert (kernel.name, kernel.dtype, kernel.usual_configs[0].id) == ("acme.own", "float64", "b8x4")
    with pytest.raises(InvalidKernel, match=r"^file\.kernel: its title must be a text of one line"):
        referenced_kernel({"file": str(cu_file), "title": "two\nlines"})


def test_an_attribute_of_a_module_has_its_source_beside_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_cell.py").write_text(
        'from mmcore import Kernel\nFAST, SLOW = Kernel(name="acme.fast", configs=[{"block": 8}]), "slow"\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_cell", raising=False)
    assert referenced_kernel("acme_cell:FAST").source == tmp_path / "fast.cu"
    with pytest.raises(InvalidKernel, match=r"^acme_cell:SLOW is no Kernel but str$"):
        referenced_kernel("acme_cell:SLOW")
    with pytest.raises(InvalidKernel, match=r"^acme_cell:NONE cannot be imported: AttributeError: "):
        referenced_kernel("acme_cell:NONE")
    with pytest.raises(InvalidKernel, match=r"^acme_no_cell:FAST cannot be imported: ModuleNotFoundError: "):
        referenced_kernel("acme_no_cell:FAST")


# The command line


@pytest.fixture
def tiled(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a kernel with a parameter that is derived from another, and two that are not."""
    configs = [{"block": (32, 8), "TILE": "{block.x}", "BM": 64, "BN": 128}]
    kernel = Kernel(name="acme.tiled", configs=configs, arguments=("A", "B", "C"))
    derived = Kernel(name="acme.derived", configs=[{"BM": 64, "block": "{BM}"}], arguments=("A", "B", "C"))
    for each in (kernel, derived):
        monkeypatch.setitem(registry().kernels, each.name, Registered(each, Origin("acme", "acme")))
    return kernel.name


SIZES = "-m 2 -n 3 -k 5"


@pytest.mark.usefixtures("tiled")
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, f"acme.tiled {SIZES} --device auto"),
        ({"seed": 0, "device": "cuda:1"}, f"acme.tiled {SIZES} --device cuda:1 --seed 0"),
        ({"seed": 7, "force": True}, f"acme.tiled {SIZES} --device auto --seed 7 --force"),
        ({"lda": 7, "ldb": 11, "ldc": 13}, f"acme.tiled {SIZES} --lda 7 --ldb 11 --ldc 13 --device auto"),
        ({"ldc": 4}, f"acme.tiled {SIZES} --ldc 4 --device auto"),
        ({"seed": 0, "inputs": "wide"}, f"acme.tiled {SIZES} --device auto --seed 0 --inputs wide"),
        (
            {"config": {"block": [32, 8, 1], "BM": 64, "BN": 128, "TILE": 32}},
            f"acme.tiled {SIZES} --block 32x8 --config BM=64,BN=128 --device auto",
        ),
        ({"config": {"block": [4, 4, 2]}}, f"acme.tiled {SIZES} --block 4x4x2 --config BM=64,BN=128 --device auto"),
        ({"kernel": "acme.derived", "config": {"BM": 32}}, f"acme.derived {SIZES} --config BM=32 --device auto"),
        ({"kernel": "upc.kernel01", "config": {"block": [8, 8, 1]}}, f"upc.kernel01 {SIZES} --block 8x8 --device auto"),
    ],
)  # fmt: skip
def test_the_command_that_reproduces_a_cell(asked: dict[str, Any], words: str) -> None:
    cell = Cell(**{"kernel": "acme.tiled", "m": 2, "n": 3, "k": 5, **asked})
    assert launch_command("check", cell) == f"mmcore check {words}"
    assert shlex.split(launch_command("run", cell)) == ["mmcore", "run", *words.split()]
