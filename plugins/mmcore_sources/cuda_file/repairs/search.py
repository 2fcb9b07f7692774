"""Long searches for a change of a source that found none: they are not repeated for kernels with equal faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mmcore.kernel.declaration import Kernel
from mmcore.result import Result

TRIED = "tried"
"""The beginning of the sentence that a long search found no change."""
NONE_RIGHT = "none makes it right"
"""The end of this sentence, and of the one that it is not repeated."""


@dataclass(frozen=True)
class Search:
    """A search for a change that makes a kernel of a source right.

    Attributes:
        text: the source.
        changes: the list of changes.
        faults: the kinds of faults that the kernel has; empty if it is right at none of the sizes.
        kernel: the kernel's name.
    """

    text: str
    changes: str
    faults: frozenset[str]
    kernel: str

    @classmethod
    def of(cls, result: Result, kernel: Kernel, changes: str) -> Search:
        """Return the search for a change after a result."""
        right = any(each["right"] for each in result.sizes)
        faults = frozenset(each.kind for each in result.violations if right)
        return cls(kernel.source_text(), changes, faults, kernel.entry.partition("<")[0] or kernel.name)

    def fruitless(self) -> str:
        """Return another kernel of the source with the same faults that no change made right; "" without one."""
        other = _FRUITLESS.get((self.text, self.changes, self.faults), self.kernel)
        return other if other != self.kernel else ""

    def remembering(self, found: Iterable[str]) -> Iterator[str]:
        """Yield the sentences of the search, and remember a long one that found nothing."""
        for each in found:
            if self.faults and each.startswith(TRIED):
                _FRUITLESS[self.text, self.changes, self.faults] = self.kernel
            yield each


_FRUITLESS: dict[tuple[str, str, frozenset[str]], str] = {}
"""A kernel whose search was long and found nothing, by source, list of changes and faults."""
