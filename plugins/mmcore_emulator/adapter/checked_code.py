"""A memory of the launches that were checked without a violation."""

from __future__ import annotations

import contextlib
import hashlib

from mmcore import __version__
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.files import cache_directory


class CheckedCode:
    """The launches of a loaded kernel: their code, geometry and arguments, by a hash of them.

    Attributes:
        known: True if they were checked before without a violation.
    """

    def __init__(self, loaded: LoadedKernel) -> None:
        plan = loaded.plan
        launches = [(launch, plan.entry(launch), plan.arguments(launch)) for launch in plan.launches]
        known = "\0".join(map(repr, (__version__, loaded.compiled.ptx, plan.problem, launches)))
        self._path = cache_directory() / "checked" / hashlib.sha256(known.encode()).hexdigest()
        self.known = self._path.is_file()

    def add(self) -> None:
        """Remember that they were checked without a violation, if the cache can be written."""
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch()
