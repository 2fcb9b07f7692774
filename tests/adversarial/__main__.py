"""``python -m tests.adversarial FILE...`` prints the verdict that each kernel must get, and the one that it gets."""

from __future__ import annotations

import sys
from pathlib import Path

from mmcore import MmcoreError
from tests.adversarial.corpus import Adversary, check_verdict, run_verdict


def main(paths: list[str]) -> None:
    """Print the verdicts of the kernels in these files."""
    for path in paths:
        one = Adversary(Path(path).absolute())
        print(f"{one.kind}/{one.name}: expected {one.expected}")
        for size in one.sizes:
            try:
                print(f"  {size}: run {run_verdict(one.kernel, size, 'emulator').splitlines()[0]}")
                print("".join(f"    check {line}\n" for line in check_verdict(one.kernel, size)), end="")
            except MmcoreError as error:
                print(f"  {size}: {type(error).__name__}: {error}")


main(sys.argv[1:])
