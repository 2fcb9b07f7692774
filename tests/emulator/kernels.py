"""Kernels of tests that do more than the corpus does."""

from __future__ import annotations

from pathlib import Path


def kernel_source(name: str, **words: object) -> str:
    """Return the source of a kernel in sources/, with some of its words replaced."""
    source = (Path(__file__).parent / "sources" / name).with_suffix(Path(name).suffix or ".cu")
    text = source.read_text(encoding="utf-8").rstrip()
    for word, replacement in words.items():
        text = text.replace(word, str(replacement))
    return text
