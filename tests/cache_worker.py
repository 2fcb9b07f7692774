"""A program that compiles the variants of one source repeatedly, into a cache that other processes use and damage.

``python -m tests.cache_worker SOURCE SEED`` reports its first compilation and then runs until it is killed. Writing is
slowed down, so that the program is often killed during it. Sometimes an entry is removed, so that there is something to
write.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import sys
import time
from pathlib import Path

from mmcore.files import cache_directory
from mmcore_cuda.nvrtc import plan_compilation
from tests.cuda.test_compiler import planned

VARIANTS = 24


def main(source: Path, seed: int) -> None:
    """Compile for ever."""
    rng = random.Random(seed)
    Path.replace = _slowly  # type: ignore[assignment, method-assign]
    for number in itertools.count():
        plan_compilation.compile_plan(planned(source, f"{rng.randrange(VARIANTS)}.0f"), "90")
        if number == 0:
            print("compiled", flush=True)
        if rng.random() < 0.5:
            entries = [path for path in (cache_directory() / "entries").rglob("[!.]*") if path.is_file()]
            for path in rng.sample(entries, min(1, len(entries))):
                with contextlib.suppress(FileNotFoundError):
                    path.unlink()


def _slowly(self: Path, target: Path) -> Path:
    time.sleep(0.03)
    os.replace(self, target)
    return target


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
