"""The core's modules import each other in one direction."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import mmcore

ROOT = Path(mmcore.__file__).parent


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_module(path): path for path in ROOT.rglob("*.py")}


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the names that are imported, also inside functions, except for annotations."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            name = f"{node.module}.{alias.name}"
            yield name if name in MODULES else str(node.module)
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)


def test_no_module_of_the_core_imports_itself_through_others() -> None:
    graph = {name: set(_imports(ast.parse(path.read_text()))) & set(MODULES) for name, path in MODULES.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which has the modules


def test_the_core_imports_no_plugin() -> None:
    imported = {name for path in MODULES.values() for name in _imports(ast.parse(path.read_text()))}
    assert not {name for name in imported if name.startswith("mmcore_")}
