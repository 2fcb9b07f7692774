"""What mmcore asks of pytest-benchmark's own session: saved runs, comparisons, columns.

Its attributes are not public; as no hook says or does the same, they are used here, and nowhere else. A run is saved
without being told to, so that ``--benchmark-compare`` finds it next time; but neither an empty run nor one that
``--benchmark-compare-fail`` found too slow, which would pass as the measure of the next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.storage.file import FileStorage
from pytest_benchmark.utils import get_machine_id, get_tag, safe_dumps

from mmcore.files import write

_COLUMNS = ["median", "iqr", "rounds"]  # readable in 80 columns; all of pytest-benchmark's take 200
_ALL_COLUMNS = 10
_WITHOUT_MEANING = {"cprofile": "kernels run in a process of their own", "timer": "times are device seconds"}
_USUAL_TIMER = "time.perf_counter"


def session_of(config: pytest.Config) -> Any:
    """pytest-benchmark's session, or None where it is switched off."""
    return config.pluginmanager.get_plugin("pytest-benchmark")


def measures(config: pytest.Config) -> bool:
    """Whether pytest-benchmark measures: it does not with ``--benchmark-disable``, nor in pytest-xdist's workers."""
    benchmarks = session_of(config)
    return benchmarks is not None and not benchmarks.disabled


def refuse_unreadable(config: pytest.Config) -> None:
    """Refuse to compare with pipes and devices, which pytest-benchmark would read to an end that they do not have."""
    compare, where = (config.getoption(f"benchmark_{name}", None) for name in ("compare", "storage"))
    if not compare or not str(where).startswith("file://"):
        return
    storage = FileStorage(str(where).removeprefix("file://"), None, get_machine_id())
    try:
        found = storage.query("[0-9][0-9][0-9][0-9]_" if compare is True else compare)
    except ValueError as error:
        raise pytest.UsageError(f"--benchmark-compare: {error}") from None
    for path in found:
        if path.exists() and not path.is_file():
            raise pytest.UsageError(f"--benchmark-compare: {path} is not a regular file")


def prepare(config: pytest.Config, told: Callable[[str], None], *, supports_timing: bool) -> None:
    """Show pytest-benchmark's table for comparisons only, and narrow; refuse options that can only mislead.

    ``told`` is called with a sentence when results cannot be saved.
    """
    benchmarks = session_of(config)
    if benchmarks is None:
        return
    if len(config.getoption("benchmark_columns") or range(_ALL_COLUMNS)) == _ALL_COLUMNS:
        benchmarks.columns = _COLUMNS
    if benchmarks.disabled:
        return
    # mmcore's own table says what this one does, and more; what an emulation takes is no kernel's time.
    if not supports_timing or not (benchmarks.compare or benchmarks.verbose or benchmarks.histogram):
        benchmarks.quiet = True
    for option, why in _WITHOUT_MEANING.items():
        if config.getoption(f"benchmark_{option}", None) not in (None, False, _USUAL_TIMER):
            raise pytest.UsageError(f"--benchmark-{option} means nothing here: {why}")
    _refuse_unwritable(config.getoption("benchmark_json"), benchmarks.storage)
    _write_whole_files(benchmarks, told)
    if isinstance(benchmarks.compare, str) and not benchmarks.compared_mapping:
        what = "there are no results of that name that can be read, neither as a file nor in"
        raise pytest.UsageError(f"--benchmark-compare={benchmarks.compare}: {what} {benchmarks.storage}")
    if benchmarks.compare_fail and not supports_timing:
        why = "emulation times say nothing about a kernel's speed"
        raise pytest.UsageError(f"{why}, so --benchmark-compare-fail needs a GPU")
    if benchmarks.compare_fail and not benchmarks.compared_mapping:
        raise pytest.UsageError(
            "--benchmark-compare-fail has nothing to compare with: give --benchmark-compare too, and measure once "
            "without either before, to have a run saved"
        )


def _refuse_unwritable(json_file: object, storage: object) -> None:
    """Find out before anything is measured that results could not be kept."""
    if isinstance(json_file, Path):
        existed = json_file.exists()
        try:
            json_file.open("ab").close()
            if not existed:
                json_file.unlink()
        except OSError as error:
            raise pytest.UsageError(f"--benchmark-json: {json_file} cannot be written: {error.strerror}") from None
    if isinstance(storage, FileStorage) and not _is_nowhere(storage):
        folder = storage.get("results").parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise pytest.UsageError(f"results cannot be saved in {folder}; --benchmark-storage names another folder")


def _write_whole_files(benchmarks: Any, told: Callable[[str], None]) -> None:
    """Have pytest-benchmark write each file beside its place, and go on where it cannot."""

    def write_json(what: str, path: Path, document: Any) -> None:
        try:
            write(path, safe_dumps(document, ensure_ascii=True, indent=4).encode())
        except OSError as error:
            told(f"results are not saved: {path} cannot be written: {error.strerror}")
        else:
            benchmarks.logger.info(f"{what} benchmark data in: {path}")

    if isinstance(benchmarks.json, Path):
        benchmarks.save_json = partial(write_json, "Wrote", benchmarks.json)
    if isinstance(benchmarks.storage, FileStorage):
        storage: Any = benchmarks.storage
        storage.save = lambda document, name: write_json(
            "Saved", storage.get(f"{storage._next_num}_{name}.json"), document
        )


def _is_nowhere(storage: object) -> bool:
    """Whether the user wants nothing saved: the storage is /dev/null."""
    return isinstance(storage, FileStorage) and storage.path == Path(os.devnull)


def save(config: pytest.Config) -> None:
    """Save the run as ``--benchmark-autosave`` would, unless the user had it saved in a way of their own."""
    benchmarks = session_of(config)
    if benchmarks is None or benchmarks.save or benchmarks.autosave or _is_nowhere(benchmarks.storage):
        return
    # The JSON that --benchmark-json asks for is written already.
    benchmarks.autosave, benchmarks.json = get_tag(), None
    benchmarks.handle_saving()


def without_counterpart(config: pytest.Config, tests: Iterable[str]) -> list[str]:
    """Tests that the results compared with know nothing of; none where nothing is compared."""
    compared = getattr(session_of(config), "compared_mapping", None) or {}
    return [test for test in tests if compared and not any(test in names for names in compared.values())]
