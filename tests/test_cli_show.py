"""``mmcore show``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore.cli.launch_rule import examples
from tests.command_line import install, kernel_module, mmcore, process
from tests.test_cli_list_kernels import ENTRIES
from tests.test_cli_run import declared


def shown(kernel: str) -> dict[str, Any]:
    result = mmcore("show", kernel, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_json_is_the_listings_entry_and_what_a_listing_has_no_room_for() -> None:
    kernel = shown("lezione9.kernel2")
    added = {"entry", "arguments", "accumulator", "output", "launch_rule", "source_text"}
    assert kernel.keys() == ENTRIES | added
    (listed,) = (each for each in json.loads(mmcore("list-kernels", "--json").stdout) if each["name"] == kernel["name"])
    assert {entry: kernel[entry] for entry in ENTRIES} == listed
    assert (kernel["accumulator"], kernel["output"]) == ("float64", "float64")


def test_json_has_signature_rule_and_source() -> None:
    kernel = shown("upc.kernel11")
    assert kernel["entry"] == "kernel11"
    assert kernel["arguments"] == ["A", "B", "C", "m", "n", "k"]
    assert kernel["launch_rule"].startswith("def launch(problem: Problem, block: Dim3, limits: DeviceProperties) -> Launch:")
    assert kernel["source_text"] == api.kernels()["upc.kernel11"].source.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(api.kernels()))
def test_every_kernel_can_be_shown(name: str) -> None:
    kernel = api.kernels()[name]
    output = mmcore("show", name).stdout
    for text in (kernel.title, kernel.lecture, *kernel.known_bugs, *(each.sentence for each in kernel.constraints)):
        assert text in output
    assert "for example" in output
    assert all(line.strip() in output for line in kernel.source.read_text(encoding="utf-8").splitlines())


def test_the_signature_has_the_lectures_own_order_of_arguments() -> None:
    assert "v3<{block.x}>(C, A, B, n)" in mmcore("show", "poznan.v3").stdout


def test_the_rule_is_told_in_its_authors_words() -> None:
    assert "As many blocks as cover C, rounded up." in mmcore("show", "upc.kernel11").stdout


def test_an_example_says_what_is_read_past_the_matrices() -> None:
    output = mmcore("show", "upc.kernel11").stdout
    assert "640×640×640: 32×32 blocks in a 20×20 grid, reads nothing past the matrices" in output
    # The 21×21 tiles end at row 672 and column 672: (671·641 + 672) - 641².
    over_read = 671 * 641 + 672 - 641**2
    assert f"641×641×641: 32×32 blocks in a 21×21 grid, may read {over_read} elements past A and" in output


def test_a_rule_that_needs_multiples_has_no_example_between_them() -> None:
    assert "641×641×641" not in mmcore("show", "upc.kernel00").stdout


def test_a_kernel_that_allows_no_usual_size_has_a_refusal_for_an_example() -> None:
    (example,) = examples(declared(10**6))
    assert example.startswith("640×640×640 is refused: acme.steps: m = n = k = 640 is not a multiple of 1000000")


def test_lines_of_the_source_are_numbered() -> None:
    source = api.kernels()["upc.kernel10"].source.read_text(encoding="utf-8").splitlines()
    output = mmcore("show", "upc.kernel10").stdout
    assert f"\n 1  {source[0]}\n" in output
    assert f"\n{len(source)}  {source[-1]}" in output


def test_the_source_is_highlighted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    # The importing module first: importing it after the other is patched would make it keep the patch.
    monkeypatch.setattr("mmcore.cli.show.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.write", seen.append)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert mmcore("show", "upc.kernel10").exit_code == 0
    assert "\x1b[" in seen[0]


def test_a_source_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.lost", kernel_module("acme.lost"))
    result = process("show", "acme.lost", PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stdout) == (2, "")
    missing = tmp_path / "acme_module.cu"
    assert result.stderr == f"Error: acme.lost: its source {missing} cannot be read: No such file or directory\n"


def test_a_rule_whose_source_python_cannot_find_is_left_out(tmp_path: Path) -> None:
    module = kernel_module("acme.odd").replace("launch=launch", "launch=__import__('operator').itemgetter(0)")
    install(tmp_path, "acme", "acme.odd", module)
    (tmp_path / "acme_module.cu").write_text("// empty\n")
    result = process("show", "acme.odd", PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stderr) == (0, "")
    assert "// empty" in result.stdout


def profiled(*arguments: str) -> dict[int, list[str]]:
    """What stands before each line of the source, by the line's number."""
    output = mmcore("show", *arguments, "--profile").stdout
    (heading,) = (line for line in output.splitlines() if line.lstrip().startswith("instr.  "))
    columns = [heading.index(name) + len(name) for name in ("instr.", "sectors", "conflicts")]
    table = output.partition(heading)[2].splitlines()[1:]
    begins = [0, *columns]
    return {
        int(line[columns[-1] :].split()[0]): [line[a:b].strip() for a, b in zip(begins, columns, strict=False)]
        for line in table
    }


def test_profile_puts_instructions_sectors_and_conflicts_beside_each_line() -> None:
    lines = profiled("lezione9.kernel2", "--size", "32")
    source = api.kernels()["lezione9.kernel2"].source.read_text(encoding="utf-8").splitlines()
    assert list(lines) == list(range(1, len(source) + 1))
    (store,) = (number for number, line in enumerate(source, 1) if "= sum;" in line)
    (tile,) = (number for number, line in enumerate(source, 1) if "tile_a[tx][ty] = A[" in line)
    assert lines[store] == ["32", "1,024", ""], "one instruction and 32 sectors for each of 32 warps"
    # 8-byte elements a row of 32 apart: each half-warp's 16 lie in one bank.
    assert lines[tile][1:] == ["1,024", f"{32 * 2 * 15:,}"]
    assert lines[1] == ["", "", ""]


def test_profile_shows_the_usual_size_in_the_usual_block_unless_others_are_asked_for() -> None:
    asked = mmcore("show", "upc.kernel10", "--profile", "--size", "64", "--block", "16").stdout
    assert "\n64×64×64 in 16×16 blocks, counted over every block; instructions are those of warps\n" in asked
    assert "640×640×640 in 32×32 blocks" in mmcore("show", "upc.kernel10", "--profile").stdout


def test_json_has_the_profile_where_it_was_asked_for() -> None:
    arguments = ("show", "upc.kernel10", "--profile", "--size", "64", "--json")
    document = json.loads(mmcore(*arguments).stdout)
    assert document.keys() - {"profile"} == shown("upc.kernel10").keys()
    assert document["profile"]["fmas"] == 64**3


def test_a_size_without_a_profile_is_refused() -> None:
    result = mmcore("show", "upc.kernel10", "--size", "64")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: --size and --block say what is profiled; they go with --profile\n"


def test_profile_is_highlighted_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("mmcore.cli.show.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.write", written.append)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert mmcore("show", "upc.kernel10", "--profile", "--size", "32").exit_code == 0
    source = written[0].rpartition("kernel10.cu")[2]
    assert "\x1b[" in source
