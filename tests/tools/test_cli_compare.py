"""``mmcore compare``: verdicts on two sides, and which is faster or does more."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from mmcore import MmcoreError, Result, kernels
from mmcore.baseline_comparison import BaselineComparison
from mmcore.cell import Cell, Timing
from mmcore.cli.notebook import answer
from mmcore.cli.output import rendered
from mmcore.deadline import left
from mmcore.errors import CompileError, InvalidKernel, TimeLimit, WorkLimit
from mmcore.timing import Time
from mmcore.verify.outcome import Verification
from mmcore_emulator.adapter.profile import Profile
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.reasons.reason import Reason
from mmcore_performance.why import PredictedTime, Why
from mmcore_pytest.counts import Change
from mmcore_tools.compare.explained import Explained
from mmcore_tools.compare.measuring import Comparison, ratio
from mmcore_tools.compare.operands import Side, errors_labelled, two_sides
from mmcore_tools.compare.precision import less_exact
from mmcore_tools.compare.report import report, sentence
from tests.command_line import install, installed, kernel_module, mmcore
from tests.kernel_sources import kernel_source

EMULATOR = ("--device", "emulator", "--seed", "1")
TIMED = """
from mmcore import hookimpl
from tests.timed_emulator import TimedEmulator, TimedProvider
class Pair(TimedEmulator):
    name = identity = "pair:0"
class Provider(TimedProvider):
    name = "pair"
    def open(self, index):
        return Pair(lambda source: 1e-3 if source == "fast.cu" else 2e-3, flops=1e8)
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

INDEX = "B[col * n + t + threadIdx.y]"


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
    assert re.search(
        r"; on H200 B is predicted \d\.\d\d times as (fast|slow) \(\S+ to \S+\) at 48×48×48(, which .*)?(; A is .*)?$",
        answer,
    )
    assert re.search(r"^predicted, 48×48×48 +\d\S* µs +\d\S* µs +\S+ %$", result.stdout, re.MULTILINE)
    table = [line for line in result.stdout.splitlines()[3:-1] if not line.startswith(("gone: ", "new: ", "grown: "))]
    assert max(map(len, table)) <= 100
    document = json.loads(mmcore("compare", "fast.cu", "slow.cu", "--size", "48", "--json", *EMULATOR).stdout)
    assert (document["right"], document["answer"]) == (True, None)
    predicted = document["predicted"]
    assert (predicted["card"], predicted["problem"]) == ("H200", "48×48×48")
    assert document["slower"]
    assert document["counts"][0] == {"name": "barriers", "a": 54, "b": 432, "percent": 700.0}
    assert (document["a"]["label"], document["b"]["result"]["verified"]) == ("fast.cu", True)


def test_sums_in_fewer_digits_are_named_with_the_largest_errors(tmp_path: Path) -> None:
    text = Path(written(tmp_path / "float.cu", 16)).read_text().replace("float", "__half")
    halves = "#include <cuda_fp16.h>\n" + text.replace("? A", "? (__half)A").replace(": 0", ": (__half)0")
    floats = (
        halves.replace("__half sum", "float sum").replace("sum += a", "sum += (float)a").replace("* b", "* (float)b")
    )
    (tmp_path / "float.cu").write_text(floats)
    (tmp_path / "half.cu").write_text(halves)
    command = ("compare", str(tmp_path / "float.cu"), str(tmp_path / "half.cu"), "--size", "48", *EMULATOR)
    *table, answer = mmcore(*command, "--no-reasons").stdout.splitlines()
    assert answer.endswith("; B's sums are float16, A's float32")
    (errors,) = [re.split(" {2,}", line)[1:3] for line in table if line.startswith("largest error")]
    assert float(errors[1]) > 2 * float(errors[0]) > 0
    assert mmcore(*command, "--quiet").stdout.splitlines()[-1].endswith("; B's sums are float16, A's float32")
    exchanged = (command[0], *command[2:0:-1], *command[3:], "--json")
    documents = [json.loads(mmcore(*words).stdout) for words in ((*command, "--json"), exchanged)]
    assert [each["less_exact"] for each in documents] == ["B's sums are float16, A's float32", None]


