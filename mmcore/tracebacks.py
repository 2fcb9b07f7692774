"""The place of an error in a plugin's Python code."""

from __future__ import annotations

import os
from pathlib import Path

_OURS = Path(__file__).parent
_STANDARD = Path(os.__file__).parent


def place(error: BaseException) -> str:
    """File and line of the innermost call that is the plugin's own, "matmul.py:7"; empty where there is none."""
    import traceback  # only errors need it

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not _is_foreign(frame.filename):
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""


def _is_foreign(filename: str) -> bool:
    """Whether it is mmcore's, pluggy's, Python's own or made up."""
    path = Path(filename)
    standard = path.is_relative_to(_STANDARD) and not {"site-packages", "dist-packages"} & set(path.parts)
    return filename.startswith("<") or path.is_relative_to(_OURS) or standard or path.parent.name == "pluggy"
