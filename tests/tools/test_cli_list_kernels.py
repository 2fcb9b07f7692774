"""``mmcore list-kernels``."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore.registry import Registry
from mmcore_tools.list_kernels import configs, terminal_lines, typed_operation
from tests.command_line import install, mmcore

ENTRIES = {
    *("name", "title", "reference", "dtype", "output", "operation", "blocks", "configs", "constraints", "known_bugs"),
    *("column_major", "alpha", "beta"),
    *("plugin", "distribution", "source"),
}


def listed(*arguments: str) -> list[dict[str, Any]]:
    result = mmcore("list-kernels", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document: list[dict[str, Any]] = json.loads(result.stdout)
    return document


def names(*arguments: str) -> set[str]:
    result = mmcore("list-kernels", *arguments, "--quiet")
    assert result.exit_code == 0, result.stderr
    return set(result.stdout.splitlines())


def test_json_lists_every_kernel_with_exactly_these_entries() -> None:
    kernels = listed()
    assert [kernel["name"] for kernel in kernels] == sorted(api.kernels())
    assert all(kernel.keys() == ENTRIES for kernel in kernels)


def test_json_says_what_the_plugin_declares() -> None:
    (kernel,) = listed("upc.kernel11")
    assert (kernel["dtype"], kernel["output"], kernel["operation"]) == ("float32", "float32", "C=AB")
    assert kernel["blocks"] == [[32, 32, 1], [16, 16, 1], [8, 8, 1]]
    assert kernel["configs"][1] == {"block": [16, 16, 1], "TILE": 16}
    assert "the block is square" in kernel["constraints"]
    assert kernel["known_bugs"] == []
    assert (kernel["plugin"], kernel["distribution"]) == ("upc.kernel11", "mmcore-cuda")
    assert Path(kernel["source"]).name == "kernel11.cu"


@pytest.mark.parametrize(
    ("arguments", "selects"),
    [
        (("upc",), ("upc.",)),
        (("UPC", "hpsee.simple"), ("upc.", "hpsee.simple")),
        (("*.kernel1", "poz*"), ("lezione9.kernel1", "poznan.")),
        (("--reference", "upc"), ("upc.",)),
        (("--reference", "BARCELONA"), ("upc.",)),
        (("--reference", "aceleradores"), ("upc.",)),
        (
            ("--dtype", "f64"),
            (
                *("ladder.f64.", "ladder.i8.02", "ladder.i8.03", "lezione9.", "mmcore."),
                *("cublas.float64", "gemmul8.float64", "torch.float64"),
            ),
        ),
        (("lezione9", "unsa", "--dtype", "float64"), ("lezione9.",)),
    ],
    ids=lambda value: " ".join(value),
)
def test_patterns_references_and_element_types_select(arguments: tuple[str, ...], selects: tuple[str, ...]) -> None:
    assert names(*arguments) == {name for name in api.kernels() if name.startswith(selects)}


def test_off_the_terminal_every_kernel_has_one_whole_row() -> None:
    header, *rows = mmcore("list-kernels").stdout.splitlines()
    assert [row.split()[0] for row in rows if "[known bugs]" in row] == ["upc.kernel11_naive_guard"]
    assert header.split() == ["kernel", "what", "it", "does", "operation", "configs", "needs"]
    for row, kernel in zip(rows, api.kernels().values(), strict=True):
        assert row.startswith(kernel.name)
        assert kernel.title in row
        assert f"{kernel.operation} {kernel.dtype.replace('float', 'f')}" in row
        assert "; ".join(constraint.description for constraint in kernel.constraints) in row


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"accumulator": "bfloat16", "output": "float32"}, "C=AB f32 summed in bf16"),
        ({"dtype": "float16", "accumulator": "float16", "output": "float32"}, "C=AB f16→f32 summed in f16"),
        ({"dtype": "float16", "accumulator": "float32", "output": "float16"}, "C=AB f16"),
        ({"accumulator": "float64", "output": "float32"}, "C=AB f32"),
    ],
)
def test_a_sum_that_is_narrower_than_the_matrices_is_named(types: dict[str, Any], said: str) -> None:
    assert typed_operation(dataclasses.replace(api.kernels()["upc.kernel01"], **types)) == said


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ([{"block": (16, 16)}, {"block": (32, 8)}, {"block": 64}], "16×16 32×8 64×1"),
        ([{"block": 128, "BM": 64, "TM": "{BM}"}, {"block": 64, "BM": 32, "TM": "{BM}"}], "128×1 BM=64, 64×1 BM=32"),
        ([{"TILE": 8, "block": "{TILE}"}], "8×1 TILE=8"),
    ],
)
def test_configs_are_listed_by_their_free_parameters(declared: list[dict[str, Any]], said: str) -> None:
    assert configs(dataclasses.replace(api.kernels()["upc.kernel01"], configs=declared)) == said
    assert configs(api.kernels()["cublas.float32"]) == "a library"


def test_without_any_kernel_a_filter_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.list_kernels.loaded_registry", Registry)
    assert mmcore("list-kernels", "upc").stderr == (
        "Error: no kernel's name matches 'upc'; there are no kernels at all; "
        "a new entry point counts once its package is installed again\n"
    )
    assert mmcore("list-kernels", "--dtype", "f32").stderr == (
        "Error: none of these kernels takes float32; they take nothing: there are none\n"
    )


MIXED = """
from mmcore import Kernel, hookimpl

