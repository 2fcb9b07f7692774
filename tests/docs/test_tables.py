"""The documentation's tables: the lectures' conclusions, other benchmarks, and damaged results."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.studies.tables import table
from bench.studies.tables.conclusions import still_holds
from bench.studies.tables.main import TABLES


def rows(page: str, name: str) -> list[list[str]]:
    return [line[2:-2].split(" | ") for line in TABLES[page][name]().splitlines()[2:]]


@pytest.mark.parametrize("lecture", ["upc", "unsa", "poznan"])
def test_every_comparison_is_of_figures_that_were_published_and_measured(lecture: str) -> None:
    (comparisons,) = TABLES["docs/lectures.md"][lecture].arguments
    assert len(rows("docs/lectures.md", lecture)) == len(comparisons) == len(set(comparisons))


def test_the_conclusions_follow_from_the_published_figures() -> None:
    comparisons = {tuple(row[:3]): row[3:] for row in rows("docs/lectures.md", "poznan")}
    then, *_ = comparisons["poznan.v3 over v2", "528", "16"]
    assert then == f"{72.246 / 8.017:.2f}", "a comparison is of rates"
    answers = {(what, b): answer for (what, _, b), (*_, answer) in comparisons.items()}
    assert answers["poznan.v5 over v4a", "8"] == "yes"
    assert answers["poznan.v5 over v4a", "16"] == "no: it was slower, it is faster"
    shares = {tuple(row[:4]): row[4] for row in rows("docs/lectures.md", "copies")}
    assert shares["upc.kernel10", "640", "32", "pageable"] == f"{100 * (1 - 1.458 / 6.186):.0f} %"
    wrong = re.findall(r"\*\*.*?\*\*, calculated \d+", TABLES["docs/lectures.md"]["occupancy"]())
    assert wrong == ["**16**, calculated 10"]


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (2.0, 1.1, "yes"),
        (0.7, 0.9, "yes"),
        (1.01, 0.99, "yes"),
        (0.7, 1.6, "no: it was slower, it is faster"),
        (1.3, 1.015, "no: it was faster, it is as fast"),
    ],
)
def test_a_conclusion_holds_where_the_same_one_is_faster(then: float, now: float, said: str) -> None:
    assert still_holds(then, now) == said


def test_each_benchmark_stands_beside_the_time_that_measures_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    (tmp_path / "nvidia-h200").mkdir()
    measured = {
        ("triton.matmul_f16", 1024): {
            "mmcore, warm": 8.97, "mmcore, cold": 10.95, "do_bench": 13.52, "do_bench_cudagraph": 8.93
        },
        ("cutedsl.matmul", 4096): {"mmcore, warm": 250.0, "mmcore, cold": 251.0, "cutlass.testing.benchmark": 255.0},
        ("fast_cu.matmul_12", 8192): {
            "mmcore, warm": 1500.0, "mmcore, warm, after a pause": 1400.0, "its own program": 1407.0
        },
    }  # fmt: skip
    each = [
        {"kernel": kernel, "n": n, "clock": clock, "microseconds": time, "repetitions": [time]}
        for (kernel, n), clocks in measured.items()
        for clock, time in clocks.items()
    ]
    each[3]["percent_of_cublas"] = 80.04
    (tmp_path / "nvidia-h200" / "own_benchmarks.json").write_text(json.dumps({"machine_info": {}, "rows": each}))
    program = ["fast_cu.matmul_12", "8192", "its own program", "1407.0"]
    assert rows("docs/measuring.md", "own benchmarks") == [
        ["triton.matmul_f16", "1024", "do_bench", "13.52", "mmcore, cold", "10.95", "123.5 %", "80.0 %"],
        ["triton.matmul_f16", "1024", "do_bench_cudagraph", "8.93", "mmcore, warm", "8.97", "99.6 %", ""],
        ["cutedsl.matmul", "4096", "cutlass.testing.benchmark", "255.0", "mmcore, warm", "250.0", "102.0 %", ""],
        [*program, "mmcore, warm, after a pause", "1400.0", "100.5 %", ""],
        [*program, "mmcore, warm", "1500.0", "93.8 %", ""],
    ]  # fmt: skip


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", '{"benchmarks": 3}', '{"benchmarks": [{}]}', "\0"])
@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page, tables in TABLES.items() for name, each in tables.items() if each.files]
)
def test_tables_name_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, name: str, content: str
) -> None:
    damaged = TABLES[page][name]
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    for path in damaged.paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with pytest.raises(ValueError, match=f"{damaged.files.partition(' ')[0]}.* is damaged: "):
        damaged()
