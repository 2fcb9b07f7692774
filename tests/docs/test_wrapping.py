"""The declarations of docs/wrapping.md, compared with bench/studies/public_kernels and the plugins."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from bench.studies.public_kernels.corpus import KERNELS
from mmcore import DeviceProperties, Kernel, Unsupported, run
from mmcore.kernel.arguments import FACTORS, SIZES, Argument, scalar_of
from mmcore.kernel.problem import Problem
from mmcore.planning.plan import plan
from mmcore.registry import registry
from mmcore_cuda.nvrtc.source_compilation import compile_source
from tests.command_line import installed, mmcore
from tests.docs.test_docs import FILES
from tests.docs.walkthrough import Content, steps
from tests.fresh_environment import built

PAGE = (Path(__file__).parents[2] / "docs" / "wrapping.md").read_text(encoding="utf-8")
# What the page shows to be read or run, and no file of the package.
NO_FILE = re.compile(r"^```(?:cuda|console)\n.*?^```\n", re.MULTILINE | re.DOTALL)
PACKAGE = {each.path: each.text for each in steps(NO_FILE.sub("", PAGE)) if isinstance(each, Content)}
OTHERS = {"acme.triton": "triton.matmul_f16", "acme.cutedsl": "cutedsl.matmul", "acme.torch": "torch.float32"}
# Names and words, and fields that are compared by their effects.
NOT_COMPARED = {
    *("name", "title", "reference", "source", "configs", "entry", "arguments", "grid", "shared_bytes", "launch"),
    *("call", "constraints", "min_compute_capability"),
}
HOPPER = DeviceProperties(compute_capability=(9, 0))

# Kernels with the names, parameters and tiles of the page's, so that no checkout is needed.
WARP_TILES = """
template <const int BM, const int BN, const int BK, const int WM, const int WN, const int WNITER, const int TM,
          const int TN, const int NUM_THREADS>
