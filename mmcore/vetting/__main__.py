"""``python -m mmcore.vetting ANSWERS``: load the plugins that standard input names, and write a line on each.

An empty line says that a plugin is well; any other says what it replaced, and is the last.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

from mmcore.registry import Registry
from mmcore.vetting.tampering import Guard


def main(asked: str, answers: Path) -> None:
    """Load them one after the other."""
    guard = Guard()
    # It is open before the first is loaded: a plugin may replace what opens files.
    with answers.open("a", encoding="utf-8", errors="replace") as file:
        for name, value, group in json.loads(asked):
            Registry().load(EntryPoint(name, value, group), "")
            replaced = guard.replaced()
            file.write(f"loading it replaces {replaced}\n" if replaced else "\n")
            file.flush()
            if replaced:
                break


main(sys.stdin.read(), Path(sys.argv[1]))
