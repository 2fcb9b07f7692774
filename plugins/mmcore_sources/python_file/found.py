"""A kernel that a language finds in a Python file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mmcore_sources.cuda_file.inference.infer import Inferred


@dataclass(frozen=True)
class FoundKernel:
    """A kernel in a Python file.

    Attributes:
        name: its function's name.
        language: the name of its language, for messages.
        line: the line in which its text or function begins.
        declare: returns its declaration, from the options that the user gave. Raises InvalidKernel.
        is_product: True if it takes three arrays.
        launched: True if the file launches it.
    """

    name: str
    language: str
    line: int
    declare: Callable[[Mapping[str, Any]], Inferred]
    is_product: bool = True
    launched: bool = False
