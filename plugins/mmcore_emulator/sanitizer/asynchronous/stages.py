"""The stages of a ring in shared memory: the words that copies of one mbarrier fill, and the waits for it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from mmcore_emulator.machine.asynchronous.events import BLOCK_WORDS, NOWHERE, Transfer
from mmcore_emulator.numerics.types import Integers
from mmcore_emulator.sanitizer.recording import SharedReport

_BEYOND = (
    "reads a matrix that begins in the tile at {} and ends {:,} bytes behind it, at {}, into which another bulk copy "
    "may still be copying: the descriptor's address or an offset is wrong"
)
_OTHER = (
    "reads {}, into which a bulk copy may still be copying; the phase that it has waited for last is that of {}, for "
    "which other bytes are copied: the descriptor's address, or that wait, belongs to another stage"
)
_OTHER_COPY = (
    "reads {}, into which cp.async may still be copying, while other copies have completed: the address belongs to "
    "another stage, or cp.async.wait_group (or its mbarrier's wait) is missing, or waits for too few groups"
)


class Stages:
    """The words that bulk copies fill for each mbarrier, and the last mbarrier that each lane has waited for."""

    def __init__(self, lanes: int, report: SharedReport) -> None:
        self._report = report
        self._waited = np.full(lanes, NOWHERE, np.int64)
        self._spans: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)  # first and last word, by mbarrier
        self._copied: set[int] = set()  # numbers of the blocks with completed copies by cp.async

    def land(self, transfer: Transfer) -> None:
        """Note the words that a bulk copy has filled for its mbarriers."""
        assert transfer.mbarriers is not None
        for mbarrier, words in zip(transfer.mbarriers.tolist(), transfer.words, strict=True):
            used = words[words >= 0]
            if mbarrier != NOWHERE and used.size:
                self._spans[mbarrier].add((int(used.min()), int(used.max())))

    def land_copies_of_threads(self, words: Integers) -> None:
        """Note that copies by ``cp.async`` have completed."""
        self._copied.update(np.unique(words // BLOCK_WORDS).tolist())

    def wait(self, lanes: Integers, places: Integers) -> None:
        """Note that lanes have waited for phases of mbarriers."""
        self._waited[lanes] = places

    def beyond(self, copy: Transfer, words: Integers, lanes: Integers) -> str:
        """Return how lanes read words of another stage's copy together, as a clause; empty if they do not.

        A wrong address and a wrong wait look alike where no word is of the stage that the lanes have waited for.
        """
        waited = int(self._waited[lanes].max())
        spans, used = sorted(self._spans.get(waited, ())), words[words >= 0]
        if copy.mbarriers is None:
            copied = int(used[0]) // BLOCK_WORDS in self._copied
            return _OTHER_COPY.format(self._report.name(int(used[0]))) if copied else ""
        if waited in copy.mbarriers or not spans or not used.size:
            return ""
        of_spans = [(used >= first) & (used <= last) for first, last in spans]
        outside = used[~np.logical_or.reduce(of_spans)]
        if not outside.size:
            return ""
        beyond, mbarrier = self._report.name(int(outside.min())), self._report.name(waited // 4)
        begun = next((span for span, inside in zip(spans, of_spans, strict=True) if inside.any()), None)
        if begun is None:
            return _OTHER.format(beyond, mbarrier)
        first, last = begun
        return _BEYOND.format(self._report.name(first), 4 * (int(outside.max()) - last), beyond)