def test_each_type_with_fewer_digits_is_named_once() -> None:
    a = Result(Cell("acme", 8, 8, 8), "acme")
    b = replace(a, dtype="tf32")
    c = replace(a, dtype="float16", output="float16", accumulator="float16")
    assert less_exact(a, b) == "B's elements are tf32, A's float32"
    assert less_exact(a, c) == "B's elements, results and sums are float16, A's float32"
    assert (less_exact(a, a), less_exact(c, a)) == ("", "")


def why(*reasons: Reason, seconds: float = 1.0, m: int = 8) -> Why:
    """Return a made-up explanation."""
    problem = {"m": m, "n": 8, "k": 8}
    return Why("acme", "", problem, "H200", True, PredictedTime(seconds, seconds / 2, 2 * seconds, ""), "", reasons)


RIGHT = Verification(verified=True, max_error=0.0, mismatch=None, method="made up", wrong=0, compared=1)


def made_up(changes: list[Change], seconds: tuple[float, float] | None) -> Comparison:
    """Return a comparison without times, with counts and predicted times."""
    side = Side("acme", kernels()["upc.kernel11"], {})
    result = Result(Cell("upc.kernel11", 8, 8, 8), "upc.kernel11", verification=RIGHT)
    explained = seconds and Explained(why(seconds=seconds[0]), why(seconds=seconds[1]))
    return Comparison((side, side), (result, result), None, changes, "", explained)


def test_the_sentence_says_how_many_times_as_fast_each_product_is_predicted() -> None:
    pairs = [(why(seconds=a, m=m), why(seconds=b, m=m)) for m, a, b in ((8, 3e-3, 2e-3), (16, 1e-3, 1e-3), (4, 1, 2))]
    found = Explained(*pairs[0], others=tuple(pairs[1:]))
    slow, fast = "2.00 times as slow (0.8 to 5.3) at 4×8×8", "1.50 times as fast (0.6 to 4.0) at 8×8×8"
    answer = f"{slow}, {fast}, as fast (0.4 to 2.7 times) at 16×8×8"
    assert found.sentence() == f"on H200 B is predicted {answer}"
    same = why(seconds=1e-3)
    assert Explained(same, same).sentence() == "on H200 B is predicted as fast (0.4 to 2.7 times) at 8×8×8"
    assert Explained(same, same, new=("waits",)).sentence().endswith(", which its new reasons may outweigh")
    assert [each["problem"] for each in found.to_json()["sizes"]] == ["4×8×8", "8×8×8", "16×8×8"]


def test_a_limiter_that_changed_is_named() -> None:
    a, b = (why(seconds=each) for each in (3e-3, 2e-3))
    assert a.predicted is not None
    waiting = replace(a, predicted=replace(a.predicted, limiter="waits"))
    busy = replace(b, predicted=replace(a.predicted, limiter="tensor cores"))
    assert Explained(waiting, busy).sentence().endswith("; A is limited by waits, and B by tensor cores")
    assert "limited" not in Explained(waiting, waiting).sentence()


def test_reasons_that_a_prediction_does_not_count_are_named_and_may_turn_it() -> None:
    waits = Reason("no overlap", "", "", Line("b.cu", 7), gain=0.5, uncounted=True)
    found = Explained(why(seconds=3e-3), why(waits, seconds=2e-3))
    assert found.uncounted() == ["without B's no overlap in line 7 (about 50 %)"]
    assert found.sentence().endswith(
        "1.50 times as fast (0.6 to 4.0) at 8×8×8, which reasons beyond the prediction may outweigh"
    )
    counted = Explained(why(waits, seconds=3e-3), why(replace(waits, uncounted=False), seconds=2e-3))
    assert counted.uncounted() == ["without A's no overlap in line 7 (about 50 %)"]
    assert counted.sentence().endswith("1.50 times as fast (0.6 to 4.0) at 8×8×8")


