"""The build of GEMMul8: ``python -m mmcore_libraries.gemmul8 CHECKOUT [ARCHITECTURE]``."""

from __future__ import annotations

import sys
from pathlib import Path

from mmcore.errors import MmcoreError
from mmcore_libraries.gemmul8.library import build

USAGE = "python -m mmcore_libraries.gemmul8 CHECKOUT [ARCHITECTURE]"


def main(words: list[str]) -> int:
    """Build the library and print its path; return the exit status."""
    if not 1 <= len(words) <= 2 or words[0].startswith("-"):
        print(f"usage: {USAGE}, an architecture such as 90", file=sys.stderr)
        return 2
    try:
        print(build(Path(words[0]), *words[1:]))
    except MmcoreError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
