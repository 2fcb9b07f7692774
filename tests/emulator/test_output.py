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

ARCHITECTURES = pytest.mark.parametrize("architecture", ["75", "90", "100"])


def printed(run: Emulated) -> list[str]:
    return run.run.printed.text().splitlines()


def printing(statement: str, **launch: object) -> Emulated:
    return emulate(f'extern "C" __global__ void f(int* out) {{ {statement} }}', zeros(32), **launch)  # type: ignore[arg-type]


@ARCHITECTURES
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


@ARCHITECTURES
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            '"%d %i %u|%5d|%-5d|%05d|%+d|% d|%x %X %#x %o", -3, 4, 5u, 42, 42, 42, 42, 42, 255, 255, 255, 8',
            "-3 4 5|   42|42   |00042|+42| 42|ff FF 0xff 10",
        ),
        (
            '"%lld %llu %llx %ld %lu", -5ll, ~0ull, 1ll << 40, -(1l << 40), 7ul',
            "-5 18446744073709551615 10000000000 -1099511627776 7",
        ),
        ("\"%hd %hhu %c%c\", (short)-2, (unsigned char)200, 65, 'b'", "-2 200 Ab"),
        (
            '"%f %.2f %8.3f|%-8.1f|%e %g %G", 1.5, 3.14159f, -2.0, 0.25f, 12345.678, 1e-10, 1e20f',
            "1.500000 3.14   -2.000|0.2     |1.234568e+04 1e-10 1E+20",
        ),
        ('"%f %f %e", __int_as_float(0x7f800000), -__int_as_float(0x7f800000), nanf("")', "inf -inf nan"),
        ('"%a", 1.5', "0x1.8p+0"),
        ('"%p %p", (void*)0x1234, (void*)0', "0x1234 (nil)"),
        ('"%s|%8s|%-4s|%.2s|%s", "text", "right", "l", "cut", (const char*)0', "text|   right|l   |cu|(null)"),
        ('"%*d|%-*d|%.*f", 6, 42, 4, 7, 1, 2.55', "    42|7   |2.5"),
        ('"100%% of %d%%", 3', "100% of 3%"),
        ('"%d %f %d %s %c", 1, 2.0, 3, "four", 53', "1 2.000000 3 four 5"),
        ('"%n %y %5$d %"', "%n %y %5$d %"),
        ('"tab\\tand \\x1b[31mred"', "tab\tand \x1b[31mred"),
        ('""', ""),
    ],
)
def test_a_call_prints_as_the_hosts_c_library_does(call: str, text: str, architecture: str) -> None:
    run = printing(f"out[0] = printf({call});", block=(1,), architecture=architecture)
    assert (run.run.printed.text(), run.violations) == (text, [])


@pytest.mark.parametrize(
    ("call", "returned", "text"),
    [
        ('"none\\n"', 0, "none\n"),
        ('"%d %s %*d", 1, "x", 3, 4', 4, "1 x   4"),
        ("(const char*)0", -1, ""),
        # Arguments beyond the 32nd are not printed.
        (f'"{"%d " * 34}", {", ".join(map(str, range(34)))}', 32, "".join(f"{i} " for i in range(32)) + "%d %d "),
    ],
    ids=["none", "four", "no format", "many"],
)
def test_a_call_returns_the_number_of_its_arguments(call: str, returned: int, text: str) -> None:
    run = printing(f"out[0] = printf({call});", block=(1,))
    assert (run.arrays[0][0], run.run.printed.text()) == (returned, text)


def test_each_thread_may_have_another_string() -> None:
    statement = """
    char name[4] = {'a', 'b', 'c', 0};
    name[threadIdx.x % 3] += threadIdx.x;
    __shared__ char row[4][2];
    row[threadIdx.x][0] = '0' + threadIdx.x; row[threadIdx.x][1] = 0;
    printf(threadIdx.x % 2 ? "odd %s %s\\n" : "even %s %s\\n", name, row[threadIdx.x]);"""
    assert printed(printing(statement, block=(4,))) == ["even abc 0", "odd acc 1", "even abe 2", "odd dbc 3"]


def test_a_string_without_an_end_is_read_out_of_bounds() -> None:
    run = emulate('extern "C" __global__ void f(char* out) { printf("%s\\n", out + 30); }', np.full(32, 65, np.uint8))
    (violation,) = run.violations
    assert violation.kind == "out-of-bounds-read"
    assert violation.message == "thread (0, 0) of block (0, 0) reads the first byte past the end of P at test.cu:1"
    assert printed(run) == ["AA"] * 32


@pytest.mark.parametrize("address", ["16", "0xfff000000000"])
def test_an_address_without_a_string_is_a_violation(address: str) -> None:
    (violation,) = printing(f'printf("%s\\n", (char*){address});', block=(1,)).violations
    assert violation.message.startswith(f"thread (0, 0) of block (0, 0) reads address {int(address, 0):#x}, far from")


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
@pytest.mark.parametrize("in_process", ["0", "1"])
def test_run_prints_the_kernels_output_on_stderr_and_its_json_stays_json(in_process: str) -> None:
    run = ("run", "my.cu", "--size", "20x30x40", "--device", "emulator", "--json")
    ran = process(*run, MMCORE_IN_PROCESS=in_process)
    assert json.loads(ran.stdout)["verified"] is True
    # Once for each launch of the verification, and of the search for hazards.
    assert elements(ran.stderr) == 4 * PRINTED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["check", "profile"])
def test_check_and_profile_print_the_kernels_output(name: str) -> None:
    result = command(name, "my.cu", "--size", "20x30x40", "--device", "emulator")
    assert result.exit_code == 0, result.output
    assert elements(result.stderr) == PRINTED
    assert "element 0" not in result.stdout


def test_benchmarks_print_the_kernels_output(folder: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_speed="def test_kernel(mm_benchmark):\n    mm_benchmark()\n")
    given = ("--mm-kernel", str(folder / "my.cu"), "--mm-size", "20x30x40", "--mm-device", "emulator")
    result = pytester.runpytest_subprocess(*given, "-s", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert elements("\n".join((*result.outlines, *result.errlines))) == 3 * PRINTED


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run", ["fails the assertion 'k < 50' at my.cu:10", "TEST FAIL"]),
        ("check", ["assertion at my.cu:10, 600 threads", "fails the assertion 'k < 50'; a GPU would stop the launch"]),
    ],
)
def test_a_kernel_with_a_failing_assertion_is_wrong(name: str, words: list[str]) -> None:
    result = command(name, "my.cu", "--size", "20x30x60", "--device", "emulator")
    assert result.exit_code == 1
    assert all(each in result.stdout for each in words)
    assert name == "check" or result.stdout.rstrip().endswith("TEST FAIL")
