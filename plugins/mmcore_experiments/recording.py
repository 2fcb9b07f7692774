"""The pytest plugin of an experiment's run: leaves out what is measured already, and keeps what is measured at once."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from mmcore.pytest_plugin.cells import Cell, Refusal
from mmcore.pytest_plugin.machine import other_device
from mmcore.pytest_plugin.plugin import PARAMETERS, run_of
from mmcore.pytest_plugin.session import Session
from mmcore.pytest_plugin.benchmark_session import session_of
from mmcore.pytest_plugin.report import line
from mmcore.errors import MmcoreError
from mmcore.devices.base import Device
from mmcore_emulator.profiler.counted import CountingDevice
from mmcore_emulator.profiler.profile import profile_kernel
from mmcore_experiments.document import Failure, Form, section, with_best
from mmcore_experiments.identity import cell_key
from mmcore_experiments.store import KEY, Record, Store


class Watcher(Protocol):
    """Is told how a run goes on."""

    def begin(self, device: Device, cells: int, measured: int) -> None:
        """So many cells in all, so many of them measured before."""
        ...

    def cell(self, name: str, result: str) -> None:
        """One more is done."""
        ...

    def note(self, text: str) -> None:
        """Something else to know."""
        ...


class Keyed(NamedTuple):
    """A cell and what it is known by."""

    cell: Cell
    key: str


class Recorder:
    """The plugin.

    Args:
        form: what is run.
        folder: where the results go; a folder of the device's own under ``experiments`` when None.
        fresh: whether what is there is measured anew.
        watcher: is told how it goes on.
    """

    def __init__(self, form: Form, folder: Path | None, fresh: bool, watcher: Watcher) -> None:
        self.form = form
        self.store: Store | None = None
        self.device: Device | None = None
        self.cells: dict[str, Keyed] = {}
        self.refused: tuple[Refusal, ...] = ()
        self.failed: dict[str, str] = {}
        self.measured: dict[str, Record] = {}
        self.before = 0
        self.error: str = ""
        self.document: Mapping[str, Any] | None = None
        self._folder = folder
        self._fresh = fresh
        self._watcher = watcher
        self._open = ExitStack()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why there is nothing to measure."""
        if report.failed:
            self.error = report.longreprtext

    def pytest_internalerror(self, excrepr: object) -> None:
        """Keep what went wrong."""
        self.error = self.error or str(excrepr)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what is measured already."""
        if not items:
            return
        session = run_of(config)
        session.say = self._watcher.note
        try:
            self._prepare(session, items)
        except MmcoreError as error:
            self.error = str(error)
            items.clear()
            return
        items[:] = [item for item in items if self.cells[item.nodeid].key not in self.measured]
        self.before = len(self.cells) - len(items)
        self._watcher.begin(session.bench.device, len(self.cells), self.before)

    def _prepare(self, session: Session, items: list[pytest.Item]) -> None:
        self.device = device = session.bench.device
        self.refused = tuple(session.found.refused)
        for item in items:
            cell = session.cells[tuple(item.callspec.params[name] for name in PARAMETERS)]  # type: ignore[attr-defined]
            self.cells[item.nodeid] = Keyed(cell, cell_key(cell, device, self.form.sweep))
        self.store = self._open.enter_context(Store(self._folder or default_folder(device), self.form.name))
        if self._fresh:
            self.store.forget()
        self._refuse_other_device(self.store, device)
        keys = {keyed.key for keyed in self.cells.values()}
        self.measured = {key: record for key, record in self.store.measured().items() if key in keys}

    def _refuse_other_device(self, store: Store, device: Device) -> None:
        finished = store.finished()
        reason = finished and other_device({"mmcore": device.facts}, finished["machine_info"])
        if reason:
            raise MmcoreError(
                f"{store.results} holds the results of another device: {reason}; name another folder with --dir, or "
                "set them aside with --fresh"
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Keep the cell, once it is measured."""
        returned = yield
        session = run_of(item.config)
        if item.nodeid in session.results and self.store is not None:
            result, info = session.results[item.nodeid]
            keyed = self.cells[item.nodeid]
            info[KEY] = keyed.key
            if not session.bench.device.supports_timing:
                info["counts"] = counts(keyed.cell, session.bench.device)
            record = item.funcargs["benchmark"].stats.as_dict(include_data=False)  # type: ignore[attr-defined]
            self.store.add(record)
            self.measured[keyed.key] = record
            self._watcher.cell(keyed.cell.id, line(result))
        return returned

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep why a cell has no time."""
        if report.failed and report.nodeid in self.cells:
            self.failed[report.nodeid] = report.longreprtext
            self._watcher.cell(self.cells[report.nodeid].cell.id, "not measured: " + report.longreprtext.split("\n")[0])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Put the results together, if nothing is missing."""
        done = all(keyed.key in self.measured or test in self.failed for test, keyed in self.cells.items())
        if self.store is None or self.error or not done:
            return
        config = session.config
        benchmarks = session_of(config)
        document = config.hook.pytest_benchmark_generate_json(
            config=config,
            benchmarks=[],
            include_data=False,
            machine_info=benchmarks.get_machine_info(),
            commit_info={},
        )
        failed = [Failure(self.cells[test].cell, reason) for test, reason in self.failed.items()]
        document["mmcore"] = section(self.form, self.refused, failed)
        kept = (self.measured.get(keyed.key) for keyed in self.cells.values())
        document["benchmarks"] = with_best(record for record in kept if record is not None)
        self.store.finish(document)
        self.document = document

    def pytest_unconfigure(self) -> None:
        """Let others write the results."""
        self._open.close()


def counts(cell: Cell, device: Device) -> dict[str, int | None]:
    """What a cell's launches do, counted: a sample of the blocks where they are all alike. None of what is not counted.

    Empty on a device that does not count.
    """
    if not isinstance(device, CountingDevice):
        return {}
    profile = profile_kernel(*cell.point, device)
    return profile.counts(profile.counters)


def default_folder(device: Device) -> Path:
    """``experiments/`` and the device's name: nvidia-h200."""
    words = "".join(letter if letter.isalnum() else " " for letter in str(device.facts["name"]).lower()).split()
    return Path("experiments") / "-".join(words)
