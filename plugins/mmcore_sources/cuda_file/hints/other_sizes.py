"""Readings of a file in which its numbers are other sizes of the product: m and n exchanged, or counts of vectors."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.declaration import Kernel
from mmcore_sources.cuda_file.inference.fragments import ROWS
from mmcore_sources.cuda_file.repairs.trial import signature_of

_SIZES = ("m", "n", "k")
_VECTOR = re.compile(r"[a-z_]*(?:16|32)?([248])\b")


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


def sizes_in_vectors(kernel: Kernel) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the option by which the lengths of rows count vectors, if parameters such as ``float4*`` are matrices."""
    signature = signature_of(kernel)
    words = [_word(each) for each in kernel.arguments]
    if signature is None or "" in words:
        return
    types = zip(words, signature.parameters, strict=False)
    vectors = {word: match[1] for word, each in types if word in ROWS and (match := _VECTOR.search(each.type))}
    counted = {ROWS[matrix]: f"{ROWS[matrix]}/{width}" for matrix, width in vectors.items()}
    option = ",".join(counted.get(word, word) for word in words)
    if counted:
        yield f"--args {option}", {"args": option}


def _word(argument: Argument) -> str:
    """Return an argument as ``--args`` names it; empty for one that it cannot name."""
    value = argument.value if isinstance(argument, Scalar) else argument
    return str(value) if isinstance(value, str | int | float) else ""
