"""The dynamic shared memory of a launch."""

from __future__ import annotations

import ast

from mmcore.errors import LacksOption
from mmcore.messages import quoted
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.quotients import constant

_EXAMPLE = 48 << 10  # bytes that every device has


def launched_bytes(reader: Reader, launch: HostLaunch) -> ast.expr | None:
    """Return the dynamic shared memory of a launch; None without any. Raises InvalidKernel if it cannot be read."""
    if len(launch.geometry) < 3:
        return None
    try:
        shared = reader.number(launch.geometry[2])
    except Unreadable:
        unknown = f"the shared memory {quoted(text_of(launch.geometry[2]))} of the launch in {launch.place}"
        gives = f"--shared gives it in bytes, and {_EXAMPLE} is only an example"
        raise LacksOption(f"{unknown} is unknown; {gives}", f"--shared {_EXAMPLE}") from None
    return None if constant(shared) == 0 else shared
