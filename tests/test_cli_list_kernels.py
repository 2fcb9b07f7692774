"""``mmcore list-kernels``."""

from __future__ import annotations

import dataclasses
import json
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore.cli.kernels import typed_operation
from tests.command_line import install, mmcore

ENTRIES = {
    *("name", "title", "lecture", "dtype", "operation", "blocks", "constraints", "known_bugs"),
    *("plugin", "distribution", "source"),
}


def listed(*arguments: str) -> list[dict[str, Any]]:
    result = mmcore("list-kernels", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document: list[dict[str, Any]] = json.loads(result.stdout)
    return document


def test_json_lists_every_kernel_with_exactly_these_entries() -> None:
    kernels = listed()
    assert [kernel["name"] for kernel in kernels] == sorted(api.kernels())
    assert all(kernel.keys() == ENTRIES for kernel in kernels)


def test_json_says_what_the_plugin_declares() -> None:
    (kernel,) = (kernel for kernel in listed() if kernel["name"] == "upc.kernel00")
    assert kernel["dtype"] == "float32"
    assert kernel["operation"] == "C=AB"
    assert kernel["blocks"] == [[32, 32, 1], [16, 16, 1], [8, 8, 1]]
    assert "n is a multiple of block.x" in kernel["constraints"]
    assert kernel["known_bugs"] == []
    assert (kernel["plugin"], kernel["distribution"]) == ("upc.kernel00", "mmcore")
    assert Path(kernel["source"]).name == "kernel00.cu"


@pytest.mark.parametrize("lecture", ["upc", "UPC", "Barcelona", "aceleradores"])
def test_a_lecture_is_the_first_part_of_the_name_or_words_of_its_title(lecture: str) -> None:
    names = {kernel["name"] for kernel in listed("--lecture", lecture)}
    assert names == {name for name in api.kernels() if name.startswith("upc.")}


@pytest.mark.parametrize("dtype", ["float64", "f64"])
def test_an_element_type_selects(dtype: str) -> None:
    names = {kernel["name"] for kernel in listed("--dtype", dtype)}
    theirs, ours = {"lezione9.kernel1", "lezione9.kernel2"}, {"mmcore.kernel1_columns", "mmcore.kernel2_columns"}
    assert names == theirs | ours


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--lecture", "Bologna"),
            "no kernel is from a lecture 'Bologna'; there are hpsee, lezione9, mmcore, poznan, unsa, upc",
        ),
        (("--dtype", "int8"), "'int8' is not an element type; there are float16, bfloat16, float32, float64"),
        (("--dtype", "float16"), "none of these kernels takes float16; they take float32, float64"),
        (("--lecture", "upc", "--dtype", "f64"), "none of these kernels takes float64; they take float32"),
    ],
)
def test_a_filter_that_matches_nothing_says_what_there_is(arguments: Sequence[str], said: str) -> None:
    result = mmcore("list-kernels", *arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"Error: {said}\n")


def test_off_the_terminal_every_kernel_has_one_whole_row() -> None:
    header, *rows = mmcore("list-kernels").stdout.splitlines()
    assert header.split() == ["kernel", "what", "it", "does", "operation", "blocks", "needs"]
    assert len(rows) == len(api.kernels())
    for row, kernel in zip(rows, api.kernels().values(), strict=True):
        assert row.startswith(kernel.name)
        assert kernel.title in row
        assert "; ".join(constraint.sentence for constraint in kernel.constraints) in row


def test_a_table_shows_the_operation_with_its_types() -> None:
    assert "C=C+AB f64" in mmcore("list-kernels", "--lecture", "lezione9").stdout


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"accumulator": "bfloat16", "output": "float32"}, "C=AB f32 summed in bf16"),
        ({"dtype": "float16", "accumulator": "float16", "output": "float32"}, "C=AB f16→f32 summed in f16"),
        ({"dtype": "float16", "accumulator": "float32", "output": "float16"}, "C=AB f16"),
        ({"accumulator": "float64", "output": "float32"}, "C=AB f32"),
    ],
)
def test_a_sum_that_is_narrower_than_the_matrices_is_no_secret(types: dict[str, str], said: str) -> None:
    kernel = dataclasses.replace(api.kernels()["upc.kernel01"], **types)  # type: ignore[arg-type]
    assert typed_operation(kernel) == said


def test_kernels_that_are_wrong_on_purpose_are_marked() -> None:
    marked = [row for row in mmcore("list-kernels").stdout.splitlines() if "[known violations]" in row]
    assert [row.split()[0] for row in marked] == ["upc.kernel11_naive_guard"]


MIXED = """
from mmcore import Kernel, hookimpl

@hookimpl
def mmcore_kernels():
    return [Kernel(name="acme.mixed", title="[red]Mixed[/red] :smile:", lecture="none", source=__file__ + ".cu",
                   entry="f", arguments=("A", "B", "C"), launch=print, blocks=((128,),), dtype="bfloat16",
                   accumulator="float32")]
"""


def test_a_third_partys_kernel_is_listed_as_it_is_written(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.mixed", MIXED)
    command = [sys.executable, "-m", "mmcore", "list-kernels", "--lecture", "acme"]
    output = subprocess.run(command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    row = output.stdout.splitlines()[1]
    assert row.split("  ") == ["acme.mixed", "[red]Mixed[/red] :smile:", "C=AB bf16→f32", "128×1"]


def test_on_a_terminal_the_rest_stands_below_the_title(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.mixed", MIXED)
    program = """
import os, pty, sys
os.environ.pop("NO_COLOR", None)
os.environ.update(TERM="xterm-256color", COLUMNS="40")
status = pty.spawn([sys.executable, "-m", "mmcore", "list-kernels", "--lecture", "acme"])
sys.exit(os.waitstatus_to_exitcode(status))
"""
    output = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert "\x1b[1macme.mixed" in output.stdout
    plain = re.sub(r"\x1b\[\d*m", "", output.stdout)
    assert [line.rstrip() for line in plain.splitlines()] == [
        "acme.mixed  [red]Mixed[/red] :smile:",
        "            C=AB bf16→f32 in blocks of",
        "            128×1",
        "            needs: nothing",
    ]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_it_imports_nothing_that_takes_long(option: list[str]) -> None:
    program = f"""
import sys
from mmcore.cli import main
try:
    main(["list-kernels", *{option}])
finally:
    print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"cuda", "numpy", "pygments", "rich"}}))
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.splitlines()[-1] == "[]"


def test_it_takes_less_than_150_ms_beyond_the_interpreters_own_start() -> None:
    def seconds(*arguments: str) -> float:
        """A run's processor time, which is its wall time on a machine with nothing else to do."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    commands = ("-c", "pass"), ("-c", "import click, importlib.metadata, pluggy"), ("-m", "mmcore", "list-kernels")
    rounds = [[seconds(*command) for command in commands] for _ in range(15)]
    start, libraries, listing = (min(times) for times in zip(*rounds, strict=True))
    # Where others keep the machine busy, the libraries that any answer takes are slow as well: some 45 ms otherwise.
    assert listing - start < max(0.15, 2.5 * (libraries - start))
