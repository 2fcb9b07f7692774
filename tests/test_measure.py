"""The procedure itself: few modules, in one order, and nothing of it twice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import mmcore
from mmcore.cell import Cell, Timing
from mmcore.executor.choose_device import open_device
from mmcore.measure import Phases, measure
from tests.command_line import install, installed
from tests.timed_emulator import TimedEmulator

CORE = Path(mmcore.__file__).parent


def modules_of(cell: Cell, device: Any) -> set[str]:
    """The modules of the core that have a frame while a cell is measured."""
    seen: set[str] = set()

    def trace(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(trace)
    try:
        assert measure(cell, device).verified
    finally:
        sys.setprofile(None)
    return {str(Path(name).relative_to(CORE)) for name in seen if name.startswith(f"{CORE}/")}


def test_a_cell_passes_at_most_twenty_modules_of_the_core() -> None:
    emulator = open_device("emulator")
    cell = Cell("upc.kernel11", 40, 41, 42, timings=(Timing(),))
    measure(cell, emulator)
    for asked in (cell, Cell("upc.kernel11", 40, 41, 43, timings=(Timing(),))):
        modules = modules_of(asked, emulator)
        assert len(modules) <= 20, sorted(modules)


def test_the_phases_of_a_cell() -> None:
    begun: list[str] = []
    device = TimedEmulator(lambda source: 1e-3)
    cell = Cell("upc.kernel01", 8, 8, 8, timings=(Timing(max_seconds=0.01, min_rounds=1),))
    result = measure(cell, device, phases=Phases(begun.append))
    assert begun == ["plan", "compile", "allocate", "verify", "time", "verify", "verify"]
    assert set(result.phases) == set(begun)
    assert all(seconds >= 0 for seconds in result.phases.values())


def test_a_figure_that_fails_costs_no_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = "from mmcore import hookimpl\n@hookimpl\ndef mmcore_figures(kernel, device):\n    return 1 // 0\n"
    install(tmp_path, "acme-figures", "acme", broken)
    with installed(tmp_path):
        assert measure(Cell("upc.kernel01", 8, 8, 8), open_device("emulator")).verified
    assert "warning: a plugin's mmcore_figures failed: ZeroDivisionError" in capsys.readouterr().err


def test_the_first_of_two_kernel_times_is_the_one_whose_caches_json_names() -> None:
    timings = tuple(Timing("kernel", how, max_seconds=0.01) for how in ("warm", "cold"))
    result = measure(Cell("upc.kernel01", 16, 16, 16, timings=timings), TimedEmulator(lambda source: 1e-4))
    document = result.to_json()
    assert (document["measure"], document["caches"]) == ("kernel", "warm")
    assert document["kernel_ms"] == document["median_ms"]


def test_a_seed_of_zero_is_a_seed() -> None:
    assert measure(Cell("upc.kernel01", 8, 8, 8, seed=0), open_device("emulator")).cell.seed == 0
