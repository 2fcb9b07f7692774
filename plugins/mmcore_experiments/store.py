"""An experiment's measured cells on disk: its results, and what a run that was interrupted had measured.

Each cell is a line of a journal as soon as it is measured, so that even a killed run loses none. When all is done the
results replace it.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmcore.errors import MmcoreError
from mmcore.locks import Lock

#: Where a cell's key stands in its record.
KEY = "cell_key"

Record = Mapping[str, Any]


class Store:
    """The cells of one experiment in one folder.

    A context manager that keeps every other process from writing them.

    Args:
        folder: where they are kept; made if it is not there.
        name: of the files: the experiment's.

    Raises:
        MmcoreError: the folder cannot be made.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.results = folder / f"{name}.json"
        self._journal = folder / f"{name}.unfinished.jsonl"
        self._lock = Lock(f"results-{self.results.absolute()}")

    def __enter__(self) -> Store:
        with _reported(self.results.parent):
            self.results.parent.mkdir(parents=True, exist_ok=True)
        if holder := self._lock.try_to_take():
            raise MmcoreError(f"{holder} is writing {self.results}; wait for it, or name another folder with --dir")
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def forget(self) -> None:
        """Measure everything anew; the results so far are set aside as ``NAME.previous.json``."""
        with _reported(self.results):
            self._journal.unlink(missing_ok=True)
            if self.results.exists():
                self.results.replace(self.results.with_suffix(".previous.json"))

    def finished(self) -> Mapping[str, Any] | None:
        """The results that are there; None where there are none.

        Raises:
            MmcoreError: the file is something else, or damaged.
        """
        try:
            document = json.loads(self.results.read_text(encoding="utf-8"))
            if isinstance(document["mmcore"], dict) and isinstance(document["machine_info"]["mmcore"], dict):
                _keyed(document["benchmarks"])
                return document  # type: ignore[no-any-return]
            reason = "its keys are of another kind"
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MmcoreError(f"{self.results} cannot be read: {error.strerror}") from None
        except KeyError as error:
            reason = f"it has no {error}"
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error)
        raise MmcoreError(
            f"{self.results} is no result of mmcore experiment ({reason}); --fresh sets it aside and begins anew"
        )

    def measured(self) -> dict[str, Record]:
        """Every cell that is there, by its key."""
        finished = self.finished()
        return {**_keyed(finished["benchmarks"] if finished else ()), **_keyed(self._unfinished())}

    def _unfinished(self) -> Iterator[Record]:
        try:
            lines = self._journal.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise MmcoreError(f"{self._journal} cannot be read: {error.strerror}") from None
        for line in lines:
            try:
                record = json.loads(line)
                _keyed([record])
            except (ValueError, TypeError, KeyError, RecursionError):
                continue  # its run was killed while it wrote: the cell is measured again
            yield record

    def add(self, record: Record) -> None:
        """Keep a cell, whatever happens next."""
        with _reported(self._journal), self._journal.open("ab") as file:
            # On a line of its own, whatever a killed run left before it.
            file.write(b"\n" + _json(record).encode())
            file.flush()
            os.fsync(file.fileno())

    def finish(self, document: Mapping[str, Any]) -> None:
        """Write the results, all at once, and end the journal."""
        partial = self.results.with_suffix(".partial")
        with _reported(self.results):
            partial.write_text(_lines(document), encoding="utf-8")
            partial.replace(self.results)
            self._journal.unlink(missing_ok=True)


def _keyed(records: object) -> dict[str, Record]:
    """Records by their keys.

    Raises:
        TypeError, KeyError: one is no record.
    """
    keyed = {}
    for record in records:  # type: ignore[attr-defined]
        key, _ = str(record["extra_info"][KEY]), float(record["stats"]["median"])
        keyed[key] = record
    return keyed


def _lines(document: Mapping[str, Any]) -> str:
    """The document as JSON that can be read: what belongs to a key on a line, and each benchmark."""
    return "{\n" + ",\n".join(f" {_json(name)}: {_spread(value)}" for name, value in document.items()) + "\n}\n"


def _spread(value: Any) -> str:
    if isinstance(value, dict) and value:
        lines = (f"{_json(name)}: {_json(each)}" for name, each in value.items())
        return "{\n  " + ",\n  ".join(lines) + "\n }"
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_json(each) for each in value) + "\n ]"
    return _json(value)


def _json(value: Any) -> str:
    # pytest-benchmark keeps some of its options as decimal numbers.
    return json.dumps(value, allow_nan=False, default=float)


@contextlib.contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turns what the file system refuses into a sentence."""
    try:
        yield
    except OSError as error:
        raise MmcoreError(f"{path} cannot be written: {error.strerror}") from None
