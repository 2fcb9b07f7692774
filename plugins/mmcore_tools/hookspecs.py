"""The hooks that ``mmcore run`` and ``mmcore show`` ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookspec

if TYPE_CHECKING:
    from mmcore.kernel.declaration import Kernel
    from mmcore.result import Result


@hookspec
def mmcore_notes(kernel: Kernel) -> Iterable[str]:  # type: ignore[empty-body]
    """Return texts about a kernel's source that ``mmcore show`` writes to stderr."""


@hookspec
def mmcore_hints(result: Result) -> Iterable[str]:  # type: ignore[empty-body]
    """Return sentences to show before a result's last line, such as the reason why a product may be wrong.

    The hook is called for right results, too, whose ``result.verified`` is true.
    """


@hookspec
def mmcore_remarks(result: Result) -> Iterable[str]:  # type: ignore[empty-body]
    """Return sentences to show before the last line of a right kernel's result, unless ``--quiet`` is given."""
