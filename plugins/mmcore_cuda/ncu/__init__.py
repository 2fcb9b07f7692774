"""NVIDIA's own tools for kernels on a GPU: ``mmcore ncu``, and ``mmcore check --with compute-sanitizer``."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return the command ``mmcore ncu``."""
    return {"ncu": "mmcore_cuda.ncu.command:ncu"}


@hookimpl
def mmcore_checkers() -> Mapping[str, str]:
    """Return the checker for ``mmcore check --with compute-sanitizer``."""
    return {"compute-sanitizer": "mmcore_cuda.ncu.compute_sanitizer:check_by_compute_sanitizer"}
