"""The command of every study: ``python -m bench.studies NAME ARGUMENTS``."""

from __future__ import annotations

import sys

from bench.studies.study import run

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m bench.studies NAME ARGUMENTS; docs/studies.md lists the studies")
    sys.exit(run(sys.argv[1], sys.argv[2:]))
