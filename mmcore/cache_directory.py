"""The user's directories."""

from __future__ import annotations

import os
from pathlib import Path

from mmcore.errors import MmcoreError


def user_directory(variable: str, xdg: str, usual: str, name: str = "mmcore") -> Path:
    """Return the directory in ``variable``, else ``name`` in the directory in ``xdg``, or in the home's ``usual``.

    Raises:
        MmcoreError: the user has no home, and no variable is set.
    """
    if named := os.environ.get(variable):
        return Path(named)
    try:
        return Path(os.environ.get(xdg) or Path.home() / usual) / name
    except RuntimeError:
        raise MmcoreError(f"there is no home directory; set HOME, or {variable} to a folder") from None


def cache_directory() -> Path:
    """Return the cache's directory; raises as :func:`user_directory`."""
    return user_directory("MMCORE_CACHE_DIR", "XDG_CACHE_HOME", ".cache")
