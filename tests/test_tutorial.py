"""Whoever follows docs/plugins.md word for word ends with a conforming plugin, and sees what the page shows."""

from __future__ import annotations

import importlib.metadata
import os
import re
from itertools import groupby
from pathlib import Path

import pytest

from tests.fresh_environment import environment_with_mmcore
from tests.test_docs import CHANGING
from tests.walkthrough import Command, Content, Reader, steps

TUTORIAL = (Path(__file__).parent.parent / "docs" / "plugins.md").read_text(encoding="utf-8")
HOME = "/home/ada"

# What differs from one time to the next, or from one computer to another. Nothing else may.
SECONDS = re.compile(r"\d+(?:\.\d+)? (?=m?s\b)|(?<= in )\d+\.\d+s(?: \([\d:]+\))?")
SAVED = re.compile(r"\w+-CPython-3\.\d+-64bit/(\d{4})_unversioned_\d{8}_\d{6}")
# What the compiler decides: see CHANGING, and what `mmcore occupancy` says of registers.
REGISTERS = re.compile(r"(?<=^registers per )(\w+) +\d+|(?<=^blocks by registers) +\d+", re.MULTILINE)
# In the tables of `pytest bench`: times and their ratios, registers and what follows from them.
MEASURED = re.compile(r"[\d,]+\.\d{4}(?: \([\d,]+\.\d+\))?|(?<=time in )[mun]?s")
SUMMARISED = re.compile(r"(?<=\d×\d)(\d*) +[\d.,]+ +\d+( +\d+) +\d+ %")
ROW = re.compile(r"test_kernel\[|\S+ \S+ N N ")


def steadied(typed: str, printed: str) -> str:
    """What a command prints, without what varies."""
    for varying in (SECONDS, CHANGING, REGISTERS):
        printed = varying.sub("N", printed)
    if not typed.startswith("pytest "):
        return printed
    printed = SAVED.sub(r"SAVED/\1", printed)
    printed = SUMMARISED.sub(r"\1 N N\2 N %", MEASURED.sub("N", printed))
    # A table is as wide as its figures, and its rows stand in the order of their times.
    lines = [re.sub(r"([ -])\1+", r"\1", line).rstrip() for line in printed.splitlines()]
    runs = groupby(lines, key=lambda line: bool(ROW.match(line)))
    return "\n".join(line for is_row, run in runs for line in (sorted(run) if is_row else run))


def newcomer(folder: Path) -> Reader:
    """Somebody with a home folder that is empty, and an environment that has mmcore and nothing of theirs."""
    python = environment_with_mmcore(folder / "environment")
    home = folder / "home"
    home.mkdir()
    environment = {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        # The page shows what is printed where there is no GPU, and what a terminal shows: both streams in order.
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONUNBUFFERED": "1",
        # What pip would fetch, a build backend, is here already. To pip, 0 is the value that turns isolation off.
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # What setuptools thinks of editable installations changes from version to version.
        "PYTHONWARNINGS": "ignore",
    }
    kept = {name: value for name, value in os.environ.items() if name in ("LD_LIBRARY_PATH", "MMCORE_CACHE_DIR")}

    def seen(typed: str, printed: str) -> str:
        return steadied(typed, printed.replace(str(home), HOME))

    return Reader(home, environment | kept, seen)


def _packages_are_distributions() -> bool:
    try:
        importlib.metadata.distribution("cuda-python")
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not _packages_are_distributions(), reason="cuda-python is not installed, and pip would look for it")
def test_whoever_follows_the_page_sees_what_it_shows(tmp_path: Path) -> None:
    newcomer(tmp_path).follow(TUTORIAL)


def test_the_page_ends_with_kernels_that_conform_and_are_measured() -> None:
    *earlier, conform, bench_file, bench = steps(TUTORIAL)
    assert isinstance(conform, Command)
    assert conform.typed.startswith("mmcore conform 'acme.*'")
    assert re.findall(r"^[A-Z ]+$", conform.shown, re.MULTILINE) == ["CONFORMS", "CONFORMS"]
    assert isinstance(bench_file, Content)
    assert isinstance(bench, Command)
    assert bench.shown.count("every element") == 3
    assert any(isinstance(step, Command) and "dist/" in step.typed for step in earlier), "installed from a wheel"


@pytest.mark.parametrize(
    ("shown", "other"),
    [
        ("a kernel to start from, in acme-matmul", "a kernel to start with, in acme-matmul"),
        ("\n$ cd acme-matmul\n", "\n$ cd acme-kernels\n"),
    ],
)
def test_another_output_and_a_command_that_fails_are_noticed(tmp_path: Path, shown: str, other: str) -> None:
    assert shown in TUTORIAL
    with pytest.raises(AssertionError, match="acme"):
        newcomer(tmp_path).follow(TUTORIAL.replace(shown, other))


SAVED_RUN = "/home/ada/.benchmarks/Linux-CPython-3.12-64bit/0001_unversioned_20261121_103305.json"
SUMMED = "acme.matmul  32×32         52.930         31       8192      100 %  every element"
OTHER = "acme.matmul  16×16          2.930         32       2048       50 %  every element"
TIMED = "test_kernel[acme.matmul-16x16x16-b16] (NOW)     52.9295 (1.85)     0.0000 (1.0)           1"


@pytest.mark.parametrize(
    ("once", "another_time"),
    [
        ("8 passed in 1.05s", "8 passed in 72.00s (0:01:12)"),
        ("Name (time in ms)", "Name (time in s)"),
        ("measured 0.0 s (at most 1 ms in a cell)", "measured 1.1 s (at most 12 ms in a cell)"),
        (
            "acme.matmul-64x64x64-b32: verified, 2.6 ms to emulate",
            "acme.matmul-64x64x64-b32: verified, 9 ms to emulate",
        ),
        ("registers      32 per thread", "registers      40 per thread"),
        ("registers per block         7168", "registers per block        10240"),
        (TIMED, "test_kernel[acme.matmul-16x16x16-b16] (NOW)  1,007.1234 (1,001.0)  0.0000 (1.0)  1"),
        (SUMMED, "acme.matmul  32×32          2.930         40       8192       50 %  every element"),
        (f"{SUMMED}\n{OTHER}\n\n{SUMMED}", f"{OTHER}\n{SUMMED}\n\n{SUMMED}"),
        (SAVED_RUN, "/home/ada/.benchmarks/Darwin-CPython-3.13-64bit/0001_unversioned_20270101_000000.json"),
    ],
)
def test_what_varies_is_let_pass(once: str, another_time: str) -> None:
    assert steadied("pytest bench", once) == steadied("pytest bench", another_time)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("8 passed in 1.05s", "7 passed in 1.05s"),
        (SUMMED, SUMMED.replace("8192", "4096")),
        (SUMMED, SUMMED.replace("32×32", "16×16")),
        (SUMMED, SUMMED.replace("every element", "32 rows in full")),
        (f"{SUMMED}\n{OTHER}\n\n{SUMMED}", f"{SUMMED}\n\n{SUMMED}\n{OTHER}"),
        (TIMED, TIMED.replace("NOW", "0001_unversi")),
        (TIMED, TIMED.replace("           1", "           5")),
        ("grid           4×1 (4 blocks)", "grid           3×1 (3 blocks)"),
        ("accesses   257 to global memory per thread", "accesses   256 to global memory per thread"),
        (SAVED_RUN, SAVED_RUN.replace("0001", "0002")),
    ],
)
def test_nothing_else_is(right: str, wrong: str) -> None:
    assert right != wrong
    assert steadied("pytest bench", right) != steadied("pytest bench", wrong)
