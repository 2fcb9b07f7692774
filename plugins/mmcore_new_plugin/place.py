"""Where a new package goes: all of its files, or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mmcore_new_plugin.names import PluginNotWritten


def write_all(folder: Path, files: Mapping[str, str], check: Callable[[Path], None]) -> None:
    """Write files into a folder that is empty or not there yet.

    They are written to a temporary folder beside their place, and moved when they are complete and were checked.

    Args:
        folder: where to; folders above it that are missing are made.
        files: text by path, relative to ``folder`` and with slashes.
        check: is given the temporary folder, and raises where the files must not be kept.

    Raises:
        PluginNotWritten: the folder is not free, or the system does not let it be written; nothing is left behind.
    """
    try:
        _write_all(Path(os.path.abspath(folder)), files, check)
    except OSError as error:
        reason = error.strerror or str(error)
        raise PluginNotWritten(f"{str(folder)!r} cannot be written: {reason}") from None


def _write_all(folder: Path, files: Mapping[str, str], check: Callable[[Path], None]) -> None:
    base = folder
    while not os.path.lexists(base):
        base = base.parent
    if not base.is_dir():
        raise PluginNotWritten(f"{str(base)!r} is there already and is no folder")
    if base == folder and any(folder.iterdir()):
        raise PluginNotWritten(f"the folder {str(folder)!r} is not empty; give another with --dir")
    with tempfile.TemporaryDirectory(dir=base, prefix=".mmcore-new-plugin-") as temporary:
        root = Path(temporary, "root")
        root.mkdir()
        staged = root / folder.relative_to(base)
        for name, text in files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        check(staged)
        for made in root.iterdir():
            made.rename(base / made.name)
