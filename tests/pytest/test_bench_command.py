"""``mmcore bench``: the benchmarks from any folder, and counts compared without a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from mmcore.registry import registry
from mmcore_pytest.bench.command import _Kernels
from mmcore_pytest.collection import emulated_problem
from mmcore_pytest.counts import Change, CountComparison
from tests.command_line import mmcore, process

KERNEL = "upc.kernel01"
SMALL = ("--mm-size=32", "--mm-block=16", "--mm-device=emulator", "--mm-allow-hazards")
CELL = f"{KERNEL}-32x32x32-b16"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run each test in an empty folder, outside pytest-xdist, and forget the kernels of its files."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    monkeypatch.chdir(tmp_path)
    registry().files.clear()  # of tests before
    yield
    registry().files.clear()


def bench(*words: str) -> Result:
    return mmcore("bench", *words, *SMALL)


def own_file(change: str = "") -> None:
    """Write own.cu, a right kernel; ``change`` is inserted before its store."""
    text = registry().kernel(KERNEL).source.read_text()
    Path("own.cu").write_text(text.replace("C[", f"{change} C[", 1) if change else text)


def test_kernels_and_files_are_measured_in_a_folder_without_tests() -> None:
    own_file()
    Path("pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    Path("conftest.py").write_text("raise RuntimeError('it is not imported')\n")
    ran = bench("own.cu", "upc.kernel0*", "-q", "--mm-csv", "out.csv")
    assert ran.exit_code == 0, ran.output
    assert [line.partition(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]] == [
        "file.own", "upc.kernel00", "upc.kernel01"
    ]  # fmt: skip
    assert {path.name for path in Path.cwd().iterdir()} >= {".benchmarks", ".pytest_cache"}


def test_a_files_inferred_launch_is_printed_unless_it_is_quiet() -> None:
    own_file()
    assert "inferred from own.cu" in bench("own.cu", "--collect-only").output
    assert "inferred" not in bench("own.cu", "--collect-only", "-q").output


def test_a_file_takes_the_options_of_run() -> None:
    text = registry().kernel(KERNEL).source.read_text()
    Path("own.cu").write_text(text + text.replace("kernel01(", "other("))

    def ids(*words: str) -> list[str]:
        output = mmcore("bench", "own.cu", "--mm-size=32", "--collect-only", "-q", *words).output
        return re.findall(r"::test_kernel\[(.*)\]\n", output)

    assert ids() == ["file.own.kernel01-32x32x32-b16", "file.own.other-32x32x32-b16"]
    assert ids("--entry=other", "--block=8x4") == ["file.own-32x32x32-b8x4"]
    registry().files.clear()
    template = text.replace('extern "C"', "template <int T>").replace("blockDim.x", "T")
    Path("own.cu").write_text(template)
    assert ids("--config=T=8") == ["file.own-32x32x32-b16-T8"]


def test_test_ids_are_those_of_the_checkouts_benchmark() -> None:
    assert f"bench/test_kernels.py::test_kernel[{CELL}]\n" in bench(KERNEL, "--collect-only", "-q").output


def test_json_has_results_and_what_could_not_be_measured() -> None:
    document = json.loads(process("bench", KERNEL, "upc.kernel11", *SMALL, "--json", "-k", "kernel01").stdout)
    (result,) = document["results"]
    assert (result["kernel"], result["verified"], document["not_measured"]) == (KERNEL, True, {})


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("upc.kernl01",), 2, "there is no kernel 'upc.kernl01'; did you mean upc.kernel01"),
        ((KERNEL, "--mm-size=0"), 2, "argument --mm-size"),
        ((KERNEL, "--size=32"), 2, "--size is called --mm-size here"),
        ((KERNEL, "--entry=f"), 2, "--entry is for a .cu file, and upc.kernel01 is declared by a package"),
        (("own.cu",), 1, "is wrong on emulator"),
        ((KERNEL, "-k", "nothing"), 2, "deselected"),
    ],
)
def test_the_exit_status_is_that_of_every_command(words: tuple[str, ...], status: int, text: str) -> None:
    own_file("return;")
    ran = mmcore("bench", *words, *SMALL[1:], *(() if "--mm-size" in str(words) else SMALL[:1]))
    assert ran.exit_code == status
    assert text in ran.output


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Kernels, "pytest_sessionfinish", lambda self, session: setattr(self, "interrupted", True))
    assert bench(KERNEL, "--collect-only").exit_code == 130


def test_the_help_lists_the_options_of_both_plugins_in_eighty_columns() -> None:
    text = mmcore("bench", "--help").output
    assert text.index("--mm-allow-growth=PERCENT") < text.index("--benchmark-compare=")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.filterwarnings("ignore:Can't compare")
def test_grown_counts_fail_and_are_not_saved() -> None:
    own_file()
    assert bench("own.cu", "-q", "--benchmark-compare").exit_code == 2, "nothing to compare with"
    assert bench("own.cu", "-q").exit_code == 0
    same = bench("own.cu", "-q", "--benchmark-compare")
    assert same.exit_code == 0
    assert re.search(r"mmcore: 1 of 1 cells have the counts of 0001_.*\.json\n", same.output)
    own_file("if (A[0] > 1e30f) return;")
    grown = bench("own.cu", "-q", "--benchmark-compare")
    assert grown.exit_code == 1
    assert re.search(r"\n  instructions: [\d,]+ before, [\d,]+ now, \+[\d.]+ %\n", grown.output)
    assert "mmcore: not saved, because counts are worse; --mm-allow-growth PERCENT allows that" in grown.output
    assert re.search(r"\n1 passed, 1 worse in ", grown.output)
    (last,) = re.findall("^.* passed.*$", bench("own.cu", "--benchmark-compare", "--color=yes").output, re.MULTILINE)
    assert "\x1b[33m" in last.rpartition(" in ")[2]  # its end has the colour of the whole
    assert len([*Path(".benchmarks").rglob("*.json")]) == 2
    assert bench("own.cu", "-q", "--benchmark-compare", "--mm-allow-growth=90%").exit_code == 0
    own_file()
    assert bench("own.cu", "-q", "--benchmark-compare").exit_code == 0, "fewer are no error"


def test_products_too_large_for_the_emulator_are_verified_small_and_predicted() -> None:
    ran = mmcore("bench", KERNEL, "--mm-size=2053,4096,32", *SMALL[1:], "--json")
    assert ran.exit_code == 0, ran.output
    sizes = [each["cell"]["m"] for each in json.loads(ran.stdout)["results"]]
    assert sizes == [133, 128, 32]
    times = rf"^  {KERNEL} (\d+)×\S+ b16: [\d.]+ \ws to [\d.]+ \ws on an NVIDIA H200 \(not measured\)$"
    assert re.findall(times, ran.stderr, re.MULTILINE) == ["2053", "4096"]


def test_a_small_product_has_the_order_and_the_remainders_and_is_allowed() -> None:
    kernel = registry().kernel("ladder.bf16.09_ring")
    (config, *_) = kernel.usual_configs
    large = kernel.problem(8192, 4096, 4096)
    small = emulated_problem(kernel, large, config)
    assert small.m > small.n == small.k
    assert not kernel.violations(small, config)
    assert emulated_problem(kernel, small, config) == small
    free = registry().kernel(KERNEL)
    odd = emulated_problem(free, free.problem(2053, 4099, 2053), free.usual_configs[0])
    assert (odd.m, odd.n, odd.k) == (133, 259, 133)


def test_cells_are_compared_across_test_files_and_those_that_vanished_are_named() -> None:
    bench(KERNEL, "-q")
    (path,) = Path(".benchmarks").rglob("*.json")
    document = json.loads(path.read_text())
    (saved,) = document["benchmarks"]
    saved["fullname"] = saved["fullname"].replace(
        "bench/test_kernels.py::test_kernel", "tests/test_kernel.py::test_speed"
    )
    gone = {**saved, "fullname": "tests/test_kernel.py::test_speed[acme.gone-32x32x32-b16]"}
    document["benchmarks"].append(gone)
    Path("old.json").write_text(json.dumps(document))
    compared = bench(KERNEL, "-q", "--benchmark-compare=old.json")
    assert compared.exit_code == 0
    assert re.search(r"mmcore: 1 of 1 cells have the counts of .*old\.json\n", compared.output)
    assert "mmcore: 1 cell of the compared results is not in this run: acme.gone-32x32x32-b16\n" in compared.output
    assert "no counterpart" not in compared.output


def test_saved_counts_of_another_form_are_ignored() -> None:
    bench(KERNEL, "-q")
    (path,) = Path(".benchmarks").rglob("*.json")
    for figures in ("none", {"instructions": "many"}, [1]):
        document = json.loads(path.read_text())
        document["benchmarks"][0]["extra_info"]["figures"] = figures
        Path("old.json").write_text(json.dumps(document))
        compared = bench(KERNEL, "-q", "--benchmark-compare=old.json")
        assert compared.exit_code == 0
        assert "the counts of" not in compared.output


@pytest.mark.parametrize(
    ("now", "allowed", "text", "regressed"),
    [
        (104, 0.0, "global sectors: 100 before, 104 now, +4.00 %", True),
        (104, 4.0, "global sectors: 100 before, 104 now, +4.00 %", False),
        (96, 0.0, "global sectors: 100 before, 96 now, -4.00 %", False),
        (None, 0.0, "global sectors: 100 before, not counted now", False),
    ],
)
def test_a_change_is_growth_if_it_is_more_than_allowed(
    now: int | None, allowed: float, text: str, regressed: bool
) -> None:
    change = Change("bench/test_kernels.py::test_kernel[a]", "global_sectors", 100, now)
    comparison = CountComparison("old.json", 2, (change,), allowed)
    sentence = "mmcore: 1 of 2 cells have the counts of old.json"
    assert [*comparison.lines()][:3] == ["test_kernel[a]", f"  {text}", sentence]
    assert comparison.regressed is regressed


@pytest.mark.parametrize(("now", "worse"), [(0.5, True), (0.61, False), (0.75, False), (None, False)])
def test_a_lower_occupancy_is_worse(now: float | None, worse: bool) -> None:
    assert Change("a", "occupancy", 0.625, now).is_worse(5.0) is worse
    assert str(Change("a", "occupancy", 0.625, 0.5)) == "occupancy: 0.625 before, 0.5 now, -20.00 %"


def test_a_kernel_that_takes_more_shared_memory_is_worse_by_its_occupancy() -> None:
    large = "__shared__ volatile float large[6000]; large[threadIdx.x] = 1;"
    own_file(large)
    assert bench("own.cu", "-q").exit_code == 0
    own_file(large.replace("6000", "9000"))
    fallen = bench("own.cu", "-q", "--benchmark-compare")
    assert fallen.exit_code == 1
    assert re.search(
        r"^  occupancy: 1 before, 0\.\d+ now, -[\d.]+ %\nmmcore: 0 of 1 cells", fallen.output, re.MULTILINE
    )


def test_growth_from_zero_is_growth() -> None:
    change = Change("a", "instructions", 0, 5)
    assert change.grew(50.0)
    assert str(change) == "instructions: 0 before, 5 now"


@pytest.mark.parametrize("percent", ["-1", "nan", "inf", "few"])
def test_an_allowed_growth_is_a_number(pytester: pytest.Pytester, percent: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"'{percent}' is not a number of percent from 0"):
        pytester.parseconfig(f"--mm-allow-growth={percent}")


def test_pytest_bench_in_another_folder_names_the_command(pytester: pytest.Pytester) -> None:
    result: Any = pytester.runpytest("bench/")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not found: bench/*", "ERROR: mmcore bench runs mmcore's benchmarks from any folder"])
    other = pytester.runpytest("nothing/")
    other.stderr.no_fnmatch_line("*mmcore bench*")
