"""``mmcore new-plugin``: what it writes works as written; what it cannot write, it does not begin."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mmcore as api
from mmcore import Kernel
from mmcore.api import device
from mmcore.planning.plan import plan
from mmcore.registry import Registry, registry
from mmcore.runner import run_kernel
from tests.command_line import mmcore
from tests.fresh_environment import fresh_environment, run
from tests.test_kernels import LECTURE_KERNELS

ROOT = Path(__file__).parent.parent
SIZES = ((5, 100, 33), (64, 128, 192), (96, 32, 64), (96, 96, 96), (100, 100, 100))
# What a copy has of its own; its rule is a function of the same text.
ITS_OWN = {"name", "title", "lecture", "source", "launch"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command is called in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def written(*arguments: str) -> dict[str, Any]:
    """What ``--json`` says of a package that could be written."""
    result = mmcore("new-plugin", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def refusal(*arguments: str) -> str:
    """The sentence with which the command is refused."""
    result = mmcore("new-plugin", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    return line


def kernel_of(document: dict[str, Any]) -> Kernel:
    """The kernel that a written package brings, by way of the registry."""
    folder = Path(document["folder"])
    points = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["entry-points"]["mmcore"]
    ((name, module),) = points.items()
    path = (folder / module.replace(".", "/")).with_suffix(".py")
    plugin = ModuleType(module)
    plugin.__file__ = str(path)
    sys.modules[module] = plugin
    try:
        exec(compile(path.read_text(encoding="utf-8"), path, "exec"), vars(plugin))
        found = Registry()
        found.add(plugin, name, document["distribution"])
    finally:
        del sys.modules[module]
    assert found.complaints() == []
    return found.kernel(document["kernel"])


def assert_right(kernel: Kernel) -> None:
    """Verify a kernel on the emulator, at those of the sizes that it allows."""
    emulator = device("emulator")
    allowed = [sizes for sizes in SIZES if not kernel.refusals(kernel.problem(*sizes), kernel.block(kernel.blocks[0]))]
    assert allowed
    for sizes in allowed:
        outcome = run_kernel(kernel, kernel.problem(*sizes), kernel.block(kernel.blocks[0]), emulator)
        assert outcome.verified, (sizes, outcome.complaints())


def assert_same(copy: Kernel, original: Kernel) -> None:
    """Two kernels declare the same, and their rules make the same launches of the same problems."""
    for field in dataclasses.fields(Kernel):
        if field.name not in ITS_OWN:
            assert getattr(copy, field.name) == getattr(original, field.name), field.name
    limits = device("emulator").limits
    for block in map(original.block, original.blocks):
        for sizes in SIZES:
            problem = original.problem(*sizes)
            assert copy.launch(problem, block, limits) == original.launch(problem, block, limits)


def assert_ruff_is_silent(folder: str) -> None:
    """Nothing is to be said about a package's style, under its own settings."""
    pytest.importorskip("ruff")
    for command in (("check", "--select", "E,F,W,I,B,UP"), ("format", "--check", "--diff")):
        result = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--no-cache", folder], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr


def test_the_template_is_right_at_unequal_sizes_and_refused_with_its_reason() -> None:
    kernel = kernel_of(written("acme.tiled"))
    assert_right(kernel)
    with pytest.raises(api.ConstraintViolation, match="one thread along z"):
        run_kernel(kernel, kernel.problem(5, 6, 7), kernel.block("8x8x2"), device("emulator"))


@pytest.mark.parametrize("model", sorted(LECTURE_KERNELS))
def test_a_copy_of_a_lectures_kernel_is_right_and_needs_its_package_no_more(model: str) -> None:
    document = written("acme.mine", "--from", model)
    kernel = kernel_of(document)
    original = api.kernels()[model]
    assert_right(kernel)
    assert_same(kernel, original)
    assert model in kernel.title
    assert model in kernel.lecture
    assert kernel.source_text().endswith(original.source_text())
    texts = "".join((Path(document["folder"]) / name).read_text() for name in document["files"])
    assert "mmcore_" not in texts.replace("mmcore_kernels", "")


def test_a_copys_comments_and_docstring_are_the_models() -> None:
    document = written("acme.mine", "--from", "poznan.v4a")
    text = (Path(document["folder"]) / "acme_mine" / "mine.py").read_text()
    assert "    # The last step asks for the tiles behind the last." in text
    assert '"""As many blocks as C has whole tiles."""' in text
    assert 'entry="v4a<{block.x}>"' in text