@pytest.mark.usefixtures("files")
def test_without_a_size_times_of_three_products_are_predicted() -> None:
    result = mmcore("compare", "slow.cu", "fast.cu", *EMULATOR)
    assert re.findall(r"^predicted, (\d+)×", result.stdout, re.MULTILINE) == ["256", "1024", "4096"]


@pytest.mark.usefixtures("files")
def test_a_large_product_is_verified_at_a_small_size_and_predicted_at_its_own() -> None:
    result = mmcore("compare", "slow.cu", "fast.cu", "--size", "2053", *EMULATOR)
    assert result.exit_code == 0, result.output
    assert re.search(r"^problem +.* = 133×133×133, float32$", result.stdout, re.MULTILINE)
    said = r"^counts +of 133×133×133 on the emulator, for which 2053×2053×2053 is too much work$"
    assert re.search(said, result.stdout, re.MULTILINE)
    assert re.search(r"B is predicted \d\.\d\d times as (fast|slow) \(\S+ to \S+\) at 2053×2053×2053", result.stdout)


@pytest.mark.usefixtures("files")
def test_a_time_of_a_product_on_the_other_side_of_a_branch_may_be_of_a_wrong_kernel() -> None:
    text = Path("fast.cu").read_text().replace("float sum = 0;", "float sum = n > 1024 ? 1 : 0;")
    # With atomic operations, a block by itself shows nothing.
    Path("branch.cu").write_text(text.replace("C[row * n + col] = sum;", "atomicExch(&C[row * n + col], sum);"))
    answer = mmcore("compare", "slow.cu", "branch.cu", *EMULATOR).stdout.splitlines()[-1]
    assert answer.endswith(" at 4096×4096×4096, if B is right there")


MORE, FEWER = Change("", "global sectors", 10, 11), Change("", "barriers", 11, 10)
LONGER, SHORTER = (1e-3, 1.2e-3), (1e-3, 1.05e-3)


@pytest.mark.parametrize(
    ("changes", "seconds", "slower"),
    [
        ([MORE], SHORTER, True),
        ([FEWER], LONGER, True),
        ([FEWER], None, False),
        ([MORE, FEWER], LONGER, True),
        ([MORE, FEWER], SHORTER, False),
        ([MORE, FEWER], None, True),
        ([Change("", "registers per thread", 10, 11)], LONGER, True),
        ([Change("", "registers per thread", 10, 11)], SHORTER, False),
        ([Change("", "barriers", 10, 10)], LONGER, True),
        ([Change("", "barriers", 10, 10)], None, False),
    ],
)
def test_predicted_times_decide_unless_all_counts_that_differ_grew(
    changes: list[Change], seconds: tuple[float, float] | None, slower: bool
) -> None:
    assert made_up(changes, seconds).slower == slower


def test_a_predicted_time_may_differ_though_no_count_does() -> None:
    assert _said((1e-3, 1e-3)) == _said(None) == "B does the same work as A"
    assert _said((1e-3, 2e-3)) == "no count differs; on H200 B is predicted 2.00 times as slow (0.8 to 5.3) at 8×8×8"


def _said(seconds: tuple[float, float] | None) -> str:
    return sentence(made_up([], seconds))


def test_reasons_are_the_same_if_their_kinds_are_and_their_lines_or_sentences(files: Path) -> None:
    with click.Context(click.Command("compare")):
        a, b = (side.kernel for side in two_sides(["slow.cu", "fast.cu"], [], {}))

    def reasons(file: str, *several: tuple[str, int]) -> list[Reason]:
        common = {"near": "by a thread", "late": "twice"}
        return [Reason(kind, common.get(kind, file), "", Line(file, line), gain=0.5) for kind, line in several]

    # Line 6 has the same text in both files, and line 4 another.
    of_a = why(*reasons("slow.cu", ("near", 4), ("far", 4), ("far", 6), ("far", 6)))
    of_b = why(*reasons("fast.cu", ("far", 4), ("near", 3), ("late", 6)))
    found = Explained.of(of_a, of_b, a, b)
    assert found.gone == ("line 4, about 50 % of the time: slow.cu", "line 6, about 50 % of the time: slow.cu")
    assert found.new == ("line 4, about 50 % of the time: fast.cu", "line 6, about 50 % of the time: twice")
    assert found.lines()[0] == f"gone: {found.gone[0]}"


