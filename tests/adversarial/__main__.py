"""``python -m tests.adversarial FILE...``: what each kernel is expected to get, and what it gets."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mmcore import MmcoreError
from tests.adversarial.corpus import adversary, check_verdict, run_verdict


def main(paths: list[str]) -> None:
    """Print the verdicts."""
    for path in paths:
        one = adversary(Path(path).absolute())
        print(f"{one.kind}/{one.name}: expected {one.expected}")
        with tempfile.TemporaryDirectory() as folder:
            for size in one.sizes:
                try:
                    kernel = one.kernel(Path(folder))
                    print(f"  {size}: run {run_verdict(kernel, size, 'emulator').splitlines()[0]}")
                    print("".join(f"    check {line}\n" for line in check_verdict(kernel, size)), end="")
                except MmcoreError as error:
                    print(f"  {size}: {type(error).__name__}: {error}")


main(sys.argv[1:])
