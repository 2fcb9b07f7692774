"""Conformance: whether a kernel keeps what its declaration promises, tested case by case.

- :mod:`~mmcore_conform.cases` finds products and configs on both sides of a kernel's constraints.
- :mod:`~mmcore_conform.worker` tests them, in the worker process of a device.
- :mod:`~mmcore_conform.conformance` asks for each test and collects the outcomes.
- :mod:`~mmcore_conform.outcome` finds what failing cases have in common, for :mod:`~mmcore_conform.command`.
- ``pytest --pyargs mmcore_conform`` makes a test of each kernel and property.
"""

from __future__ import annotations

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> dict[str, str]:
    """``mmcore conform``."""
    return {"conform": "mmcore_conform.command:conform"}
