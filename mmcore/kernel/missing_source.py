"""Sources that an installed package was built without."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mmcore.kernel.declaration import Kernel

_INSTALLED = frozenset(("site-packages", "dist-packages"))


def installed_package(source: Path) -> str:
    """Return the name of the package that a source was installed with, as from a wheel; "" for another source."""
    for folder in _INSTALLED.intersection(source.parts):
        return source.parts[source.parts.index(folder) + 1]
    return ""


def advice_about(source: Path) -> str:
    """Return what to do about a missing source, as a further clause; "" if its path shows nothing."""
    direct = Path(os.path.normpath(source))
    if ".." in source.parts and direct.is_file():
        return f"; {direct} is there: source= goes through a folder that is not"
    package = installed_package(source)
    return f"; package-data in the pyproject.toml of {package} lists the files of its wheel" if package else ""


def lacks_source(kernel: Kernel) -> bool:
    """Return whether a kernel's source is a file that does not exist."""
    is_file = not kernel.text and kernel.build is None and kernel.call is None
    return is_file and not kernel.source.exists()