@pytest.mark.parametrize("arguments", [(), *(("--from", name) for name in sorted(LECTURE_KERNELS))], ids=str)
def test_the_generated_tests_name_every_block_and_every_constraint(arguments: tuple[str, ...]) -> None:
    document = written("acme.mine", *arguments)
    kernel = kernel_of(document)
    names: dict[str, Any] = {}
    text = (Path(document["folder"]) / "tests" / "test_kernel.py").read_text(encoding="utf-8")
    exec(text[text.index("# Block and m") : text.index("@pytest")], names)
    assert {kernel.block(block) for block, *_ in names["ALLOWED"]} == set(map(kernel.block, kernel.blocks))
    for block, m, n, k in names["ALLOWED"]:
        assert kernel.refusals(kernel.problem(m, n, k), kernel.block(block)) == []
    assert len(names["REFUSED"]) == len(kernel.constraints)
    for constraint, (block, m, n, k, reason) in zip(kernel.constraints, names["REFUSED"], strict=True):
        assert reason == constraint.refusal(kernel.problem(m, n, k), kernel.block(block))
    if not any(isinstance(constraint, api.Square) for constraint in kernel.constraints):
        assert any(len({m, n, k}) == 3 for _, m, n, k in names["ALLOWED"])


@pytest.mark.parametrize("arguments", [(), *(("--from", name) for name in sorted(LECTURE_KERNELS))], ids=str)
def test_what_is_written_is_formatted_and_passes_ruff(arguments: tuple[str, ...]) -> None:
    written("acme.mine", *arguments)
    assert_ruff_is_silent("acme-mine")


STRANGER = {
    "stranger/__init__.py": "",
    "stranger/deep/__init__.py": "",
    "stranger/deep/sizes.py": "# As many as a warp has.\nWARP = 32\nUNUSED = object()\n",
    "stranger/grids.py": '''
from functools import lru_cache

import numpy as np

from .deep import sizes


@lru_cache
def strips(columns: int, width: int) -> int:
    """How many strips there are."""
    return int(np.ceil(columns / width))


def warps(block):
    return strips(block.x, sizes.WARP)
''',
    "stranger/variants.py": '''
import functools
from dataclasses import dataclass
from pathlib import Path

import mmcore
from mmcore import Kernel, Launch, hookimpl
from stranger import grids
from stranger.grids import strips

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Whole:
    """A block of whole warps."""

    what: str
    most: int = 8

    @property
    def sentence(self) -> str:
        return f"the {self.what} is of at most {self.most} whole warps"

    def refusal(self, problem, block):
        bad = block.x % 32 or grids.warps(block) > self.most
        return f"the {self.what} of {block.x} threads is not of whole warps" if bad else None


def launch(columns, problem, block, limits):
    """A row of blocks, ``columns`` for each thread."""
    return Launch(grid=(strips(problem.n, block.x * columns),), block=block)


def made(columns):
    """A variant."""
    return Kernel(
        name=f"stranger.by{columns}",
        title='so many columns per thread, "as they say"',
        lecture="a stranger's own",
        source=HERE / "cuda" / "columns.cuda",
        entry="columns<{block.x}>",
        arguments=("A", "B", "C", "m", "n", "k", mmcore.Scalar(columns)),
        launch=functools.partial(launch, columns),
        blocks=((64,), (128,)),
        constraints=(Whole("block"),),
        options=("--fmad=false",),
        min_compute_capability=(8, 0),
    )


TABLE = {}
TABLE["blocks"] = 7


def tabled(problem, block, limits):
    """A rule that looks into a table, which is filled in a statement of its own."""
    return Launch(grid=(TABLE.get("blocks", 1),), block=block)


def with_rule(name, rule):
    return Kernel(**{**vars(made(3)), "name": name, "launch": rule})


def hidden():
    """A variant whose rule cannot be reached."""
    def rule(problem, block, limits):
        return Launch(grid=(1,), block=block)

    return with_rule("stranger.hidden", rule)


@hookimpl
def mmcore_kernels():
    return [made(1), made(2), hidden(), with_rule("stranger.tabled", tabled)]
''',
    "stranger/cuda/columns.cuda": """
#include "common/sum.cuh"
template <int WIDTH>
__global__ void columns(const float* A, const float* B, float* C, int m, int n, int k, int each)
{
    for (int i = 0; i < each; ++i) {
        const int column = (blockIdx.x * each + i) * WIDTH + threadIdx.x;
        for (int row = 0; row < m && column < n; ++row)
            C[row * n + column] = dot(A + row * k, B + column, k, n);
    }
}
""",
    "stranger/cuda/common/sum.cuh": """
static __device__ float dot(const float* a, const float* b, int k, int n)
{
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += a[p] * b[p * n];
    return sum;
}
""",
    "stranger-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n",
    "stranger-1.0.dist-info/entry_points.txt": "[mmcore]\nstranger.columns = stranger.variants\n",
}


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A third party's package of several modules, installed as long as the test lasts."""
    for name, text in STRANGER.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry.cache_clear()
    yield
    registry.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "stranger"]:
        del sys.modules[name]


