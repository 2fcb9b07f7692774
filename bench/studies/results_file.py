"""The form of committed results: JSON whose lists have a row on each line, so that what changed can be read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def results_text(head: Mapping[str, Any], **lists: Iterable[Mapping[str, Any]]) -> str:
    """The document: what ``head`` has, indented, then each list by its name."""
    opening = json.dumps(head, indent=1).removesuffix("\n}")
    bodies = []
    for name, rows in lists.items():
        lines = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in rows)
        bodies.append(f',\n "{name}": [\n{lines}\n ]')
    return f"{opening}{''.join(bodies)}\n}}\n"