def test_a_reason_that_takes_longer_is_named_though_both_have_it(files: Path) -> None:
    with click.Context(click.Command("compare")):
        a, b = (side.kernel for side in two_sides(["slow.cu", "fast.cu"], [], {}))
    far = Reason("far", "far", "", gain=0.5)
    of_a = why(Reason("near", "near", "", gain=0.1), far, seconds=2.0)
    of_b = why(Reason("near", "near", "", gain=0.5), far, seconds=1.0)
    assert Explained.of(of_a, of_b, a, b).lines() == ["grown: about 50 % of the time: near"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("words", "status"), [(("slow.cu", "fast.cu"), 0), (("fast.cu", "slow.cu"), 1)])
def test_more_work_fails_on_request(words: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Explained:
        raise MmcoreError("no small product can be counted")

    monkeypatch.setattr("mmcore_tools.compare.measuring.explained", refuse)
    result = mmcore("compare", *words, "--size", "16", "--fail-if-slower", "--quiet", *EMULATOR)
    assert (result.exit_code, len(result.stdout.splitlines()), result.stderr) == (status, 1, "")


def test_a_verdict_with_a_reservation_is_said_quietly_too(tmp_path: Path) -> None:
    right, large = tmp_path / "right.cu", tmp_path / "large.cu"
    right.write_text(kernel_source("right"))
    large.write_text(
        kernel_source("right").replace("    float sum", "    if (k > 30000)\n        k /= 2;\n    float sum")
    )
    output = mmcore("compare", str(right), str(large), "--size", "32", "-q", *EMULATOR).stdout
    assert "large.cu: TEST PASS at 32×32×32" in output
    assert "not tried at other sizes: line 7 compares k with 30000" in output


def test_a_bug_of_the_host_s_timer_is_said_quietly_too(tmp_path: Path) -> None:
    right, timed = tmp_path / "right.cu", tmp_path / "timed.cu"
    right.write_text(kernel_source("right"))
    host = """
void run(const float *A, const float *B, float *C, int n)
{
    auto begin = std::chrono::steady_clock::now();
    own<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, n, n, n);
    auto end = std::chrono::steady_clock::now();
}
"""
    timed.write_text(f"#include <chrono>\n{kernel_source('right')}{host}")
    output = mmcore("compare", str(right), str(timed), "--size", "32", "-q", *EMULATOR).stdout
    assert re.search(r"^B, \S*timed.cu: warning: unfinished-timing at timed.cu:\d+: ", output, re.MULTILINE)
    assert "A, " not in output


@pytest.mark.usefixtures("files")
def test_beside_a_wrong_kernel_there_is_no_winner() -> None:
    result = mmcore("compare", "slow.cu", "wrong.cu", "--size", "16", *EMULATOR)
    assert result.exit_code == 1
    assert "B  wrong.cu: TEST FAIL" in result.stdout
    assert "expected" in result.stdout.partition("B, wrong.cu:\n")[2]
    assert result.stdout.splitlines()[-1] == "B is wrong: no winner"
    assert "inferred from wrong.cu" in result.stderr
    quiet = mmcore("compare", "slow.cu", "wrong.cu", "--size", "16", "-q", *EMULATOR).stdout.splitlines()
    assert (quiet[0], quiet[-1]) == ("B, wrong.cu:", "B is wrong: no winner")
    assert any("expected" in line for line in quiet)
    assert "barriers" not in result.stdout
    document = json.loads(mmcore("compare", "wrong.cu", "slow.cu", "--size", "16", "--json", *EMULATOR).stdout)
    assert (document["right"], document["answer"], document["counts"]) == (False, None, [])


def test_kernels_that_are_wrong_at_remainders_alone_get_a_size_at_which_both_are_right(tmp_path: Path) -> None:
    whole, right, wrong = (tmp_path / f"{name}.cu" for name in ("whole", "right", "wrong"))
    source = kernel_source("right")
    right.write_text(source)
    wrong.write_text(source.replace("sum = 0", "sum = 1"))
    whole.write_text(source.replace("p < k;", "p < k / 16 * 16;"))
    words = ["compare", str(whole), str(right), "-q", "--no-reasons", *EMULATOR]
    result = mmcore(*words)
    *_, hint, command, answer = result.stdout.splitlines()
    assert (result.exit_code, answer) == (1, "A is wrong: no winner")
    assert hint == "hint: both are right at 128×128×128"
    assert command == f"  mmcore {shlex.join(words)} --size 128x128x128"
    assert mmcore(*shlex.split(command)[1:]).exit_code == 0
    assert "both are right" not in mmcore("compare", str(whole), str(wrong), "-q", "--no-reasons", *EMULATOR).stdout


@pytest.fixture
def _timed(tmp_path_factory: pytest.TempPathFactory, files: Path) -> Iterator[None]:
    site = tmp_path_factory.mktemp("site")
    install(site, "pair-device", "pair", TIMED)
    with installed(site):
        yield


@pytest.mark.usefixtures("_timed")
@pytest.mark.parametrize(
    ("words", "reasons", "status", "said"),
    [
        (("slow.cu", "fast.cu"), True, 0, "B is faster: 2 times A's speed (95 % confidence: 1.99"),
        (("fast.cu", "slow.cu"), False, 1, "B is slower: 0.5 times A's speed (95 % confidence: 0.49"),
        (("slow.cu", "upc.kernel11"), False, 0, "B is as fast as A: 1 times A's speed (95 % confidence: 0.99"),
    ],
)
def test_times_are_taken_in_turns(words: tuple[str, ...], reasons: bool, status: int, said: str) -> None:
    options = ("--size", "16", "--device", "pair", "--seed", "1", "--fail-if-slower")
    result = mmcore("compare", *words, *options, *([] if reasons else ["--no-reasons"]))
    assert result.exit_code == status, result.output
    assert result.stdout.splitlines()[-1].startswith(said)
    assert re.search(r"^kernel time +\d+ µs +\d+ µs", result.stdout, re.MULTILINE)
    assert re.search(r"^speed of light +\d+\.\d %", result.stdout, re.MULTILINE)
    for row in (r"counts +of 128×128×128 on the emulator$", r"barriers +[\d,]+ +[\d,]+"):
        assert bool(re.search(f"^{row}", result.stdout, re.MULTILINE)) == reasons
    assert not re.search(
        r"^predicted\b|is predicted", result.stdout, re.MULTILINE
    )  # a reason may be beyond a prediction


@pytest.mark.usefixtures("_timed")
def test_without_counts_the_times_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: object) -> Profile:
        raise TimeLimit("too slow")

    monkeypatch.setattr("mmcore_tools.compare.measuring.profiled", late)
    result = mmcore("compare", "slow.cu", "fast.cu", "--size", "16", "--device", "pair", "--seed", "1")
    assert re.search("^counts +none: too slow$", result.stdout, re.MULTILINE)
    assert result.stdout.splitlines()[-1].startswith("B is faster")


