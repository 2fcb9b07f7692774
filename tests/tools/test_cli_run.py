"""``mmcore run``: the lecture's report, on the emulator."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import mmcore as api
from mmcore import Constraint, Dim3, Kernel, Launch, Multiple, Result, Square, hookimpl
from mmcore.cell import Timing
from mmcore.cli.options import requested_cell, requested_config, requested_sizes
from mmcore.cli.output import rendered
from mmcore.devices.violations import Violation
from mmcore.plugin_table import Origin, Registered
from mmcore.registry import registry
from mmcore.result import LaunchRecord
from mmcore.timing import Time
from mmcore.verdict import Findings, judged
from mmcore_cuda import CudaProvider
from mmcore_tools.run import details, heading
from tests import wrong_kernels
from tests.command_line import install, kernel_module, mmcore, process, python_path
from tests.kernel_sources import kernel_source
from tests.own_kernel import own

EMULATOR = ("--device", "emulator")


def facts(output: str) -> dict[str, str]:
    """Return the report's fields by name."""
    lines = output.split("\n\n")[1].splitlines()
    return {name: value.strip() for name, _, value in (line.partition("  ") for line in lines)}


def test_a_right_product_passes() -> None:
    result = mmcore("run", "upc.kernel11", "--size", "65", "--block", "32", "--seed", "7", *EMULATOR)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"upc.kernel11: {api.kernels()['upc.kernel11'].title}\n")
    assert result.stdout.endswith("\nTEST PASS\n")
    said = facts(result.stdout)
    assert said["device"].startswith("emulator: ")
    assert said["problem"] == "C=AB, m×n×k = 65×65×65, float32"
    assert said["config"] == "TILE=32"
    assert said["block"] == "32×32 (1024 threads)"
    assert said["grid"] == "3×3 (9 blocks)"
    assert said["shared memory"] == "8192 bytes per block"
    assert said["kernel time"] == said["end-to-end time"] == "none: the device supports no timing"
    assert said["seed"] == "7"
    assert said["verification"].startswith("every element against float64; largest error ")


