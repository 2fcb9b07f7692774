"""Sizes as a user writes them: ``640``, ``128:3200:32``, ``512x256x128``, and lists of these."""

from __future__ import annotations

import re
from typing import NamedTuple

from mmcore.errors import InvalidProblem

_LARGEST = 2**31 - 1
_MOST = 10_000
_NUMBER = re.compile(r"[0-9]{1,10}")


class Sizes(NamedTuple):
    """The sizes of one product, as in C (m×n) = A (m×k) · B (k×n)."""

    m: int
    n: int
    k: int


def parse_sizes(text: str) -> tuple[Sizes, ...]:
    """The sizes that a specification stands for, in its order, each once; :class:`InvalidProblem` where it is none.

    It is a comma list of ``N`` (m = n = k), ``MxNxK`` and ``START:STOP[:STEP]`` (m = n = k, STOP included).
    """
    return tuple(dict.fromkeys(sizes for part in text.split(",") for sizes in _parse_part(part.strip())))


def _parse_part(part: str) -> list[Sizes]:
    if ":" in part:
        return _parse_range(part)
    texts = part.lower().replace("×", "x").split("x")
    if len(texts) not in (1, 3) or not all(texts):
        raise InvalidProblem(f"{part!r} is not a size: give N, or all of MxNxK")
    numbers = [_number(text, part) for text in texts]
    return [Sizes(*numbers * (3 // len(numbers)))]


def _parse_range(part: str) -> list[Sizes]:
    texts = part.split(":")
    if len(texts) not in (2, 3) or not all(texts):
        raise InvalidProblem(f"{part!r} is not a range of sizes: give START:STOP or START:STOP:STEP")
    start, stop, step = [*(_number(text, part) for text in texts), 1][:3]
    if stop < start:
        raise InvalidProblem(f"the range {part!r} is empty: it stops before it starts")
    count = (stop - start) // step + 1
    if count > _MOST:
        raise InvalidProblem(f"the range {part!r} has {count} sizes; {_MOST} are the most")
    return [Sizes(size, size, size) for size in range(start, stop + 1, step)]


def _number(text: str, part: str) -> int:
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= _LARGEST:
        where = "" if text == part else f" in {part!r}"
        raise InvalidProblem(f"{text!r}{where} is not a whole number from 1 to {_LARGEST}")
    return int(text)
