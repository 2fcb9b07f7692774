"""A copy of a registered kernel: its source with the headers beside it, and a module that declares it anew."""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mmcore.errors import PluginNotWritten
from mmcore.kernel.declaration import Kernel
from mmcore.registry import GROUP, Registered
from mmcore_new_plugin.expressions import declaration
from mmcore_new_plugin.layout import broken, text_literal
from mmcore_new_plugin.modules import Statement
from mmcore_new_plugin.names import Names
from mmcore_new_plugin.transplant import Transplant

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
_COMMENT_WIDTH = 100


@dataclass(frozen=True)
class Copy:
    """What a copied kernel brings to its new package.

    Attributes:
        module: text of the Python module.
        sources: text of the .cu file and of its headers, by path in the package.
        dependencies: packages other than mmcore that the module imports from.
    """

    module: str
    sources: dict[str, str]
    dependencies: tuple[str, ...]


def copy_of(registered: Registered, names: Names) -> Copy:
    """The kernel under its new name, in a package that needs the old one no more.

    Raises:
        PluginNotWritten: a part of it cannot be copied; the text names it.
        InvalidKernel: its source cannot be read.
    """
    kernel = registered.kernel
    try:
        sources = _sources(kernel, registered.distribution, names)
        transplant = Transplant(own=_plugin_module(registered).partition(".")[0])
        module = _module(kernel, names, transplant)
    except PluginNotWritten as error:
        raise PluginNotWritten(f"{kernel.name} cannot be copied: {error}") from None
    return Copy(module, sources, _dependencies(module for module, _ in transplant.imports.values()))


def _plugin_module(registered: Registered) -> str:
    """The module that the kernel's entry point names."""
    for entry in importlib.metadata.entry_points(group=GROUP, name=registered.plugin):
        if entry.dist is not None and entry.dist.name == registered.distribution:
            return entry.module
    return ""


def _module(kernel: Kernel, names: Names, transplant: Transplant) -> str:
    transplant.import_as("Path", "pathlib", "Path")
    transplant.import_as("Kernel", "mmcore", "Kernel")
    transplant.import_as("hookimpl", "mmcore", "hookimpl")
    changed = {
        "name": text_literal(names.kernel),
        "title": text_literal(f"A copy of {kernel.name}: {kernel.title}"),
        "lecture": text_literal(f"{names.family}'s own, after {kernel.name}"),
        "source": 'Path(__file__).with_suffix(".cu")',
    }
    declared = broken("", declaration(kernel, transplant, changed), 8)
    text = [
        f'"""{names.kernel}: begun as a copy of {kernel.name}."""',
        "\nfrom __future__ import annotations\n",
        *_import_lines(transplant.imports),
    ]
    above: Statement | None = None
    for statement, code in transplant.in_order():
        text += [*_between(above, statement), code]
        above = statement
    hook = ["", "", "@hookimpl", "def mmcore_kernels() -> list[Kernel]:", '    """The kernels of this package."""']
    declared[-1] = declared[-1].removesuffix(",")
    text += [*hook, "    return [", *declared, "    ]"]
    return "\n".join(text) + "\n"


def _between(above: Statement | None, below: Statement) -> list[str]:
    """The blank lines between two statements: two about a function or class, one or none, as it was, elsewhere."""
    if below.is_definition or (above is not None and above.is_definition):
        return ["", ""]
    if above is not None and (above.module, above.end + 1) == (below.module, below.line):
        return []
    return [""]


def _import_lines(imports: dict[str, tuple[str, str]]) -> list[str]:
    """The import statements: Python's own modules, then others; in each, modules before names."""
    sections: dict[bool, tuple[list[str], dict[str, list[str]]]] = {False: ([], {}), True: ([], {})}
    for name, (module, there) in imports.items():
        modules, members = sections[_top(module) not in sys.stdlib_module_names]
        if not there:
            modules.append(f"import {module}" if name == module else f"import {module} as {name}")
        else:
            members.setdefault(module, []).append(there if there == name else f"{there} as {name}")
    lines: list[str] = []
    for modules, members in sections.values():
        section = sorted(modules)
        for module in sorted(members):
            section += _from(module, sorted(members[module], key=_rank))
        lines += [*section, ""] if section else []
    return lines[:-1]


def _rank(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions, as import sorters have it."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def _from(module: str, members: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(members)}"
    if len(line) <= 120:
        return [line]
    return [f"from {module} import (", *(f"    {member}," for member in members), ")"]


def _sources(kernel: Kernel, distribution: str, names: Names) -> dict[str, str]:
    """The .cu file and the headers that it includes by quoted names, as far as they lie beside it or below."""
    text = kernel.source_text()
    folder = kernel.source.parent
    if any(str(folder) in option for option in kernel.options):
        raise PluginNotWritten("its NVRTC options name the folder that its source is in")
    credit = f"{names.kernel}: begun as a copy of {kernel.name} ({kernel.lecture}), from the package {distribution}."
    lines = textwrap.wrap(f"{credit} Its own text follows.", _COMMENT_WIDTH - 3)
    files = {f"{names.module}.cu": "".join(f"// {line}\n" for line in lines) + "\n" + text.lstrip("\ufeff\n")}
    waiting = [(kernel.source, text)]
    while waiting:
        path, text = waiting.pop()
        for header in (path.parent / name for name in _INCLUDE.findall(text)):
            if not header.is_file():
                continue  # one of CUDA's own
            inside = os.path.relpath(header, folder).replace(os.sep, "/")
            if inside.startswith("../") or inside == f"{names.module}.cu":
                raise PluginNotWritten(f"its source includes {inside}, for which the copy has no place")
            if inside not in files:
                files[inside] = _read(header)
                waiting.append((header, files[inside]))
    return files


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise PluginNotWritten(f"its header {path} cannot be read as UTF-8 text") from None


def _top(module: str) -> str:
    return module.partition(".")[0]


def _dependencies(modules: Iterable[str]) -> tuple[str, ...]:
    """The packages that bring these modules, as pip calls them, without mmcore."""
    strangers = {_top(module) for module in modules} - sys.stdlib_module_names - {"mmcore"}
    if not strangers:
        return ()
    distributions = importlib.metadata.packages_distributions()
    return tuple(sorted({name for stranger in strangers for name in distributions.get(stranger, ())}))
