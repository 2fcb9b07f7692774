"""Device seconds, read from CUPTI's records of each kernel: what mmcore's own clock is compared with.

CUPTI is the clock that NVIDIA's profilers have: a kernel's own begin and end, without anything around it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from cuda.core import Stream

from mmcore_cuda.event_timer import GraphTimer, Work

_BUFFER_BYTES = 8 << 20
# More launches than this are read in several goes, so that the records stay few.
_MOST_LAUNCHES = 2000


class CuptiUnusable(Exception):
    """Why CUPTI cannot be used, in a few words."""


class Recorder:
    """CUPTI's records of what runs while it is switched on; one for the process.

    CUPTI itself is started by the first recording: once it is there, every launch in a CUDA graph takes longer.

    Raises:
        CuptiUnusable: cupti-python is not installed.
    """

    def __init__(self) -> None:
        try:
            from cupti import cupti
        except ImportError as error:
            missing = error.name in ("cupti", None)
            raise CuptiUnusable("cupti-python is not installed" if missing else f"cupti-python: {error}") from None
        except Exception as error:
            raise CuptiUnusable(f"cupti-python cannot be imported: {error}") from None
        self._cupti: Any = cupti
        self._records: list[tuple[int, int]] = []
        self._started = False

    def kernels(self, work: Callable[[], None]) -> list[tuple[int, int]]:
        """Begin and end, in ns, of every kernel that runs on the GPU until ``work`` has returned.

        Raises:
            CuptiUnusable: CUPTI refuses, because the driver is too old or another profiler has it, for instance.
        """
        kind = self._cupti.ActivityKind.CONCURRENT_KERNEL
        self._records.clear()
        try:
            if not self._started:
                self._cupti.activity_register_callbacks(lambda: (_BUFFER_BYTES, 0), self._completed)
                self._started = True
            self._cupti.activity_enable(kind)
            try:
                work()
                self._cupti.activity_flush_all(1)
            finally:
                self._cupti.activity_disable(kind)
        except self._cupti.cuptiError as error:
            raise CuptiUnusable(f"CUPTI does not record: {error}") from None
        return list(self._records)

    def _completed(self, activities: list[Any]) -> None:
        self._records += [(each.start, each.end) for each in activities]


@functools.cache
def recorder() -> Recorder | str:
    """The process's recorder, or why there is none."""
    try:
        return Recorder()
    except CuptiUnusable as unusable:
        return str(unusable)


class CuptiTimer:
    """Times launches by the sum of their kernels' own durations.

    Args:
        recorder: CUPTI.
        stream: an idle stream.
        work: puts the launches on the stream that it is given.
        launches: how many kernels that is.
        before: what comes before each launch, and is not timed; nothing when None.
    """

    method = "CUPTI"
    # CUPTI counts in ns; what needs longer readings is the host's work on each of them.
    resolution = GraphTimer.resolution

    def __init__(self, recorder: Recorder, stream: Stream, work: Work, launches: int, before: Work | None) -> None:
        self._recorder = recorder
        self._stream = stream
        self._work = work
        self._launches = launches
        self._before = before

    def seconds(self, count: int) -> float:
        """As the protocol says.

        Raises:
            CuptiUnusable: CUPTI did not record every kernel.
        """
        full, rest = divmod(count, _MOST_LAUNCHES)
        return sum(self._recorded(part) for part in [_MOST_LAUNCHES] * full + [rest] * bool(rest))

    def close(self) -> None:
        """There is nothing to free."""

    def _recorded(self, count: int) -> float:
        def repeat() -> None:
            for _ in range(count):
                if self._before is not None:
                    self._before(self._stream)
                self._work(self._stream)
            self._stream.sync()

        records = self._recorder.kernels(repeat)
        if len(records) != count * self._launches:
            raise CuptiUnusable(f"CUPTI recorded {len(records)} of {count * self._launches} kernels")
        return sum(end - begin for begin, end in records) * 1e-9
