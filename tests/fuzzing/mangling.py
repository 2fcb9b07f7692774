"""PTX, damaged at random."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

Mangle: TypeAlias = Callable[[random.Random, str, Sequence[str]], str]
"""From a text, and others that parts may be taken from, to a damaged one."""

_CHARACTERS = [*map(chr, range(32, 127)), "\n", "\t", "\0", "²", "×", "", "", ""]
_NUMBERS = ("", "0", "1", "-1", "08", "4294967296", "18446744073709551616", "9" * 5000, "0x", "1e9")
_TYPES = ("f32", "u32", "s32", "b32", "u64", "b64", "f64", "pred", "shared", "global", "u8", "b16", "const")
_OPERATIONS = ("add", "sub", "mul", "setp.gt", "setp.le", "mad", "min")


def cut_short(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """The beginning of a text."""
    return text[: rng.randrange(len(text))]


def spliced(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """The beginning of one and the end of another."""
    other = rng.choice(others)
    return text[: rng.randrange(len(text))] + other[rng.randrange(len(other)) :]


def characters_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """A few characters replaced, or lost."""
    characters = list(text)
    for _ in range(rng.choice((1, 2, 10))):
        characters[rng.randrange(len(characters))] = rng.choice(_CHARACTERS)
    return "".join(characters)


def lines_moved(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Lines dropped, doubled or swapped."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 2, 5))):
        one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        change = rng.choice(("drop", "double", "swap"))
        if change == "drop":
            del lines[one]
        elif change == "double":
            lines.insert(other, lines[one])
        else:
            lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def words_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """A few words replaced by some from anywhere."""
    words, strange = text.split(" "), rng.choice(others).split()
    for _ in range(rng.choice((1, 2, 5))):
        words[rng.randrange(len(words))] = rng.choice(strange)
    return " ".join(words)


def numbers_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """A number replaced by one that is too large, or none."""
    found = rng.choice(list(re.finditer(r"\d+", text)))
    return text[: found.start()] + rng.choice((*_NUMBERS, str(rng.randrange(2**40)))) + text[found.end() :]


def instructions_changed(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """An instruction that does something else: another register, type or operation. Most such text can be read."""
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
    """Words of PTX in no order, as a function's body."""
    words = rng.choice(others).split()
    body = "".join(rng.choice(words) + rng.choice((" ", ", ", ";\n")) for _ in range(rng.randrange(100)))
    return f".visible .entry f(\n.param .u64 p\n)\n{{\n{body}\n}}"


def no_ptx(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Something else altogether."""
    return rng.choice(
        ("", "\0", "{" * 999, "}", ".entry", ".entry f", ".entry f()", "\x7fELF", "{}", "// .entry f() {}")
    )


MANGLES: tuple[Mangle, ...] = (
    cut_short,
    spliced,
    characters_changed,
    lines_moved,
    words_changed,
    numbers_changed,
    instructions_changed,
    words_at_random,
    no_ptx,
)
