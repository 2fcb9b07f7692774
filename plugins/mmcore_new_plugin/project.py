"""The files of a new plugin's package."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path, PurePosixPath
from string import Template

from mmcore.kernel.declaration import Kernel
from mmcore.registry import DISTRIBUTION, Registered, Registry
from mmcore_new_plugin.copied import Copy, copy_of
from mmcore_new_plugin.names import Names, PluginNotWritten

_PACKAGED = (".cu", ".cuh", ".h")


@dataclass(frozen=True)
class Project:
    """A package that is not written yet.

    Attributes:
        names: what its parts are called.
        module: the module that declares the kernel, with its package.
        files: their texts, by path in its folder.
    """

    names: Names
    module: str
    files: dict[str, str]


def project(names: Names, model: Registered[Kernel] | None = None) -> Project:
    """A package with one kernel: a copy of ``model``, or one thread for each element of C when there is none.

    Raises:
        PluginNotWritten: the model cannot be copied; the text says why.
    """
    words = {each: getattr(names, each) for each in ("kernel", "word", "package", "distribution", "module", "entry")}
    first = {f"{names.module}.py": _filled("kernel.py", words), f"{names.word}.cu": _filled("kernel.cu", words)}
    copy = copy_of(model, names) if model else Copy(names.module, first)
    module = names.package if copy.module == "__init__" else f"{names.package}.{copy.module}"
    suffixes = {PurePosixPath(path).suffix for path in copy.files} - {"", ".py"}
    words |= {
        "plugin": module,
        "origin": f", begun as a copy of `{model.item.name}`" if model else "",
        "dependencies": _quoted((f"{DISTRIBUTION}{_compatible(version(DISTRIBUTION))}", *copy.dependencies)),
        "package_data": _quoted(f"*{suffix}" for suffix in sorted({*_PACKAGED, *suffixes})),
        "declares": f"{module.replace('.', '/')}.py",
    }
    texts = {path: _filled(path.rpartition("/")[2], words) for path in ("pyproject.toml", "README.md")}
    texts[f"{names.package}/__init__.py"] = _filled("package.py", words)
    texts |= {f"{names.package}/{path}": text for path, text in copy.files.items()}
    texts |= {path: _filled(path.rpartition("/")[2], words) for path in ("tests/test_kernel.py", "bench/test_speed.py")}
    return Project(names, module, texts)


def check(made: Project, folder: Path) -> None:
    """Load the package that was written into a folder, as an installed one is.

    Raises:
        PluginNotWritten: it does not declare the kernel.
    """
    package, found = made.names.package, Registry()
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        found.add(importlib.import_module(made.module), made.names.kernel, made.names.distribution)
    except Exception as error:
        raise PluginNotWritten(f"{made.module} cannot be imported: {type(error).__name__}: {error}") from None
    finally:
        sys.dont_write_bytecode = before
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
    if found.failed:
        raise PluginNotWritten(f"the copy would not work: {found.failed[0].reason}")
    if made.names.kernel not in found.kernels:
        raise PluginNotWritten(
            f"the copy declares {', '.join(found.kernels) or 'nothing'}: no text of its module is the name "
            f"{made.names.kernel}, which replaces the original's"
        )
    found.kernel(made.names.kernel).source_text()


def _compatible(release: str) -> str:
    """The versions that have the same interface: ">=0.2,<0.3" for 0.2.1."""
    major, minor = map(int, re.findall(r"\d+", release)[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"


def _filled(template: str, words: dict[str, str]) -> str:
    text = files("mmcore_new_plugin").joinpath("templates", f"{template}.template").read_text(encoding="utf-8")
    return Template(text).substitute(words)


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)
