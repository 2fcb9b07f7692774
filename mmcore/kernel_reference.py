"""The ways in which a cell names its kernel."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel

KernelReference: TypeAlias = str | Mapping[str, Any]
"""A registered kernel's name, "module:attribute", a file's path, or ``{"file": PATH, …}`` with further facts."""


class FileKernel(NamedTuple):
    """The kernel of a file, under a name that no other kernel has.

    Attributes:
        kernel: the kernel's declaration.
        reference: the reference with which cells name it.
        words: its path and options, as words of a command line.
        inferred: the facts that were inferred from the file, as a text for the user.
        bugs: the bugs of the file's host code, which are warnings about the kernel.
        warnings: signs of a mistake in its types or arrays, and types with fewer digits than its matrices suggest.
    """

    kernel: Kernel
    reference: Mapping[str, Any]
    words: tuple[str, ...]
    inferred: str
    bugs: tuple[Violation, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def faults(self) -> tuple[Violation, ...]:
        """The bugs that leave C wrong: the program is wrong, unless the user names a size."""
        return tuple(bug for bug in self.bugs if bug.array == "C")


def is_file(reference: KernelReference) -> bool:
    """Return whether a reference names a file: it is a path, ends as such files do, or exists as a file or a folder."""
    path = reference if isinstance(reference, str) else ""
    named = path.endswith((".cu", ".py", ".ipynb")) or "/" in path
    return isinstance(reference, Mapping) or named or os.path.exists(path)
