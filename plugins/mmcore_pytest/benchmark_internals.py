"""Access to pytest-benchmark's session: saved runs, comparisons and columns.

The session's attributes are not public. Only this module uses them, because no hook offers the same. Every run is
saved by default, so that ``--benchmark-compare`` can find it. A run without results is not saved, nor one that
``--benchmark-compare-fail`` rejects, because the next run would be compared with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.storage.file import FileStorage
from pytest_benchmark.utils import get_machine_id, get_tag, safe_dumps

from mmcore.files import write

_COLUMNS = ["median", "iqr", "rounds"]  # readable in 80 columns; all of pytest-benchmark's take 200
_ALL_COLUMNS = 10
_UNSUPPORTED = {"cprofile": "kernels run in a separate process", "timer": "times are device seconds"}
_DEFAULT_TIMER = "time.perf_counter"


def session_of(config: pytest.Config) -> Any:
    """Return pytest-benchmark's session, or None if the plugin is disabled."""
    return config.pluginmanager.get_plugin("pytest-benchmark")


def measures(config: pytest.Config) -> bool:
    """Return True unless ``--benchmark-disable`` or pytest-xdist disables pytest-benchmark."""
    benchmarks = session_of(config)
    return benchmarks is not None and not benchmarks.disabled


def refuse_unreadable(config: pytest.Config) -> None:
    """Raise UsageError if ``--benchmark-compare`` selects a pipe or a device, which may have no end."""
    compare, location = (config.getoption(f"benchmark_{name}", None) for name in ("compare", "storage"))
    if not compare or not str(location).startswith("file://"):
        return
    storage = FileStorage(str(location).removeprefix("file://"), None, get_machine_id())
    try:
        paths = storage.query("[0-9][0-9][0-9][0-9]_" if compare is True else compare)
    except ValueError as error:
        raise pytest.UsageError(f"--benchmark-compare: {error}") from None
    for path in paths:
        if path.exists() and not path.is_file():
            raise pytest.UsageError(f"--benchmark-compare: {path} is not a regular file")


def prepare(config: pytest.Config, warn: Callable[[str], None], *, supports_timing: bool) -> None:
    """Set up pytest-benchmark's session, and refuse options that would mislead.

    Its table is narrow, and is printed only for comparisons. ``warn`` is called with a sentence if results cannot be
    saved.
    """
    benchmarks = session_of(config)
    if benchmarks is None:
        return
    if len(config.getoption("benchmark_columns") or range(_ALL_COLUMNS)) == _ALL_COLUMNS:
        benchmarks.columns = _COLUMNS
    if benchmarks.disabled:
        return
    # mmcore's table contains more than pytest-benchmark's; and an emulation's time is not a kernel's time.
    if not supports_timing or not (benchmarks.compare or benchmarks.verbose or benchmarks.histogram):
        benchmarks.quiet = True
    for option, reason in _UNSUPPORTED.items():
        if config.getoption(f"benchmark_{option}", None) not in (None, False, _DEFAULT_TIMER):
            raise pytest.UsageError(f"--benchmark-{option} means nothing here: {reason}")
    _refuse_unwritable(config.getoption("benchmark_json"), benchmarks.storage)
    _write_atomically(benchmarks, warn)
    if isinstance(benchmarks.compare, str) and not benchmarks.compared_mapping:
        reason = f"no readable results of that name exist, neither as a file nor in {benchmarks.storage}"
        raise pytest.UsageError(f"--benchmark-compare={benchmarks.compare}: {reason}")
    if benchmarks.compare_fail and not supports_timing:
        reason = "emulation times say nothing about a kernel's speed"
        raise pytest.UsageError(
            f"{reason}, so --benchmark-compare-fail needs a GPU; --benchmark-compare compares counts without one"
        )
    if benchmarks.compare_fail and not benchmarks.compared_mapping:
        raise pytest.UsageError(
            "--benchmark-compare-fail has nothing to compare with: first measure once without it to save a run, then "
            "add --benchmark-compare"
        )
    if benchmarks.compare and not benchmarks.compared_mapping:
        write = "--benchmark-json counts.json writes a file to commit, and --benchmark-compare=counts.json reads it"
        raise pytest.UsageError(f"--benchmark-compare: no results are saved in {benchmarks.storage}; {write}")


