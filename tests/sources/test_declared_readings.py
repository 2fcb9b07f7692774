"""The hint about what the declaration of a registered kernel lacks: storage, the order of arguments, a type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmcore import Kernel, Launch, Multiple, Square
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from tests.command_line import mmcore
from tests.own_kernel import own

SUM = """    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int p = 0; p < n; p++) sum += {product};
    C[i * n + j] = sum;"""
BY_COLUMNS = "A[i * n + p] * B[j * n + p]"


def run(folder: Path, patch: pytest.MonkeyPatch, product: str, columns: str = "", least: int = 1) -> str:
    """Return the output of a run of a registered kernel that adds a product; its sizes are multiples of ``least``."""
    kernel = own(
        folder / "own.cu",
        SUM.format(product=product),
        block=(16, 16),
        constraints=(Square(), Multiple("n", least)),
        launch=lambda problem, config, _: Launch(grid=2 * (-(-problem.n // 16),), block=config.block),
        column_major=columns,
    )
    patch.setenv("MMCORE_IN_PROCESS", "1")
    patch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return mmcore("run", kernel.name, "--size", "96", "--device", "emulator").stdout


@pytest.mark.parametrize(
    ("product", "declared", "columns"),
    [(BY_COLUMNS, "", "B"), ("A[p * n + i] * B[p * n + j]", "", "A"), ("A[i * n + p] * B[p * n + j]", "B", "")],
)
def test_the_storage_that_makes_a_registered_kernel_right_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: str, declared: str, columns: str
) -> None:
    output = run(tmp_path, monkeypatch, product, declared)
    assert f'hint: with column_major="{columns}" the product is right at ' in output
    assert output.count("hint:") == 1
    assert output.endswith("\nTEST FAIL\n")


def test_zeros_in_c_are_a_hint_for_a_kernel_that_multiplies_them_by_0(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = SUM.format(product="A[i * n + p] * B[p * n + j]").replace("= sum;", "= sum + beta * C[i * n + j];")
    kernel = own(tmp_path / "own.cu", body, block=(16, 16), constraints=(Square(),), launch=None)
    kernel.source.write_text(kernel.source.read_text().replace("int n)", "int n, float beta)"))
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    output = mmcore("run", kernel.name, "--size", "96", "--device", "emulator").stdout
    assert 'hint: with initial_c="zeros" the product is right at ' in output


def test_a_kernel_that_refuses_small_products_is_tried_at_the_size_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = run(tmp_path, monkeypatch, BY_COLUMNS, least=96)
    assert 'hint: with column_major="B" the product is right at 96×96×96' in output


@pytest.mark.parametrize(
    ("declared", "source"), [({"output": "float64"}, "float"), ({"dtype": "float32", "output": "float32"}, "double")]
)
def test_the_types_that_the_source_takes_are_a_hint(
    declared: dict[str, Any], source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "own.cu"
    kernel = own(
        path,
        SUM.format(product="A[i * n + p] * B[p * n + j]").replace("float sum", f"{source} sum"),
        block=(16, 16),
        constraints=(Square(),),
        launch=lambda problem, config, _: Launch(grid=2 * (-(-problem.n // 16),), block=config.block),
        **declared,
    )
    path.write_text(path.read_text().replace("float*", f"{source}*"))
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    output = mmcore("run", kernel.name, "--size", "40", "--device", "emulator").stdout
    types = {"float": "float32", "double": "float64"}[source]
    assert f'hint: with dtype="{types}" and output="{types}" the product is right at ' in output


def test_no_storage_is_a_hint_if_none_makes_the_product_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run(tmp_path, monkeypatch, "2 * A[i * n + p] * B[p * n + j]")
    assert output.endswith("\nTEST FAIL\n")
    assert "hint:" not in output


def test_a_right_registered_kernel_has_no_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = run(tmp_path, monkeypatch, BY_COLUMNS, "B")
    assert output.endswith("\nTEST PASS\n")
    assert "hint:" not in output


OF_SIZES = """extern "C" __global__ void own(const {type}* A, const {type}* B, {type}* C, int m, int n, int k) {{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    {type} sum = 0;
    for (int p = 0; p < k; p++) sum += A[i * k + p] * B[p * n + j];
    C[i * n + j] = sum;
}}"""


def declared(folder: Path, patch: pytest.MonkeyPatch, size: str, element: str = "float", **values: Any) -> str:
    """Return the output of a run of a registered kernel of m, n and k."""
    path = folder / "own.cu"
    path.write_text("#include <cuda_fp16.h>\n" + OF_SIZES.format(type=element))
    kernel = Kernel(name="tests.own", source=path, configs=[{"block": (16, 16)}], **values)
    patch.setenv("MMCORE_IN_PROCESS", "1")
    patch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return mmcore("run", kernel.name, *size.split(), "--device", "emulator").stdout


@pytest.mark.parametrize("size", ["--size 96", "-m 64 -n 48 -k 80"])
def test_exchanged_sizes_are_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    output = declared(tmp_path, monkeypatch, size, arguments=("A", "B", "C", "n", "m", "k"))
    assert 'hint: with arguments=("A", "B", "C", "m", "n", "k") the product is right at ' in output


def test_exchanged_matrices_are_a_hint_that_holds_for_three_lengths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By columns, the product of the exchanged matrices is right for squares alone."""
    output = declared(tmp_path, monkeypatch, "--size 64", arguments=("B", "A", "C", "m", "n", "k"))
    right = "the product is right at 64×64×64 and at 64×128×192"
    assert f'hint: with arguments=("A", "B", "C", "m", "n", "k") {right}' in output


def test_sums_in_a_narrow_type_are_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = declared(tmp_path, monkeypatch, "--size 96", "__half", dtype="float16", output="float16")
    assert 'hint: with accumulator="float16" the product is right at 96×96×96 and at 96×192×288; line 5 says' in output
