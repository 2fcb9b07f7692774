"""CUDA sources that several tests compile or change; each is a file of tests/kernels/."""

from __future__ import annotations

import re
from pathlib import Path


def kernel_source(name: str, **values: object) -> str:
    """Return the text of a source, with words replaced by values."""
    text = (Path(__file__).parent / "kernels" / f"{name}.cu").read_text(encoding="utf-8")
    return re.sub(rf"\b({'|'.join(values)})\b", lambda word: str(values[word[0]]), text) if values else text


def kernel_sources(name: str) -> dict[str, str]:
    """Return the sources of a file by their titles, each on a separate line after four slashes."""
    _, *parts = kernel_source(name).split("//// ")
    return {title: text.removesuffix("\n") for title, _, text in (part.partition("\n") for part in parts)}
