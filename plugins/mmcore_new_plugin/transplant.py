"""Take what a kernel's rule and declaration need out of the package they stand in, into one module.

Functions, classes and constants of the package itself are copied, with what they use in turn; what comes from
elsewhere is imported as it was.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType

from mmcore.errors import PluginNotWritten
from mmcore_new_plugin.modules import (
    Statement,
    home,
    imported_from,
    is_builtin,
    source_of,
    statements,
)


@dataclass
class Transplant:
    """The statements and imports of a module in the making.

    Attributes:
        own: the top-level package that is copied from.
        imports: what is imported from elsewhere, (module, name there) by name here; a module itself has no name there.
        texts: the statements copied, as they will be written.
    """

    own: str
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)
    texts: dict[Statement, str] = field(default_factory=dict)
    _origins: dict[str, tuple[str, str]] = field(default_factory=dict)
    _before: dict[str, dict[str, None]] = field(default_factory=dict)

    def name_of(self, value: object) -> str:
        """Make a function or class available, and return what it is called here."""
        module, name = home(value)
        if _public(value):
            module, name = "mmcore", getattr(value, "__name__", name)
        self.need(module, name)
        return name

    def need(self, module: str, name: str) -> None:
        """Make a module's name available under that name.

        Raises:
            PluginNotWritten: it cannot be, for a reason that the text tells.
        """
        if not self._is_own(module):
            self.import_as(name, module, name)
            return
        found = statements(module).get(name)
        if not found:
            raise PluginNotWritten(f"where {name} in {module} comes from cannot be told from that module's source")
        for statement in found:
            if isinstance(statement.node, (ast.Import, ast.ImportFrom)):
                self._need_imported(statement, statement.node, name)
            elif self._claim(name, (module, name)) or statement not in self.texts:
                self._refuse_own_imports_within(statement)
                self.texts[statement] = ""
                self.texts[statement] = self._rewritten(statement)

    def import_as(self, name: str, module: str, there: str) -> None:
        """Import a name of another package; ``there`` is empty for the module itself."""
        if self._claim(name, (module, there)):
            self.imports[name] = (module, there)

    def in_order(self) -> list[tuple[Statement, str]]:
        """The statements with their texts: a module's in their order there, behind those of the modules it uses."""
        modules: dict[str, None] = {}

        def visit(module: str, path: tuple[str, ...]) -> None:
            for before in self._before.get(module, {}):
                if before not in path:
                    visit(before, (*path, module))
            modules.setdefault(module)

        for statement in self.texts:
            visit(statement.module, ())
        rank = list(modules)
        return sorted(self.texts.items(), key=lambda item: (rank.index(item[0].module), item[0].line))

    def _is_own(self, module: str) -> bool:
        return module.partition(".")[0] == self.own

    def _claim(self, name: str, origin: tuple[str, str]) -> bool:
        """Whether a name is new here."""
        if name not in self._origins:
            self._origins[name] = origin
            return True
        if self._origins[name] != origin:
            both = " and one ".join(f"of {module}" for module, _ in (self._origins[name], origin))
            raise PluginNotWritten(f"it needs one {name} {both}, and a module can have only one")
        return False

    def _need_imported(self, statement: Statement, node: ast.Import | ast.ImportFrom, name: str) -> None:
        (alias,) = (each for each in node.names if (each.asname or each.name.partition(".")[0]) == name)
        if isinstance(node, ast.ImportFrom):
            module, there = imported_from(node, statement.module), alias.name
        else:
            module, there = alias.name, ""
        if not self._is_own(module):
            # ``import a.b`` binds a, and has to be written with its dot all the same.
            self.import_as(name if alias.asname or there else module, module, there)
        elif there != name:
            raise PluginNotWritten(f"{statement.module} gives {alias.name} of its own package another name, {name}")
        else:
            self._before.setdefault(statement.module, {}).setdefault(module)
            self.need(module, name)

    def _refuse_own_imports_within(self, statement: Statement) -> None:
        for node in ast.walk(statement.node):
            modules: list[str] = []
            if isinstance(node, ast.ImportFrom):
                modules = [imported_from(node, statement.module)]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            if any(map(self._is_own, modules)):
                raise PluginNotWritten(
                    f"{statement.module} imports from its own package in line {node.lineno}, not at its top"  # type: ignore[attr-defined]
                )

    def _rewritten(self, statement: Statement) -> str:
        """The statement's text, once all it uses is here; ``module.name`` of its own package becomes ``name``."""
        module, reached = statement.module, list(self._reached(statement))
        through = {each.root for each in reached}
        for name in sorted(statement.uses() - through):
            if name in statements(module):
                self.need(module, name)
            elif not is_builtin(name) and hasattr(sys.modules[module], name):
                raise PluginNotWritten(f"where {name} in {module} comes from cannot be told from that module's source")
        taken = {each.arg for each in ast.walk(statement.node) if isinstance(each, ast.arg)}
        taken |= {each.id for each in ast.walk(statement.node) if isinstance(each, ast.Name)}
        lines = source_of(module).splitlines()
        for each in sorted(reached, key=lambda each: -each.node.col_offset):
            if each.name in taken or each.node.end_lineno != each.node.lineno:
                raise PluginNotWritten(f"{module} uses {each.name} of {each.module} in a way that cannot be copied")
            self._before.setdefault(module, {}).setdefault(each.module)
            self.need(each.module, each.name)
            line = lines[each.node.lineno - 1].encode()
            changed = line[: each.node.col_offset] + each.name.encode() + line[each.node.end_col_offset :]
            lines[each.node.lineno - 1] = changed.decode()
        return "\n".join(lines[statement.line - 1 : statement.end])

    def _reached(self, statement: Statement) -> Iterator[_Reached]:
        """Where the statement names something of its own package through the module that it is in."""
        for node in ast.walk(statement.node):
            root, path = node, []
            while isinstance(root, ast.Attribute):
                path.append(root.attr)
                root = root.value
            if not (isinstance(node, ast.Attribute) and isinstance(root, ast.Name) and root.id in statement.uses()):
                continue
            value: object = sys.modules[statement.module]
            for attribute in (root.id, *reversed(path[1:])):
                value = getattr(value, attribute, None)
            named = getattr(value, node.attr, None)
            if isinstance(value, ModuleType) and self._is_own(value.__name__) and not isinstance(named, ModuleType):
                yield _Reached(node, root.id, value.__name__, node.attr)


@dataclass(frozen=True)
class _Reached:
    """``root.….name`` in a statement: a name of the module ``module``."""

    node: ast.Attribute
    root: str
    module: str
    name: str


def _public(value: object) -> bool:
    """Whether mmcore offers it to plugins."""
    mmcore = importlib.import_module("mmcore")
    name = getattr(value, "__name__", "")
    return name in mmcore.__all__ and getattr(sys.modules["mmcore"], name) is value
