"""The parameters of a kernel as its CUDA source calls them. PTX only numbers them."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?:=.*)?$", re.DOTALL)
_CLOSED_BY = {"(": ")", "<": ">", "[": "]", "{": "}"}


def parameter_names(source: str, kernel: str) -> tuple[str, ...]:
    """Return the names of a kernel's parameters in order; none where they cannot be read off the source.

    Args:
        source: CUDA C++.
        kernel: the kernel's name, without its namespace.
    """
    text = _COMMENT.sub(" ", source)
    # The definition follows declarations, whose parameters may have no names.
    *_, begin = [0, *(found.end() for found in re.finditer(rf"__global__[^;{{}}]*?\b{re.escape(kernel)}\s*\(", text))]
    names = [_NAME.search(part.strip()) for part in _split(text[begin:])] if begin else []
    return tuple(name[1] for name in names if name) if all(names) else ()


def _split(text: str) -> list[str]:
    """Return what commas separate in a text, up to the parenthesis that closes it."""
    parts, part, open_ones = [], "", ""
    for character in text:
        if not open_ones and character in ",)":
            parts.append(part)
            part = ""
            if character == ")":
                break
            continue
        if character in _CLOSED_BY:
            open_ones += _CLOSED_BY[character]
        elif open_ones and character == open_ones[-1]:
            open_ones = open_ones[:-1]
        part += character
    return parts if any(part.strip() for part in parts) else []
