"""Readings of a file in which its numbers are other sizes of the product, such as m and n exchanged."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.declaration import Kernel

_SIZES = ("m", "n", "k")


def other_sizes(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the options that exchange the sizes which a kernel's parameters are, m and n first."""
    words = [_word(each) for each in kernel.arguments]
    if not {*_SIZES} <= {*words} or "" in words:
        return
    others = (each for each in itertools.permutations(_SIZES) if each != _SIZES)
    for order in sorted(others, key=lambda each: each[2] != "k"):
        names = dict(zip(_SIZES, order, strict=True))
        option = ",".join(names.get(word, word) for word in words)
        yield f"--args {option}", {"args": option}


def _word(argument: Argument) -> str:
    """Return an argument as ``--args`` names it; empty for one that it cannot name."""
    value = argument.value if isinstance(argument, Scalar) else argument
    return str(value) if isinstance(value, str | int | float) else ""