@pytest.mark.usefixtures("files")
def test_after_the_time_limit_the_verdicts_stand_with_the_command_that_gives_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def profiled(cell: Cell) -> Profile:
        raise TimeLimit("the time is over")

    seconds = list[float | None]()

    def judged(result: Result, kernel: object, extent: str) -> Result:
        seconds.append(left(None))
        return result

    monkeypatch.setattr("mmcore_tools.compare.measuring.profiled", profiled)
    monkeypatch.setattr("mmcore_tools.compare.measuring.judged", judged)
    result = mmcore("compare", "slow.cu", "fast.cu", *EMULATOR, "-q")
    assert all(each is not None and each <= 30 for each in seconds), "a verdict leaves a part of 60 s to what follows"
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (2, "no counts: the time is over")
    assert f"  mmcore compare slow.cu fast.cu {' '.join(EMULATOR)} -q --timeout 240\n" in result.stdout


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("function", "said"), [("explained", "none"), ("also_predicted", "not at further sizes")])
@pytest.mark.parametrize(("error", "hinted"), [(TimeLimit, True), (WorkLimit, False), (InvalidKernel, False)])
def test_a_comparison_without_predicted_times_says_why(
    monkeypatch: pytest.MonkeyPatch, function: str, said: str, error: type[MmcoreError], hinted: bool
) -> None:
    def refused(*_: object) -> None:
        raise error("the reason")

    monkeypatch.setattr(f"mmcore_tools.compare.measuring.{function}", refused)
    output = mmcore("compare", "slow.cu", "fast.cu", *EMULATOR).stdout
    assert re.search(f"^(predicted)? +{said}: the reason$", output, re.MULTILINE)
    assert ("hint: more time gives predicted times\n  mmcore compare" in output) == hinted


