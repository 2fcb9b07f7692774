"""The emulator's folders: each imports only those before it, and only the adapter imports mmcore."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import mmcore_emulator
from mmcore_emulator.isa.table import REFUSED, semantics_of

ROOT = Path(mmcore_emulator.__file__).parent
ORDER = (
    *("errors", "numerics", "ptx", "tensor_cores", "machine", "isa", "executor"),
    *("sanitizer", "profiler", "explain", "proof", "conditions", "api", "adapter"),
)


def imported(module: Path) -> list[str]:
    """Return the modules that a module imports, inside functions too."""
    names: list[str] = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
        elif isinstance(node, ast.Import):
            names += [each.name for each in node.names]
    return names


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


def test_opcodes_that_the_table_refuses_have_no_semantics() -> None:
    assert [name for name, opcode in REFUSED.items() if semantics_of(tuple(opcode.split(".")))] == []


def test_opcodes_are_looked_at_in_the_table_alone() -> None:
    # ptx/ puts functions that are called, parameters and carries into other instructions, before any is decoded;
    # explain/ titles its pictures with opcodes.
    outside = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("isa", "ptx", "explain")]
    uses = Counter(
        path.relative_to(ROOT).as_posix()
        for path in outside
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "opcode" and isinstance(node.ctx, ast.Load)
    )
    # A warp barrier's instruction, and an instruction's name in a message.
    assert uses == {"executor/translation/control_flow.py": 1, "executor/divergence.py": 1}
