"""The constant factors of A·B and of C's old value in the stores to C, such as ALPHA and BETA."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from mmcore.errors import InvalidKernel
from mmcore_cuda.cuda_source.program import Program
from mmcore_sources.cuda_file.inference.body import Body, Term
from mmcore_sources.cuda_file.inference.c_expressions import parse_expression
from mmcore_sources.cuda_file.inference.expressions import evaluate
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.notes import Note

_SIMPLE = re.compile(r"[\w.]+")  # a name or a number
_NAMED = re.compile(r"alpha|beta", re.IGNORECASE)


@dataclass(frozen=True)
class Factor:
    """A constant factor: its value and its names in the source; a number has none."""

    value: float
    names: tuple[str, ...] = ()

    @property
    def is_named(self) -> bool:
        """True if the source names it alpha or beta, so that it is meant."""
        return any(map(_NAMED.search, self.names))


_ONE = Factor(1.0)
TRIED = {"alpha": 2.0, "beta": 0.5}
"""The factors that a kernel gets as parameters: unequal, so that an exchange shows, and powers of two."""


def operation(
    factors: Mapping[str, Factor], passed: Collection[str], *, adds: bool
) -> tuple[dict[str, float], list[Note]]:
    """Return alpha and beta of a kernel whose stores have these constant factors, and notes about them.

    A constant counts if the source names it. ``passed`` has the factors that the kernel gets as parameters and uses;
    ``adds`` says that what C held is added.
    """
    named = {name: each for name, each in factors.items() if each.is_named}
    usual = {"alpha": 1.0, "beta": float(adds)} | {name: TRIED[name] for name in passed}
    values = usual | {name: each.value for name, each in named.items()}
    if not named and not adds and not passed:
        return values, []
    alpha, beta = ("" if value == 1 else f"{value:g}·" for value in values.values())
    text = f"C = {f'{beta}C + ' if adds else ''}{alpha}A·B"
    words = " and ".join(dict.fromkeys(name for each in named.values() for name in each.names))
    of_parameters = f"the kernel gets {' and '.join(sorted(passed))}" if passed else "what C held is added"
    why = f"the source multiplies by {words}" if named else of_parameters
    return values, [Note("operation", text, why, "--alpha, --beta")]


def constant_factors(source: Program, body: Body, c: str) -> Mapping[str, Factor]:
    """Return the constant factors other than 1, by "alpha" and "beta"; none that differ between the stores to ``c``."""
    reader = Reader(source)
    of_product, of_old, scaling = list[Factor](), list[Factor](), list[Factor]()
    for target, sign, value in body.assignments:
        if target.type == "identifier" or body.pointer_in(target) != c or sign not in ("=", "+=", "*="):
            continue
        terms = [_split(reader, term) for term in body.terms(value)]
        if sign == "*=":
            scaling += [factor for factor, rest in terms if not rest]
            continue
        old = [factor for factor, rest in terms if _has(body, rest, c)]
        local = body.variables.values.keys()
        product = [factor for factor, rest in terms if not _has(body, rest, c) and set(rest) - local]
        if sign == "=" and old and not product:
            scaling += old
        else:
            of_product += product
            of_old += old or [_ONE if sign == "+=" else Factor(0.0)]
    found = {"alpha": _common(of_product), "beta": scaling[0] if len(scaling) == 1 else _common(of_old)}
    return {name: each for name, each in found.items() if each.value not in (0, 1)}


def _common(factors: Iterable[Factor]) -> Factor:
    """Return the only factor; 1 if there are several or none."""
    several = set(factors)
    return several.pop() if len(several) == 1 else _ONE


def _split(reader: Reader, term: Term) -> tuple[Factor, list[str]]:
    """Return the constant factor of a product, and its other factors."""
    found, rest = _ONE, []
    for each in term:
        value = _value(reader, each) if _SIMPLE.fullmatch(each) else None
        if value is None:
            rest.append(each)
        else:
            found = replace(found, value=found.value * value, names=(*found.names, *filter(str.isidentifier, (each,))))
    return found, rest


def _value(reader: Reader, text: str) -> float | None:
    try:
        return float(evaluate(reader.number(parse_expression(text)), {}))
    except InvalidKernel:
        return None


def _has(body: Body, factors: Iterable[str], pointer: str) -> bool:
    words = (word.strip("()") for factor in factors for word in factor.split())
    return any(body.pointers.get(word) == pointer for word in words)