@pytest.mark.usefixtures("_timed")
def test_json_has_the_ratio_and_its_interval() -> None:
    document = json.loads(mmcore("compare", "slow.cu", "fast.cu", "--size", "16", "--device", "pair", "--json").stdout)
    assert (document["answer"], document["slower"]) == ("faster", False)
    assert (document["predicted"]["problem"], document["counted"]) == ("16×16×16", "of 128×128×128 on the emulator")
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


def test_an_error_of_a_side_names_the_words_that_were_typed(files: Path) -> None:
    (files / "mine.cu").write_text(KERNEL.replace("NAME", "product"))
    sides = two_sides(["mine.cu"], [{"TILE": 8}, {"TILE": 16}], {})
    for message, shown in (("b.mine: line 1 …", "mine.cu TILE=16: line 1 …"), ("c.mine: line 1", "c.mine: line 1")):
        with pytest.raises(CompileError) as caught, errors_labelled(sides):
            raise CompileError(message)
        assert str(caught.value) == shown


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


@pytest.mark.usefixtures("files")
def test_options_of_a_file_hold_for_the_side_that_is_one() -> None:
    first, second = two_sides(["upc.kernel10", "slow.cu"], [], {"args": "A,B,C,k"})
    assert "k" not in str(first.kernel.arguments)
    assert str(second.kernel.arguments[3]) == "k"
    refused = mmcore("compare", "upc.kernel11", "slow.cu", "--entry=f", *EMULATOR).stderr
    assert refused == "Error: slow.cu has no __global__ function f; it has tiled\n"


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        ("slow.cu cublas.float16 --size 48", "slow.cu ladder.f16.02_any --size 48"),
        ("columns.cu cublas.float16 -q", "columns.cu ladder.f16.02_any_nt -q"),
        ("cublas.float32 slow.cu --card T4", "ladder.f32.07_warp_tiles slow.cu --card T4"),
        ("slow.cu cublas.tf32 --card A100", "slow.cu ladder.tf32.01_mma_sync --card A100"),
        ("cublas.int8 cublas.float64", "ladder.i8.01_wgmma ladder.f64.03_ring"),
    ],
)
def test_a_library_is_replaced_by_the_ladders_last_kernel_without_a_gpu(files: Path, words: str, instead: str) -> None:
    by_columns = KERNEL.replace("TILE", "16").replace("NAME", "mm").replace("B[(t + threadIdx.y) * n + col]", INDEX)
    (files / "columns.cu").write_text(by_columns)
    result = mmcore("compare", *words.split(), "--device", "emulator")
    assert result.exit_code == 2
    assert re.search(
        r"^Error: cublas\.\w+: a library is called, which runs on a GPU alone; nearest to its speed", result.stderr
    )
    assert result.stderr.endswith(f"\n  mmcore compare {instead} --device emulator\n")


