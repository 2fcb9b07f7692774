"""The emulator: its instructions, its bits beside those of GPUs, and the faults that it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bench.studies.tables import sources
from bench.studies.tables.markdown import markdown
from bench.studies.tables.sources import results
from mmcore_emulator.isa.entries import Family
from mmcore_emulator.isa.table import FAMILIES, REFUSED


def tensor_cores() -> str:
    """Return the number of compared and of differing dot products of each instruction, on two cards."""
    header, columns = "instruction", []
    for card, folder in (("H200", sources.H200), ("H100", sources.H100)):
        header += f" | dot products, {card} | differ | NaN of other bits"
        with results(folder / "tensor_core_comparison.json") as document:
            columns.append({row["instruction"]: _compared(row) for row in document["rows"]})
    first, second = columns
    return markdown(header, [[f"`{name}`", *cells, *second[name]] for name, cells in first.items()])


def _compared(row: Mapping[str, Any]) -> list[str]:
    differ = row["differ"] - row["signs of zeros"] - row["bits of NaN"]
    return [f"{row['dot products']:,}", str(differ), str(row["bits of NaN"])]


def independent_models() -> str:
    """Compare the emulator with mmasim and with published outputs of cards, by compute capability."""
    header = "compute capability | instructions | dot products | differ | NaN of other bits"
    with results(sources.RESULTS / "emulator" / "mmasim.json") as document:
        models = document["rows"]
    with results(sources.RESULTS / "emulator" / "published_outputs.json") as document:
        outputs = document["rows"]
    rows = []
    for capability in dict.fromkeys(row["capability"] for row in models):
        of_model = [row for row in models if row["capability"] == capability]
        of_cards = [row for row in outputs if row["capability"] == capability]
        sums = [sum(row[name] for row in of_model) for name in ("dot products", "differ", "NaN")]
        cards = ", ".join(dict.fromkeys(row["card"] for row in of_cards))
        published = [sum(row[name] for row in of_cards) for name in ("dot products", "differ")] if of_cards else []
        cells = [len(of_model), *sums, *(published or ("", ""))]
        rows.append([capability, *(f"{cell:,}" if cell != "" else "" for cell in cells), cards])
    return markdown(f"{header} | published outputs | differ | of cards", rows)


def emulated_bits() -> str:
    """Return the number of public kernels with the same bits of C on the emulator and on an H200."""
    counts: dict[str, Counter[str]] = {}
    with results(sources.H200 / "emulated_bits.json") as document:
        for row in document["rows"]:
            differing = row["differing"]
            counts.setdefault(row["family"], Counter()).update(
                ["not run" if differing is None else "other bits" if differing else "same bits"]
            )
    rows = [
        [name, *(str(each[word]) for word in ("same bits", "other bits", "not run"))] for name, each in counts.items()
    ]
    return markdown("family | same bits | other bits | not run", rows)


def planted_faults() -> str:
    """Return the number of planted faults of each kind that ``mmcore check`` and compute-sanitizer find."""
    counts: dict[str, Counter[str]] = {}
    with results(sources.H200 / "planted_faults.json") as document:
        for row in document["rows"]:
            count = counts.setdefault(row["kind"].replace("none", "none: the kernels as they are"), Counter())
            judged = isinstance(row["sanitizer"], list)
            count.update(
                faults=1,
                check=int(bool(row["check"])),
                sanitizer=int(judged and bool(row["sanitizer"])),
                not_ended=int(not judged),
            )
    header = "fault | kernels | mmcore check | compute-sanitizer | had not ended there"
    names = ("faults", "check", "sanitizer", "not_ended")
    return markdown(header, [[kind, *(str(count[name]) for name in names)] for kind, count in counts.items()])


def instructions() -> str:
    """Return a table of the families, their instructions, and from which compute capability some of them exist."""
    rows = [[family.title, ", ".join(map(_code, _names(family)))] for family in FAMILIES]
    return markdown("family | instructions", [*rows, ["not supported", ", ".join(map(_code, REFUSED))]])


def _names(family: Family) -> list[str]:
    """Return the instructions of a family as PTX writes them, without what only modifies them."""
    names = []
    for entry in family.entries:
        word, dot, rest = entry.name.partition(".")
        names += [f"{each}{dot}{rest}" for each in word.split("|")]
    names += [opcode.partition(".")[0] for opcode, _ in family.exact()]
    # The emulator's names for functions of the driver.
    return [name for name in dict.fromkeys(names) if name not in ("assertfail", "vprintf")]


def _code(name: str) -> str:
    return f"`{name}`"
