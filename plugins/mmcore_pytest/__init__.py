"""The pytest plugin: every registered kernel as a pytest-benchmark benchmark that is verified before it is timed.

``mmcore bench`` runs it from any folder.
"""

from __future__ import annotations

from collections.abc import Mapping

from mmcore.hookspecs import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """Return ``mmcore bench``."""
    return {"bench": "mmcore_pytest.bench.command:bench"}
