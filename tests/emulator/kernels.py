"""Kernels of tests that do more than the corpus does, and arguments of those with tensor cores."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def kernel_source(name: str, **words: object) -> str:
    """Return the source of a kernel in sources/, with some of its words replaced."""
    source = (Path(__file__).parent / "sources" / name).with_suffix(Path(name).suffix or ".cu")
    text = source.read_text(encoding="utf-8").rstrip()
    for word, replacement in words.items():
        text = text.replace(word, str(replacement))
    return text


PIPELINE, HANDING_ON, WARPGROUP = map(kernel_source, ("pipeline", "handing_on", "warpgroup"))
RNG = np.random.default_rng(3)
A = RNG.integers(-8, 9, (16, 64)).astype(np.float16)
B = RNG.integers(-8, 9, (64, 8)).astype(np.float16)
STEPS = RNG.integers(-9, 9, (3, 64)).astype(np.float32)
