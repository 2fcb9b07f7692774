"""The ladder: what the emulator counts of each rung."""

from __future__ import annotations

from bench.tables import sources
from bench.tables.markdown import markdown
from bench.tables.sources import results

_HEADER = ("rung", "warp instructions", "MB read", "shared wavefronts", "conflicts", "registers", "KB a block")


def rungs(*types: str) -> str:
    """The counters of the rungs of some types, in one product of 512×512×512."""
    with results(sources.RESULTS / "emulator" / "ladder_counters.json") as document:
        rows = [
            [
                f"`{row['kernel']}`",
                f"{row['warp_instructions'] / 1e6:.3f} M",
                f"{32 * sum(row[f'{kind}_sectors'] for kind in ('global_load', 'async_copy', 'bulk_load')) / 1e6:.1f}",
                f"{sum(row[f'{kind}_wavefronts'] for kind in ('shared_load', 'ldmatrix', 'wgmma')) / 1e6:.3f} M",
                f"{row['shared_bank_conflicts'] / 1e6:.3f} M",
                str(row["registers"]),
                f"{row['shared_bytes'] / 1024:.0f}",
            ]
            for row in document["rows"]
            if row["kernel"].split(".")[1] in types
        ]
    return markdown(_HEADER, rows)