@hookimpl
def mmcore_kernels():
    return Kernel(name="acme.mixed", title="[red]Mixed[/red] :smile:", dtype="bfloat16", accumulator="float32",
                  configs=[{"block": 128, "BM": bm} for bm in (64, 128)])
"""


def test_a_third_partys_kernel_is_listed_as_it_is_written(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.mixed", MIXED)
    (tmp_path / "mixed.cu").write_text("__global__ void mixed() {}")
    row = mmcore("list-kernels", "acme", site=tmp_path).stdout.splitlines()[1]
    assert row.split("  ") == ["acme.mixed", "[red]Mixed[/red] :smile:", "C=AB bf16→f32", "128×1 BM=64, 128×1 BM=128"]


def test_on_a_terminal_each_kernel_has_one_line_cut_between_words() -> None:
    kernels = [*api.kernels().values()]
    *lines, _, hint = terminal_lines(kernels, folded=False, width=80)
    assert [line.split()[0] for line in lines] == [kernel.name for kernel in kernels]
    assert max(map(len, lines)) <= 80
    for line, kernel in zip(lines, kernels, strict=True):
        shown = line.removeprefix(kernel.name).strip().removeprefix("[known bugs] ").removesuffix(" …")
        assert [*kernel.title.split()][: len(shown.split())] == shown.split()
        assert line.endswith(" …") is (shown != kernel.title)
        assert ("[known bugs]" in line) is bool(kernel.known_bugs)
    assert hint == "mmcore show KERNEL describes one."


def test_on_a_terminal_families_are_folded_unless_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_tools.list_kernels.on_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    folded = mmcore("list-kernels").stdout.splitlines()
    assert "upc         5 in f32: UPC Barcelona, Tarjetas Gráficas y Aceleradores, CUDA – …" in folded
    assert max(map(len, folded)) <= 80
    assert [line.split()[0] for line in folded[:3]] == ["cublas", "cutedsl", "gemmul8"]
    assert mmcore("list-kernels", "upc").stdout.startswith("upc.kernel00 ")
    assert mmcore("list-kernels", "--dtype", "f64").stdout.startswith("cublas.float64 ")


def test_a_pager_shows_what_is_longer_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    paged: list[str] = []
    monkeypatch.setattr("mmcore_tools.list_kernels.on_terminal", lambda: True)
    monkeypatch.setattr("click.echo_via_pager", paged.append)
    monkeypatch.setenv("LINES", "24")
    assert mmcore("list-kernels", "upc").stdout
    assert (mmcore("list-kernels", "ladder").stdout, len(paged)) == ("", 1)
    assert paged[0].count("\n") > 50


@pytest.mark.parametrize("option", [[], ["--json"]], ids=str)
def test_it_imports_nothing_that_takes_long_and_starts_no_process(option: list[str]) -> None:
    program = f"""
import sys
before = set(sys.modules)  # cuda-bindings 12 makes a namespace of ``cuda`` when the interpreter starts
started = []
sys.addaudithook(lambda event, _: event in ("subprocess.Popen", "os.fork", "os.posix_spawn") and started.append(event))
from mmcore.cli import main
try:
    main(["list-kernels", *{option}])
finally:
    loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
    print(sorted(loaded & {{"cuda", "numpy", "pygments", "rich", "subprocess"}}), started)
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[] []"
