"""The package of a new plugin. Its files are loaded for a test before they are moved to their folder."""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import importlib.util
import json
import keyword
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path, PurePosixPath
from string import Template
from types import ModuleType
from typing import NamedTuple

from mmcore.errors import MmcoreError
from mmcore.files import read_text
from mmcore.kernel.constraints import multiples_of
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.declared_values import check_name
from mmcore.kernel_reference import FileKernel
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import DISTRIBUTION, Registry, registry
from mmcore_sources.cuda_file.hints.right_block import with_right_block
from mmcore_sources.cuda_file.hints.right_multiples import right_multiples
from mmcore_sources.cuda_file.package import declared_multiples, package_files

_HEADERS = (".cuh", ".h", ".hpp", ".inl")


class PluginNotWritten(MmcoreError):
    """A new plugin that cannot be written: its name or folder is taken, or the kernel cannot be copied."""


class Names(NamedTuple):
    """The names in a package of one kernel."""

    kernel: str  # the kernel, "acme.tiled"
    word: str  # the last part of it, "tiled", which is also the stem of its source
    package: str  # the Python package, "acme_tiled"; each kernel has its own, so that no two installed ones collide
    distribution: str  # the package's name for pip, "acme-tiled"
    module: str  # the module that declares the kernel, "tiled"
    entry: str  # the CUDA function, "multiply_tiled". The prefix keeps it from being a C++ keyword


def free_names(kernel: str, registry: Registry) -> Names:
    """Return the names for a new kernel's package.

    Raises InvalidKernel if it is not a kernel's name; PluginNotWritten if a part of it is a Python keyword, or if a
    kernel or package already has that name.
    """
    check_name(kernel)
    *_, word = parts = kernel.split(".")
    package, distribution = kernel.replace(".", "_"), re.sub("[._-]+", "-", kernel).strip("-")
    for part in filter(keyword.iskeyword, parts):
        raise PluginNotWritten(f"{kernel!r} cannot name a module: {part!r} is a keyword of Python's")
    if kernel in registry.kernels:
        owner = registry.kernels[kernel].origin.distribution
        raise PluginNotWritten(f"there is a kernel {kernel!r} already, in the package {owner}; take another name")
    if kernel in registry.kernels.duplicates:
        raise PluginNotWritten(f"several plugins bring a kernel {kernel!r} already; take another name")
    if importlib.util.find_spec(package) is not None:
        raise PluginNotWritten(f"there is a Python package {package} already; take another name than {kernel!r}")
    module = word if word.isidentifier() else f"kernel_{word}"
    return Names(kernel, word, package, distribution, module, f"multiply_{word}")


