"""``mmcore new-plugin --from`` a file: the package has every file that the declaration and the source name."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmcore.kernel.missing_source import advice_about
from tests.fresh_environment import built
from tests.tools.test_cli_new_plugin import assert_right, kernel_of, written

KERNEL = """
__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = ZERO;
    for (int p = 0; row < m && column < n && p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""


def wrote(*files: str, text: str) -> None:
    """Write a text into several files."""
    for name in files:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with sources and headers, and run the command in its folder ``run``."""
    monkeypatch.chdir(tmp_path)
    wrote("h/zero.h", "other.d/real.tpp", text="#define ZERO 0.0f\n")
    wrote("h/beside.cu", text='#include "zero.h"\n' + KERNEL)
    wrote("h/deep/above.cu", text='#include "../zero.h"\n' + KERNEL)
    wrote("h/option.cu", text="#include <real.tpp>\n" + KERNEL)
    wrote("h/absolute.cu", text=f'#include "{tmp_path}/other.d/real.tpp"\n{KERNEL}')
    wrote("h/main.cu", text='#include "mine.cu"\n')
    wrote("h/mine.cu", text="#define ZERO 0\n" + KERNEL)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/link").symlink_to(tmp_path / "h/deep")
    monkeypatch.chdir(tmp_path / "run")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("../h/beside.cu", {"mine.cu", "zero.h"}),
        ("../run/../h/./beside.cu", {"mine.cu", "zero.h"}),
        ("link/../beside.cu", {"mine.cu", "zero.h"}),
        ("{here}/h/beside.cu", {"mine.cu", "zero.h"}),
        ("link/above.cu", {"deep/mine.cu", "zero.h"}),
        ("../h/option.cu", {"h/mine.cu", "other.d/real.tpp"}),
        ("../h/absolute.cu", {"h/mine.cu", "other.d/real.tpp"}),
        ("../h/main.cu", {"main.cu", "mine.cu"}),
    ],
)
def test_files_are_below_the_folder_of_source_and_headers(source: str, expected: set[str], here: Path) -> None:
    document = written("acme.mine", "--from", source.format(here=here), "--option=-I../other.d", "--dir", "made")
    files = {Path(each).relative_to("acme_mine").as_posix() for each in document["files"] if "acme_mine/" in each}
    assert files - {"__init__.py", "mine.py"} == expected
    for folder in (here / "h", here / "other.d"):
        folder.rename(here / f"moved-{folder.name}")
    assert_right(kernel_of(document))


@pytest.mark.slow
def test_a_wheel_has_files_with_unusual_names(here: Path) -> None:
    written("acme.mine", "--from", "../h/option.cu", "--option=-I../other.d", "--dir", "made")
    with zipfile.ZipFile(built(Path("made").absolute(), here / "wheels")) as wheel:
        assert {"acme_mine/h/mine.cu", "acme_mine/other.d/real.tpp"} < set(wheel.namelist())


def test_a_path_through_a_missing_folder_is_named(here: Path) -> None:
    advice = advice_about(here / "site-packages/acme/gone/../../../h/beside.cu")
    assert advice == f"; {here}/h/beside.cu is there: source= goes through a folder that is not"
