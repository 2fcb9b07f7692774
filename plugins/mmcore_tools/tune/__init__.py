"""``mmcore tune``: the fastest config of a kernel for a product on a card, found with Optuna."""

from __future__ import annotations

from collections.abc import Mapping

from mmcore import hookimpl


@hookimpl
def mmcore_commands() -> Mapping[str, str]:
    """``mmcore tune``, which takes the extra ``mmcore-cuda[tune]``."""
    return {"tune": "mmcore_tools.tune.command:tune"}
