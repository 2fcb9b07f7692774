"""What every command that draws does the same way: ask for matplotlib, and write a picture."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from mmcore.errors import MmcoreError
from mmcore.files import write

if TYPE_CHECKING:
    from mmcore_tools.plots.drawing import Drawing

PICTURES = (".png", ".svg")
"""How the name of a picture's file ends."""


def require_matplotlib() -> None:
    """MmcoreError, which says how to get it, where matplotlib is not installed."""
    # It tells of caches that it cannot keep and fonts that it does without: nothing that shows in a figure.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MmcoreError(
            "figures are drawn with matplotlib, which is not installed: python -m pip install 'mmcore-cuda[plot]'"
        ) from None


def picture(drawing: Drawing, path: Path) -> bytes:
    """A drawing in the format that a file's name ends in, one of :data:`PICTURES`."""
    return drawing.png() if path.suffix.lower() == ".png" else drawing.svg().encode()


def save(content: bytes, path: Path) -> None:
    """Write a file; MmcoreError where it cannot be written."""
    try:
        write(path, content)
    except OSError as error:
        raise MmcoreError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None
