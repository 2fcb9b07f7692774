"""The steps of docs/plugins.md produce a conforming plugin and the output that the page shows."""

from __future__ import annotations

import importlib.metadata
import os
import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.docs.test_docs import CHANGING
from tests.docs.walkthrough import Command, Content, Reader, steps
from tests.fresh_environment import environment_with_mmcore

TUTORIAL = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")
HOME = "/home/ada"

# What differs from one time to the next, or from one computer to another. Nothing else may.
SECONDS = re.compile(r"\d+(?:\.\d+)? (?=m?s\b)|(?<= in )\d+\.\d+s(?: \([\d:]+\))?")
SAVED = re.compile(r"\w+-CPython-3\.\d+-64bit/(\d{4})_unversioned_\d{8}_\d{6}")
# Decisions of the compiler: see CHANGING, and the registers of `mmcore occupancy`.
REGISTERS = re.compile(r"(?<=^registers per thread|^occupancy {11}) .*|(?<=^registers {8}) *\d+", re.MULTILINE)
# In the tables of `pytest bench`: what the emulator counted, and the occupancy.
COUNTED = re.compile(r"^(acme\.\w+ +[\w-]+)( +[\d.]+)+$", re.MULTILINE)


def steadied(typed: str, printed: str) -> str:
    """Return the output of a command without the parts that vary."""
    for varying in (SECONDS, CHANGING, REGISTERS):
        printed = varying.sub("N", printed)
    return COUNTED.sub(r"\1 N", SAVED.sub(r"SAVED/\1", printed)) if typed.startswith("pytest ") else printed


def newcomer(folder: Path) -> Reader:
    """Return a reader with an empty home folder, and an environment with mmcore alone."""
    python = environment_with_mmcore(folder / "environment")
    home = folder / "home"
    home.mkdir()
    environment = {
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        # The page shows the output without a GPU, and both streams in the order of a terminal.
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


@pytest.mark.slow
@pytest.mark.skipif(not _packages_are_distributions(), reason="cuda-python is not installed, and pip would look for it")
def test_whoever_follows_the_page_sees_what_it_shows(tmp_path: Path) -> None:
    newcomer(tmp_path).follow(TUTORIAL)


def test_the_page_ends_with_kernels_that_conform_and_are_measured() -> None:
    *earlier, conform, bench_file, bench = steps(TUTORIAL)
    assert isinstance(conform, Command)
    assert conform.typed.startswith("mmcore conform 'acme.*'")
    assert re.findall(r"^(acme\.\w+): CONFORMS$", conform.shown, re.MULTILINE) == ["acme.bf16", "acme.matmul"]
    assert isinstance(bench_file, Content)
    assert isinstance(bench, Command)
    assert len(COUNTED.findall(bench.shown)) == 4
    assert any(isinstance(step, Command) and "dist/" in step.typed for step in earlier), "installed from a wheel"


FOLLOWED = """\
```console
$ cat list
bread
milk
$ grep beer list
$ echo $?
1
```
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", ""),
        ("bread\nmilk\n", "bread\nbeer\n", r"\$ cat list\n(.|\n)*-beer\n\+milk"),
        ("milk\n", "", r"\+milk"),
        ("$ echo $?\n1\n", "", "grep beer list\nexits with 1"),
        ("$ echo $?\n1\n", "$ echo $?\n0\n", r"-0\n\+1"),
        ("$ cat list", "cat list", "output without a command"),
        ("console", "sh", "neither a command, nor a file"),
    ],
)
def test_another_output_and_a_command_that_fails_are_noticed(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    files = "In `list`:\n\n```\nbread\ntea\n```\n\nIn `list`:\n\n```diff\n-tea\n+milk\n```\n"
    reader = Reader(tmp_path, os.environ, steadied)
    with pytest.raises(AssertionError, match=said) if said else nullcontext():
        reader.follow(files + FOLLOWED.replace(right, wrong))
    with pytest.raises(AssertionError, match="list has the lines to replace 0 times"):
        reader.follow(files.replace("-tea", "-beer"))


SAVED_RUN = "/home/ada/.benchmarks/Linux-CPython-3.12-64bit/0001_unversioned_20261121_103305.json"
COUNTS = "acme.matmul b16            1        94860    9356     2.43"


@pytest.mark.parametrize(
    ("once", "another_time", "alike"),
    [
        ("8 passed in 1.05s", "8 passed in 72.00s (0:01:12)", True),
        ("registers        32 per thread", "registers        40 per thread", True),
        ("registers per thread         64         48", "registers per thread         56         80", True),
        (COUNTS, COUNTS.replace("94860", "124860").replace("    1 ", "0.562 "), True),
        (SAVED_RUN, "/home/ada/.benchmarks/Darwin-CPython-3.13-64bit/0001_unversioned_20270101_000000.json", True),
        ("8 passed in 1.05s", "7 passed in 1.05s", False),
        (COUNTS, COUNTS.replace("b16", "b32"), False),
        (COUNTS, f"{COUNTS} sampled", False),
        ("grid             4×1 (4 blocks)", "grid             3×1 (3 blocks)", False),
        ("accesses   257 to global memory per thread", "accesses   256 to global memory per thread", False),
        (SAVED_RUN, SAVED_RUN.replace("0001", "0002"), False),
    ],
)
def test_what_varies_and_nothing_else_is_let_pass(once: str, another_time: str, alike: bool) -> None:
    assert (steadied("pytest bench", once) == steadied("pytest bench", another_time)) is alike
