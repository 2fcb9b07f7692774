"""Sizes as a user writes them: ``640``, ``512x256x128``, ``128:3200:32``, and lists of these."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from mmcore.errors import InvalidProblem
from mmcore.messages import quoted

LARGEST_SIZE = 2**31 - 1
_MOST = 10_000
_NUMBER = re.compile(r"[0-9]{1,10}")


class Sizes(NamedTuple):
    """The sizes of one product, as in C (m×n) = A (m×k) · B (k×n)."""

    m: int
    n: int
    k: int


def parse_size(text: str) -> Sizes:
    """Return the sizes in ``N`` (m = n = k) or ``MxNxK``; raise :class:`InvalidProblem` for any other text."""
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) not in (1, 3) or not all(parts):
        raise InvalidProblem(f"{quoted(text)} is not a size: give N, or all of MxNxK")
    numbers = [_number(part, text) for part in parts]
    return Sizes(*numbers * (3 // len(numbers)))


def parse_sizes(text: str) -> tuple[Sizes, ...]:
    """Return the sizes in a comma list of ``N``, ``MxNxK`` and ``START:STOP[:STEP]``, in its order, each once.

    In a range m = n = k, and STOP is included.

    Raises:
        InvalidProblem: the text is not such a list, or a range is empty or too long.
    """
    parts = [part.strip() for part in text.split(",")]
    listed = [_range(part) if ":" in part else [parse_size(part)] for part in parts]
    return tuple(dict.fromkeys(itertools.chain.from_iterable(listed)))


def _range(text: str) -> list[Sizes]:
    parts = text.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        raise InvalidProblem(f"{quoted(text)} is not a range of sizes: give START:STOP or START:STOP:STEP")
    start, stop, step = [*(_number(part, text) for part in parts), 1][:3]
    if stop < start:
        raise InvalidProblem(f"the range {text!r} is empty: it stops before it starts")
    count = (stop - start) // step + 1
    if count > _MOST:
        raise InvalidProblem(f"the range {text!r} has {count} sizes; {_MOST} are the most")
    return [Sizes(size, size, size) for size in range(start, stop + 1, step)]


def _number(text: str, whole: str) -> int:
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= LARGEST_SIZE:
        where = "" if text == whole else f" in {quoted(whole)}"
        raise InvalidProblem(f"{quoted(text)}{where} is not a whole number from 1 to {LARGEST_SIZE}")
    return int(text)