def register_staged(path: Path, monkeypatch: pytest.MonkeyPatch, barrier: str, *constraints: Constraint) -> str:
    """Register a tiled kernel that ends each step with ``barrier``; return its name."""
    kernel = own(
        path / "staged.cu",
        kernel_source("staged", BARRIER=barrier),
        block=(8, 8),
        constraints=(Square(), Multiple("n", 8), *constraints),
        launch=lambda problem, config, device: Launch(grid=(problem.n // 8, problem.n // 8), block=config.block),
    )
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setitem(registry().kernels, kernel.name, Registered(kernel, Origin("acme", "acme")))
    return kernel.name


def test_a_baseline_is_named_that_the_device_does_not_compare() -> None:
    command = ("run", "poznan.v4a", "--size", "32", "--no-hazards", "-q", *EMULATOR)
    assert "cublas.best is not compared: the device emulator" in mmcore(*command, "--baseline", "cublas.best").stderr
    assert "not compared" not in mmcore(*command).stderr + mmcore(*command, "--baseline", "none").stderr


def test_a_race_fails_although_the_product_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = register_staged(tmp_path, monkeypatch, "")
    result = mmcore("run", name, "--size", "192", *EMULATOR)
    assert result.exit_code == 1
    assert "largest error" in facts(result.stdout)["verification"]
    assert facts(result.stdout)["hazards"] == "found at 32×32×32 on the emulator"
    assert re.search(r"^shared-race at staged.cu:7: .*; try .* before line 7$", result.stdout, re.MULTILINE)
    assert result.stdout.endswith("\nTEST FAIL\n")
    document = json.loads(mmcore("run", name, "--size", "192", "--json", *EMULATOR).stdout)
    assert (document["verified"], document["wrong_elements"], document["kernel_ms"]) == (False, 0, None)
    assert {each["kind"] for each in document["violations"]} == {"shared-race"}
    (again,) = re.findall(r"mmcore (check .*)", result.stdout)
    assert mmcore(*shlex.split(again)).exit_code == 1


@pytest.mark.parametrize("order", ["tryfirst", "trylast"])
def test_every_plugins_hazards_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    class Content:
        @hookimpl(tryfirst=order == "tryfirst", trylast=order == "trylast")
        def mmcore_findings(self, result: Result, kernel: Kernel, extent: str) -> Findings:
            return Findings("none elsewhere")

    name = register_staged(tmp_path, monkeypatch, "")
    registry().add(Content(), "content", "tests")
    try:
        result = mmcore("run", name, "--size", "64", *EMULATOR)
        stray = mmcore("run", "upc.kernel10", "--size", "65", "--block", "16", "--force", *EMULATOR)
    finally:
        registry().manager.unregister(name="tests:content")
    assert (result.exit_code, "shared-race" in result.stdout) == (1, True)
    assert "none elsewhere" in result.stdout
    assert (stray.exit_code, "none elsewhere" in stray.stdout) == (1, True)
    assert [line for line in stray.stdout.splitlines() if "out-of-bounds" in line] != []


@pytest.mark.parametrize("order", ["tryfirst", "trylast"])
def test_findings_of_a_wrong_type_leave_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    class Content:
        @hookimpl(tryfirst=order == "tryfirst", trylast=order == "trylast")
        def mmcore_findings(self, result: Result, kernel: Kernel, extent: str) -> Findings:
            return Findings("elsewhere", violations=("a text",))  # type: ignore[arg-type]

    name = register_staged(tmp_path, monkeypatch, "__syncthreads();")
    monkeypatch.setattr(registry(), "failed", [])
    registry().add(Content(), "content", "tests")
    try:
        result = mmcore("run", name, "--size", "64", *EMULATOR)
    finally:
        registry().manager.unregister(name="tests:content")
    assert (result.exit_code, result.stdout.endswith("\nTEST PASS\n")) == (0, True)
    warning = (
        "warning: plugin content of tests failed in mmcore_findings: violations of Findings holds str, not Violation"
    )
    assert len(re.findall(rf"^{warning} \(test_cli_run\.py:\d+\)$", result.stderr, re.MULTILINE)) == 1


def test_the_lines_of_hazards_are_found_for_a_fault_without_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = registry().kernel(register_staged(tmp_path, monkeypatch, ""))
    result = replace(api.run(kernel.name, 64, device="emulator"), violations=(Violation("unrepeatable", "it differs"),))
    found = judged(result, kernel, "size")
    lines = [(each.kind, each.line) for each in found.violations]
    assert lines == [("unrepeatable", None), ("shared-race", 7), ("shared-race", 8)]
    assert judged(found, kernel, "size").violations == found.violations


@pytest.mark.parametrize(
    ("step", "size", "looked"),
    [
        (8, 192, "none at 32×32×32 on the emulator"),
        (20, 320, "none at 80×80×80 on the emulator"),
        (264, 264, "not looked for: the constraints allow no small product"),  # 264³ is more than 2²⁴
    ],
)
def test_hazards_need_a_small_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int, size: int, looked: str
) -> None:
    name = register_staged(tmp_path, monkeypatch, "__syncthreads();", Multiple("n", step))
    monkeypatch.setattr("mmcore_emulator.adapter.small_product._MOST_WORK", 1 << 24)  # a fourth of the usual
    result = mmcore("run", name, "--size", str(size), *EMULATOR)
    assert (facts(result.stdout)["hazards"], result.exit_code) == (looked, 0)


@pytest.fixture
def long_k_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Register a kernel that is wrong if k > 512; return its name."""
    made = wrong_kernels.kernel(tmp_path, ("sum = 0.0f", "sum = k > 512"))
    monkeypatch.setenv("MMCORE_IN_PROCESS", "1")
    monkeypatch.setitem(registry().kernels, made.name, Registered(made, Origin("acme", "acme")))
    return made.name


def test_a_fault_at_another_size_fails_if_no_size_was_asked_for(long_k_is_wrong: str) -> None:
    result = mmcore("run", long_k_is_wrong, *EMULATOR)
    assert (facts(result.stdout)["problem"], result.exit_code) == ("C=AB, m×n×k = 128×128×128, float32", 1)
    assert re.search(r"\nwrong-product: at 5×5×575 \(a long k\): \d+:\d+: expected .*\nTEST FAIL\n$", result.stdout)
    (again,) = re.findall(r"mmcore (run .*)", result.stdout)
    assert mmcore(*shlex.split(again), "--no-hazards").exit_code == 1
    document = json.loads(mmcore("run", long_k_is_wrong, *EMULATOR, "--json").stdout)
    assert (document["verified"], document["kernel_ms"], document["warnings"]) == (False, None, [])
    assert [each["kind"] for each in document["violations"]] == ["wrong-product"]
    packed = {"lda": 0, "ldb": 0, "ldc": 0}
    assert document["sizes"][-1] == {"m": 5, "n": 5, "k": 575, **packed, "why": "a long k", "right": False}
    assert all(each["right"] for each in document["sizes"][:-1])


def test_a_fault_at_another_size_is_a_warning_if_a_size_was_asked_for(long_k_is_wrong: str) -> None:
    result = mmcore("run", long_k_is_wrong, "-m", "32", "-n", "32", "-k", "32", *EMULATOR)
    assert result.exit_code == 0
    assert "\nwarning: wrong-product: at 5×5×575 (a long k): " in result.stdout
    assert result.stdout.endswith("\nTEST PASS at 32×32×32; wrong at 5×5×575\n")
    document = json.loads(mmcore("run", long_k_is_wrong, "--size", "32", *EMULATOR, "--json").stdout)
    assert (document["verified"], document["violations"], len(document["warnings"])) == (True, [], 1)
    assert document["sizes"][-1]["k"] == 575
    found = api.run(long_k_is_wrong, 32, device="emulator")
    assert (found.verified, len(found.warnings)) == (True, 1)


def test_hazards_and_further_sizes_are_left_out_on_request(long_k_is_wrong: str) -> None:
    result = mmcore("run", long_k_is_wrong, "--size", "32", "--no-hazards", *EMULATOR)
    assert (result.exit_code, "hazards" in result.stdout, "warning" in result.stdout) == (0, False, False)
    assert api.run(long_k_is_wrong, 32, device="emulator", hazards=False).sizes == ()


def test_json_is_the_result_and_the_python_interfaces_is_the_same() -> None:
    arguments = ("--size", "33x17x9", "--block", "16x8", "--ldc", "20", "--seed", "3")
    document = json.loads(mmcore("run", "upc.kernel01", *arguments, *EMULATOR, "--json").stdout)
    assert (document["problem"], document["verified"]) == ({"m": 33, "n": 17, "k": 9}, True)
    same = api.run("upc.kernel01", m=33, n=17, k=9, block="16x8", ldc=20, seed=3, device="emulator").to_json()
    assert same.keys() == document.keys()
    for name in ("kernel", "config", "problem", "leading_dimensions", "launched", "seed", "max_error", "verification"):
        assert json.dumps(same[name]) == json.dumps(document[name]), name
    assert json.loads(json.dumps(Result.from_json(document).to_json())) == document


def test_auto_says_which_device_it_chose() -> None:
    chosen = "cuda:0" if CudaProvider().count() else "emulator"
    assert facts(mmcore("run", "upc.kernel01", "--size", "8").stdout)["device"].startswith(f"{chosen} (chosen by auto)")


def test_a_config_is_asked_for_by_the_names_of_its_parameters() -> None:
    result = mmcore("run", "upc.kernel11", "--size", "33", "--config", "block=8x8,TILE=8", *EMULATOR)
    assert (facts(result.stdout)["config"], facts(result.stdout)["block"]) == ("TILE=8", "8×8 (64 threads)")


def test_kernel00_forced_to_a_size_it_does_not_cover_leaves_column_64_unwritten() -> None:
    arguments = ("run", "upc.kernel00", "--size", "65", "--block", "32", "--force", "--seed", "1", *EMULATOR)
    result = mmcore(*arguments)
    assert result.exit_code == 1
    said = facts(result.stdout)
    assert said["grid"] == "2×2 (4 blocks)"
    assert "n = 65 is not a multiple of block.x = 32" in said["forced"]
    assert said["kernel time"] == said["end-to-end time"] == "none: only a verified product is timed"
    *_, mismatch, extent, answer = result.stdout.splitlines()
    assert mismatch.startswith("0:64: expected ")
    assert mismatch.endswith(" - got NaN (never written)")
    assert extent == "129 of the 4225 elements compared are wrong"
    assert answer == "TEST FAIL"
    assert mmcore(*arguments, "--quiet").stdout.splitlines() == [mismatch, extent, answer]
    saved = json.loads(mmcore(*arguments, "--json").stdout)
    assert (saved["first_mismatch"]["row"], saved["first_mismatch"]["column"]) == (0, 64)
    assert (saved["first_mismatch"]["got"], saved["verified"], saved["forced"]) == (None, False, True)


@pytest.mark.parametrize(("words", "forced"), [(("--force",), "against nothing: its constraints hold"), ((), None)])
def test_a_launch_that_needed_no_force_says_so(words: tuple[str, ...], forced: str | None) -> None:
    said = facts(mmcore("run", "upc.kernel00", "--size", "8", "--block", "8", *words, *EMULATOR).stdout)
    assert said.get("forced") == forced


def test_a_time_limit_reached_is_neither_right_nor_wrong() -> None:
    result = mmcore("run", "upc.kernel11", "--size", "640", "--timeout", "0.2", *EMULATOR)
    assert (result.exit_code, result.stderr) == (2, "")
    *_, violation, answer = result.stdout.splitlines()
    assert answer == "NOT FINISHED: --timeout sets the limit"
    assert re.match(r"timeout at .* 0\.2 s", violation)
    assert facts(result.stdout)["verification"] == "none: the time limit was reached"


@pytest.mark.skipif(bool(CudaProvider().count()), reason="there is a GPU here")
def test_without_a_gpu_the_error_says_what_works_without_one() -> None:
    result = mmcore("run", "upc.kernel01", "--size", "8", "--device", "cuda")
    assert result.exit_code == 2
    assert "the device emulator needs none" in result.stderr


def test_a_source_that_does_not_compile_shows_the_compilers_log(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.typo", kernel_module("acme.typo"))
    (tmp_path / "acme_module.cu").write_text('extern "C" __global__ void f(float* A) {\n  A[0] = oops;\n}\n')
    result = mmcore("run", "acme.typo", *EMULATOR, site=tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: acme.typo: acme_module.cu does not compile")
    assert "acme_module.cu(2): error" in result.stderr


def test_in_a_worker_process_what_a_launch_rule_prints_stays_off_stdout(tmp_path: Path) -> None:
    rule = "print('thank you'); os.write(1, b'for launching'); return Launch(grid=(1,), block=config.block)"
    install(tmp_path, "acme", "acme.loud", kernel_module("acme.loud", rule))
    (tmp_path / "acme_module.cu").write_text('extern "C" __global__ void f(float* A, float* B, float* C) { C[0] = 0; }')
    arguments = ("run", "acme.loud", "--size", "8", *EMULATOR, "--json")
    result = process(*arguments, PYTHONPATH=python_path(tmp_path), MMCORE_IN_PROCESS="")
    assert (result.returncode, json.loads(result.stdout)["wrong_elements"] >= 56) == (1, True)  # some of C are 0
    assert "for launching" in result.stderr


def test_the_usual_size_is_640_or_the_next_that_the_config_allows() -> None:
    kernel = api.kernels()["poznan.v3"]
    assert requested_sizes(kernel, {}, 640, None) == (640, 640, 640)
    assert requested_sizes(kernel, {}, 640, kernel.config(block="22")) == (660, 660, 660)


@pytest.fixture(scope="module")
def result() -> Result:
    return api.run("upc.kernel01", 64, block=16, device="emulator", seed=1)


def printed(result: Result) -> str:
    kernel = api.kernels()[result.kernel]
    return rendered(*heading(result, kernel, auto=False), *details(result, (), kernel), terminal=False)


def test_times_are_given_in_milliseconds_with_their_rates(result: Result) -> None:
    timings = (Timing("kernel", "warm"), 1e-5), (Timing("end-to-end", "pinned"), 2.5e-3)
    times = tuple(Time(timing, (seconds,), 1, "made up") for timing, seconds in timings)
    bounded = printed(replace(result, times=times, bound_ms=2.5e-3, bound_by="launch"))
    assert facts(bounded)["speed of light"] == "25.0 % (a launch takes 2.5 µs at least)"
    assert "speed of light" not in facts(printed(replace(result, bound_ms=2.5e-3, bound_by="launch")))
    said = facts(printed(replace(result, times=times)))
    assert said["kernel time"] == "0.0100 ms, 52.4 GFLOP/s"
    assert said["end-to-end time"] == "2.5000 ms, 0.2097 GFLOP/s"
    assert said["host memory"] == "pinned"


def test_a_rate_has_a_decimal_from_10_on_and_four_below(result: Result) -> None:
    for gflops, rate in ((10, "10.0"), (9.9994, "9.9994"), (123.45, "123.5")):
        times = (Time(Timing("kernel", "warm"), (64**3 * 2 / gflops / 1e9,), 1, "made up"),)
        assert facts(printed(replace(result, times=times)))["kernel time"].endswith(f" ms, {rate} GFLOP/s")


@pytest.mark.parametrize(
    ("reasons", "held"),
    [([], ""), (["sw_power_cap"], ", held back by sw power cap"), (["x_y", "z"], ", held back by x y, z")],
)
def test_the_conditions_are_reported_with_the_reasons_of_a_slow_clock(
    result: Result, reasons: list[str], held: str
) -> None:
    seen = {"clock_mhz": 1979.6, "power_w": 612.4, "temperature_c": 54.7, "clock_reasons": reasons, "throttled": False}
    said = facts(printed(replace(result, conditions=seen)))
    assert said["conditions"] == f"1980 MHz, 612 W, 55 °C{held}"
    assert "conditions" not in facts(printed(result))


def test_a_device_chosen_by_auto_is_marked_and_one_without_description_is_named(result: Result) -> None:
    plain = replace(result, device_description="")
    assert facts(printed(plain))["device"] == "emulator"
    chosen = rendered(*heading(plain, api.kernels()[result.kernel], auto=True), terminal=False)
    assert facts(chosen)["device"] == "emulator (chosen by auto)"


def test_numbers_of_all_exponents_have_no_largest_error(result: Result) -> None:
    wide = replace(result, cell=replace(result.cell, inputs="wide"))
    assert facts(printed(wide))["verification"] == "every element against float64; numbers of all exponents"


def test_several_launches_are_all_reported_and_of_many_the_first(result: Result) -> None:
    one, two = LaunchRecord("f", Dim3(4, 4), Dim3(16, 16), 8, 0), LaunchRecord("f", Dim3(1), Dim3(1), 16, 64)
    said = facts(printed(replace(result, launched=(one, two))))
    assert said["block"] == "16×16 (256 threads), then 1×1 (1 thread)"
    assert said["grid"] == "4×4 (16 blocks), then 1×1 (1 block)"
    assert (said["registers"], said["shared memory"]) == ("16 per thread", "64 bytes per block")
    said = facts(printed(replace(result, launched=(two,) * 3000)))
    assert said["grid"] == ", then ".join(["1×1 (1 block)"] * 8) + ", then 2992 more"


def test_a_violation_that_leaves_no_product_fails_the_test(result: Result) -> None:
    violation = Violation("illegal-address", "the kernel accessed memory that is not there")
    said = printed(replace(result, verification=None, violations=(violation,)))
    assert facts(said)["verification"] == "none: the violation left no product"
    assert said.endswith("\nillegal-address: the kernel accessed memory that is not there\nTEST FAIL")


def test_what_is_asked_for_is_in_the_cell() -> None:
    kernel = api.kernels()["upc.kernel01"]
    asked = {"size": (8, 9, 10), "lda": 11, "ldb": 12, "ldc": 13, "seed": 0, "force": True, "timeout": 2.5}
    cell = requested_cell(kernel, "emulator", {**asked, "block": "8x4"}, 640, timings=())
    given = {name: getattr(cell, name) for name in asked if name != "size"}
    assert given == {name: value for name, value in asked.items() if name != "size"}
    assert (cell.m, cell.n, cell.k, cell.device, cell.config) == (8, 9, 10, "emulator", {"block": [8, 4, 1]})
    assert type(cell.seed) is int
    assert requested_cell(kernel, "emulator", {}, 64).config == {}


def test_the_block_wins_over_one_among_the_parameters_and_the_last_parameter_over_those_before() -> None:
    kernel = api.kernels()["upc.kernel11"]
    several = ({"block": (16, 16), "TILE": 16}, {"TILE": 8})
    assert requested_config(kernel, {"configs": several, "block": "8"}) == kernel.config(block="8", TILE=8)
    assert requested_config(kernel, {"configs": several}) == kernel.config(block="16", TILE=8)
    assert requested_config(kernel, {"configs": (), "block": None}) is None
