"""The names of a new plugin's parts, derived from the kernel's name."""

from __future__ import annotations

import importlib.util
import keyword
import re
from typing import NamedTuple

from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import check_name
from mmcore.registry import Registry


class PluginNotWritten(MmcoreError):
    """A new plugin that cannot be written: its name or folder is taken, or the kernel cannot be copied."""


class Names(NamedTuple):
    """The names in a package of one kernel.

    Attributes:
        kernel: the kernel, "acme.tiled".
        word: the last part of it, "tiled", which is also the stem of its source.
        package: the Python package, "acme_tiled"; each kernel has its own, so that no two installed ones collide.
        distribution: the package's name for pip, "acme-tiled".
        module: the module that declares the kernel, "tiled".
        entry: the CUDA function, "multiply_tiled". The prefix keeps it from being a C++ keyword.
    """

    kernel: str
    word: str
    package: str
    distribution: str
    module: str
    entry: str


def free_names(kernel: str, registry: Registry) -> Names:
    """Return the names for a new kernel's package.

    Raises:
        InvalidKernel: it is not a kernel's name.
        PluginNotWritten: a part of it is a Python keyword, or a kernel or package already has that name.
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
