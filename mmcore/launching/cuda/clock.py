"""Device seconds.

The host's launch latency must not enter. A kernel is captured many times over into one CUDA graph, and the time
between two events around the graph's launch is divided by the number of copies: what is left of events and graph is
then a fraction of a per cent.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from cuda.core import Device, EventOptions, Stream
from cuda.core.graph import Graph, GraphBuilder

#: One replay of the graph should take this long, so that what surrounds it does not count.
_REPLAY_SECONDS = 5e-3
_MOST_COPIES = 1000
#: Repetitions go on until this much time is spent, within bounds; what takes longer is measured once.
_BUDGET_SECONDS = 0.1
_LONG_SECONDS = 0.5
_LEAST_REPEATS, _MOST_REPEATS = 3, 20


def elapsed(device: Device, stream: Stream, work: Callable[[], None]) -> float:
    """Device seconds from before the first to behind the last operation that ``work`` puts on ``stream``."""
    timed = EventOptions(timing_enabled=True)
    begin = stream.record(device.create_event(timed))
    work()
    end = stream.record(device.create_event(timed))
    end.sync()
    return float(end - begin) * 1e-3


def median_elapsed(device: Device, stream: Stream, work: Callable[[], None]) -> float:
    """Median of repeated :func:`elapsed`, after one warm-up."""
    first = elapsed(device, stream, work)
    if first >= _LONG_SECONDS:
        return first
    repeats = min(max(int(_BUDGET_SECONDS / max(first, 1e-9)), _LEAST_REPEATS), _MOST_REPEATS)
    return statistics.median(elapsed(device, stream, work) for _ in range(repeats))


def seconds_per_run(device: Device, stream: Stream, launch: Callable[[Stream | GraphBuilder], None]) -> float:
    """Device seconds that one execution of ``launch`` takes, with warm caches.

    Args:
        device: the GPU.
        stream: an idle stream of it.
        launch: puts the launches on the stream, or into the graph, that it is given.
    """
    single = elapsed(device, stream, lambda: launch(stream))
    if single >= _LONG_SECONDS:
        return single
    copies = min(max(math.ceil(_REPLAY_SECONDS / max(single, 1e-9)), 1), _MOST_COPIES)
    graph = _graph(device, launch, copies)
    try:
        graph.upload(stream)
        return median_elapsed(device, stream, lambda: graph.launch(stream)) / copies
    finally:
        stream.sync()
        graph.close()


def _graph(device: Device, launch: Callable[[Stream | GraphBuilder], None], copies: int) -> Graph:
    builder = device.create_graph_builder()
    builder.begin_building()
    for _ in range(copies):
        launch(builder)
    return builder.end_building().complete()