@pytest.mark.usefixtures("stranger")
def test_a_strangers_kernel_is_copied_with_all_that_it_uses_and_nothing_else() -> None:
    original = api.kernels()["stranger.by2"]
    document = written("acme.mine", "--from", "stranger.by2")
    assert [name for name in document["files"] if name.startswith("acme_mine/")] == [
        "acme_mine/__init__.py",
        "acme_mine/mine.py",
        "acme_mine/mine.cu",
        "acme_mine/common/sum.cuh",
    ]
    text = (Path(document["folder"]) / "acme_mine" / "mine.py").read_text()
    assert "stranger" not in text.replace("stranger.by2", "")
    assert "UNUSED" not in text
    assert "# As many as a warp has.\nWARP = 32\n" in text
    assert text.index("WARP =") < text.index("def strips") < text.index("def warps") < text.index("class Whole")
    assert_ruff_is_silent("acme-mine")
    copy = kernel_of(document)
    assert_right(copy)
    problem, block = copy.problem(5, 300, 33), copy.block(64)
    assert plan(copy, problem, block, device("emulator").limits).launches == (
        plan(original, problem, block, device("emulator").limits).launches
    )
    assert copy.refusals(problem, copy.block(65)) == original.refusals(problem, copy.block(65)) != []
    settings = tomllib.loads((Path(document["folder"]) / "pyproject.toml").read_text())
    assert settings["tool"]["setuptools"]["package-data"] == {"acme_mine": ["*.cu", "*.cuh", "*.h", "common/sum.cuh"]}
    assert settings["project"]["dependencies"] == ["mmcore", "numpy"]


@pytest.mark.usefixtures("stranger")
def test_a_rule_that_stands_inside_a_function_is_refused_by_name(here: Path) -> None:
    assert "stranger.hidden cannot be copied: hidden.<locals>.rule does not stand at the top of a module" in refusal(
        "acme.mine", "--from", "stranger.hidden"
    )
    assert list(here.iterdir()) == []


@pytest.mark.usefixtures("stranger")
def test_a_copy_that_would_do_something_else_is_not_written(here: Path) -> None:
    assert "stranger.tabled cannot be copied: the copy's rule or constraints would say something else" in refusal(
        "acme.mine", "--from", "stranger.tabled"
    )
    assert list(here.iterdir()) == []


def test_the_names_come_from_the_kernels() -> None:
    document = written("acme.fast.4x4")
    assert (document["package"], document["distribution"]) == ("acme_fast_4x4", "acme-fast-4x4")
    assert "acme_fast_4x4/fast_4x4.cu" in document["files"]
    digits = written("acme.4x4")
    assert "acme_4x4/kernel_4x4.cu" in digits["files"]
    assert_right(kernel_of(digits))
    # A word of C++ cannot name a function, but a kernel.
    assert_right(kernel_of(written("acme.float")))


def test_json_lists_every_file_that_is_there_and_no_other(here: Path) -> None:
    document = written("acme.tiled", "--dir", "some/where")
    assert Path(document["folder"]) == here / "some" / "where"
    found = {str(path.relative_to(here / "some/where")) for path in here.rglob("*") if path.is_file()}
    assert found == set(document["files"])
    assert document["from"] is None


def test_the_text_names_the_files_and_the_next_commands(here: Path) -> None:
    result = mmcore("new-plugin", "acme.tiled", "--dir", "my plugin")
    assert result.exit_code == 0
    for path in (path for path in here.rglob("*") if path.is_file()):
        assert str(path.relative_to(here / "my plugin")) in result.stdout
    assert result.stdout.endswith("    pytest bench --mm-kernel acme.tiled\n")
    assert "    cd 'my plugin'\n" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Tiled",), "'Tiled' is not a kernel name: words of a-z, 0-9 and _ joined by dots, such as acme.fast"),
        (("tiled",), "'tiled' is not a kernel name"),
        (("acme.",), "'acme.' is not a kernel name"),
        (("acme.tïled",), "'acme.tïled' is not a kernel name"),
        (("acme.٣",), "'acme.٣' is not a kernel name"),
        (("acme/../x.y",), "is not a kernel name"),
        (("",), "'' is not a kernel name"),
        (("acme.lambda",), "'acme.lambda' cannot name a module: 'lambda' is a keyword of Python's"),
        (("class.fast",), "'class' is a keyword of Python's"),
        (("upc.kernel11",), "there is a kernel 'upc.kernel11' already, in the package mmcore; take another name"),
        (("mmcore.upc",), "there is a Python package mmcore_upc already; take another name than 'mmcore.upc'"),
        (("acme.mine", "--from", "upc.kernel12"), "there is no kernel 'upc.kernel12'; did you mean"),
        ((), "Missing argument 'NAME'"),
    ],
    ids=str,
)
def test_a_bad_name_is_refused_in_one_sentence_and_nothing_is_written(
    arguments: tuple[str, ...], said: str, here: Path
) -> None:
    assert said in refusal(*arguments)
    assert list(here.iterdir()) == []


