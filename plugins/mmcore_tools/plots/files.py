"""Files of figures, for every command that draws: their names, matplotlib's absence, and writing them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mmcore.errors import MmcoreError
from mmcore.files import write

if TYPE_CHECKING:
    from mmcore_tools.plots.drawing import Drawing

PICTURES = (".png", ".svg")
"""The endings of a picture's file name."""


def picture_path(text: str) -> Path:
    """Return the path of a picture, as the type of an option. Raises click.BadParameter for another kind of file."""
    if (path := Path(text)).suffix.lower() not in PICTURES:
        raise click.BadParameter(f"{text!r} does not end in .png or .svg")
    return path


def require_matplotlib() -> None:
    """Raise MmcoreError if matplotlib is not installed."""
    # Its warnings about caches and fonts concern nothing that a figure shows.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MmcoreError(
            "figures are drawn with matplotlib, which is not installed: python -m pip install 'mmcore-cuda[plot]'"
        ) from None


def save(drawing: Drawing, path: Path) -> int:
    """Write a drawing in the format of a file's name, and return the file's size."""
    return write_file(path, drawing.png() if path.suffix.lower() == ".png" else drawing.svg().encode())


def write_file(path: Path, content: bytes) -> int:
    """Write a file and return its size. Raises MmcoreError if it cannot be written."""
    try:
        write(path, content)
    except OSError as error:
        raise MmcoreError(f"{str(path)!r} cannot be written: {error.strerror or error}") from None
    return len(content)