def _refuse_unwritable(json_file: object, storage: object) -> None:
    """Raise UsageError before the first measurement if results cannot be saved."""
    if isinstance(json_file, Path):
        existed = json_file.exists()
        try:
            json_file.open("ab").close()
            if not existed:
                json_file.unlink()
        except OSError as error:
            raise pytest.UsageError(f"--benchmark-json: {json_file} cannot be written: {error.strerror}") from None
    if isinstance(storage, FileStorage) and not _is_null(storage):
        folder = storage.get("results").parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            raise pytest.UsageError(f"results cannot be saved in {folder}; --benchmark-storage names another folder")


def _write_atomically(benchmarks: Any, warn: Callable[[str], None]) -> None:
    """Make pytest-benchmark replace files atomically, and warn instead of failing if it cannot."""

    def write_json(verb: str, path: Path, document: Any) -> None:
        try:
            write(path, safe_dumps(document, ensure_ascii=True, indent=4).encode())
        except OSError as error:
            warn(f"results are not saved: {path} cannot be written: {error.strerror}")
        else:
            benchmarks.logger.info(f"{verb} benchmark data in: {path}")

    if isinstance(benchmarks.json, Path):
        benchmarks.save_json = partial(write_json, "Wrote", benchmarks.json)
    if isinstance(benchmarks.storage, FileStorage):
        storage: Any = benchmarks.storage
        storage.save = lambda document, name: write_json(
            "Saved", storage.get(f"{storage._next_num}_{name}.json"), document
        )


def _is_null(storage: object) -> bool:
    """Return True if the storage is /dev/null, which saves nothing."""
    return isinstance(storage, FileStorage) and storage.path == Path(os.devnull)


def save(config: pytest.Config) -> None:
    """Save the run like ``--benchmark-autosave``, unless other options save it or disable saving."""
    benchmarks = session_of(config)
    if benchmarks is None or benchmarks.save or benchmarks.autosave or _is_null(benchmarks.storage):
        return
    # The file of --benchmark-json has been written already.
    benchmarks.autosave, benchmarks.json = get_tag(), None
    benchmarks.handle_saving()


def pair_saved(config: pytest.Config, tests: Sequence[str]) -> None:
    """Give the compared benchmarks the names of this run's tests that measure the same cells in another file."""
    now = {cell_of(test): test for test in reversed(tests)}
    compared = getattr(session_of(config), "compared_mapping", None) or {}
    for path, benchmarks in compared.items():
        pairs = {test: test if test in tests else now.get(cell_of(test), test) for test in benchmarks}
        others = {to: benchmarks[test] for test, to in pairs.items() if test != to}
        compared[path] = {**others, **{test: each for test, each in benchmarks.items() if pairs[test] == test}}


def vanished(config: pytest.Config, tests: Collection[str]) -> list[str]:
    """Return the cells of the last compared run that none of the tests measures; pairs must have been made."""
    last = next(reversed(saved_runs(config).values()), {})
    return [cell_of(test) or test for test in last if test not in tests]


def cell_of(test: str) -> str:
    """Return the part of a test's name that is the same in every file: kernel, size, config and timing."""
    return test.partition("[")[2].removesuffix("]")


def saved_runs(config: pytest.Config) -> dict[str, dict[str, Any]]:
    """Return the compared runs, the oldest first: the benchmarks of each by test, by the name of its file."""
    compared = getattr(session_of(config), "compared_mapping", None) or {}
    return {Path(path).name: dict(benchmarks) for path, benchmarks in compared.items()}


def without_counterpart(config: pytest.Config, tests: Iterable[str]) -> list[str]:
    """Return the tests that the compared results do not contain; none without a comparison."""
    compared = getattr(session_of(config), "compared_mapping", None) or {}
    return [test for test in tests if compared and not any(test in names for names in compared.values())]
