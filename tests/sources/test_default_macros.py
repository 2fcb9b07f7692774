"""Kernels whose defaults one ``#ifndef`` defines together: all of them are parameters, and each may be changed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore_cuda.cuda_source.program import read_program
from tests.command_line import mmcore
from tests.kernel_sources import kernel_source
from tests.sources.test_source_file import kernel
from tests.sources.test_tuned_macros import tuned

pytestmark = pytest.mark.usefixtures("folder")

NUMBERS = "#define WIDTH 16\n#define HEIGHT 8 // rows\n#define DEPTH (WIDTH)\n"
LARGE = f"#ifdef LARGE\n{NUMBERS.replace('8', '32')}"
CODE = "#define PLUS(a, b) ((a) + (b))\n#define REAL float\n"
TEXT = tuned("WIDTH", "HEIGHT", "1", "2", "DEPTH")
WITH_CODE = TEXT.replace("first + x", "PLUS(first, x)").replace("float sum", "REAL sum")


def guarded(condition: str = "#ifndef WIDTH", text: str = TEXT, numbers: str = NUMBERS, rest: str = "") -> str:
    return f"{condition}\n{numbers}{rest}#endif\n{text}"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        (guarded(), ""),
        (guarded(), "--config WIDTH=32"),
        (guarded(), "--define HEIGHT=16"),
        (guarded(), "--config DEPTH=8"),
        (guarded("#if !defined(WIDTH) || !defined HEIGHT"), "--config HEIGHT=4"),
        (guarded(rest="#else\n#pragma message(\"given\")\n"), "--config WIDTH=32"),
        (guarded(text=WITH_CODE, rest=CODE), ""),
        (guarded(text=WITH_CODE, rest=CODE), "--config WIDTH=32"),
        (guarded(text=WITH_CODE, rest=CODE), "--define REAL=double"),
        (f"{LARGE}#else\n{guarded(text='#endif')}\n{TEXT}", ""),
        (f"{LARGE}#else\n{NUMBERS}#endif\n{TEXT}", "--define LARGE"),
    ],
)  # fmt: skip
def test_each_default_of_a_group_may_be_changed(text: str, given: str, folder: Path) -> None:
    (folder / "my.cu").write_text(text)
    output = mmcore(*shlex.split(f"run my.cu --device emulator --size 64 {given}")).output
    assert "TEST PASS at 64×64×64" in output, output


def test_numbers_are_parameters_and_what_follows_from_them_is_defined() -> None:
    found = kernel(guarded())
    assert dict(found.usual_configs[0]) == {"block": (16, 8, 1), "WIDTH": 16, "HEIGHT": 8}
    assert found.defines == {"DEPTH": "(WIDTH)"}
    assert not kernel(guarded(text=WITH_CODE, rest=CODE)).defines


@pytest.mark.parametrize(
    "text",
    [
        guarded("#ifndef SIZES_H", numbers=f"#define SIZES_H 1\n{NUMBERS}"),
        guarded("#ifndef SIZES", numbers=f"#define SIZES\n{NUMBERS}"),
        guarded("#ifndef FAST"),
        guarded("#if defined(WIDTH)"),
        guarded("#if !defined(WIDTH) && LARGE"),
        guarded(rest="constexpr int EDGE = 3;\n"),
        guarded(rest="#else\n#define HEIGHT 4\n"),
    ],
)
def test_definitions_under_another_condition_are_no_defaults(text: str) -> None:
    assert not read_program(text).macros["WIDTH"].group


def test_a_default_that_makes_too_many_threads_gets_a_value_that_the_host_code_has_too(folder: Path) -> None:
    grid = "dim3((n + TILE - 1) / TILE, (n + TILE - 1) / TILE)"
    launch = f"void f(int n) {{ mul<<<{grid}, dim3(TILE, TILE)>>>(a, b, c, n, n, n); }}"
    text = kernel_source("tiled_16").replace("16", "TILE")
    (folder / "my.cu").write_text(f"#ifndef TILE\n#define TILE 64\n#endif\n{text}{launch}\n")
    refused = mmcore(*shlex.split("run my.cu --device emulator --size 64 --quiet"))
    *_, repaired = refused.output.strip().partition("\n  mmcore ")
    assert repaired.endswith("--define TILE=32"), refused.output
    assert mmcore(*shlex.split(repaired)).stdout.endswith("TEST PASS\n")
