"""Device seconds, read from events.

The host's launch latency must not enter. Launches are captured many times over into one CUDA graph, and the time
between two events around the graph's replay is divided by their number: what is left of events and graph is then a
fraction of a per cent. docs/measuring.md has the comparison with CUPTI.
"""

from __future__ import annotations

from collections.abc import Callable

from cuda.core import Device, EventOptions, Stream
from cuda.core.graph import Graph, GraphBuilder

Work = Callable[[Stream | GraphBuilder], None]

_MOST_COPIES = 1000


def elapsed(device: Device, stream: Stream, work: Callable[[], None]) -> float:
    """Device seconds from before the first to behind the last operation that ``work`` puts on ``stream``."""
    timed = EventOptions(timing_enabled=True)
    begin = stream.record(device.create_event(timed))
    work()
    end = stream.record(device.create_event(timed))
    end.sync()
    return float(end - begin) * 1e-3


class GraphTimer:
    """Times launches with warm caches: each finds in the L2 cache what the one before left there.

    Args:
        device: the GPU.
        stream: an idle stream of it.
        work: puts the launches on the stream, or into the graph, that it is given.
    """

    method = "events around CUDA graphs"
    # Two events and the start of a graph take some 4 µs: a two-hundredth of ten grains.
    resolution = 2e-4

    def __init__(self, device: Device, stream: Stream, work: Work) -> None:
        self._device = device
        self._stream = stream
        self._work = work
        self._graphs: dict[int, Graph] = {}

    def seconds(self, count: int) -> float:
        full, rest = divmod(count, _MOST_COPIES)
        replays = [self._graph(_MOST_COPIES)] * full + ([self._graph(rest)] if rest else [])

        def replay() -> None:
            for graph in replays:
                graph.launch(self._stream)

        return elapsed(self._device, self._stream, replay)

    def close(self) -> None:
        self._stream.sync()
        for graph in self._graphs.values():
            graph.close()
        self._graphs.clear()

    def _graph(self, copies: int) -> Graph:
        if copies not in self._graphs:
            builder = self._device.create_graph_builder()
            builder.begin_building()
            for _ in range(copies):
                self._work(builder)
            graph = self._graphs[copies] = builder.end_building().complete()
            graph.upload(self._stream)
        return self._graphs[copies]


class DifferenceTimer:
    """Times launches that each come after something else, such as a write that empties the L2 cache.

    The time of what comes before, alone, is measured in the same way and taken away.

    Args:
        device, stream, work: as for :class:`GraphTimer`.
        before: what comes before each launch.
    """

    method = "events around CUDA graphs, less the same graphs without the kernel"
    resolution = GraphTimer.resolution

    def __init__(self, device: Device, stream: Stream, work: Work, before: Work) -> None:
        def both(target: Stream | GraphBuilder) -> None:
            before(target)
            work(target)

        self._both = GraphTimer(device, stream, both)
        self._before = GraphTimer(device, stream, before)

    def seconds(self, count: int) -> float:
        # A kernel shorter than the noise of the rest needs a larger count: nothing is what there is to say here.
        return max(self._both.seconds(count) - self._before.seconds(count), 0.0)

    def close(self) -> None:
        self._both.close()
        self._before.close()


class StreamTimer:
    """Times operations that wait for the host, such as copies from pageable memory, one after the other on a stream.

    Args:
        device: the GPU.
        stream: an idle stream of it.
        work: puts the operations on the stream.
        release: lets go of the memory that they use.
    """

    method = "events around the copies and launches on a stream"
    resolution = GraphTimer.resolution

    def __init__(self, device: Device, stream: Stream, work: Callable[[], None], release: Callable[[], None]) -> None:
        self._device = device
        self._stream = stream
        self._work = work
        self.close = release

    def seconds(self, count: int) -> float:
        def repeat() -> None:
            for _ in range(count):
                self._work()

        return elapsed(self._device, self._stream, repeat)
