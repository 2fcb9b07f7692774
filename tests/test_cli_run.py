"""``mmcore run``: the lecture's report, on the emulator."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console

import mmcore as api
from mmcore import Dim3, Kernel, Launch, Multiple
from mmcore.cli.kernels import usual_size
from mmcore.cli.report import geometry, report
from mmcore.verify.verification import Mismatch
from mmcore.devices.cuda import CudaProvider
from mmcore.devices.violations import Violation
from mmcore.outcome import Outcome
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import plan
from tests.command_line import install, kernel_module, mmcore, process

EMULATOR = ("--device", "emulator")


def facts(output: str) -> dict[str, str]:
    """The report's fields by name."""
    lines = output.split("\n\n")[1].splitlines()
    return {name: value.strip() for name, _, value in (line.partition("  ") for line in lines)}


def test_a_right_product_passes() -> None:
    result = mmcore("run", "upc.kernel11", "--size", "65", "--block", "32", "--seed", "7", *EMULATOR)
    assert (result.exit_code, result.stderr) == (0, "")
    kernel = api.kernels()["upc.kernel11"]
    assert result.stdout.startswith(f"upc.kernel11: {kernel.title}\n")
    assert result.stdout.endswith("\nTEST PASS\n")
    said = facts(result.stdout)
    assert said["device"].startswith("emulator: ")
    assert said["problem"] == "C=AB, m×n×k = 65×65×65, float32"
    assert said["block"] == "32×32 (1024 threads)"
    assert said["grid"] == "3×3 (9 blocks)"
    assert said["shared memory"] == "8192 bytes per block"
    assert said["host memory"] == "pageable"
    assert said["kernel time"] == said["global time"] == "this device keeps no time"
    assert said["seed"] == "7"
    assert said["verification"].startswith("every element against float64; largest error ")


def test_json_is_the_outcome() -> None:
    arguments = ("-m", "33", "-n", "17", "-k", "9", "--block", "16x8", "--memory", "pinned", "--seed", "3")
    result = mmcore("run", "upc.kernel01", *arguments, *EMULATOR, "--json")
    assert result.exit_code == 0
    expected = api.run("upc.kernel01", m=33, n=17, k=9, block="16x8", memory="pinned", seed=3, device="emulator")
    assert json.loads(result.stdout) == expected.to_json()


def test_auto_says_which_device_it_chose() -> None:
    result = mmcore("run", "upc.kernel01", "--size", "8")
    chosen = "cuda:0" if CudaProvider().count() else "emulator"
    assert facts(result.stdout)["device"].startswith(f"{chosen} (chosen by auto): ")


def test_kernel00_forced_to_a_size_it_does_not_cover_leaves_column_64_unwritten() -> None:
    arguments = ("run", "upc.kernel00", "--size", "65", "--block", "32", "--force", "--seed", "1", *EMULATOR)
    result = mmcore(*arguments)
    assert result.exit_code == 1
    said = facts(result.stdout)
    assert said["grid"] == "2×2 (4 blocks)"
    assert "n = 65 is not a multiple of block.x = 32" in said["forced"]
    assert said["kernel time"] == said["global time"] == "none: only a verified product is timed"
    *_, mismatch, extent, judgement = result.stdout.splitlines()
    assert extent == "129 of the 4225 elements compared are wrong"
    assert mismatch.startswith("0:64: expected ")
    assert mismatch.endswith(" - got NaN (never written)")
    assert judgement == "TEST FAIL"
    outcome = json.loads(mmcore(*arguments, "--json").stdout)
    assert (outcome["first_mismatch"]["row"], outcome["first_mismatch"]["column"]) == (0, 64)
    assert outcome["first_mismatch"]["got"] is None
    assert outcome["verified"] is False


def test_kernel10_forced_past_the_end_is_caught_at_its_line() -> None:
    arguments = ("run", "upc.kernel10", "--size", "65", "--block", "32", "--force", *EMULATOR)
    result = mmcore(*arguments)
    assert result.exit_code == 1
    assert result.stdout.endswith("\nTEST FAIL\n")
    (violation,) = (line for line in result.stdout.splitlines() if line.startswith("out-of-bounds-read: "))
    line = json.loads(mmcore(*arguments, "--json").stdout)["violations"][0]["line"]
    assert violation.endswith(f"at kernel10.cu:{line}")
    source = api.kernels()["upc.kernel10"].source.read_text(encoding="utf-8").splitlines()
    assert "A[" in source[line - 1]