def test_a_folder_that_is_not_empty_is_left_as_it_is(here: Path) -> None:
    (here / "acme-tiled").mkdir()
    (here / "acme-tiled" / "notes").write_text("mine")
    assert "/acme-tiled' is not empty; give another with --dir" in refusal("acme.tiled")
    assert [path.name for path in here.rglob("*")] == ["acme-tiled", "notes"]


@pytest.mark.parametrize("folder", ["file", "file/below", "nowhere"])
def test_what_is_no_folder_is_not_replaced(folder: str, here: Path) -> None:
    (here / "file").write_text("mine")
    (here / "nowhere").symlink_to(here / "gone")
    assert f"/{folder.partition('/')[0]}' is there already and is no folder" in refusal("acme.tiled", "--dir", folder)
    assert (here / "file").read_text() == "mine"
    assert sorted(os.listdir(here)) == ["file", "nowhere"]


@pytest.mark.parametrize("folder", [".", "empty"])
def test_an_empty_folder_is_filled_and_stays_the_same_folder(folder: str, here: Path) -> None:
    (here / "empty").mkdir()
    target = here / "empty"
    if folder == ".":
        os.chdir(target)
    before = target.stat().st_ino
    document = written("acme.tiled", "--dir", folder)
    assert target.stat().st_ino == before
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} == set(document["files"])


def test_a_folder_that_must_not_be_written_is_one_sentence(monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryDirectory", refuse)
    assert refusal("acme.tiled", "--dir", "a/b").endswith("a/b' cannot be written: Permission denied")
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("folder", ["a/b", "empty"])
def test_a_disk_that_is_full_halfway_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, here: Path, folder: str
) -> None:
    (here / "empty").mkdir()
    write, calls = Path.write_text, iter(range(100))

    def full(path: Path, *arguments: Any, **named: Any) -> int:
        if next(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, *arguments, **named)

    monkeypatch.setattr(Path, "write_text", full)
    assert "cannot be written: No space left on device" in refusal("acme.tiled", "--dir", folder)
    assert [path.name for path in here.rglob("*")] == ["empty"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A fresh environment's interpreter, and the new package that is installed in it."""
    folder = tmp_path_factory.mktemp("new")
    result = mmcore("new-plugin", "acme.tiled", "--from", "upc.kernel10", "--dir", str(folder / "project"))
    assert result.exit_code == 0, result.stderr
    return fresh_environment(folder / "venv", folder / "project"), folder / "project"


def test_an_installed_package_is_listed_run_tested_and_benchmarked(environment: tuple[Path, Path]) -> None:
    python, project = environment
    kernels = {kernel["name"]: kernel for kernel in json.loads(run(python, "-m", "mmcore", "list-kernels", "--json"))}
    assert kernels["acme.tiled"]["distribution"] == "acme-tiled"
    assert "site-packages" in kernels["acme.tiled"]["source"]
    arguments = ("acme.tiled", "-m", "32", "-n", "64", "-k", "96", "--device", "emulator", "--json")
    assert json.loads(run(python, "-m", "mmcore", "run", *arguments))["verified"] is True
    tests = run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=project)
    assert "12 passed" in tests
    options = ("--mm-kernel", "acme.tiled", "--mm-device", "emulator", "--mm-size", "32")
    bench = run(python, "-m", "pytest", "bench", *options, cwd=project)
    assert "acme.tiled-32x32x32-b32: verified" in bench
    assert "3 passed" in bench


def test_the_generated_tests_notice_a_kernel_that_is_broken(here: Path) -> None:
    folder = Path(written("acme.tiled")["folder"])
    source = folder / "acme_tiled" / "tiled.cu"
    source.write_text(source.read_text().replace("p < k", "p < k - 1"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "9 failed, 2 passed" in result.stdout


def test_a_wheel_of_mmcore_has_the_templates_in_it(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "mmcore", source / "mmcore", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "plugins").mkdir()
    run(Path(sys.executable), "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", str(tmp_path), str(source))  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    templates = {str(path.relative_to(ROOT)) for path in (ROOT / "mmcore" / "scaffolding" / "templates").iterdir()}
    assert templates
    assert templates <= inside
