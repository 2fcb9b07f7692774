"""The emulator's folders: each imports only those before it, and only the adapter imports mmcore."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mmcore_emulator

ROOT = Path(mmcore_emulator.__file__).parent
ORDER = (
    *("errors", "numerics", "ptx", "tensor_cores", "machine", "isa", "executor"),
    *("sanitizer", "profiler", "explain", "api", "adapter"),
)


def imported(module: Path) -> list[str]:
    """The modules that a module imports, wherever in it."""
    nodes = ast.walk(ast.parse(module.read_text(encoding="utf-8")))
    return [
        name
        for node in nodes
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    ]


@pytest.mark.parametrize("folder", ORDER)
def test_a_folder_imports_only_those_before_it(folder: str) -> None:
    before = ORDER[: ORDER.index(folder) + 1]
    for module in [ROOT / f"{folder}.py"] if folder == "errors" else sorted((ROOT / folder).rglob("*.py")):
        for name in imported(module):
            package, *path = name.split(".")
            if package == "mmcore_emulator":
                assert path[0] in before, f"{module} imports {name}"
            else:
                assert folder == "adapter" or not package.startswith("mmcore"), f"{module} imports {name}"


def test_every_folder_has_its_place_in_the_order() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*ORDER} - {"errors"}
