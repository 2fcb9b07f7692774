"""Sizes as a user writes them: ``640`` and ``512x256x128``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from mmcore.errors import InvalidProblem
from mmcore.messages import quoted

LARGEST_SIZE = 2**31 - 1
_NUMBER = re.compile(r"[0-9]{1,10}")


class Sizes(NamedTuple):
    """The sizes of one product.

    Attributes:
        m, n, k: those of C (m×n) = A (m×k) · B (k×n).
    """

    m: int
    n: int
    k: int


def size_text(sizes: Mapping[str, Any]) -> str:
    """Return the size of a product as "5×7×3", followed by the leading dimensions that are not 0: ", lda = 9"."""
    gaps = (f", {name} = {sizes[name]}" for name in ("lda", "ldb", "ldc") if sizes.get(name))
    return f"{sizes['m']}×{sizes['n']}×{sizes['k']}{''.join(gaps)}"


def parse_size(text: str) -> Sizes:
    """Return the sizes in ``N`` (m = n = k) or ``MxNxK``; raise :class:`InvalidProblem` for any other text."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) not in (1, 3) or not all(parts):
        raise InvalidProblem(f"{quoted(text)} is not a size: give N, or all of MxNxK")
    numbers = [parse_number(part, text) for part in parts]
    return Sizes(*numbers * (3 // len(numbers)))


def parse_number(text: str, whole: str) -> int:
    """Return a size in the text ``whole``; raise :class:`InvalidProblem` for any other text."""
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= LARGEST_SIZE:
        where = "" if text == whole else f" in {quoted(whole)}"
        raise InvalidProblem(f"{quoted(text)}{where} is not a whole number from 1 to {LARGEST_SIZE}")
    return int(text)
