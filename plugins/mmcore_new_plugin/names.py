"""The names of a new plugin's parts, all of them made from the kernel's name."""

from __future__ import annotations

import importlib.util
import keyword
import re
from dataclasses import dataclass

from mmcore.errors import MmcoreError
from mmcore.kernel.declaration import check_name
from mmcore.registry import Registry


class PluginNotWritten(MmcoreError):
    """A new plugin cannot be written: its name or folder is taken, or the kernel cannot be copied."""


@dataclass(frozen=True)
class Names:
    """The names in a package of one kernel.

    Attributes:
        kernel: the kernel's own, "acme.tiled".
    """

    kernel: str

    @property
    def word(self) -> str:
        """The last part of the kernel's name, "tiled", which is also the stem of its source."""
        return self.kernel.rpartition(".")[2]

    @property
    def package(self) -> str:
        """The Python package, "acme_tiled": one for each kernel, so that no two that are installed share a name."""
        return self.kernel.replace(".", "_")

    @property
    def distribution(self) -> str:
        """What pip calls the package: "acme-tiled"."""
        return re.sub("[._-]+", "-", self.kernel).strip("-")

    @property
    def module(self) -> str:
        """The module that declares the kernel: "tiled"."""
        return self.word if self.word.isidentifier() else f"kernel_{self.word}"

    @property
    def entry(self) -> str:
        """The CUDA function, "multiply_tiled"; never a word of C++, as that of "acme.int" would be."""
        return f"multiply_{self.word}"


def free_names(kernel: str, registry: Registry) -> Names:
    """The names for a new kernel's package.

    Raises:
        InvalidKernel: it is not a kernel's name.
        PluginNotWritten: a part of it is a keyword of Python's, or a kernel or package has that name already.
    """
    check_name(kernel)
    names = Names(kernel)
    for part in (*kernel.split("."), names.module, names.package):
        if keyword.iskeyword(part):
            raise PluginNotWritten(f"{kernel!r} cannot name a module: {part!r} is a keyword of Python's")
    if kernel in registry.kernels:
        owner = registry.kernels[kernel].origin.distribution
        raise PluginNotWritten(f"there is a kernel {kernel!r} already, in the package {owner}; take another name")
    if kernel in registry.kernels.duplicates:
        raise PluginNotWritten(f"several plugins bring a kernel {kernel!r} already; take another name")
    if importlib.util.find_spec(names.package) is not None:
        raise PluginNotWritten(f"there is a Python package {names.package} already; take another name than {kernel!r}")
    return names
