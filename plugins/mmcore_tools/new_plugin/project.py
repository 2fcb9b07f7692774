"""The package of a new plugin. Its files are loaded for a test before they are moved to their folder."""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template

from mmcore.kernel.declaration import Kernel
from mmcore.plugin_table import Origin
from mmcore.registry import DISTRIBUTION, Registry, registry
from mmcore_sources.cuda_file.package import package_files
from mmcore_tools.new_plugin.copied import copied_files, further_requirements
from mmcore_tools.new_plugin.names import Names, PluginNotWritten


@dataclass(frozen=True)
class Project:
    """A package of one kernel: its names, and its files' texts by path with slashes."""

    names: Names
    files: dict[str, str]

    def write(self, folder: Path) -> None:
        """Write the files into a new or empty folder, and make missing folders above it.

        They are written to a temporary folder first, loaded there, and then moved.

        Raises:
            PluginNotWritten: the folder is not empty or cannot be written, or the package does not declare the kernel.
                Nothing is left behind.
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

    Raises:
        PluginNotWritten: the model cannot be copied.
    """
    known, file = (
        registry().kernels.get(model.name) if model else None,
        registry().files.get(model.name) if model else None,
    )
    origin = file.kernel.source.name if file else model.name if model else ""
    words = names._asdict() | {"origin": f", begun as a copy of `{origin}`" if origin else ""}
    further = further_requirements(known.origin.distribution) if known else []
    words["dependencies"] = ", ".join(f'"{each}"' for each in (_this_version(), *further))
    own = {f"{names.module}.py": "kernel.py", f"{names.word}.cu": "kernel.cu"}
    if file:
        kernel_files = package_files(file.reference, names.kernel, f"{names.module}.py", f"{names.word}.cu")
    elif known:
        kernel_files = copied_files(known, names)
    else:
        kernel_files = {path: _filled(each, words) for path, each in own.items()}
    texts = {path: _filled(path, words) for path in ("pyproject.toml", "README.md")}
    texts[f"{names.package}/__init__.py"] = _filled("package.py", words)
    texts |= {f"{names.package}/{path}": text for path, text in kernel_files.items()}
    texts |= {path: _filled(path.rpartition("/")[2], words) for path in ("tests/test_kernel.py", "bench/test_speed.py")}
    return Project(names, texts)


def _this_version() -> str:
    """Return the requirement of mmcore versions with this interface: "mmcore-cuda>=0.2,<0.3" for 0.2.1."""
    major, minor = map(int, re.findall(r"\d+", version(DISTRIBUTION))[:2])
    return f"{DISTRIBUTION}>={major}.{minor},<{major}.{minor + 1}"


def _filled(template: str, words: dict[str, str]) -> str:
    text = files(__package__).joinpath("templates", f"{template}.template").read_text(encoding="utf-8")
    return Template(text).substitute(words)
