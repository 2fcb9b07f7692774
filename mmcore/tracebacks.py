"""The place of an error in a plugin's Python code."""

from __future__ import annotations

import os
from pathlib import Path

_OURS = Path(__file__).parent
_STANDARD = Path(os.__file__).parent


def place(error: BaseException) -> str:
    """Return file and line of the innermost call in the plugin's own code, "matmul.py:7"; empty if there is none."""
    import traceback  # only errors need it

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not _is_foreign(frame.filename):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""


def _is_foreign(filename: str) -> bool:
    """Return whether a file is mmcore's, pluggy's or Python's, or does not exist."""
    path = Path(filename)
    standard = path.is_relative_to(_STANDARD) and not {"site-packages", "dist-packages"} & set(path.parts)
    return filename.startswith("<") or path.is_relative_to(_OURS) or standard or path.parent.name == "pluggy"
