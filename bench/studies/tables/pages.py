"""The tables of each page."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from bench.studies.tables.conclusions import POZNAN, UNSA, UPC, conclusions
from bench.studies.tables.emulator import emulated_bits, independent_models, instructions, planted_faults, tensor_cores
from bench.studies.tables.ladder import busy, rows_of_any_length, rungs
from bench.studies.tables.ladder import sizes as ladder_sizes
from bench.studies.tables.lectures import (
    best_kernel_times,
    coalescing,
    copies,
    end_to_end_times,
    kernel_times,
    remainders,
    sizes,
    then_and_now,
    transfers,
)
from bench.studies.tables.methods import (
    cgma,
    clock,
    counters,
    launch_cost,
    libraries,
    occupancies,
    phases,
    tensor_counters,
    themselves,
)
from bench.studies.tables.own_benchmarks import own_benchmarks
from bench.studies.tables.public_kernels import public_kernels
from bench.studies.tables.scale import cards, head, limits, predictions, pytest_head, searches, similar_card, stand_ins
from bench.studies.tables.scale import sizes as message_sizes
from bench.studies.tables.sources import H100, H200
from bench.studies.tables.studies import PAGE, studies
from bench.studies.tables.trust import float22, fuzzing, fuzzing_by_kernel, mutants, terms_that_show, types, zoo

TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {"kernel times": best_kernel_times},
    "docs/measuring.md": {
        "clock": clock,
        "launch cost": launch_cost,
        "libraries": libraries,
        "own benchmarks": own_benchmarks,
        "themselves": themselves,
        "phases": phases,
    },
    "docs/emulator.md": {
        "instructions": instructions,
        "tensor cores": tensor_cores,
        "independent models": independent_models,
        "emulated bits": emulated_bits,
        "planted faults": planted_faults,
    },
    "docs/ladder.md": {
        "float32": partial(rungs, "f32.0*"),
        "bfloat16": partial(rungs, "bf16.*"),
        "parts": partial(rungs, "f32.1*"),
        "others": partial(rungs, "f16.*", "tf32.*", "e4m3.*", "f64.*"),
        "sizes": ladder_sizes,
        "rows": rows_of_any_length,
        "busy": busy,
    },
    "docs/why.md": {"counters": counters, "tensor counters": tensor_counters},
    "docs/verification.md": {"types": types, "terms that show": terms_that_show, "float22": float22},
    "docs/results.md": {
        "kernel times": kernel_times,
        "end-to-end times": end_to_end_times,
        "then and now": then_and_now,
    },
    "docs/scale.md": {
        "cards": partial(cards, H200),
        "cards of another model": partial(cards, H100),
        "stand-ins": stand_ins,
        "head": head,
        "pytest": pytest_head,
        "messages": message_sizes,
        "limits": limits,
        "predictions": predictions,
        "searches": searches,
        "similar card": similar_card,
    },
    "docs/trust.md": {
        "zoo": zoo,
        "fuzzing": fuzzing,
        "fuzzing by kernel": fuzzing_by_kernel,
        "mutants": mutants,
        "public kernels": public_kernels,
    },
    "docs/lectures.md": {
        "upc": partial(conclusions, UPC),
        "copies": copies,
        "sizes": sizes,
        "remainders": remainders,
        "transfers": transfers,
        "coalescing": coalescing,
        "unsa": partial(conclusions, UNSA),
        "poznan": partial(conclusions, POZNAN),
        "occupancy": occupancies,
        "cgma": cgma,
    },
}
TABLES[PAGE] = {"studies": lambda: studies({page: each for page, each in TABLES.items() if page != PAGE})}


def with_tables(page: str, text: str) -> str:
    """Return a page's text with its tables between their markers.

    Raises:
        ValueError: a marker is missing.
    """
    for name, make in TABLES[page].items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        table = begin + make() + end
        text, count = re.subn(pattern, lambda _, table=table: table, text, flags=re.DOTALL)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"{page} has {count} places for the table {name!r}")
    return text
