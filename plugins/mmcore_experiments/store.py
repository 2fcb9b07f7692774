"""The measured cells of a preset on disk: a line of a journal each, at once, until its results replace the journal."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmcore.errors import MmcoreError
from mmcore.locks import Lock

#: The key of a cell in the extra_info of its record.
CELL_KEY = "cell_key"

Record = Mapping[str, Any]


class Store:
    """The cells of one preset in a folder: ``results`` is the file that they end up in."""

    def __init__(self, folder: Path, name: str) -> None:
        self.results = folder / f"{name}.json"
        self._journal = folder / f"{name}.unfinished.jsonl"

    def forget(self) -> None:
        """Measure everything anew; the results so far are set aside as ``NAME.previous.json``."""
        self._journal.unlink(missing_ok=True)
        if self.results.exists():
            self.results.replace(self.results.with_suffix(".previous.json"))

    def finished(self) -> Mapping[str, Any] | None:
        """The results that are there; None where there are none, MmcoreError where the file holds anything else."""
        if not self.results.exists():
            return None
        text = self.results.read_text(encoding="utf-8", errors="replace")
        try:
            document: dict[str, Any] = json.loads(text)
            str(document["mmcore"]["experiment"] + document["machine_info"]["mmcore"]["name"])
            _keyed(document["benchmarks"])
            return document
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else error
            raise MmcoreError(
                f"{self.results} is no result of mmcore experiment ({reason}); --fresh sets it aside and begins anew"
            ) from None

    def measured(self) -> dict[str, Record]:
        """Every cell that is there, by its key."""
        found = _keyed((self.finished() or {"benchmarks": ()})["benchmarks"])
        for line in self._journal.read_bytes().splitlines() if self._journal.exists() else ():
            # A line that its run was killed over is no record: the cell is measured again.
            with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
                found |= _keyed([json.loads(line)])
        return found

    def add(self, record: Record) -> None:
        """Keep a cell, whatever happens next."""
        with self._journal.open("ab") as file:
            # On a line of its own, whatever a killed run left before it.
            file.write(b"\n" + _json(record).encode())
            file.flush()
            os.fsync(file.fileno())

    def finish(self, document: Mapping[str, Any]) -> None:
        """Write the results, all at once, and end the journal."""
        partial = self.results.with_suffix(".partial")
        head = _json({name: value for name, value in document.items() if name != "benchmarks"}).removesuffix("}")
        lines = ",\n  ".join(map(_json, document["benchmarks"]))
        partial.write_text(f'{head}, "benchmarks": [\n  {lines}\n]}}\n', encoding="utf-8")
        partial.replace(self.results)
        self._journal.unlink(missing_ok=True)


@contextlib.contextmanager
def opened(folder: Path, name: str) -> Iterator[Store]:
    """The store of a preset, in a folder that is made, and that no other process writes to meanwhile.

    Raises MmcoreError where one does, and where a file cannot be written or read.
    """
    store = Store(folder, name)
    lock = Lock(f"results-{store.results.absolute()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if holder := lock.try_to_take():
            raise MmcoreError(f"{holder} is writing {store.results}; wait for it, or name another folder with --dir")
        yield store
    except OSError as error:
        raise MmcoreError(f"{error.filename or folder} cannot be written or read: {error.strerror}") from None
    finally:
        lock.release()


def _keyed(records: Iterable[Record]) -> dict[str, Record]:
    """Records by their keys; raises TypeError, KeyError or ValueError for what is none."""
    return {str(each["extra_info"][CELL_KEY]): each for each in records if float(each["stats"]["median"]) >= 0}


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
