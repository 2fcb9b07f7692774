"""Libraries in a comparison without a GPU, and the kernels that are predicted in their place."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore.cli.commandline import with_other_words
from mmcore.errors import Unsupported
from mmcore.kernel.declaration import Kernel
from mmcore.registry import registry
from mmcore_performance.cards import Card
from mmcore_tools.compare.operands import Side

_LADDER = "ladder."
"""The beginning of the names of the kernels whose last ones are nearest to cuBLAS's speed."""


def refuse_libraries(sides: Sequence[Side], card: Card) -> None:
    """Raise Unsupported if a side calls a library; the sentence has the command with a kernel in its place."""
    libraries = [side.kernel for side in sides if side.kernel.call is not None]
    if not libraries:
        return
    refusal = f"{libraries[0].name}: a library is called, which runs on a GPU alone"
    layout = next((side.kernel.column_major for side in sides if side.kernel.call is None), "")
    rungs = {each.name: rung.name for each in libraries if (rung := ladder_kernel(each, layout, card))}
    if len(rungs) < len({each.name for each in libraries}):
        raise Unsupported(refusal)
    command = with_other_words(rungs)
    raise Unsupported(f"{refusal}; nearest to its speed is the ladder's last kernel of its type:\n  {command}")


def ladder_kernel(library: Kernel, column_major: str, card: Card) -> Kernel | None:
    """Return the ladder's last kernel of a library's types that a card can run; None if there is none.

    The matrices of ``column_major`` are stored by columns, or else those of the library.
    """
    several = [
        kernel
        for name, registered in sorted(registry().kernels.items())
        if name.startswith(_LADDER)
        and (kernel := registered.item)
        and all(getattr(kernel, each) == getattr(library, each) for each in ("dtype", "output", "unit"))
        and kernel.min_compute_capability <= card.capability
        and kernel.architecture in ("", "{}{}a".format(*card.capability))
    ]
    for layout in (column_major, library.column_major):
        if alike := [kernel for kernel in several if kernel.column_major == layout]:
            return alike[-1]
    return None
