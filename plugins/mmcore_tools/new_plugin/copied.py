"""A copy of a registered kernel: its module, its source, and the headers beside them."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from mmcore.files import read_text
from mmcore.kernel.declaration import Kernel
from mmcore.plugin_table import Registered
from mmcore.registry import DISTRIBUTION, Registry, registry
from mmcore_tools.new_plugin.names import Names, PluginNotWritten

_HEADERS = (".cuh", ".h", ".hpp", ".inl")


def copied_files(registered: Registered[Kernel], names: Names) -> dict[str, str]:
    """Return the files of a kernel under its new name: texts by path in the new package's folder.

    Raises:
        PluginNotWritten: the kernel needs other files too, or the files cannot be read.
    """
    kernel, distribution = registered.item, registered.origin.distribution
    module = registry().modules[registered.origin]
    if not isinstance(module, ModuleType):
        raise PluginNotWritten(f"{kernel.name} cannot be copied: its plugin is no Python file")
    path = Path(str(module.__file__))
    text = _text(path)
    if reason := _attachment(kernel, module, path, text):
        raise PluginNotWritten(f"{kernel.name} cannot be copied without the rest of its package: {reason}")
    sources = {f"{names.word}.cu": kernel.source_text()} | {name: _text(each) for name, each in _headers(path.parent)}
    function = kernel.entry_named().partition("<")[0].rpartition("::")[2].strip()
    sources = {name: re.sub(rf"\b{function}\b(?=\s*[(<])", names.entry, each) for name, each in sources.items()}
    text = re.sub(rf"\b{re.escape(kernel.name)}\b", names.kernel, text)
    text = re.sub(rf"""(?<=["']){function}\b(?=["'<])""", names.entry, text)
    text = text.replace(kernel.source.name, f"{names.word}.cu")
    return {f"{names.module}.py": f"# Begun as a copy of {kernel.name} of {distribution}.\n{text}", **sources}


def further_requirements(distribution: str) -> list[str]:
    """Return the requirements of a distribution besides mmcore."""
    needed = () if distribution == DISTRIBUTION else importlib.metadata.requires(distribution) or ()
    return [each for each in needed if "extra ==" not in each and not each.startswith(DISTRIBUTION)]


def _attachment(kernel: Kernel, module: ModuleType, path: Path, text: str) -> str:
    """Return the reason if a kernel needs more than its module, source and headers; else an empty text."""
    alone, package = Registry(), module.__name__.partition(".")[0]
    alone.add(module, "alone", "alone")
    if len(alone.kernels) > 1:
        return "its module declares other kernels as well"
    if re.search(rf"^\s*(from\s+(\.|{package}\b)|import\s+{package}\b)", text, re.MULTILINE):
        return "its module imports from it"
    if kernel.source.parent != path.parent or '#include "../' in kernel.source_text():
        return "its source is not in one folder with its module"
    return ""


def _headers(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the folder's headers by relative path, without links to files outside of it."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in name.parts)
        if (
            path.suffix in _HEADERS
            and not hidden
            and path.is_file()
            and path.resolve().is_relative_to(folder.resolve())
        ):
            yield name.as_posix(), path


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError):
        raise PluginNotWritten(f"{path} cannot be read as UTF-8 text") from None
