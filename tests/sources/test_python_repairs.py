"""Hints that name the change of a Python function which makes a wrong product right."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.cuda_file.repairs.trial import ChangeableBuild
from tests.command_line import mmcore as command
from tests.tables import section_of

MISTAKES = [
    (language, *mistake)
    for language in ("triton", "numba")
    for mistake in section_of(__file__, language)["mistakes"].values()
]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))


def written(language: str, right: str, wrong: str) -> Path:
    """Write a program with a mistake."""
    text = section_of(__file__, language)["text"].removeprefix("\n")
    assert right in text
    path = Path("my.py").absolute()
    path.write_text(text.replace(right, wrong, 1))
    return path


@pytest.mark.parametrize(("language", "right", "wrong", "change"), MISTAKES)
def test_the_change_that_undoes_a_mistake_is_among_the_first(
    language: str, right: str, wrong: str, change: str
) -> None:
    kernel = file_kernel({"file": written(language, right, wrong)}, {}).kernel
    assert isinstance(kernel.build, ChangeableBuild)
    changed = {what: each for each, what in itertools.islice(kernel.build.changed(kernel), 40)}
    named = [each for what, each in changed.items() if what.startswith(change)]
    assert named, changed.keys()
    build: Any = named[0].build
    assert build.function.text.count("\n") == kernel.source_text().count("\n"), "the lines stay at their places"


@pytest.mark.parametrize(("language", "mistake"), [("triton", "load"), ("numba", "shape")])
def test_a_hint_names_the_change_that_makes_the_product_right(language: str, mistake: str) -> None:
    if find_spec(language) is None:
        pytest.skip(f"python -m pip install 'mmcore-cuda[{language}]' brings {language}")
    right, wrong, change = section_of(__file__, language)["mistakes"][mistake]
    written(language, right, wrong)
    result = command("run", "my.py", "--device", "emulator", "--seed", "1", "--quiet", "--timeout", "600")
    assert result.exit_code == 1
    hint = result.stdout.split("\nhint: ")[1]
    assert f" with {change}" in hint


def test_another_size_is_tried_as_a_divisor() -> None:
    lines = [
        "from numba import cuda", "@cuda.jit", "def mul(A, B, C, m, n, k):", "    at = cuda.grid(1)",
        "    for p in range(k):", "        C[at] += A[at // m * k + p] * B[p * n + at % n]",
    ]  # fmt: skip
    Path("my.py").write_text("\n".join(lines))
    kernel = file_kernel({"file": Path("my.py").absolute()}, {}).kernel
    assert isinstance(kernel.build, ChangeableBuild)
    assert any(what.startswith("n instead of m in line 6:") for _, what in kernel.build.changed(kernel))


def test_an_array_in_shared_memory_has_its_name_in_the_source() -> None:
    pytest.importorskip("numba", reason="python -m pip install 'mmcore-cuda[numba]' brings it")
    written("numba", "a = cuda.shared.array((TILE", "a = cuda.shared.array((15")
    result = command("check", "my.py", "--size", "32", "--quiet")
    assert "past the end of a (shared)" in result.stdout
