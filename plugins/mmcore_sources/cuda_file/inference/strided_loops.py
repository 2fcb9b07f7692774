"""The threads of a block, from loops in which they take turns: ``for (i = threadIdx.x; i < tile; i += 128)``."""

from __future__ import annotations

import contextlib

from mmcore_cuda.cuda_source.tree import initializers, text_of, walk
from mmcore_sources.cuda_file.inference.body import Body
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.geometry import MOST_THREADS
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant

_WARP = 32


def threads_of_steps(reader: Reader, body: Body) -> int:
    """Return the step of all loops that begin at a thread's index along x, if it is a number of whole warps; else 0."""
    steps = set[int | None]()
    for loop in (each for each in walk(body.function.body) if each.type == "for_statement"):
        begin, update = (loop.child_by_field_name(each) for each in ("initializer", "update"))
        if begin is None or begin.type != "declaration" or update is None or update.type != "assignment_expression":
            continue
        from_thread = any(body.terms(value) == [("threadIdx.x",)] for _, value in initializers(begin))
        if from_thread and text_of(update.children[1]) == "+=":
            with contextlib.suppress(Unreadable):
                steps.add(constant(reader.number(update.children[2])))
    (threads,) = steps if len(steps) == 1 else (None,)
    return threads if threads and _WARP < threads <= MOST_THREADS and threads % _WARP == 0 else 0
