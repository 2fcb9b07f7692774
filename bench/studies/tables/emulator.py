"""The emulator: its instructions, its bits beside those of GPUs, and the faults that it finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bench.studies.tables.table import grouped
from mmcore_emulator.isa.entries import Family
from mmcore_emulator.isa.table import FAMILIES, REFUSED


def tensor_cores(*documents: Any) -> Iterator[dict[str, Any]]:
    """Yield the number of compared and of differing dot products of each instruction, on two cards."""
    for rows in grouped((row for document in documents for row in document["rows"]), "instruction").values():
        h200, h100 = (row | {"off": row["differ"] - row["signs of zeros"] - row["bits of NaN"]} for row in rows)
        yield {"instruction": h200["instruction"], "h200": h200, "h100": h100}


def independent_models(models: Any, outputs: Any) -> Iterator[list[str]]:
    """Yield sums of the comparisons with mmasim and with published outputs of cards, by compute capability."""
    of_cards = grouped(outputs["rows"], "capability")
    for capability, rows in grouped(models["rows"], "capability").items():
        published = of_cards.get(capability, [])
        counts = [len(rows), *(sum(row[name] for row in rows) for name in ("dot products", "differ", "NaN"))]
        counts += [sum(row[name] for row in published) for name in ("dot products", "differ") if published]
        cards = ", ".join(dict.fromkeys(row["card"] for row in published))
        yield [capability, *(f"{count:,}" for count in counts), *[""] * (6 - len(counts)), cards]


def emulated_bits(document: Any) -> Iterator[list[str]]:
    """Yield the number of public kernels with the same bits of C on the emulator and on an H200."""
    for family, rows in grouped(document["rows"], "family").items():
        not_run = sum(row["differing"] is None for row in rows)
        other = sum(bool(row["differing"]) for row in rows)
        yield [family, *map(str, (len(rows) - not_run - other, other, not_run))]


def planted_faults(document: Any) -> Iterator[list[str]]:
    """Yield the number of planted faults of each kind that ``mmcore check`` and compute-sanitizer find."""
    for kind, rows in grouped(document["rows"], "kind").items():
        judged = [row["sanitizer"] for row in rows if isinstance(row["sanitizer"], list)]
        counts = (len(rows), sum(bool(row["check"]) for row in rows), sum(map(bool, judged)), len(rows) - len(judged))
        yield [kind.replace("none", "none: the kernels as they are"), *map(str, counts)]


def instructions() -> Iterator[list[str]]:
    """Yield the families with their instructions and their meaning in a proof."""
    rows = ((family.title, _names(family), family.proof) for family in FAMILIES)
    for title, names, proof in (*rows, ("not supported", REFUSED, "")):
        yield [title, ", ".join(f"`{name}`" for name in names), proof]


def _names(family: Family) -> list[str]:
    """Return the instructions of a family as PTX writes them, without what only modifies them."""
    names = []
    for entry in family.entries:
        word, dot, rest = entry.name.partition(".")
        names += [f"{each}{dot}{rest}" for each in word.split("|")]
    names += [opcode.partition(".")[0] for opcode, _ in family.exact()]
    # The emulator's names for functions of the driver.
    return [name for name in dict.fromkeys(names) if name not in ("assertfail", "vprintf")]