def copied_files(registered: Registered[Kernel], names: Names) -> dict[str, str]:
    """Return the files of a kernel under its new name: texts by path in the new package's folder.

    Raises PluginNotWritten if the kernel needs other files too, or if the files cannot be read.
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
        is_header = path.suffix in _HEADERS and path.is_file() and not hidden
        if is_header and path.resolve().is_relative_to(folder.resolve()):
            yield name.as_posix(), path


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError):
        raise PluginNotWritten(f"{path} cannot be read as UTF-8 text") from None


@dataclass(frozen=True)
class Project:
    """A package of one kernel: its names, its files' texts by path with slashes, and the changes of its model."""

    names: Names
    files: dict[str, str]
    changes: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write the files into a new or empty folder, and make missing folders above it.

        They are written to a temporary folder first, loaded there, and then moved. Raises PluginNotWritten if the
        folder is not empty or cannot be written, or if the package does not declare the kernel. Nothing is left behind
        then.
        """
        try:
            self._write(Path(os.path.abspath(folder)))
        except OSError as error:
            reason = error.strerror or str(error)
            raise PluginNotWritten(f"{str(folder)!r} cannot be written: {reason}") from None

    def _write(self, folder: Path) -> None:
        base = folder
        while not os.path.lexists(base):
            base = base.parent
        if not base.is_dir():
            raise PluginNotWritten(f"{str(base)!r} is there already and is no folder")
        if base == folder and any(folder.iterdir()):
            raise PluginNotWritten(f"the folder {str(folder)!r} is not empty; give another with --dir")
        with tempfile.TemporaryDirectory(dir=base, prefix=".mmcore-new-plugin-") as temporary:
            root = Path(temporary, "root")
            root.mkdir()
            staged = root / folder.relative_to(base)
            for name, text in self.files.items():
                path = staged / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
            self._load(staged)
            for made in root.iterdir():
                made.rename(base / made.name)

    def _load(self, folder: Path) -> None:
        """Load the package from a folder like an installed one. Raises PluginNotWritten if its kernel is missing."""
        names, found = self.names, Registry()
        origin = Origin(names.kernel, names.distribution)
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            with found.reported(origin):
                found.add(importlib.import_module(f"{names.package}.{names.module}"), *origin)
        finally:
            sys.dont_write_bytecode = before
            sys.path.remove(str(folder))
            for name in [name for name in sys.modules if name.partition(".")[0] == names.package]:
                del sys.modules[name]
        if found.failed:
            raise PluginNotWritten(f"the copy would not work: {found.failed[0].reason}")
        if names.kernel not in found.kernels:
            raise PluginNotWritten(
                f"the copy declares {', '.join(found.kernels) or 'nothing'}: no text of its module is the name "
                f"{names.kernel}, which replaces the original's"
            )
        found.kernel(names.kernel).source_text()


def project(names: Names, model: Kernel | None = None) -> Project:
    """Return a package with a copy of ``model``, or without one a kernel with a thread for each element of C.

    Raises PluginNotWritten if the model cannot be copied.
    """
    known = registry().kernels.get(model.name) if model else None
    file = registry().files.get(model.name) if model else None
    origin = file.kernel.source.name if file else model.name if model else ""
    words = names._asdict() | {"origin": f", begun as a copy of `{origin}`" if origin else ""}
    words["namespace"] = names.kernel.rpartition(".")[0]
    further = further_requirements(known.origin.distribution) if known else []
    words["dependencies"] = ", ".join(f'"{each}"' for each in (_this_version(), *further))
    changes: tuple[str, ...] = ()
    own = {f"{names.module}.py": "kernel.py", f"{names.word}.cu": "kernel.cu"}
    if file:
        kernel_files, changes = _of_file(file, names)
    elif known:
        kernel_files = copied_files(known, names)
    else:
        kernel_files = {path: _filled(each, words) for path, each in own.items()}
    words["further_data"] = _further_data(names.package, kernel_files)
    texts = {path: _filled(path, words) for path in ("pyproject.toml", "README.md")}
    texts[f"{names.package}/__init__.py"] = _filled("package.py", words)
    texts |= {f"{names.package}/{path}": text for path, text in kernel_files.items()}
    further_files = ("tests/test_kernel.py", "bench/test_speed.py", ".github/workflows/ci.yml", ".gitignore")
    texts |= {path: _filled(path.rpartition("/")[2].lstrip("."), words) for path in further_files}
    return Project(names, texts, changes)


def _of_file(file: FileKernel, names: Names) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the files of a kernel in a file, and what small products have changed in its declaration."""
    reference = with_right_block(file)
    steps = right_multiples(reference, declared_multiples(reference))
    given = [f"{name} {value}" for name, value in reference.items() if file.reference.get(name) != value]
    changes = [f"{' and '.join(given)}, with which small products are right"] if given else []
    conditions = " and ".join(each.description for each in multiples_of(steps))
    changes += [f"{conditions}, as small products are wrong at other sizes"] if steps else []
    return package_files(reference, names.kernel, f"{names.module}.py", f"{names.word}.cu", steps), tuple(changes)


def _further_data(package: str, paths: Iterable[str]) -> str:
    """Return the line of package-data that lists the files which the patterns of the template do not match."""
    others = [
        each
        for each in map(PurePosixPath, paths)
        if each.suffix not in (".py", ".cu", *_HEADERS) or not all(map(str.isidentifier, each.parent.parts))
    ]
    return f"{package} = {json.dumps([glob.escape(str(each)) for each in others], ensure_ascii=False)}\n" * bool(others)


def _this_version() -> str:
    """Return the requirement of mmcore versions with this interface: "mmcore-cuda>=0.2,<0.3" for 0.2.1."""
    major, minor = map(int, re.findall(r"\d+", version(DISTRIBUTION))[:2])
    return f"{DISTRIBUTION}>={major}.{minor},<{major}.{minor + 1}"


def _filled(template: str, words: dict[str, str]) -> str:
    text = files(__package__).joinpath("templates", f"{template}.template").read_text(encoding="utf-8")
    return Template(text).substitute(words)
