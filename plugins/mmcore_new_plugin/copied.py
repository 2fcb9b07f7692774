"""A copy of a registered kernel: its module and its source, or the whole package that they are part of."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from mmcore.kernel.declaration import Kernel
from mmcore.registry import DISTRIBUTION, GROUP, Registered, Registry
from mmcore_new_plugin.names import Names, PluginNotWritten

_HEADERS = (".cuh", ".h", ".hpp", ".inl")


@dataclass(frozen=True)
class Copy:
    """What a copied kernel brings to its new package.

    Attributes:
        module: the module that declares it, within the package: "tiled".
        files: texts by path in the package's folder.
        dependencies: what the original's distribution needs besides mmcore.
    """

    module: str
    files: dict[str, str]
    dependencies: tuple[str, ...] = ()


def copy_of(registered: Registered[Kernel], names: Names) -> Copy:
    """The kernel under its new name.

    Its module and source are copied with the headers beside them. A module that declares several kernels, imports from
    its own package or has its source elsewhere is copied with that whole package.

    Raises:
        PluginNotWritten: it cannot be copied; the text says why.
    """
    kernel, distribution = registered.item, registered.origin.distribution
    module = _plugin_module(registered)
    path = Path(str(module.__file__))
    package = module.__name__.partition(".")[0]
    text = _text(path)
    if _stands_alone(kernel, path, text, module, package):
        files = {f"{names.module}.py": text, f"{names.word}.cu": kernel.source_text()}
        files |= {name: _text(header) for name, header in _files(path.parent) if header.suffix in _HEADERS}
        declaring = names.module
    else:
        if not hasattr(sys.modules[package], "__path__"):
            raise PluginNotWritten(f"{kernel.name} cannot be copied: {package} is no package")
        files = {name: _text(each) for name, each in _files(Path(sys.modules[package].__path__[0]))}
        declaring = module.__name__.partition(".")[2] or "__init__"
    renamed = {name: _renamed(name, each, kernel, names, package) for name, each in files.items()}
    begun = f"Begun as a copy of {kernel.name} of {distribution}."
    of_module = f"{declaring.replace('.', '/')}.py"
    renamed[of_module] = f"# {begun}\n{renamed[of_module]}"
    return Copy(declaring, renamed, _requirements(distribution))


def _plugin_module(registered: Registered[Kernel]) -> ModuleType:
    """The module that the kernel's entry point names."""
    for entry in importlib.metadata.entry_points(group=GROUP, name=registered.origin.plugin):
        if entry.dist is not None and entry.dist.name == registered.origin.distribution:
            found = sys.modules[entry.module]
            if getattr(found, "__file__", None):
                return found
    raise PluginNotWritten(f"{registered.item.name} cannot be copied: its plugin is no Python file")


def _stands_alone(kernel: Kernel, path: Path, text: str, module: ModuleType, package: str) -> bool:
    """Whether module, source and the headers beside them are all that there is to the kernel."""
    alone = Registry()
    alone.add(module, "alone", "alone")
    imports_own = re.search(rf"^\s*(from\s+(\.|{package}\b)|import\s+{package}\b)", text, re.MULTILINE)
    return (
        len(alone.kernels) == 1
        and not imports_own
        and kernel.source.parent == path.parent
        and '#include "../' not in kernel.source_text()
    )


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The folder's files by relative path; none that a symbolic link leads to outside of it."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in name.parts)
        if path.is_file() and not hidden and path.resolve().is_relative_to(folder.resolve()):
            yield name.as_posix(), path


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise PluginNotWritten(f"{path} cannot be read as UTF-8 text") from None


def _renamed(name: str, text: str, kernel: Kernel, names: Names, package: str) -> str:
    """A file of the copy: kernel, CUDA function, source and package have their new names."""
    function = kernel.entry_named().partition("<")[0].rpartition("::")[2].strip()
    if not name.endswith(".py"):
        return re.sub(rf"\b{function}\b(?=\s*[(<])", names.entry, text)
    text = re.sub(rf"\b{re.escape(kernel.name)}\b", names.kernel, text)
    text = re.sub(rf"""(?<=["']){function}\b(?=["'<])""", names.entry, text)
    if f"{names.word}.cu" != kernel.source.name and name == f"{names.module}.py":
        text = text.replace(kernel.source.name, f"{names.word}.cu")
    # The other kernels of the package move to the new family, or they would have the names of the originals.
    old, new = (each.partition(".")[0] for each in (kernel.name, names.kernel))
    text = re.sub(rf"""(?<=["']){old}\.(?=[a-z0-9_{{]+[^"'\s]*["'])""", f"{new}.", text)
    return re.sub(rf"^(\s*(?:from|import)\s+){package}\b", rf"\g<1>{names.package}", text, flags=re.MULTILINE)


def _requirements(distribution: str) -> tuple[str, ...]:
    if distribution == DISTRIBUTION:
        return ()
    needed = importlib.metadata.requires(distribution) or ()
    return tuple(each for each in needed if "extra ==" not in each and not each.startswith(DISTRIBUTION))
