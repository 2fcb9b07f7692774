"""The ladder's tuned configs, one file for each GPU model; ``mmcore tune --output`` writes them."""

from __future__ import annotations

from pathlib import Path

from mmcore import hookimpl


@hookimpl
def mmcore_tuning() -> list[Path]:
    """Return the folder of the tuned configs."""
    return [Path(__file__).parent]
