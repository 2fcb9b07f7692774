"""``python -m mmcore`` is the command ``mmcore``."""

from __future__ import annotations

from mmcore.cli import main

main(prog_name="mmcore")
