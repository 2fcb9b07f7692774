"""A journal of results, so that a run that is interrupted is gone on with."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmcore.cell import Cell
from mmcore.files import read_bytes, read_lines
from mmcore_engines.file_locks import Lock, LockFailed


class Journal:
    """The results of a run, a line of JSON each, in a file that is there only until the run has ended.

    A result is taken for a cell that is the same, of the same plugins by content, on a device of the same facts.

    Args:
        path: of the file, whose folder is made.
        common: what plugins there are, as :func:`~mmcore_engines.device_worker.identity` tells.

    Raises:
        LockFailed: another run has it, or files cannot be locked.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path, common: Mapping[str, str]) -> None:
        self.path, self._common, self._lock = path, dict(common), Lock(f"journal-{path}")
        if holder := self._lock.try_to_take():
            raise LockFailed(f"{holder} is measuring the same")
        self._known: dict[str, Any] = {}
        line = b""
        with contextlib.suppress(FileNotFoundError):
            for line in read_lines(path):
                with contextlib.suppress(ValueError, KeyError, TypeError):  # the last may be cut off
                    entry = json.loads(line)
                    self._known[entry["key"]] = entry["result"]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")
        if line and not line.endswith(b"\n"):
            self._file.write("\n")

    def result(self, cell: Cell, facts: Mapping[str, Any]) -> Any:
        """The JSON of a result that was kept; None where there is none."""
        return self._known.get(self._key(cell, facts)) if self._known else None

    def keep(self, cell: Cell, facts: Mapping[str, Any], result: Any) -> None:
        """Write a result down at once."""
        self._file.write(json.dumps({"key": self._key(cell, facts), "result": result}) + "\n")
        self._file.flush()

    def close(self, *, whole: bool) -> None:
        """End it; remove the file of a run that is whole."""
        with contextlib.suppress(OSError):  # of a full disk, for what is still to be written
            self._file.close()
        if whole:
            self.path.unlink(missing_ok=True)
        self._lock.release()

    def _key(self, cell: Cell, facts: Mapping[str, Any]) -> str:
        known_by = [cell.on("").to_json(), sources(cell), self._common, dict(facts)]
        return hashlib.sha256(json.dumps(known_by, sort_keys=True).encode()).hexdigest()


def sources(cell: Cell) -> dict[str, str]:
    """Digests of the files that a cell names, by path; of kernels that plugins bring, the plugins tell."""
    named = [] if isinstance(cell.kernel, str) and "/" not in cell.kernel else [cell.kernel]
    paths = [each if isinstance(each, str) else str(each["file"]) for each in named] + [cell.against] * bool(
        cell.against
    )
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):
            found[path] = hashlib.sha256(read_bytes(path)).hexdigest()
    return found
