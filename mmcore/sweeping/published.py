"""The figures that a lecture published, as results are filed with them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidSweep

COLUMNS = {"kernel": str, "gpu": str, "n": int, "block": int, "measure": str, "memory": str, "ms": float}


def published_rows(path: Path) -> list[dict[str, Any]]:
    """What a file of published figures says, a dictionary for each row: m = n = k, blocks of b×b, times in ms.

    Raises:
        InvalidSweep: it cannot be read, or is of another form.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [{name: read(row[name]) for name, read in COLUMNS.items()} for row in csv.DictReader(file)]
    except OSError as error:
        reason = error.strerror
    except KeyError as error:
        reason = f"it has no column {error}"
    except (ValueError, TypeError, csv.Error) as error:
        reason = str(error)
    raise InvalidSweep(f"the published figures in {path} cannot be read: {reason}")
