"""``mmcore compare``: verdicts on two sides, and which is faster or does more."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from mmcore import MmcoreError, Result, kernels
from mmcore.cell import Cell
from mmcore.cli.notebook import answer
from mmcore_performance.prediction import Prediction
from mmcore_pytest.counts import Change
from mmcore_tools.compare.measuring import Comparison
from mmcore_tools.compare.operands import Side, two_sides
from mmcore_tools.compare.predicted import Predicted
from tests.command_line import install, installed, mmcore

EMULATOR = ("--device", "emulator", "--seed", "1")
TIMED = """
from mmcore import hookimpl
from tests.timed_emulator import TimedEmulator, TimedProvider
class Provider(TimedProvider):
    def open(self, index):
        return TimedEmulator(lambda source: 1e-3 if source == "fast.cu" else 2e-3, flops=1e8)
@hookimpl
def mmcore_devices():
    return [Provider()]
"""
KERNEL = """
__global__ void NAME(const float *A, const float *B, float *C, int n)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        a[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < n ? A[row * n + t + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = t + threadIdx.y < n && col < n ? B[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}
"""


def written(path: Path, tile: int, *names: str) -> str:
    """Write a file of tiled kernels, and return its path."""
    path.write_text("".join(KERNEL.replace("TILE", str(tile)).replace("NAME", name) for name in names or ("tiled",)))
    return str(path)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write slow.cu, fast.cu and wrong.cu into the working directory."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "slow.cu", 8)
    text = Path(written(tmp_path / "fast.cu", 16)).read_text()
    (tmp_path / "wrong.cu").write_text(text.replace("sum +=", "sum -="))
    return tmp_path


@pytest.mark.usefixtures("files")
def test_without_times_the_counts_that_shrank_and_grew_are_compared() -> None:
    result = mmcore("compare", "slow.cu", "fast.cu", "--size", "48", *EMULATOR)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("A  slow.cu: TEST PASS\nB  fast.cu: TEST PASS\n")
    rows = re.findall(r"^(\w.*?) {2,}([\d,]+) +([\d,]+)(?: +([-+].*) %)?$", result.stdout, re.MULTILINE)
    assert rows[0] == ("barriers", "432", "54", "-87.5")
    names = ["shared bytes per block", "registers per thread", "occupancy in percent"]
    assert sorted(name for name, *_ in rows[-3:]) == sorted(names)
    answer = result.stdout.splitlines()[-1]
    assert answer.startswith("B has fewer barriers (-87.5 %), ")
    assert re.search(r"; predicted time [-+]\d+\.\d % on H200$", answer)
    assert re.search(r"^predicted, H200 +\d\S* µs +\d\S* µs +\S+ %$", result.stdout, re.MULTILINE)
    assert max(map(len, result.stdout.splitlines()[3:-1])) <= 100
    document = json.loads(mmcore("compare", "fast.cu", "slow.cu", "--size", "48", "--json", *EMULATOR).stdout)
    assert (document["right"], document["answer"]) == (True, None)
    predicted = document["predicted"]
    assert (predicted["card"], predicted["problem"]) == ("H200", "48×48×48")
    assert document["slower"] == (predicted["b"]["ms"] > 1.01 * predicted["a"]["ms"])
    assert document["counts"][0] == {"name": "barriers", "a": 54, "b": 432, "percent": 700.0}
    assert (document["a"]["label"], document["b"]["result"]["verified"]) == ("fast.cu", True)


def made_up(name: str, before: int, now: int, seconds: tuple[float, float] | None) -> Comparison:
    """Return a comparison without times, with one count and predicted times."""
    side = Side("acme", kernels()["upc.kernel11"], {})
    result = Result(Cell("upc.kernel11", 8, 8, 8), "upc.kernel11")
    several = [Prediction(each, each / 2, each * 2, "fma", {}) for each in seconds or ()]
    predicted = Predicted("H200", "8×8×8", *several) if several else None
    return Comparison((side, side), (result, result), None, [Change("", name, before, now)], predicted)


@pytest.mark.parametrize(
    ("name", "before", "now", "seconds", "slower"),
    [
        ("global sectors", 10, 11, None, True),
        ("global sectors", 11, 10, None, False),
        ("registers per thread", 10, 11, None, False),
        ("global sectors", 10, 11, (2e-3, 1e-3), False),
        ("global sectors", 11, 10, (1e-3, 2e-3), True),
        ("global sectors", 11, 10, (1e-3, 1.009e-3), False),
    ],
)
def test_without_times_the_predicted_ones_decide_and_else_the_work(
    name: str, before: int, now: int, seconds: tuple[float, float] | None, slower: bool
) -> None:
    assert made_up(name, before, now, seconds).slower == slower


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("words", "status"), [(("slow.cu", "fast.cu"), 0), (("fast.cu", "slow.cu"), 1)])
def test_more_work_fails_on_request(words: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Predicted:
        raise MmcoreError("no small product can be counted")

    monkeypatch.setattr("mmcore_tools.compare.measuring.predicted", refuse)
    result = mmcore("compare", *words, "--size", "16", "--fail-if-slower", "--quiet", *EMULATOR)
    assert (result.exit_code, len(result.stdout.splitlines()), result.stderr) == (status, 1, "")


@pytest.mark.usefixtures("files")
def test_beside_a_wrong_kernel_there_is_no_winner() -> None:
    result = mmcore("compare", "slow.cu", "wrong.cu", "--size", "16", *EMULATOR)
    assert result.exit_code == 1
    assert "B  wrong.cu: TEST FAIL" in result.stdout
    assert "expected" in result.stdout.partition("B, wrong.cu:\n")[2]
    assert result.stdout.splitlines()[-1] == "B is wrong: no winner"
    assert "inferred from wrong.cu" in result.stderr
    assert "barriers" not in result.stdout
    document = json.loads(mmcore("compare", "wrong.cu", "slow.cu", "--size", "16", "--json", *EMULATOR).stdout)
    assert (document["right"], document["answer"], document["counts"]) == (False, None, [])


@pytest.fixture
def _timed(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Iterator[None]:
    site = tmp_path_factory.mktemp("site")
    install(site, "timed-device", "timed", TIMED)
    with installed(site):
        yield


@pytest.mark.usefixtures("_timed")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("slow.cu", "fast.cu"), 0, "B is faster: 2 times A's speed (95 % confidence: 1.99"),
        (("fast.cu", "slow.cu"), 1, "B is slower: 0.5 times A's speed (95 % confidence: 0.49"),
        (("slow.cu", "upc.kernel11"), 0, "B is as fast as A: 1 times A's speed (95 % confidence: 0.99"),
    ],
)
def test_times_are_taken_in_turns(words: tuple[str, ...], status: int, said: str) -> None:
    result = mmcore("compare", *words, "--size", "16", "--device", "timed", "--seed", "1", "--fail-if-slower")
    assert result.exit_code == status, result.output
    assert result.stdout.splitlines()[-1].startswith(said)
    assert re.search(r"^kernel time +\d+ µs +\d+ µs", result.stdout, re.MULTILINE)
    assert re.search(r"^speed of light +\d+\.\d %", result.stdout, re.MULTILINE)
    assert "barriers" not in result.stdout


@pytest.mark.usefixtures("_timed")
def test_json_has_the_ratio_and_its_interval() -> None:
    document = json.loads(mmcore("compare", "slow.cu", "fast.cu", "--size", "16", "--device", "timed", "--json").stdout)
    assert (document["answer"], document["slower"]) == ("faster", False)
    low, high = document["interval"]
    assert low < document["faster"] < high
    assert document["faster"] == pytest.approx(2, rel=0.01)


@pytest.mark.usefixtures("files")
def test_a_notebook_shows_both_verdicts() -> None:
    shown = answer(["compare", "slow.cu", "fast.cu", "--size", "16", *EMULATOR])
    assert shown.status == 0
    (view,) = shown.views
    assert view.verdict.startswith("B has fewer barriers")
    assert ("A", "slow.cu: TEST PASS") in view.facts
    assert "432" not in view._repr_html_()
    assert "barriers" in view._repr_html_()


def labels(*words: str, configs: tuple[dict[str, object], ...] = ()) -> list[str]:
    """Return the labels and names of two sides."""
    with click.Context(click.Command("compare")):
        return [f"{side.label} {side.kernel.name}" for side in two_sides(words, configs, {})]


def test_sides_are_kernels_files_functions_and_configs(files: Path) -> None:
    written(files / "both.cu", 16, "one", "two")
    blocks: tuple[dict[str, object], ...] = ({"block": (8, 8)}, {"block": (16, 16)})
    assert labels("upc.kernel10", "slow.cu") == ["upc.kernel10 upc.kernel10", "slow.cu b.slow"]
    assert labels("slow.cu", "slow.cu") == ["slow.cu a.slow", "slow.cu b.slow"]
    assert labels("both.cu") == ["both.cu::one a.both.one", "both.cu::two a.both.two"]
    assert labels("both.cu::two", "both.cu::one") == ["both.cu::two a.both", "both.cu::one b.both"]
    assert labels("upc.kernel10", configs=blocks) == [
        *("upc.kernel10 block=8x8 upc.kernel10", "upc.kernel10 block=16x16 upc.kernel10")
    ]


def test_a_revision_is_the_file_as_it_was_committed(files: Path) -> None:
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")):
        subprocess.run(["git", *words], check=True)
    written(files / "slow.cu", 16)
    with click.Context(click.Command("compare")):
        before, now = two_sides(["slow.cu@HEAD", "slow.cu"], [], {})
    assert before.label == "slow.cu@HEAD"
    assert "a[8][8]" in before.kernel.source_text()
    assert "a[16][16]" in now.kernel.source_text()
    assert "(-87.5 %)" in mmcore("compare", "slow.cu@HEAD", "slow.cu", "--size", "48", "-q", *EMULATOR).stdout


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("slow.cu",), "give a second kernel"),
        (("slow.cu", "fast.cu", "wrong.cu"), "two kernels are compared"),
        (("upc.kernel10", *(f"--config=block={b}" for b in ("8", "16", "32"))), "two kernels are compared"),
        (("three.cu", "slow.cu"), "there are three.cu::a, three.cu::b, three.cu::c, slow.cu; FILE::FUNCTION"),
        (("upc.kernel10@HEAD", "upc.kernel10"), "mmcore run upc.kernel10 --against HEAD"),
        (("slow.cu@no-such", "slow.cu"), "no-such is neither a folder, nor a revision"),
        (("upc.kernel10", "upc.kernel11", "--entry", "f"), "--entry is for a .cu file, not for upc.kernel10"),
        (("absent.cu", "slow.cu"), "there is no file absent.cu"),
    ],
)
def test_what_cannot_be_compared_is_refused(files: Path, words: tuple[str, ...], reason: str) -> None:
    written(files / "three.cu", 16, *"abc")
    result = mmcore("compare", *words, "--size", "16", *EMULATOR)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr
