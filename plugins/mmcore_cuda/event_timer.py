"""Device seconds, measured with CUDA events.

The host's launch latency must not be included. One CUDA graph captures many launches, and the time between two events
around its replay is divided by their number. Events and graph then contribute a fraction of a per cent.
docs/measuring.md has the comparison with CUPTI.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from cuda.core import Device, EventOptions, Stream
from cuda.core.graph import Graph, GraphBuilder

from mmcore.devices.violations import Violation
from mmcore.errors import KernelError

#: Puts launches and copies on the stream, or into the graph, that it is given.
Work = Callable[[Stream | GraphBuilder], None]

_MOST_COPIES = 1000


def elapsed(device: Device, stream: Stream, work: Callable[[], None], count: int = 1) -> float:
    """Return the device seconds of ``count`` × ``work`` on ``stream``."""
    timed = EventOptions(timing_enabled=True)
    begin = stream.record(device.create_event(timed))
    for _ in range(count):
        work()
    end = stream.record(device.create_event(timed))
    end.sync()
    return float(end - begin) * 1e-3


class GraphTimer:
    """A timer of launches with warm caches: each finds the L2 cache as the launch before left it.

    The stream must be idle. The work ``before`` each launch, such as a write that empties the L2 cache, is timed
    separately and subtracted.
    """

    method = "events around CUDA graphs"
    # Two events and the start of a graph take some 4 µs: 0.2 % of a reading of ten times this.
    resolution = 2e-4

    def __init__(self, device: Device, stream: Stream, work: Work, before: Work | None = None) -> None:
        def both(target: Stream | GraphBuilder) -> None:
            if before:
                before(target)
            work(target)

        if before:
            self.method = "events around CUDA graphs, less the same graphs without the kernel"
        self._device, self._stream = device, stream
        self._work, self._before = both, before
        self._graphs: dict[tuple[Work, int], Graph] = {}

    def seconds(self, count: int) -> float:
        seconds = self._replayed(self._work, count)
        # The difference is negative for a kernel shorter than the noise, which needs a larger count.
        return max(seconds - self._replayed(self._before, count), 0.0) if self._before else seconds

    def close(self) -> None:
        self._stream.sync()
        for graph in self._graphs.values():
            graph.close()
        self._graphs.clear()

    def _replayed(self, work: Work, count: int) -> float:
        full, rest = divmod(count, _MOST_COPIES)
        replays = [self._graph(work, copies) for copies in [_MOST_COPIES] * full + [rest] * bool(rest)]

        def replay() -> None:
            for graph in replays:
                graph.launch(self._stream)

        return elapsed(self._device, self._stream, replay)

    def _graph(self, work: Work, copies: int) -> Graph:
        if (work, copies) not in self._graphs:
            builder = self._device.create_graph_builder()
            builder.begin_building()
            for _ in range(copies):
                work(builder)
            graph = self._graphs[work, copies] = builder.end_building().complete()
            graph.upload(self._stream)
        return self._graphs[work, copies]


@dataclass(frozen=True, eq=False)
class KernelTimer:
    """A timer that raises cuda.core's errors as the kernel's, which ``violation`` describes."""

    method: str
    read: Callable[[int], float]
    release: Callable[[], None]
    violation: Callable[[Exception], Violation]
    resolution: float = GraphTimer.resolution

    def seconds(self, count: int) -> float:
        try:
            return self.read(count)
        except Exception as error:
            raise KernelError(f"launched to be timed, {self.violation(error).message}") from error

    def close(self) -> None:
        with suppress(Exception):
            # A lost context has released everything.
            self.release()