@pytest.mark.usefixtures("files")
def test_the_name_of_a_baseline_is_refused_with_the_command_that_takes_it() -> None:
    for words in (("slow.cu", "cublas.best"), ("cublas.best", "slow.cu")):
        result = mmcore("compare", *words)
        assert (result.exit_code, "cublas.best is the library in the types of another kernel" in result.stderr) == (
            2,
            True,
        )
        assert result.stderr.endswith("\n  mmcore run slow.cu --baseline cublas.best\n")
    assert "there is no kernel 'cublas.other'" in mmcore("compare", "slow.cu", "cublas.other").stderr


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


def test_a_revision_of_a_registered_kernel_keeps_its_declaration(tmp_path: Path) -> None:
    rule = "return Launch(grid=(-(-problem.n // 16), -(-problem.m // 16)), block=config.block)"
    module = kernel_module("acme.mm", rule).replace("8, 8", "16, 16").replace('"B", "C"', '"B", "C", Scalar("n")')
    install(tmp_path, "acme", "acme", module.replace("import Kernel", "import Kernel, Scalar"))
    source = tmp_path / "acme_module.cu"
    written(source, 16, "f")
    for words in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")):
        subprocess.run(["git", *words], check=True, cwd=tmp_path)
    committed = source.read_text()
    source.write_text(committed.replace("sum += a", "__syncthreads(), sum += a"))
    with installed(tmp_path):
        result = mmcore("compare", "acme.mm", "acme.mm@HEAD", "--size", "48", *EMULATOR)
        source.write_text(committed)
        (declaring,) = tmp_path.glob("acme*.py")
        declaring.write_text(declaring.read_text() + "\n")
        declared = mmcore("compare", "acme.mm", "acme.mm@HEAD", "--size", "48", *EMULATOR).stdout
    assert result.exit_code == 0, result.output
    assert re.search(r"^B  acme\.mm@HEAD: TEST PASS at 48×48×48; wrong at 32×48×64$", result.stdout, re.MULTILINE)
    assert "B has fewer barriers (-88.9 %)" in result.stdout
    assert "declaration" not in result.stdout
    unlike = "the declaration is today's; only acme_module.cu is of HEAD, whose acme_module.py differs"
    assert declared.endswith(f"\nno count differs; B: {unlike}\n")
    assert re.search(rf"^declaration +B: {unlike}$", declared, re.MULTILINE)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("slow.cu",), "give a second kernel"),
        (("slow.cu", "fast.cu", "wrong.cu"), "two kernels are compared"),
        (("upc.kernel10", *(f"--config=block={b}" for b in ("8", "16", "32"))), "two kernels are compared"),
        (("three.cu", "slow.cu"), "there are three.cu::a, three.cu::b, three.cu::c, slow.cu; FILE::FUNCTION"),
        (("upc.kernel10@no-such", "upc.kernel10"), "upc.kernel10: no-such is neither a folder, nor a revision of the"),
        (("slow.cu@no-such", "slow.cu"), "no-such is neither a folder, nor a revision"),
        (("upc.kernel10", "upc.kernel11", "--entry=f"), "--entry is for a .cu file, not for upc.kernel10 and upc"),
        (("absent.cu", "slow.cu"), "there is no file absent.cu"),
    ],
)
def test_what_cannot_be_compared_is_refused(files: Path, words: tuple[str, ...], reason: str) -> None:
    written(files / "three.cu", 16, *"abc")
    result = mmcore("compare", *words, "--size", "16", *EMULATOR)
    assert (result.exit_code, result.stdout) == (2, "")
    assert reason in result.stderr


