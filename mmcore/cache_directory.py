"""The cache directory."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """``MMCORE_CACHE_DIR``, else ``mmcore`` under the user's cache directory.

    Raises:
        RuntimeError: there is neither, as the user has no home.
    """
    if given := os.environ.get("MMCORE_CACHE_DIR"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mmcore"
