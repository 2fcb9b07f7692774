"""The emulator's tensor cores against published outputs of seven cards from V100 to H200, bit for bit.

It reads the directory ``model_validation`` of a checkout of github.com/north-numerical-computing/MATLAB-tensor-core,
and needs no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.studies.study import write
from mmcore_emulator.tensor_cores.arithmetic import arithmetic_of
from mmcore_emulator.tensor_cores.summation import multiply_add

#: Compute capability of each card; "Ada" is an RTX 1000.
CARDS = {"V100": (7, 0), "A100": (8, 0), "A2": (8, 6), "Ada": (8, 9), "L40S": (8, 9), "H100": (9, 0), "H200": (9, 0)}
TYPES = {"fp16": "f16", "bf16": "bf16", "tf32": "tf32", "E4M3": "e4m3", "E5M2": "e5m2"}
RESULTS = {"fp16": "f16", "fp32": "f32"}


def hexadecimal(path: Path) -> NDArray[np.float64]:
    """Return the rows of a file of hexadecimal float32 bit patterns."""
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return np.array([[int(each, 16) for each in row] for row in rows], np.uint32).view(np.float32).astype(np.float64)


def binary(path: Path) -> NDArray[np.float32]:
    """Return the numbers of a file of binary float32 bit patterns, one a line."""
    return np.array([int(line, 2) for line in path.read_text(encoding="utf-8").split()], np.uint32).view(np.float32)


def compared(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the number of results that differ from the emulator's, for each card and types."""
    for card, capability in CARDS.items():
        for name, kind in TYPES.items():
            files = directory / card / name
            for result_name, result in RESULTS.items():
                path = files / f"d_{card}_{result_name}.txt"
                if not path.exists():
                    continue
                a, b = (hexadecimal(files / f"{matrix}_{card}_{name}.txt") for matrix in "ab")
                c, d = binary(files / f"c_{card}_fp32.txt"), binary(path)
                instruction = "mma"
                if capability == (9, 0) and kind in ("e4m3", "e5m2") and result == "f32":
                    instruction, c = "wgmma", np.zeros_like(c)
                elif result == "f16":
                    c = c.astype(np.float16).astype(np.float32)
                arithmetic = arithmetic_of(capability, instruction, kind, kind, result, a.shape[1])
                made = multiply_add(a[:, None], b[:, :, None], c[:, None, None], arithmetic)[:, 0, 0]
                differ = made.astype(np.float32).view(np.uint32) != d.view(np.uint32)
                about = {"card": card, "capability": ".".join(map(str, capability))}
                about |= {"types": f"{result}.{kind}", "k": a.shape[1]}
                yield about | {"dot products": len(d), "differ": int(differ.sum())}


def main(directory: Path, results: Path) -> None:
    """Compare with the directory ``model_validation``, print the rows and write them."""
    found = list(compared(directory))
    for row in found:
        print(*row.values(), sep="\t")
    write(results, {"source": "github.com/north-numerical-computing/MATLAB-tensor-core"}, rows=found)
