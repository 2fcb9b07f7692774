"""Texts with alternatives that expand to many opcodes or statements.

``<a|b>`` expands to each of its alternatives, ``$1`` to the choice in the first pair of angle brackets, and ``$2`` to
the choice in the second. ``<INT>`` and the other names of :data:`SETS` expand to the alternatives listed there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

SETS = {
    "INT": "u16|s16|u32|s32|u64|s64",
    "INT8": "u8|s8|u16|s16|u32|s32|u64|s64",
    "BITS": "b16|b32|b64",
    "HALF": "f16|f16x2|bf16|bf16x2",
    "FLOAT": "f16|bf16|f32|f64",
    "WAY": "rn|rz|rm|rp",
    "SINGLE": "b16|b32|b64|INT|f32|f64|f16|bf16",
    "COMPARE": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|ltu|num|nan",
}


def template_file(name: str) -> str:
    """Return the text of a file of templates in statements/."""
    return (Path(__file__).parent / "statements" / f"{name}.txt").read_text(encoding="utf-8")


def expanded(templates: str) -> list[str]:
    """Return the expansions of lines of templates, without comments (``#``) and repetitions."""
    lines = (line.partition("#")[0].strip() for line in templates.splitlines())
    return list(dict.fromkeys(text for line in lines if line for text in _expanded(line)))


def _alternatives(text: str) -> list[str]:
    return [choice for each in text.split("|") for choice in (_alternatives(SETS[each]) if each in SETS else [each])]


def _expanded(template: str) -> Iterator[str]:
    texts = re.split(r"<([^<>]*)>", template)
    for choices in itertools.product(*map(_alternatives, texts[1::2])):
        text = "".join(itertools.chain(*itertools.zip_longest(texts[::2], choices, fillvalue="")))
        yield re.sub(r"\$(\d)", lambda found, chosen=choices: chosen[int(found[1]) - 1], text)  # type: ignore[misc]
