"""Kernels with tensor cores and asynchronous copies, and their arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_FOLDER = Path(__file__).parent / "kernels"
PIPELINE, HANDING_ON, WARPGROUP = (
    (_FOLDER / f"{name}.cu").read_text(encoding="utf-8") for name in ("pipeline", "handing_on", "warpgroup")
)
RNG = np.random.default_rng(3)
A = RNG.integers(-8, 9, (16, 64)).astype(np.float16)
B = RNG.integers(-8, 9, (64, 8)).astype(np.float16)
STEPS = RNG.integers(-9, 9, (3, 64)).astype(np.float32)
