"""The ladder's tuned configs, a file for each card model; ``mmcore tune --output`` writes them."""

from __future__ import annotations

from pathlib import Path

from mmcore import hookimpl


@hookimpl
def mmcore_tuning() -> list[Path]:
    """This folder."""
    return [Path(__file__).parent]
