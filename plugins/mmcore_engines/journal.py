"""A journal of results, so that an interrupted run can be resumed."""

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
    """A file with a run's results, a line of JSON each. It is removed when the run is complete.

    A result is reused only for the same cell, with the same plugins by content, on a device with the same facts.

    Args:
        path: the file, whose folder is created.
        common: the plugins, from :func:`~mmcore_engines.device_worker.identity`.

    Raises:
        LockFailed: another run uses the file, or files cannot be locked.
        OSError: the file cannot be read or written.
    """

    def __init__(self, path: Path, common: Mapping[str, str]) -> None:
        self.path, self._common, self._lock = path, dict(common), Lock(f"journal-{path}")
        if holder := self._lock.try_to_take():
            raise LockFailed(f"{holder} is measuring the same")
        self._known: dict[str, Any] = {}
        line = b""
        with contextlib.suppress(FileNotFoundError):
            for line in read_lines(path):
                with contextlib.suppress(ValueError, KeyError, TypeError):  # the last line may be cut off
                    entry = json.loads(line)
                    self._known[entry["key"]] = entry["result"]
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")
        if line and not line.endswith(b"\n"):
            self._file.write("\n")

    def result(self, cell: Cell, facts: Mapping[str, Any]) -> Any:
        """Return the JSON of a result in the journal; None if there is none."""
        return self._known.get(self._key(cell, facts)) if self._known else None

    def record(self, cell: Cell, facts: Mapping[str, Any], result: Any) -> None:
        """Write a result to the file at once."""
        self._file.write(json.dumps({"key": self._key(cell, facts), "result": result}) + "\n")
        self._file.flush()

    def close(self, *, complete: bool) -> None:
        """Close the file, and remove it if the run is complete."""
        with contextlib.suppress(OSError):  # closing writes buffered lines, which fails on a full disk
            self._file.close()
        if complete:
            self.path.unlink(missing_ok=True)
        self._lock.release()

    def _key(self, cell: Cell, facts: Mapping[str, Any]) -> str:
        inputs = [cell.on("").to_json(), source_digests(cell), self._common, dict(facts)]
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def source_digests(cell: Cell) -> dict[str, str]:
    """Return digests of the files that a cell names, by path; the plugins' digests cover registered kernels."""
    paths = [cell.against] if cell.against else []
    if not isinstance(cell.kernel, str):
        paths.append(str(cell.kernel["file"]))
    elif "/" in cell.kernel:
        paths.append(cell.kernel)
    digests = {}
    for path in paths:
        with contextlib.suppress(OSError):
            digests[path] = hashlib.sha256(read_bytes(path)).hexdigest()
    return digests
