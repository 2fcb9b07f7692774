"""The extents and strides of a .cu file's tensor maps, as its host code encodes them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mmcore import TensorMap
from tests.command_line import mmcore as command
from tests.sources.test_source_file import inferred, kernel
from tests.sources.test_tensor_maps import FILLED, RETURNED, source

pytestmark = pytest.mark.usefixtures("folder")
Layout = tuple[tuple[int, ...], tuple[int, ...]]
UNEQUAL = RETURNED.replace("512, 512, 512", "64, 48, 128")
A_ROWS, B_ROWS = ((64, 128), (128, 1)), ((32, 128), (128, 1))


def layouts(host: str) -> list[Layout | None]:
    """Return the extents and strides of the maps at 64×32×128; None where they are those of the matrices."""
    found = kernel(source(host))
    problem = found.problem(64, 32, 128)
    maps = [each for each in found.arguments if isinstance(each, TensorMap)]
    return [None if each.layout is None else each.layout(problem, found.config()) for each in maps]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("4ull * w", "4ull * h", [((64, 128), (64, 1)), ((32, 128), (32, 1))]),
        ("4ull * w", "w", [((64, 128), (32, 1)), ((32, 128), (32, 1))]),
        ("4ull * w", "4ull * 512", [((64, 128), (512, 1)), ((32, 128), (512, 1))]),
        ("(cuuint64_t)w, (cuuint64_t)h", "w / 2, h", [((64, 64), (128, 1)), ((32, 64), (128, 1))]),
        ("4ull * w", "sizeof(float) * w", [None, None]),
    ],
    ids=["rows", "elements", "number", "half of a row", "row"],
)
@pytest.mark.parametrize("host", [RETURNED, FILLED], ids=["returned", "filled"])
def test_extents_and_strides_are_those_of_the_host_code(
    host: str, old: str, new: str, expected: list[Layout | None]
) -> None:
    assert layouts(host.replace(old, new)) == expected


def test_a_number_of_the_program_is_a_size_of_it() -> None:
    fixed = RETURNED.replace("a, M, K)", "a, 512, 512)").replace("b, N, K)", "b, 512, 512)")
    assert layouts(fixed) == [None, None]
    assert layouts(fixed.replace("run(a, b, c, 512, 512, 512)", "run(a, b, c, 512, 512, 256)")) == [
        ((64, 512), (512, 1)),
        ((32, 512), (512, 1)),
    ]


def test_a_wrong_stride_at_the_sizes_of_the_program_is_a_fault_in_its_line(folder: Path) -> None:
    text = source(UNEQUAL.replace("4ull * w", "4ull * h"))
    (folder / "my.cu").write_text(text)
    line = 1 + text[: text.index("cuTensorMapEncodeTiled")].count("\n")
    result = command(*shlex.split("run my.cu --device emulator --size 64 -q"))
    why = "steps by 4 * m = 256 bytes from row to row, and a row of the matrix has 4 * k = 512"
    assert f"\nwrong-stride at my.cu:{line}: the tensor map of A {why}" in f"\n{result.output}"
    assert "with the grid" not in result.output  # it is that of the launch
    assert result.exit_code == 1


@pytest.mark.parametrize("launched", ["my.cu", "main.cu"])
def test_a_wrong_stride_in_a_header_is_a_fault_of_the_header(launched: str, folder: Path) -> None:
    function, host = UNEQUAL.split("\nvoid ")
    (folder / "maps.cuh").write_text("#pragma once\n\n" + function.replace("4ull * w", "4ull * h") + "\n")
    (folder / "my.cu").write_text(source(""))
    text = source(f"void {host}") if launched == "my.cu" else f"constexpr int W = 1;\nvoid {host}"
    (folder / launched).write_text(text.replace("constexpr", '#include "maps.cuh"\nconstexpr', 1))
    output = command(*shlex.split("run my.cu --device emulator --size 64")).output
    assert "wrong-stride at maps.cuh:3: the tensor map of A steps by 4 * m = 256 bytes from row to row" in output
    assert "boxes of 32×8 (encoded in line 3 of maps.cuh)" in " ".join(output.split())


def test_a_stride_that_is_right_for_squares_alone_fails_at_other_sizes(folder: Path) -> None:
    (folder / "my.cu").write_text(source(RETURNED.replace("4ull * w", "4ull * h")))
    result = command(*shlex.split("run my.cu --device emulator -q"))
    assert (result.exit_code, "steps by 4 * m bytes from row to row" in result.output) == (1, True)


def test_a_stride_that_cannot_be_read_is_a_guess(folder: Path) -> None:
    (folder / "my.cu").write_text(source("size_t pitch_of(int);\n" + RETURNED.replace("4ull * w", "pitch_of(w)")))
    output = command(*shlex.split("run my.cu --device emulator")).output
    assert "rows of A's tensor map as the matrix has them (a guess: line" in " ".join(output.split())


@pytest.mark.parametrize("verb", ["run", "check", "prove"])
def test_a_map_that_the_driver_refuses_is_a_fault_in_its_line_with_a_cure(verb: str, folder: Path) -> None:
    text = source(RETURNED.replace("SWIZZLE_NONE", "SWIZZLE_32B"))
    text = text.replace("BK = 8", "BK = 16")
    (folder / "my.cu").write_text(text)
    line = 1 + text[: text.index("cuTensorMapEncodeTiled")].count("\n")
    result = command(*shlex.split(f"{verb} my.cu --device emulator"))
    fails = (
        f"my.cu:{line}: cuTensorMapEncodeTiled fails for A: a row of the box has 64 bytes, more than the swizzle's 32"
    )
    assert f"{fails}; use CU_TENSOR_MAP_SWIZZLE_64B, or boxes of 8 columns" in result.output
    assert result.exit_code == 1


def test_strides_in_elements_of_a_type_of_a_template_are_read() -> None:
    host = RETURNED.replace("template <int", "template <typename T, int").replace("4ull * w", "sizeof(T) * h")
    host = host.replace("made<BM", "made<float, BM").replace("made<BN", "made<float, BN")
    assert layouts(host) == [((64, 128), (64, 1)), ((32, 128), (32, 1))]


def test_a_package_declares_wrong_strides_as_they_are(folder: Path) -> None:
    (folder / "my.cu").write_text(source(RETURNED.replace("4ull * w", "4ull * h")))
    assert command(*shlex.split("new-plugin acme.tma --from my.cu")).exit_code == 0
    (module,) = folder.rglob("tma.py")
    rule = "layout=lambda problem, config: ((problem.m, problem.k), (4 * problem.m // 4, 1))"
    assert rule in " ".join(module.read_text().split())


def test_a_matrix_whose_map_has_its_columns_as_rows_is_named_as_read_by_columns() -> None:
    by_columns = source(RETURNED.replace("made<BM, BK>(a, M, K)", "made<BK, BM>(a, K, M)"))
    by_columns = by_columns.replace("step * BK, blockIdx.y * BM", "blockIdx.y * BM, step * BK")
    (reading,) = inferred(by_columns).unusual
    assert str(reading) == "A and B stored by columns instead of A and B stored by rows, because of its tensor map"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(cuuint64_t)w, (cuuint64_t)h", "h, w", [((128, 64), (128, 1)), ((128, 32), (128, 1))]),
        ("(b, N, K)", "(b, K, N)", [None, ((128, 32), (32, 1))]),
    ],
    ids=["extents", "all of B"],
)
def test_the_copies_decide_on_the_storage_where_a_map_contradicts_itself_or_the_usual_one(
    old: str, new: str, expected: list[Layout | None]
) -> None:
    host = RETURNED.replace(old, new)
    assert kernel(source(host)).column_major == "B"
    assert layouts(host) == expected


def test_exchanged_extents_are_named_first_with_the_right_ones_and_no_change_of_the_kernel(folder: Path) -> None:
    text = source(UNEQUAL.replace("(cuuint64_t)w, (cuuint64_t)h", "h, w"))
    (folder / "my.cu").write_text(text)
    line = 1 + text[: text.index("cuTensorMapEncodeTiled")].count("\n")
    output = command(*shlex.split("run my.cu --device emulator --size 64x48x128 -q")).output
    why = "has rows of m = 64 elements, and the matrix rows of k = 128"
    assert output.startswith(f"wrong-extent at my.cu:{line}: the tensor map of A {why}\n")
    right = (
        "with extents {k, m} in the tensor map of A, and extents {k, n} in the tensor map of B, the product is right"
    )
    (hint,) = (each for each in output.splitlines() if each.startswith("hint"))
    assert hint.startswith(f"hint: {right} at")
    assert "tried" not in output


def test_a_map_of_another_storage_than_the_copies_is_named_with_its_right_extents(folder: Path) -> None:
    """B is read as the map shows it, by rows, though the kernel copies its columns."""
    (folder / "my.cu").write_text(source(UNEQUAL.replace("(b, N, K)", "(b, K, N)")))
    output = command(*shlex.split("run my.cu --device emulator --size 64x64x64 -q --column-major=")).output
    assert (
        "hint: with B stored by columns, and extents {k, n} and strides {4 * k} in the tensor map of B, the" in output
    )
