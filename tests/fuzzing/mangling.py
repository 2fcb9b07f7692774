"""PTX, damaged at random."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Mangle: TypeAlias = Callable[[random.Random, str, Sequence[str]], str]
"""A function from a text, and others to take parts from, to a damaged text."""

_CHARACTERS = [*map(chr, range(32, 127)), "\n", "\t", "\0", "²", "×", "", "", ""]
_NUMBERS = ("", "0", "1", "-1", "08", "4294967296", "18446744073709551616", "9" * 5000, "0x", "1e9")
_TYPES = ("f32", "u32", "s32", "b32", "u64", "b64", "f64", "pred", "shared", "global", "u8", "b16", "const")
_OPERATIONS = ("add", "sub", "mul", "setp.gt", "setp.le", "mad", "min")
_NO_PTX = ("", "\0", "{" * 999, "}", ".entry", ".entry f", ".entry f()", "\x7fELF", "{}", "// .entry f() {}")


def spliced(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Return the beginning of a text and the end of another, or the beginning alone."""
    other = rng.choice((*others, *[""] * len(others)))
    return text[: rng.randrange(len(text))] + other[rng.randrange(len(other) + 1) :]


def characters_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Replace or remove a few characters."""
    characters = list(text)
    for _ in range(rng.choice((1, 2, 10))):
        characters[rng.randrange(len(characters))] = rng.choice(_CHARACTERS)
    return "".join(characters)


def lines_moved(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Remove, repeat or replace a few lines."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 5))):
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[one : one + 1] = rng.choice(([], [lines[one]] * 2, [lines[other]]))
    return "\n".join(lines)


def words_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Replace a few words by words of other texts."""
    words, strange = text.split(" "), rng.choice(others).split()
    for _ in range(rng.choice((1, 2, 5))):
        words[rng.randrange(len(words))] = rng.choice(strange)
    return " ".join(words)


def numbers_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Replace a number by one that is too large, or by something else."""
    found = rng.choice(list(re.finditer(r"\d+", text)))
    return text[: found.start()] + rng.choice((*_NUMBERS, str(rng.randrange(2**40)))) + text[found.end() :]


def instructions_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Change a register, type or operation of an instruction. Most of these texts are valid PTX."""
    lines = text.split("\n")
    place = rng.choice([index for index, line in enumerate(lines) if re.match(r"\t[a-z@].*;", line)])
    changes: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
        (r"(%\w*?)(\d+)\b", lambda found: f"{found[1]}{max(1, int(found[2]) + rng.choice((-1, 1)))}"),
        (r"\.(f32|u32|s32|b32|u64|s64|b64|f64|pred|shared|global)\b", lambda found: f".{rng.choice(_TYPES)}"),
        (r"\b(add|sub|mul|fma|setp\.\w+|mad)\b", lambda found: rng.choice(_OPERATIONS)),
    )
    pattern, change = rng.choice(changes)
    lines[place] = re.sub(pattern, change, lines[place], count=rng.choice((0, 1)))
    return "\n".join(lines)


def words_at_random(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Return a function whose body has words of PTX in random order."""
    words = rng.choice(others).split()
    body = "".join(rng.choice(words) + rng.choice((" ", ", ", ";\n")) for _ in range(rng.randrange(100)))
    return f".visible .entry f(\n.param .u64 p\n)\n{{\n{body}\n}}"


def no_ptx(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Return a text that is not PTX."""
    return rng.choice(_NO_PTX)


MANGLES: tuple[Mangle, ...] = (
    *(spliced, characters_changed, lines_moved, words_changed),
    *(numbers_changed, instructions_changed, words_at_random, no_ptx),
)
