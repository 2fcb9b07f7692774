"""The counters of a GPU, as NVIDIA's Nsight Compute (``ncu``) reads them: ``mmcore ncu``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore ncu``."""
    return {"ncu": "mmcore_ncu.command:ncu"}
