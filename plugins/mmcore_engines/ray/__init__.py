"""The engine ``ray``: a worker for each GPU of a Ray cluster, or of a Ray that is started on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore import hookimpl


@hookimpl
def mmcore_engines() -> Mapping[str, str]:
    """Return the engine of ``--mm-engine ray``, which needs the extra ``mmcore-cuda[ray]``."""
    return {"ray": "mmcore_engines.ray.engine:RayEngine"}