def timed(seconds: float, clock: float | None, rival: float | None = None) -> Result:
    """Return a made-up result of a right kernel, with a clock, whose rounds took turns with a rival's."""
    rounds = Time(Timing(), (seconds,) * 9, 1, "made up")
    kernel = kernels()["upc.kernel11"]
    turns = () if rival is None else (BaselineComparison.of(kernel, rounds, replace(rounds, rounds=(rival,) * 9)),)
    power = {"power_w": 700.0, "temperature_c": 50.0, "clock_reasons": ["sw_power_cap"]}
    conditions = {} if clock is None else {"clock_mhz": clock, **power}
    cell = Cell("upc.kernel11", 8, 8, 8, timings=(Timing(),))
    return Result(
        cell, "upc.kernel11", verification=RIGHT, times=(rounds,), compared=turns, conditions=conditions,
        supports_timing=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("clocks", "said", "cycles"),
    [
        ((2000.0, 1500.0), "cannot tell whether B is faster", 0.2 / 0.225),
        ((2000.0, 2000.0), "B is faster", 0.2 / 0.3),
        ((None, 2000.0), "B is faster", None),
    ],
)
def test_a_clock_that_moved_is_reported_and_must_confirm_the_answer(
    clocks: tuple[float | None, float], said: str, cycles: float | None
) -> None:
    a, b = timed(2e-4, clocks[0]), timed(3e-4, clocks[1], 3.3e-4)
    side = Side("acme", kernels()["upc.kernel11"], {})
    comparison = Comparison((side, side), (a, b), ratio(a, b))
    assert comparison.ratio is not None
    assert comparison.ratio.cycles == (cycles and pytest.approx(cycles))
    shown = rendered(*report(comparison), sentence(comparison), terminal=False)
    assert f"{said}: 1.1 times A's speed (95 % confidence: 1.099–1.101)" in shown
    assert "held back by  sw power cap" in shown
    assert ("moved from 2000 MHz for A alone to 1500 MHz in turns; A takes 0.889 times" in shown) == (clocks[1] == 1500)


@pytest.mark.parametrize(("error", "change"), [(3e-20, "+50.0 %"), (2e-2, "× 1e+18")])
def test_a_change_of_many_times_is_a_factor(error: float, change: str) -> None:
    a, side = timed(1e-3, None), Side("acme", kernels()["upc.kernel11"], {})
    assert a.verification is not None
    a, b = (replace(a, verification=replace(a.verification, max_error=each)) for each in (2e-20, error))
    shown = rendered(*report(Comparison((side, side), (a, b))), terminal=False)
    assert re.search(rf"^largest error .* {re.escape(change)}$", shown, re.MULTILINE)


def test_without_turns_there_is_no_ratio() -> None:
    with pytest.raises(MmcoreError, match=r"^A and B were not timed in turns: there are no times$"):
        ratio(timed(1e-3, None), timed(1e-3, None))
    lost = replace(timed(1e-3, None), compared=(BaselineComparison("acme", reason="it needs 17"),))
    with pytest.raises(MmcoreError, match=r"in turns: it needs 17$"):
        ratio(lost, lost)


@pytest.mark.usefixtures("files")
def test_the_verdicts_are_those_of_run() -> None:
    text = """__global__ void whole(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}
int main() { float *a, *b, *c; int n = 64; whole<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n); }
"""
    Path("whole.cu").write_text(text)
    Path("other.cu").write_text(text.replace("++k", "k += 1"))
    *_, answer = mmcore("run", "whole.cu", *EMULATOR, "-q").stdout.splitlines()
    assert answer == "TEST PASS if m, n and k are multiples of 16"
    compared = mmcore("compare", "whole.cu", "other.cu", *EMULATOR).stdout
    assert f"A  whole.cu: {answer}\nB  other.cu: {answer}\n" in compared
    report = mmcore("report", "whole.cu", "-o", "whole.html", *EMULATOR).stdout
    assert report == f"whole.html: file.whole: {answer}\n"