__global__ void sgemmWarptiling(int M, int N, int K, float alpha, float *A, float *B, float beta, float *C) {
    static_assert(WM * WN * (NUM_THREADS / 32) == BM * BN);
    for (int i = threadIdx.x; i < BM * BN; i += NUM_THREADS) {
        const int row = blockIdx.y * BM + i / BN, column = blockIdx.x * BN + i % BN;
        float sum = 0;
        for (int p = 0; p < K; ++p)
            sum += A[row * K + p] * B[p * N + column];
        C[row * N + column] = alpha * sum + beta * C[row * N + column];
    }
}
"""
DRIVER_API = """
template <int EDGE> __device__ void multiply(float *C, const float *A, const float *B, size_t wA, size_t wB) {
    const int row = blockIdx.y * EDGE + threadIdx.y, column = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (size_t p = 0; p < wA; ++p)
        sum += A[row * wA + p] * B[p * wB + column];
    C[row * wB + column] = sum;
}
""" + "".join(
    f'extern "C" __global__ void matrixMul_bs{edge}_64bit(float *C, float *A, float *B, size_t wA, size_t wB)'
    f" {{ multiply<{edge}>(C, A, B, wA, wB); }}\n"
    for edge in (8, 16, 32)
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    """Install the page's package for the duration of a test, with made-up checkouts."""
    options = ("-arch=sm_75", "--ptxas-options=-v", "--no-cache")
    entries = tuple(f"matrixMul_bs{edge}_64bit" for edge in (8, 16, 32))
    folder = "acme_public"
    entry_points = PACKAGE["pyproject.toml"].partition("[project.entry-points.mmcore]\n")[2].partition("\n\n")[0]
    files = PACKAGE | {
        f"{folder}/SGEMM_CUDA/src/kernels/10_kernel_warptiling.cuh": WARP_TILES,
        f"{folder}/SGEMM_CUDA/LICENSE": "a licence",
        f"{folder}/fast.cu/matmul.cu": "",
        f"{folder}/matrixmul_drv.ptx": compile_source("test", Path("test.cu"), DRIVER_API, options, entries)[0].ptx,
        "acme_public-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-public\nVersion: 1.0\n",
        "acme_public-1.0.dist-info/entry_points.txt": "[mmcore]\n" + entry_points.replace('"', ""),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with installed(tmp_path):
        yield tmp_path


def counterpart(name: str) -> tuple[Kernel, Path]:
    """Return our kernel with the page's name, and the path of its source in the package."""
    if name in KERNELS:
        public = KERNELS[name]
        return public.kernel, Path(public.repository) / public.file
    other = registry().kernel(OTHERS[name])
    return other, other.source


def passed(arguments: tuple[Argument, ...], problem: Problem) -> list[Any]:
    """Return arguments with the default types of sizes and factors."""
    named = [each for each in arguments if isinstance(each, str) and each in SIZES + FACTORS]
    return [scalar_of(str(each), problem) if each in named else each for each in arguments]


def launched(kernel: Kernel, problem: Problem, config: dict[str, Any]) -> list[Any]:
    """Return the launches of a kernel: functions, macros, geometry and arguments."""
    planned = plan(kernel, problem, kernel.config(**config), HOPPER)
    return [
        (
            planned.entry(each).replace(" ", ""),
            kernel.macros(problem, planned.config),
            (each.grid, each.block, each.shared_bytes, each.cluster, each.over_read),
            passed(planned.arguments(each), problem),
        )
        for each in planned.launches
    ]


@pytest.mark.usefixtures("site")
def test_the_page_declares_a_kernel_for_each_entry_point_and_the_package_loads() -> None:
    ours = {name for name, each in registry().kernels.items() if each.origin.distribution == "acme-public"}
    assert ours == set(re.findall(r'^"(.*)" = "acme_public\.', PACKAGE["pyproject.toml"], re.MULTILINE))
    assert len(ours) == len([name for name in PACKAGE if name.endswith(".py")]) - 1
    assert not registry().failed


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("name", [*OTHERS, *(name for name in re.findall(r'name="(.*?)"', PAGE) if name in KERNELS)])
def test_a_declaration_says_what_ours_of_the_same_kernel_says(name: str) -> None:
    page = registry().kernel(name)
    ours, source = counterpart(name)
    ours = replace(ours, source=page.source)
    for field in {field.name for field in fields(Kernel)} - NOT_COMPARED:
        assert getattr(page, field) == getattr(ours, field), field
    assert page.min_compute_capability <= ours.min_compute_capability
    assert (page.call is None) == (ours.call is None)
    if page.call is None and page.source.suffix != ".ptx":
        assert page.source.parts[-len(source.parts) :] == source.parts
    for sizes in product((16, 64, 128, 256, 384, 2048), repeat=3):
        problem = ours.problem(*sizes)
        refused = [bool(each.violations(problem, each.usual_configs[0])) for each in (page, ours)]
        assert refused[0] == refused[1], sizes
        if not refused[0]:
            for config in ours.usual_configs if len(page.usual_configs) == len(ours.usual_configs) else [{}]:
                asked = {"block": config["block"]} if config else {}
                assert launched(page, problem, asked) == launched(ours, problem, asked), sizes


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("config", [{}, {"BM": 64}], ids=str)
def test_each_config_has_its_own_instance_of_a_template(config: dict[str, int]) -> None:
    result = run("siboehm.kernel10", m=128, n=128, k=16, config=config, device="emulator", hazards=False)
    assert (result.verified, result.operation, result.grid) == (
        True,
        "C=0.5AB+3C",
        (1, 128 // config.get("BM", 128), 1),
    )


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("edge", [8, 16, 32])
def test_each_config_has_its_own_function_of_ptx(edge: int) -> None:
    result = run("cuda_samples.matrixmul_drv", m=64, n=96, k=32, block=edge, device="emulator", hazards=False)
    assert (result.verified, result.shared_bytes) == (True, 2 * edge * edge * 4)


@pytest.mark.usefixtures("site")
def test_a_size_that_the_template_cannot_take_is_refused() -> None:
    refused = mmcore("run", "siboehm.kernel10", "--size", "128x256x17", "--device", "emulator")
    assert "k = 17 is not a multiple of BK = 16" in refused.output


@pytest.mark.usefixtures("site")
def test_the_library_is_unsupported_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    kernel = registry().kernel("acme.torch")
    assert kernel.call is not None
    with pytest.raises(Unsupported, match="PyTorch is not installed"):
        kernel.call(kernel.problem(16, 16, 16), kernel.usual_configs[0], {})


def test_a_wheel_of_the_package_has_the_checkouts_sources_and_licences(site: Path) -> None:
    with ZipFile(built(site, site / "wheels")) as wheel:
        names = set(wheel.namelist())
    assert "acme_public/SGEMM_CUDA/src/kernels/10_kernel_warptiling.cuh" in names
    assert {"acme_public/SGEMM_CUDA/LICENSE", "acme_public/matrixmul_drv.ptx", "acme_public/fast_cu.py"} <= names


@pytest.mark.parametrize(
    ("name", "said", "end", "status"),
    [
        ("transposed.cu", ["--column-major", "B"], "it passes without the warning.", 0),
        ("narrow.cu", ["--accumulator", "float32"], "it fails: its sums are less exact than float32's.", 1),
    ],
)
def test_what_the_page_says_of_an_option_is_true(
    name: str, said: list[str], end: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text(FILES[name])
    monkeypatch.chdir(tmp_path)
    assert f"With `{' '.join(said)}` {end}" in PAGE
    result = mmcore("run", name, "--size", "40x50x60", *said, "--device", "emulator", "-q")
    assert (result.exit_code, "warning" in result.stdout) == (status, False)
