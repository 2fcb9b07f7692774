"""printf on the emulator, and reports of what kernels print and assert."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mmcore.registry import registry
from mmcore_emulator.machine import formatted_output
from tests.command_line import mmcore as command
from tests.command_line import process
from tests.emulation import Emulated, emulate
from tests.emulator.kernels import kernel_source
from tests.emulator.oracles import zeros


def printed(run: Emulated) -> list[str]:
    return run.run.printed.text().splitlines()


def printing(statement: str, **launch: object) -> Emulated:
    return emulate(f'extern "C" __global__ void f(int* out) {{ {statement} }}', zeros(32), **launch)  # type: ignore[arg-type]


@pytest.mark.parametrize("architecture", ["75", "90", "100"])
def test_threads_print_by_block_and_thread_and_in_the_order_of_their_code(architecture: str) -> None:
    statement = """
    const int b = blockIdx.y * gridDim.x + blockIdx.x, t = threadIdx.y * 3 + threadIdx.x;
    for (int i = 0; i < 2 + t % 2; ++i) printf("%d.%d.%d\\n", b, t, i);
    if (t < 3) printf("low\\n"); else printf("high %d\\n", b);"""
    expected = []
    for block, thread in np.ndindex(6, 6):
        expected += [f"{block}.{thread}.{i}" for i in range(2 + thread % 2)]
        expected += ["low" if thread < 3 else f"high {block}"]
    assert printed(printing(statement, grid=(2, 3), block=(3, 2), architecture=architecture)) == expected


def test_the_oldest_calls_are_lost_where_the_buffer_is_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(formatted_output, "BUFFER_BYTES", 1000)
    run = printing('for (int i = 0; i < 10; ++i) printf("%d %d\\n", i, threadIdx.x);')
    kept, lost = printed(run), run.run.printed.lost
    assert kept
    assert lost
    assert len(kept) + lost == 320
    # The last passes of the loop are the latest.
    latest = sorted(((i, t) for i in range(10) for t in range(32)), reverse=True)[: len(kept)]
    assert kept == [f"{i} {t}" for i, t in sorted(latest, key=lambda each: (each[1], each[0]))]
    notice, *shown = capsys.readouterr().err.splitlines()
    assert shown == kept
    assert notice == f"{lost} earlier calls of printf are lost: the buffer holds 1000 bytes"


def test_longer_calls_take_more_of_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatted_output, "BUFFER_BYTES", 400)
    calls = ('"x"', '"%d", 1', '"%s", "some text"', '"%d %d %d", 1, 2, 3')
    kept = [32 - printing(f"printf({call});").run.printed.lost for call in calls]
    assert kept == sorted(kept, reverse=True)
    assert len(set(kept)) == len(kept)


# Commands.

SAYING = kernel_source("saying")
PRINTED = ["element 0 of 30\\x1b[0m", "element 1 of 30\\x1b[0m"]


def elements(text: str) -> list[str]:
    return [line for line in text.splitlines() if "element" in line]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my.cu").write_text(SAYING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry(), "files", {})
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_a_worker_process_prints_the_kernels_output_on_stderr() -> None:
    run = ("run", "my.cu", "--size", "20x30x40", "--device", "emulator", "--json")
    ran = process(*run, MMCORE_IN_PROCESS="0")
    assert json.loads(ran.stdout)["verified"] is True
    # Once for each launch of the verification; the search for hazards is quiet.
    assert elements(ran.stderr) == 3 * PRINTED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "launches"), [("run", 3), ("check", 1), ("profile", 1)])
def test_a_command_prints_the_kernels_output_on_stderr(name: str, launches: int) -> None:
    result = command(name, "my.cu", "--size", "20x30x40", "--device", "emulator", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)
    assert elements(result.stderr) == launches * PRINTED


def test_a_command_prints_the_first_lines_of_a_launch(folder: Path) -> None:
    (folder / "my.cu").write_text(SAYING.replace("row == 1 && col < 2", "row >= 0"))
    result = command("check", "my.cu", "--size", "20x30x40", "--device", "emulator")
    assert len(elements(result.stderr)) == 10
    assert f"\n{20 * 30 - 10} further lines of printf are left out\n" in result.stderr


def test_kernels_that_are_tried_for_a_hint_print_nothing(folder: Path) -> None:
    (folder / "my.cu").write_text(SAYING.replace("A[row * k + i]", "A[row * k + i] * 2"))
    result = command("run", "my.cu", "--size", "20x30x40", "--device", "emulator")
    assert "TEST FAIL" in result.stdout
    assert elements(result.stderr) == PRINTED


def test_benchmarks_print_the_kernels_output(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_speed="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    given = ("--mm-kernel", str(folder / "my.cu"), "--mm-size", "20x30x40", "--mm-device", "emulator")
    result = pytester.runpytest_inprocess(*given, "-s", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert elements("\n".join((*result.outlines, *result.errlines))) == 3 * PRINTED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run", ["assertion at my.cu:10: thread", "fails the assertion 'k < 50'", "TEST FAIL"]),
        ("check", ["assertion at my.cu:10, 600 threads", "fails the assertion 'k < 50'; a GPU would stop the launch"]),
    ],
)
def test_a_kernel_with_a_failing_assertion_is_wrong(name: str, words: list[str]) -> None:
    result = command(name, "my.cu", "--size", "20x30x60", "--device", "emulator")
    assert result.exit_code == 1
    assert all(each in result.stdout for each in words)
    assert name == "check" or result.stdout.rstrip().endswith("TEST FAIL")
