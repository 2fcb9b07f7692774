"""How busy the ladder's top kernels keep a GPU's units, and cuBLAS beside them, in products of 4096×4096×4096.

On a GPU, ``ncu --clock-control none --profile-from-start off --page raw --section SpeedOfLight --section
ComputeWorkloadAnalysis --section WarpStateStats python -m bench.studies.ladder_ncu launch > RAW`` counts;
``python -m bench.studies.ladder_ncu results RAW RESULTS.json`` keeps of it what docs/ladder.md shows.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from bench.studies.results_file import results_text

SIZE = 4096
KERNELS = (
    *("ladder.f32.09_any", "ladder.f64.03_ring", "ladder.e4m3.01_any_nt", "ladder.bf16.12_any_nt"),
    *("ladder.f16.02_any_nt", "ladder.tf32.02_any_nt"),
)
_MARK = "## "
_FUNCTION = re.compile(r"^  (\S.*?) \(\d+, \d+, \d+\)x\(")
_PER_CENT = ".avg.pct_of_peak_sustained_active"
_METRICS = {
    "duration": "gpu__time_duration.sum",
    "fma": f"sm__inst_executed_pipe_fma{_PER_CENT}",
    "tensor": f"sm__pipe_tensor_cycles_active{_PER_CENT}",
    "l1": f"l1tex__throughput{_PER_CENT}",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
}
_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}


def launch() -> None:
    """Launch each kernel and then cuBLAS, and have ncu count the second time of each."""
    from cuda.bindings import driver

    import mmcore
    from mmcore.cell import Cell
    from mmcore.executor.choose_device import open_device
    from mmcore.measure import prepared_cell
    from mmcore.plugins import instance_of
    from mmcore.registry import registry
    from mmcore_libraries.cublas import BEST

    device = open_device("cuda")
    for name in KERNELS:
        kernel = mmcore.kernels()[name]
        cell = Cell(name, SIZE, SIZE, SIZE, seed=1)
        answers = registry().hook.mmcore_baselines(kernel=kernel)
        offered = registry().answers(answers, "mmcore_baselines", instance_of(mmcore.Kernel))
        for each in (kernel, next(baseline for baseline in offered if baseline.name == BEST)):
            with prepared_cell(cell, device, each) as loaded:
                loaded.run()
                print(_MARK, name, each.name, flush=True)
                driver.cuProfilerStart()
                loaded.run()
                driver.cuProfilerStop()


def results(raw: Path, path: Path) -> None:
    """Write a row for each function that ncu saw, in order, with the kernel that launched it."""
    lines = raw.read_text().splitlines()
    asked = [line.split()[1:] for line in lines if line.startswith(_MARK)]
    functions: list[tuple[str, dict[str, list[str]]]] = []
    for line in lines:
        if found := _FUNCTION.match(line):
            functions.append((found[1], {}))
        elif functions and line.startswith("  ") and len(line.split()) > 1:
            name, *values = line.split()
            functions[-1][1][name] = values
    rows = []
    # A rung's second launch adds up parts.
    products = [each for each in functions if not each[0].startswith("void add_up")]
    for (kernel, launched), (function, metrics) in zip(asked, products, strict=True):
        row: dict[str, object] = {"kernel": kernel, "launched": launched, "function": function}
        for name, metric in _METRICS.items():
            value = float(metrics[metric][-1].replace(",", ""))
            row[name] = value * _MICROSECONDS[metrics[metric][0]] if name == "duration" else value
        rows.append(row)
    path.write_text(results_text({"size": SIZE}, functions=rows), encoding="utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["launch"]:
            launch()
        case ["results", raw, path]:
            results(Path(raw), Path(path))
        case _:
            raise SystemExit("usage: python -m bench.studies.ladder_ncu launch | results RAW RESULTS.json")
