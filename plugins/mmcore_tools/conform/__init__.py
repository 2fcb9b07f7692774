"""Conformance: tests, case by case, that a kernel keeps what its declaration promises.

- ``cases`` finds products and configs on both sides of a kernel's constraints.
- ``worker`` tests them in the worker process of a device; ``conformance`` requests each test and collects the outcomes.
- ``outcome`` finds what failing cases have in common, for ``command``.
- ``pytest --pyargs mmcore_tools.conform`` makes a test of each kernel and property.
"""

from __future__ import annotations

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> dict[str, str]:
    """``mmcore conform``."""
    return {"conform": "mmcore_tools.conform.command:conform"}
