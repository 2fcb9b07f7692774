"""``mmcore show``."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore import (
    Config,
    DeviceProperties,
    FlatBlock,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Struct,
    TensorMap,
    Workspace,
)
from mmcore.plugin_table import Origin
from mmcore.registry import Registry
from mmcore_tools import hookspecs
from mmcore_tools.show import examples
from tests.command_line import install, kernel_module, mmcore
from tests.tools.test_cli_list_kernels import ENTRIES


def shown(kernel: str) -> dict[str, Any]:
    result = mmcore("show", kernel, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_is_the_listings_entry_and_what_a_listing_has_no_room_for() -> None:
    kernel = shown("lezione9.kernel2")
    assert kernel.keys() == ENTRIES | {"launched", "inferred", "accumulator", "launch_rule", "source_text"}
    (listed,) = json.loads(mmcore("list-kernels", "lezione9.kernel2", "--json").stdout)
    assert {entry: kernel[entry] for entry in ENTRIES} == listed
    assert (kernel["accumulator"], kernel["output"]) == ("float64", "float64")


def test_json_has_signature_rule_and_source() -> None:
    kernel = shown("upc.kernel11")
    assert kernel["launched"] == ["kernel11(A, B, C, m, n, k)"]
    assert kernel["inferred"] == ["entry", "arguments", "grid"]
    assert kernel["launch_rule"].startswith("def covering_grid(problem: Problem, config: Config) -> ")
    assert kernel["source_text"] == api.kernels()["upc.kernel11"].source.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [name for name in api.kernels() if not re.match(r"ladder\.(?!f32\.01|f16\.01_any$)", name)]
)
def test_every_kernel_can_be_shown(name: str) -> None:
    kernel, output = api.kernels()[name], mmcore("show", name).stdout
    for text in (
        kernel.title,
        kernel.reference,
        *kernel.known_bugs,
        *(each.description for each in kernel.constraints),
    ):
        assert text in output
    assert "for example" in output
    assert all(line.strip() in output for line in kernel.source_text().splitlines())


def test_the_signature_has_the_lectures_own_order_of_arguments() -> None:
    assert "(C, A, B, n)" in mmcore("show", "poznan.v3").stdout


def test_a_kernel_is_shown_with_its_rule_its_lines_and_what_is_read_past_the_matrices() -> None:
    output = mmcore("show", "upc.kernel11").stdout
    assert "Return the default grid: blocks that cover C with one tile each, columns along x, rows along y." in output
    source = api.kernels()["upc.kernel11"].source.read_text(encoding="utf-8").splitlines()
    assert f"\n 1  {source[0]}\n" in output
    assert f"\n{len(source)}  {source[-1]}" in output
    assert "640×640×640: 32×32 blocks in a 20×20 grid, reads nothing past the matrices" in output
    # The 21×21 tiles end at row 672 and column 672: (671·641 + 672) - 641².
    over_read = 671 * 641 + 672 - 641**2
    assert f"641×641×641: 32×32 blocks in a 21×21 grid, may read {over_read} elements past A and" in output


def test_a_rule_that_needs_multiples_has_no_example_between_them() -> None:
    assert "641×641×641" not in mmcore("show", "upc.kernel00").stdout


def test_a_kernel_that_allows_no_usual_size_has_the_reason_for_an_example(cu_file: Path) -> None:
    cu_file.write_text('extern "C" __global__ void f(float* A, float* B, float* C) {}')
    never = Multiple(("m", "n", "k"), of=10**6)
    kernel = Kernel(name="acme.steps", source=cu_file, configs=[{"block": 8}], constraints=(never,))
    (example,) = examples(kernel)
    assert example.startswith("640×640×640: acme.steps: m = n = k = 640 is not a multiple of 1000000")


def test_the_source_is_highlighted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("mmcore_tools.show.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.click.echo", written.append)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert mmcore("show", "upc.kernel10").exit_code == 0
    assert "\x1b[" in written[0].rpartition("kernel10.cu")[2]


def test_a_source_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    site.mkdir()
    install(site, "acme", "acme.lost", kernel_module("acme.lost"))
    result = mmcore("show", "acme.lost", site=site)
    assert (result.exit_code, result.stdout) == (2, "")
    missing = f"its source {site / 'acme_module.cu'} cannot be read: No such file or directory"
    advice = "package-data in the pyproject.toml of acme_module.cu lists the files of its wheel"
    assert result.stderr == f"Error: acme.lost: {missing}; {advice}\n"
    assert "[source missing]" in mmcore("list-kernels", "acme", site=site).stdout
    assert "does not exist; package-data" in " ".join(mmcore("doctor", "-q", site=site).stdout.split())


def test_a_rule_whose_source_python_cannot_find_is_left_out(tmp_path: Path) -> None:
    module = kernel_module("acme.odd").replace("launch=launch", "launch=__import__('operator').itemgetter(0)")
    install(tmp_path, "acme", "acme.odd", module)
    (tmp_path / "acme_module.cu").write_text("// empty\n")
    result = mmcore("show", "acme.odd", site=tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "// empty" in result.stdout


def rule(problem: Problem, config: Config, device: DeviceProperties, edge: int = 8) -> Launch:
    return Launch(grid=(-(-problem.n // edge), problem.m), block=config.block)


class Odd:
    """Sizes that are odd."""

    description = "n is odd"

    def violation(self, problem: Problem, config: Config) -> str | None:
        return None if problem.n % 2 else f"n = {problem.n} is even"


def declared(cu_file: Path, **changes: Any) -> Kernel:
    cu_file.write_text('extern "C" __global__ void f(float* A, float* B, float* C) {}')
    return Kernel(**{"name": "acme.own", "source": cu_file, "configs": [{"block": 8}], **changes})


def test_an_example_of_one_element_more_follows_only_the_usual_size(cu_file: Path) -> None:
    (example,) = examples(declared(cu_file, constraints=(Odd(),)))
    assert example.startswith("641×641×641: 8×1 blocks in a 81×641 grid")
    assert [each.split(":")[0] for each in examples(declared(cu_file))] == ["640×640×640", "641×641×641"]


def test_an_example_has_clusters_and_the_kind_of_launch(cu_file: Path) -> None:
    def launch(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((2, 4), (8,), cluster=(2, 1), cooperative=True, dependent=True)

    example = examples(declared(cu_file, launch=launch))[0]
    assert "8×1 blocks in a 2×4 grid (clusters of 2×1, cooperative, dependent), reads" in example


@pytest.mark.parametrize("capability", [(7, 5), (9, 0), (12, 0)])
def test_the_example_of_a_kernel_for_newer_devices_is_of_one(cu_file: Path, capability: tuple[int, int]) -> None:
    assert "grid" in examples(declared(cu_file, min_compute_capability=capability))[0]


@pytest.mark.parametrize("whole", [rule, functools.partial(rule, edge=4), functools.partial(functools.partial(rule))])
def test_a_launch_rule_is_shown(cu_file: Path, monkeypatch: pytest.MonkeyPatch, whole: Any) -> None:
    grid: dict[str, Any] = {"grid": lambda problem, config: (1,), "arguments": ("A", "B", "C")}
    registered(
        monkeypatch,
        declared(cu_file, name="acme.rule", launch=whole, entry="f"),
        declared(cu_file, name="acme.grid", **grid),
    )
    document = shown("acme.rule")
    assert document["inferred"] == ["arguments"]
    assert document["launch_rule"].startswith("def rule(problem: Problem, ")
    assert document["launched"] == ["f(A, B, C)"]
    assert shown("acme.grid")["inferred"] == ["entry"]


def registered(monkeypatch: pytest.MonkeyPatch, *several: Kernel) -> None:
    """Register only these kernels."""
    found = Registry()
    found.manager.add_hookspecs(hookspecs)
    for kernel in several:
        found.kernels.enter(kernel.name, kernel, Origin(kernel.name, "acme"))
    monkeypatch.setattr("mmcore_tools.show.loaded_registry", lambda: found)


def test_everything_that_a_function_takes_is_shown(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = Workspace("sums", 64)
    arguments = (
        *("A", "lda", Scalar(3, "uint8"), Scalar("k", "int64"), workspace, TensorMap("B", (8, 16))),
        *(Struct(("C", Scalar(2.5, "float32"), workspace, b"abcd")), b"xyz"),
    )
    registered(monkeypatch, declared(cu_file, entry="f", arguments=arguments))
    assert shown("acme.own")["launched"] == [
        "f(A, lda, uint8 3, int64 k, workspace sums (64 bytes), tensor map of B in boxes of 8×16, "
        "{C, float32 2.5, workspace sums (64 bytes), 4 bytes}, 3 bytes)"
    ]


def test_what_a_kernel_declares_is_shown(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = declared(
        cu_file, title="a tile for each block", reference="Acme, page 3", dtype="float16", output="float16",
        accumulator="float32", alpha=0.5, column_major="BA", initial_c="zeros", known_bugs=("it is slow", "it is late"),
        constraints=(FlatBlock(), Multiple("m", 4)), configs=[{"block": (8, 4), "TILE": 8}, {"block": 16, "TILE": 4}],
    )  # fmt: skip
    registered(monkeypatch, kernel)
    lines = mmcore("show", "acme.own").stdout.splitlines()
    assert lines[0] == "acme.own: a tile for each block"
    facts = {line[:11].strip() or number: line[11:].strip() for number, line in enumerate(lines[2:17])}
    assert [facts.get(name) for name in ("reference", "operation", "types", "by columns", "C before", "launches")] == [
        "Acme, page 3", "C=0.5AB", "float16 in, summed in float32, float16 out", "A B", "zeros", "f(A, B, C)",
    ]  # fmt: skip
    assert (facts["inferred"], facts["plugin"]) == ("entry, arguments, grid", "acme.own of acme")
    assert facts["configs"] == "8×4 TILE=8, 16×1 TILE=4"
    text = "\n".join(line.strip() for line in lines)
    needs = "needs        the block has one thread along z\nm is a multiple of 4\n"
    assert f"{needs}known bugs   it is slow\nit is late\nfor example" in text


def test_a_rule_without_source_is_shown_by_its_docstring(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    exec('def rule(problem, config):\n    """One block."""\n    return (1,)', made)
    registered(monkeypatch, declared(cu_file, grid=made["rule"]))
    assert shown("acme.own")["launch_rule"] == "One block."
