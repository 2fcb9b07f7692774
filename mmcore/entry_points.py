"""The installed distributions that bring plugins."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import sys

from mmcore.files import read_bytes


def plugin_distributions(group: str) -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions that have entry points in a group, by name; the first on ``sys.path`` of each name."""
    distributions: dict[str, importlib.metadata.Distribution | None] = {}
    # importlib.metadata would make an object of every distribution, which takes longer than loading all plugins.
    for folder in sys.path:
        in_folder: dict[str, importlib.metadata.Distribution | None] = {}
        with contextlib.suppress(OSError):
            for entry in os.listdir(folder or os.curdir):
                stem, _, kind = entry.rpartition(".")
                if kind in ("dist-info", "egg-info"):
                    path, name = os.path.join(folder, entry), re.sub("[-_.]+", "-", stem.partition("-")[0]).lower()
                    in_folder.setdefault(name, None)
                    with contextlib.suppress(OSError):
                        if f"[{group}]".encode() in read_bytes(os.path.join(path, "entry_points.txt")):
                            in_folder[name] = importlib.metadata.Distribution.at(path)
        distributions = in_folder | distributions
    return {each.metadata["Name"] or name: each for name, each in distributions.items() if each}
