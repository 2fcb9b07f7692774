"""Lists and ranges of sizes, as the option ``--mm-size`` takes them."""

from __future__ import annotations

import itertools

from mmcore.errors import InvalidProblem
from mmcore.kernel.sizes import Sizes, parse_number, parse_size
from mmcore.messages import quoted

_MOST = 10_000


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
    start, stop, step = [*(parse_number(part, text) for part in parts), 1][:3]
    if stop < start:
        raise InvalidProblem(f"the range {text!r} is empty: it stops before it starts")
    count = (stop - start) // step + 1
    if count > _MOST:
        raise InvalidProblem(f"the range {text!r} has {count} sizes; {_MOST} are the most")
    return [Sizes(size, size, size) for size in range(start, stop + 1, step)]
