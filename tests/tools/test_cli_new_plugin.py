"""``mmcore new-plugin``: what it writes works as written; what it cannot write, it does not begin."""

from __future__ import annotations

import dataclasses
import errno
import importlib
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmcore as api
from mmcore import Kernel
from mmcore.cell import Cell
from mmcore.executor.worker import opened
from mmcore.kernel.constraints import Multiple
from mmcore.measure import measure
from mmcore.planning.plan import plan
from mmcore.plugin_table import FailedPlugin, Origin, Registered
from mmcore.registry import Registry, registry
from tests.command_line import mmcore
from tests.fresh_environment import fresh_environment, run, wheel_of_mmcore
from tests.lectures import lecture_kernels
from tests.tables import cases, section_of

SIZES = ((5, 100, 33), (64, 128, 192), (96, 96, 96), (100, 100, 100))
LECTURES = sorted(lecture_kernels())


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder in which the command runs."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


def written(*arguments: str) -> dict[str, Any]:
    """Return the JSON of a command that has written a package."""
    result = mmcore("new-plugin", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def refusal(*arguments: str) -> str:
    """Return the message with which the command fails."""
    result = mmcore("new-plugin", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def settings(document: dict[str, Any]) -> dict[str, Any]:
    return tomllib.loads((Path(document["folder"]) / "pyproject.toml").read_text(encoding="utf-8"))


def kernel_of(document: dict[str, Any]) -> Kernel:
    """Return the kernel that a written package adds to a registry."""
    ((name, module),) = settings(document)["project"]["entry-points"]["mmcore"].items()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(document["folder"])
        found = Registry()
        found.add(importlib.import_module(module), name, document["distribution"])
    assert found.warnings() == []
    return found.kernel(document["kernel"])


def assert_right(kernel: Kernel) -> None:
    """Verify a kernel on the emulator, at the first of the sizes that it allows."""
    config = kernel.usual_configs[0]
    m, n, k = next(sizes for sizes in SIZES if not kernel.violations(kernel.problem(*sizes), config))
    result = measure(Cell(kernel.name, m, n, k, config.to_json()), opened("emulator"), kernel)
    assert result.verified, result.failures()


def assert_same_plans(copy: Kernel, original: Kernel) -> None:
    """Check that two kernels have equal declarations and equal launches for the same problems."""
    assert copy.usual_configs == original.usual_configs
    for field in ("constraints", "dtype", "accumulator", "output", "accumulate", "options", "known_bugs", "title"):
        assert getattr(copy, field) == getattr(original, field), field

    def launches(kernel: Kernel) -> tuple[api.Launch, ...]:
        return plan(kernel, problem, config, api.DeviceProperties()).launches

    for config in original.usual_configs:
        for problem in (original.problem(*sizes) for sizes in SIZES):
            reasons = original.violations(problem, config)
            assert copy.violations(problem, config) == reasons
            if not reasons:
                assert launches(copy) == launches(original)


def assert_ruff_is_silent(folder: str) -> None:
    """Check that ruff finds nothing in a package, under its own settings."""
    pytest.importorskip("ruff")
    for command in (("check", "--select", "E,F,W,I,B,UP"), ("format", "--check", "--diff")):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", folder], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_the_template_is_right_at_unequal_sizes_and_formatted() -> None:
    document = written("acme.tiled")
    kernel = kernel_of(document)
    assert_right(kernel)
    assert not kernel.violations(kernel.problem(5, 100, 33), kernel.usual_configs[0])
    assert settings(document)["project"]["dependencies"] == ["mmcore-cuda>=0.3,<0.4"]
    assert_ruff_is_silent("acme-tiled")


@pytest.mark.parametrize("model", LECTURES)
def test_a_copy_of_a_lectures_kernel_is_planned_as_the_lectures(model: str) -> None:
    document = written("acme.mine", "--from", model)
    kernel, original = kernel_of(document), api.kernels()[model]
    assert_same_plans(kernel, original)
    assert kernel.entry_named().startswith("multiply_mine")
    assert kernel.reference == original.reference
    package = Path(document["folder"]) / "acme_mine"
    assert f"# Begun as a copy of {model} of mmcore-cuda." in (package / "mine.py").read_text()
    texts = "".join(path.read_text() for ending in ("py", "cu") for path in package.rglob(f"*.{ending}"))
    assert "mmcore_" not in texts.replace("mmcore_kernels", "")


@pytest.mark.parametrize("model", ["poznan.v4a", "unsa.tiled"])
def test_a_copy_is_right_and_formatted(model: str) -> None:
    assert_right(kernel_of(written("acme.mine", "--from", model)))
    assert_ruff_is_silent("acme-mine")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a third party's package for the duration of the test."""
    for name, text in section_of(__file__, "stranger").items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry.cache_clear()
    yield tmp_path / "site" / "stranger"
    registry.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]


def test_a_copy_has_the_originals_headers_and_dependencies(stranger: Path) -> None:
    (stranger.parent / "secret.h").write_text("not the package's")
    (stranger / "out.h").symlink_to(stranger.parent / "secret.h")
    document = written("acme.mine", "--from", "stranger.by2")
    of_package = [name.removeprefix("acme_mine/") for name in document["files"] if name.startswith("acme_mine/")]
    assert of_package == ["__init__.py", "mine.py", "mine.cu", "common/sum.cuh"]
    copy = kernel_of(document)
    assert_right(copy)
    assert_same_plans(copy, dataclasses.replace(api.kernels()["stranger.by2"], title="acme.mine"))
    assert settings(document)["project"]["dependencies"] == ["mmcore-cuda>=0.3,<0.4", "numpy"]


@cases(__file__, "only_complete_modules_are_copied", "old, new, reason")
def test_only_complete_modules_are_copied(old: str, new: str, reason: str, stranger: Path, here: Path) -> None:
    module = stranger / "variants.py"
    module.write_text(module.read_text().replace(old, new))
    assert reason in refusal("acme.mine", "--from", "stranger.by2")
    assert list(here.iterdir()) == []


def test_the_names_come_from_the_kernels() -> None:
    document = written("acme.fast.4x4")
    assert (document["package"], document["distribution"]) == ("acme_fast_4x4", "acme-fast-4x4")
    assert {"acme_fast_4x4/kernel_4x4.py", "acme_fast_4x4/4x4.cu"} < set(document["files"])
    assert_right(kernel_of(document))
    # A word of C++ cannot name a function, but a kernel.
    assert_right(kernel_of(written("acme.float")))


def test_text_and_json_name_every_file_and_the_next_commands(here: Path) -> None:
    document = written("acme.tiled", "--dir", "some/where")
    assert Path(document["folder"]) == here / "some" / "where"
    found = files_in(here / "some/where")
    assert found == set(document["files"])
    text = mmcore("new-plugin", "acme.tiled", "--dir", "my plugin").stdout
    assert all(f"\n{path} " in text for path in found)
    assert "    cd 'my plugin'\n" in text
    assert text.endswith("    pytest bench --mm-kernel acme.tiled\n")


def test_other_folders_are_not_written_to(here: Path) -> None:
    (here / "acme-tiled").mkdir()
    (here / "acme-tiled" / "notes").write_text("mine")
    (here / "nowhere").symlink_to(here / "gone")
    before = sorted(here.rglob("*"))
    assert "/acme-tiled' is not empty; give another with --dir" in refusal("acme.tiled")
    for folder in ("acme-tiled/notes", "acme-tiled/notes/below", "nowhere"):
        assert "' is there already and is no folder" in refusal("acme.tiled", "--dir", folder)
    assert sorted(here.rglob("*")) == before


def test_an_empty_folder_is_filled(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = here / "empty"
    target.mkdir()
    monkeypatch.chdir(target)
    before = target.stat().st_ino
    document = written("acme.tiled", "--dir", ".")
    assert target.stat().st_ino == before
    assert files_in(target) == set(document["files"])


def test_a_failure_to_write_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    write, calls = Path.write_text, iter(range(100))

    def full(path: Path, *arguments: Any, **named: Any) -> int:
        if next(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert "cannot be written: No space left on device" in refusal("acme.tiled", "--dir", "a/b")

    def refuse(*arguments: Any, **named: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    assert refusal("acme.tiled", "--dir", "a/b").endswith("a/b' cannot be written: Permission denied")
    assert list(here.iterdir()) == []


def generated_tests(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str] | None = None, **declared: Any
) -> pytest.RunResult:
    """Change the source and the declaration of a new package and run its tests."""
    document = written("acme.tiled", "--dir", str(pytester.path / "new"))
    kernel = dataclasses.replace(kernel_of(document), **declared)
    if change:
        kernel.source.write_text(kernel.source.read_text().replace(*change))
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("tiled", "acme-tiled")))
    return pytester.runpytest_inprocess(pytester.path / "new" / "tests", "-p", "no:cacheprovider")


EDGES: dict[str, Any] = {
    "configs": [{"block": (8, 4), "EDGE": 12}],
    "constraints": (api.Square(), api.Multiple("n", of="EDGE")),
}


@pytest.mark.parametrize(
    ("change", "declared", "outcomes"),
    [(None, {}, {"passed": 6}), (None, EDGES, {"passed": 1}), (("p < k", "p < k - 1"), {}, {"failed": 6})],
    ids=["each config", "other configs", "a wrong kernel"],
)
def test_the_generated_tests_try_each_config(
    change: Any, declared: Any, outcomes: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated_tests(pytester, monkeypatch, change, **declared).assert_outcomes(**outcomes)


def test_the_generated_tests_try_each_kernel(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = pytester.path / "wrong.cu"
    wrong.write_text(section_of(__file__, "wrong")["wrong.cu"])
    second = Kernel(name="acme.wrong", source=wrong, entry="multiply_wrong", configs=[{"block": (16, 16)}])
    monkeypatch.setitem(registry().kernels, second.name, Registered(second, Origin("wrong", "acme-tiled")))
    result = generated_tests(pytester, monkeypatch)
    result.assert_outcomes(passed=6, failed=2)
    result.stdout.fnmatch_lines(["FAILED *acme.wrong-*"])


@pytest.mark.parametrize(
    ("failed", "expected"),
    [
        ([], "*the package is not installed: python -m pip install -e .*"),
        (
            [FailedPlugin(Origin("second", "acme-tiled"), "no colon")],
            "*plugin second of acme-tiled failed to load: no colon*",
        ),
    ],
    ids=["no kernel", "a module that fails"],
)
def test_the_generated_tests_fail_for_missing_kernels(
    failed: list[FailedPlugin], expected: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = written("acme.tiled", "--dir", str(pytester.path / "new"))
    if failed:
        kernel = kernel_of(document)
        monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("tiled", "acme-tiled")))
        monkeypatch.setattr(registry(), "failed", failed)
    result = pytester.runpytest_inprocess(pytester.path / "new" / "tests", "-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([expected])


def test_git_ignores_what_the_commands_write() -> None:
    folder = Path(written("acme.tiled")["folder"])
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    made = [
        "acme_tiled.egg-info/PKG-INFO",
        "dist/a.whl",
        "build/lib/a.py",
        ".benchmarks/0001.json",
        "tests/__pycache__/a.pyc",
    ]
    asked = ["git", "-C", str(folder), "check-ignore", *made, "acme_tiled/tiled.cu", ".github/workflows/ci.yml"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines() == made


def test_the_workflow_conforms_the_kernels_of_the_package() -> None:
    workflow = Path(written("acme.fast.tiled")["folder"], ".github", "workflows", "ci.yml").read_text()
    commands = re.findall(r"- run: (.*)", workflow)
    assert commands == [
        'python -m pip install "mmcore-cuda @ git+$MMCORE"',
        "python -m pip install -e .",
        "pytest",
        "mmcore conform 'acme.fast.*'",
        "pytest bench --mm-kernel 'acme.fast.*' --mm-device emulator --benchmark-compare=counts.json",
    ]
    assert f"$ {commands[-1]}\n" in Path(written("acme.fast.other")["folder"], "README.md").read_text()
    assert "MMCORE: ${{ vars.MMCORE }}" in workflow


def test_a_block_is_for_a_file() -> None:
    for model in ((), ("--from", "upc.kernel01")):
        for option in (("--block", "16"), ("--config", "BM=8")):
            assert "--block and --config are for a .cu file" in refusal("acme.tiled", *model, *option)


def test_a_compile_error_has_no_traceback(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    result = generated_tests(pytester, monkeypatch, ("float sum", "floot sum"))
    assert result.ret == 1
    assert result.stdout.str().count('identifier "floot" is undefined') == 1
    assert "Traceback" not in result.stdout.str()
    assert "def test_" not in result.stdout.str()


@pytest.mark.slow
def test_wheels_of_mmcore_and_of_a_new_package_work_together(here: Path, tmp_path: Path) -> None:
    document = written("acme.tiled", "--from", "upc.kernel10")
    project = Path(document["folder"])
    python = fresh_environment(tmp_path / "venv", wheel_of_mmcore(tmp_path / "wheels"), project)
    kernels = {kernel["name"]: kernel for kernel in json.loads(run(python, "-m", "mmcore", "list-kernels", "--json"))}
    assert kernels["acme.tiled"]["distribution"] == "acme-tiled"
    assert kernels["upc.kernel10"]["distribution"] == "mmcore-cuda"
    assert "site-packages" in kernels["acme.tiled"]["source"]
    assert "6 passed" in run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=project)
    options = ("--mm-kernel", "acme.tiled", "--mm-device", "emulator", "--mm-size", "32")
    assert "3 passed" in run(python, "-m", "pytest", "bench", *options, cwd=project)
    # The templates are in the wheel, too.
    run(python, "-m", "mmcore", "new-plugin", "acme.other", cwd=here)


WARPS = """#include <mma.h>
using namespace nvcuda::wmma;
__global__ void warps(const half *A, const half *B, float *C, int M, int N, int K)
{
    const int warp = threadIdx.x / 32, row = blockIdx.y * 32 + warp / 2 * 16, column = blockIdx.x * 32 + warp % 2 * 16;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    for (int k = 0; k < K; k += 16) {
        fragment<matrix_a, 16, 16, 16, half, row_major> a;
        fragment<matrix_b, 16, 16, 16, half, row_major> b;
        load_matrix_sync(a, A + row * K + k, K);
        load_matrix_sync(b, B + k * N + column, N);
        mma_sync(sum, a, b, sum);
    }
    store_matrix_sync(C + row * N + column, sum, N, mem_row_major);
}
"""


def test_a_guessed_block_that_is_wrong_is_replaced_by_one_that_is_right(here: Path) -> None:
    Path("warps.cu").write_text(WARPS)
    written("acme.warps", "--from", "warps.cu", "--dir", "made")
    assert '"block": (128, 1)' in Path("made/acme_warps/warps.py").read_text()


def test_multiples_that_small_products_need_are_declared(here: Path) -> None:
    guard = "    if (row >= M || column >= N)\n        return;\n    fill_fragment"
    Path("warps.cu").write_text(WARPS.replace("    fill_fragment", guard, 1))
    result = mmcore("new-plugin", "acme.warps", "--from", "warps.cu", "--dir", "shown")
    assert "declared: block 128x1, with which small products are right\n" in result.stdout
    assert "declared: m, n and k are multiples of 16, as small products are wrong at other sizes\n" in result.stdout
    kernel = kernel_of(written("acme.warps", "--from", "warps.cu", "--dir", "made"))
    assert kernel.constraints == (Multiple(("m", "n", "k"), 16),)
    assert_right(kernel)


def test_a_copy_has_the_headers_of_its_project(here: Path) -> None:
    files = {
        "project/Makefile": "",
        "project/kernels/sizes.cuh": '#include <types.cuh>\n#include "../other/more.cuh"\n',
        "project/kernels/tiles.cu": '#include "sizes.cuh"\n' + TILES,
        "project/include/types.cuh": "typedef float Real;\n",
        "project/include/unused.cuh": "#error\n",
        "project/other/more.cuh": "#define HALF(x) ((x) / 2)\n",
    }
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    document = written("acme.tiles", "--from", "project/kernels/tiles.cu", "--dir", "made")
    package = Path("made/acme_tiles")
    copied = {path.relative_to(package).as_posix() for path in package.rglob("*.cu*")}
    assert copied == {"kernels/tiles.cu", "kernels/sizes.cuh", "include/types.cuh", "other/more.cuh"}
    kernel = kernel_of(document)
    assert kernel.constraints == (Multiple("n", "WIDE"), Multiple("m", "TALL"), Multiple("k", "DEEP"))
    assert dict(kernel.usual_configs[0])["WIDE"] == 16
    assert kernel.defines == {"EDGES": "(TALL + WIDE)"}
    assert_right(kernel)
    assert_ruff_is_silent("made")


TILES = """
#ifndef WIDE
#define WIDE 16
#define TALL 8
#define DEEP 4
#define EDGES (TALL + WIDE)
#endif
__global__ void multiply(const Real *A, const Real *B, Real *C, int m, int n, int k)
{
    __shared__ Real tiles[DEEP][EDGES];
    const int row = blockIdx.y * TALL + threadIdx.y, column = blockIdx.x * WIDE + threadIdx.x;
    Real sum = HALF(0);
    for (int first = 0; first < k; first += DEEP) {
        for (int p = threadIdx.x; p < DEEP; p += WIDE)
            tiles[p][threadIdx.y] = A[row * k + first + p];
        for (int p = threadIdx.y; p < DEEP; p += TALL)
            tiles[p][TALL + threadIdx.x] = B[(first + p) * n + column];
        __syncthreads();
        for (int p = 0; p < DEEP; ++p)
            sum += tiles[p][threadIdx.y] * tiles[p][TALL + threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
"""