def test_a_block_with_too_many_threads_is_refused_with_both_numbers() -> None:
    result = mmcore("run", "unsa.tiled", "--size", "500", "--block", "50", *EMULATOR)
    refusal = "Error: unsa.tiled: a 50×50 block has 2500 threads; the device allows 1024\n"
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", refusal)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--size", "0"), "Invalid value for '--size': '0' is not a whole number from 1 to 2147483647"),
        (("--size", "-3"), "'-3' is not a whole number"),
        (("--size", "many"), "'many' is not a whole number"),
        (("--size", "9" * 400), "is not a whole number"),
        (("-m", "0", "-n", "1", "-k", "1"), "Invalid value for '-m'"),
        (("--size", "8", "-m", "8"), "give either one size or m, n and k, not both"),
        (("-m", "8", "-n", "8"), "give one size, or all of m, n and k"),
        (("--size", "8", "--block", "0"), "'0' is not a block"),
        (("--size", "8", "--block", "8x"), "'8x' is not a block"),
        (("--block", "wide"), "'wide' is not a block: give one to three positive whole numbers, such as 32 or 32x8"),
        (("--size", "8", "--memory", "paged"), "'paged' is not one of 'pageable', 'pinned'"),
        (("--size", "8", "--seed", "-1"), "Invalid value for '--seed'"),
        (("--size", "8", "--device", "gpu"), "there is no device 'gpu'; there are auto, cuda, emulator"),
        (("--size", "8", "--device", "emulator:1"), "emulator:1 does not exist"),
        (("--size", "8", "--device", "cuda:first"), "'cuda:first' is not a device"),
        (("--size", "8", "--device", "cuda:9"), "cuda:9 does not exist" if CudaProvider().count() else "no GPU here"),
        (("--size", "8", "--lda", "4"), "lda = 4 is shorter than a row of 8 elements"),
        (("--size", "100000"), "the kernel's int indexes reach 2147483647"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_run_is_refused_with_one_sentence(arguments: Sequence[str], said: str) -> None:
    result = mmcore("run", "upc.kernel01", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert said in line


@pytest.mark.skipif(bool(CudaProvider().count()), reason="there is a GPU here")
def test_without_a_gpu_the_refusal_says_what_works_without_one() -> None:
    result = mmcore("run", "upc.kernel01", "--size", "8", "--device", "cuda")
    assert result.exit_code == 2
    assert "--device emulator needs none" in result.stderr


def test_a_source_that_does_not_compile_shows_the_compilers_log(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.typo", kernel_module("acme.typo", "return Launch(grid=(1,), block=block)"))
    (tmp_path / "acme_module.cu").write_text('extern "C" __global__ void f(float* A) {\n  A[0] = oops;\n}\n')
    result = process("run", "acme.typo", *EMULATOR, PYTHONPATH=str(tmp_path))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: acme.typo: acme_module.cu does not compile")
    assert "acme_module.cu(2): error" in result.stderr


def test_a_launch_rule_that_raises_is_one_sentence(tmp_path: Path) -> None:
    install(tmp_path, "acme", "acme.bad", kernel_module("acme.bad", "raise ZeroDivisionError('by zero')"))
    result = process("run", "acme.bad", *EMULATOR, PYTHONPATH=str(tmp_path))
    assert result.returncode == 2
    where = re.escape("(acme_module.py:") + r"\d+, for 640×640×640 in 8×8 blocks\)"
    reason = "Error: acme.bad: its launch rule failed: ZeroDivisionError: by zero"
    assert re.fullmatch(f"{reason} {where}\n", result.stderr), result.stderr


def declared(*steps: int, blocks: tuple[tuple[int, ...], ...] = ((8, 8),)) -> Kernel:
    """A kernel whose sizes are multiples of these."""
    return Kernel(
        name="acme.steps",
        title="none",
        lecture="none",
        source=Path("none.cu"),
        entry="none",
        arguments=("A", "B", "C"),
        launch=lambda problem, block, limits: Launch(grid=(1,), block=block),
        blocks=blocks,
        constraints=tuple(Multiple(("m", "n", "k"), of=step) for step in steps),
    )


def test_of_many_launches_the_first_are_shown() -> None:
    kernel = dataclasses.replace(
        declared(), launch=lambda problem, block, limits: [Launch(grid=(1,), block=block)] * 3000
    )
    shown = dict(geometry(plan(kernel, kernel.problem(8, 8, 8), Dim3(8, 8), DeviceProperties())))
    assert shown["grid"] == ", then ".join(["1×1 (1 block)"] * 8) + ", then 2992 more"
    assert shown["block"].endswith(", then 8×8 (64 threads), then 2992 more")


def test_the_usual_size_is_640_or_the_next_that_is_allowed() -> None:
    assert usual_size(declared()) == 640
    assert usual_size(declared(128)) == 640
    assert usual_size(declared(512)) == 1024
    assert usual_size(declared(10**6)) == 640, "so that the refusal names it"


def test_the_usual_size_depends_on_the_block() -> None:
    kernel = api.kernels()["poznan.v3"]
    assert usual_size(kernel) == 640
    assert usual_size(kernel, Dim3(22, 22)) == 660


def test_the_usual_size_is_taken_when_none_is_given() -> None:
    result = mmcore("run", "poznan.v3", "--block", "22", *EMULATOR)
    assert result.exit_code == 0
    assert "660×660×660" in facts(result.stdout)["problem"]


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    return api.run("upc.kernel01", 64, block=16, device="emulator", seed=1)


def printed(outcome: Outcome) -> str:
    console = Console(file=io.StringIO(), width=1000)
    for part in report(outcome, chosen=False):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_times_are_given_in_milliseconds_with_their_rates(outcome: Outcome) -> None:
    said = facts(printed(dataclasses.replace(outcome, kernel_seconds=1e-5, end_to_end_seconds=2.5e-3)))
    assert said["kernel time"] == "0.0100 ms, 52.4 GFLOP/s"
    assert said["global time"] == "2.5000 ms, 0.2097 GFLOP/s"


def test_several_launches_are_all_reported(outcome: Outcome) -> None:
    launches = (Launch(grid=(4, 4), block=(16, 16)), Launch(grid=(1,), block=(1,)))
    said = facts(printed(dataclasses.replace(outcome, plan=dataclasses.replace(outcome.plan, launches=launches))))
    assert said["block"] == "16×16 (256 threads), then 1×1 (1 thread)"
    assert said["grid"] == "4×4 (16 blocks), then 1×1 (1 block)"


def test_a_fault_that_leaves_no_product_fails_the_test(outcome: Outcome) -> None:
    violation = Violation("illegal-address", "the kernel accessed memory that is not there")
    said = printed(dataclasses.replace(outcome, verification=None, violations=(violation,)))
    assert facts(said)["verification"] == "none: the violation left no product to judge"
    assert said.endswith("\nillegal-address: the kernel accessed memory that is not there\nTEST FAIL")


def test_a_fault_names_its_line_once() -> None:
    assert str(Violation("misaligned", "it is", source="a.cu", line=3)) == "misaligned: it is at a.cu:3"
    assert str(Violation("misaligned", "it is at a.cu:3", source="a.cu", line=3)) == "misaligned: it is at a.cu:3"


def test_a_mismatch_is_printed_as_the_lecture_prints_it() -> None:
    assert str(Mismatch(0, 640, 167.605087, 0.0)) == "0:640: expected 167.605087 - got 0.000000"
    assert str(Mismatch(1, 2, 3.0, math.nan)) == "1:2: expected 3.000000 - got NaN"
    assert str(Mismatch(1, 2, 3.0, -math.inf)) == "1:2: expected 3.000000 - got -inf"
    assert str(Mismatch(0, 64, 1.0, math.nan, True)).endswith("got NaN (never written)")
    assert str(Mismatch(0, 64, 1.0, math.nan, True, "float64")).endswith("got NaN (never written, or added to)")
    assert str(Mismatch(1, 2, 0.5, 0.50000002, allowed=1e-9)) == (
        "1:2: expected 0.50000000 - got 0.50000002 (2e-08 off; 1e-09 is allowed)"
    )
    assert str(Mismatch(1, 2, 0.5, 0.75, allowed=1e-9)) == "1:2: expected 0.500000 - got 0.750000"
