"""Running an experiment: pytest over mmcore's own test of a cell, with the options that the declaration comes to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mmcore.errors import MmcoreError
from mmcore.devices.choose import chosen
from mmcore.registry import registry
from mmcore_experiments.document import Form
from mmcore_experiments.recording import Recorder, Watcher
from mmcore_experiments.preset import MEASURES, UNTIMED, Sweep

_HERE = Path(__file__).parent


class Interrupted(MmcoreError):
    """The user stopped an experiment; what was measured is kept."""


@dataclass(frozen=True)
class Finished:
    """An experiment that was run to its end.

    Attributes:
        document: its results.
        path: where they are.
        before: how many of the cells had been measured before.
    """

    document: Mapping[str, Any]
    path: Path
    before: int


def run_sweep(
    sweep: Sweep, *, quick: bool, device: str, folder: Path | None, fresh: bool, watcher: Watcher
) -> Finished:
    """Measure what of an experiment is not measured yet, and write its results.

    Args:
        sweep: the declaration.
        quick: its reduced form.
        device: as the user calls it.
        folder: for the results; None for the device's own under ``experiments``.
        fresh: measure everything anew.
        watcher: is told how it goes on.

    Raises:
        Interrupted: by the user.
        MmcoreError: it cannot be run, in one sentence.
    """
    form = form_for(sweep, quick, chosen(device, registry().providers)[0].supports_timing)
    if not form.timed and not quick:
        watcher.note("no device here keeps time: this counts, and --quick is the form that takes less than a minute")
    recorder = Recorder(form, folder, fresh, watcher)
    with _no_options_of_pytests_own():
        status = pytest.main(arguments(form.sweep, device), plugins=[recorder])
    if recorder.error:
        raise MmcoreError(recorder.error)
    if status == pytest.ExitCode.INTERRUPTED:
        count = f"{len(recorder.measured)} of {len(recorder.cells)} cells are measured and kept"
        again = "the same command without --fresh" if fresh else "the same command"
        raise Interrupted(f"interrupted: {count}; {again} goes on from there")
    if recorder.document is None or recorder.store is None:
        raise MmcoreError(f"pytest ended with exit status {int(status)} before the experiment was done")
    return Finished(recorder.document, recorder.store.results, recorder.before)


def form_for(sweep: Sweep, quick: bool, supports_timing: bool) -> Form:
    """What of an experiment is run: on a device without a time of its own there are neither copies nor caches."""
    asked = sweep.reduced if quick else sweep
    if supports_timing or asked.measures == (UNTIMED,):
        return Form(asked, quick, supports_timing, ())
    left_out = " and ".join(measure for measure in asked.measures if measure != UNTIMED)
    reason = f"{left_out}: the device keeps no time of its own"
    return Form(replace(asked, measures=(UNTIMED,)), quick, supports_timing, (reason,))


def arguments(sweep: Sweep, device: str) -> list[str]:
    """The command line that pytest is run with."""
    ways = [MEASURES[measure] for measure in sweep.measures]
    return [
        str(_HERE / "test_cells.py"),
        # Neither the configuration of the folder that it is started in nor pytest's own report.
        *("-c", os.devnull, "--rootdir", str(_HERE), "--noconftest"),
        *("-p", "no:terminal", "-p", "no:cacheprovider", "--assert", "plain", "--benchmark-quiet"),
        # Nothing is saved but the experiment's own results.
        f"--benchmark-storage=file://{os.devnull}",
        f"--benchmark-max-time={sweep.max_time}",
        f"--benchmark-min-rounds={sweep.min_rounds}",
        f"--mm-device={device}",
        f"--mm-kernel={','.join(sweep.kernels)}",
        f"--mm-size={','.join('x'.join(map(str, sizes)) for sizes in sweep.problems)}",
        *([f"--mm-block={','.join(sweep.block_texts)}"] if sweep.blocks else []),
        f"--mm-measure={','.join(dict.fromkeys(what for what, _ in ways))}",
        *(option for _, option in ways),
    ]


@contextlib.contextmanager
def _no_options_of_pytests_own() -> Iterator[None]:
    """PYTEST_ADDOPTS and the like are for the user's own tests."""
    before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST")}
    try:
        yield
    finally:
        os.environ.update(before)
