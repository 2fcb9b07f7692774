"""Ray as an engine: a worker for each GPU of a cluster, or of this machine's own Ray (``--mm-engine ray``)."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore import hookimpl


@hookimpl
def mmcore_engines() -> Mapping[str, str]:
    """``ray``, which takes the extra ``mmcore-cuda[ray]``."""
    return {"ray": "mmcore_engines.ray.engine:RayEngine"}
