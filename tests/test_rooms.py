"""The rooms of ``plugins/``: each imports the core and the rooms below it, as docs/architecture.md orders them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
TABLE = ARCHITECTURE.partition("\n## Rooms\n")[2].partition("\n## ")[0]
ROOMS = tuple(re.findall(r"^\| `(mmcore\w*)` \|", TABLE, re.MULTILINE))
FOLDERS = {room: ROOT / ("mmcore" if room == "mmcore" else f"plugins/{room}") for room in ROOMS}
# A worker process is given a function by its name.
_FUNCTION = re.compile(r"(mmcore\w*)(\.\w+)*:\w+")


def imported_rooms(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the room of every import of a module, deferred imports and functions by name included."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} is a relative import"
            names = [node.module or ""]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _FUNCTION.fullmatch(node.value):
            names = [node.value.partition(":")[0]]
        for name in names:
            if (room := name.partition(".")[0]) in ROOMS:
                yield getattr(node, "lineno", 0), room


def test_every_package_is_a_room() -> None:
    packages = {path.parent.name for path in (ROOT / "plugins").glob("*/__init__.py")}
    assert {"mmcore", *packages} == {*ROOMS}
    assert len(ROOMS) == len({*ROOMS}), "a room is listed twice"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    upward = [
        f"{module.relative_to(ROOT)}:{line} imports {other}"
        for module in sorted(FOLDERS[room].rglob("*.py"))
        for line, other in imported_rooms(module)
        if other not in allowed
    ]
    assert upward == []


def running_imports(node: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Yield what code imports when it runs, deferred imports included, those for annotations not."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        names = {f"{node.module}.{alias.name}": node.module or "" for alias in node.names}
        yield from (name if name in modules else module for name, module in names.items())
    for child in ast.iter_child_nodes(node):
        yield from running_imports(child, modules)


def test_no_module_of_the_core_imports_itself_through_others() -> None:
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in FOLDERS["mmcore"].rglob("*.py")}
    modules = {name.removesuffix(".__init__"): ast.parse(path.read_text("utf-8")) for name, path in paths.items()}
    graph = {name: {*running_imports(tree, modules)} & modules.keys() for name, tree in modules.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which has the modules


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_begins_with_a_sentence_about_its_content(room: str) -> None:
    docstring = ast.get_docstring(ast.parse((FOLDERS[room] / "__init__.py").read_text(encoding="utf-8"))) or ""
    first = docstring.partition("\n")[0]
    assert first.endswith(".")
    assert len(first.split()) >= 5


def test_one_module_imports_the_parser_of_cuda() -> None:
    modules = [module for room in ROOMS for module in FOLDERS[room].rglob("*.py")]
    importing = [
        module for module in modules if re.search(r"^\s*(import|from) tree_sitter", module.read_text("utf-8"), re.M)
    ]
    assert [module.relative_to(ROOT).as_posix() for module in importing] == ["plugins/mmcore_cuda/cuda_source/tree.py"]
