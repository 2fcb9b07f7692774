"""``mmcore report``: one page with the verdict, the reasons, the marked source and the counts of a kernel."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mmcore import kernels
from mmcore.errors import MmcoreError
from mmcore.planning.peaks import Peaks
from mmcore_performance.why import PredictedTime, Why, explained_time
from mmcore_tools.report.roofline import Rate, roofline
from tests.browser import CHROMIUM, COLOURS, DARK, DESK, LIGHT, PHONE, read_back
from tests.command_line import mmcore
from tests.kernel_sources import kernel_source, kernel_sources

CONFLICTS = kernel_sources("slow")["bank conflicts: slow"]
ODD = "<script>alert(1)</script></td></table>\u202e"


def written(file: Path, *options: str, status: int = 0) -> str:
    """Return the page about a file."""
    page = file.with_suffix(".html")
    result = mmcore("report", str(file), "-o", str(page), "--device", "emulator", "--seed", "1", *options)
    assert result.exit_code == status, result.output
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of a right kernel with bank conflicts, whose source contains markup."""
    file = tmp_path_factory.mktemp("report") / "a<b>&'c.cu"
    file.write_text(f"// {ODD}\n{CONFLICTS}", encoding="utf-8")
    return written(file, "--size", "64")


def test_a_right_kernel_has_its_verdict_and_the_command_that_repeats_it(slow: str) -> None:
    assert '<p class="verdict good">TEST PASS at 64×64×64; wrong at ' in slow  # without guards
    (command,) = re.findall(r"<p>To repeat it:</p>\n<pre>(.*)</pre>", slow)
    assert unescape(command).endswith("-m 64 -n 64 -k 64 --device emulator --seed 1")
    assert re.search(r"<dt>hazards</dt><dd>none ", slow)


def test_a_command_repeats_a_fault_at_the_size_that_shows_it(tmp_path: Path) -> None:
    file = tmp_path / "whole.cu"
    file.write_text(
        """__global__ void whole(const float* A, const float* B, float* C, int n) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || column >= n) return;
    float sum = 0;
    for (int k = 0; k < n / 16 * 16; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}
int main() { whole<<<dim3(8, 8), dim3(16, 16)>>>(0, 0, 0, 128); }
"""
    )
    page = written(file, status=1)
    (command,) = re.findall(r"<p>To repeat it:</p>\n<pre>(.*)</pre>", page)
    (n,) = re.findall(r" -k (\d+) ", command)
    assert int(n) % 16
    assert re.search(rf"m×n×k = \d+×\d+×{n} on emulator; right at 128×128×128", page)
    assert mmcore(*shlex.split(unescape(command))[1:]).exit_code == 1


def test_a_reason_is_in_the_list_and_below_its_line(slow: str) -> None:
    line = next(number for number, text in enumerate(CONFLICTS.splitlines(), 2) if "// here" in text)
    assert re.search(
        rf"<li>line {line}, about \d+ % of the time: a warp&#x27;s load of b, 16 bytes a thread, takes 32 passes", slow
    )
    row = re.search(rf'<tr class="marked">(.*?)<td class="number">{line}</td>(.*)</tr>', slow)
    assert row is not None
    assert re.search(r">[\d,]+</td>", row[1]), "its counts"
    assert '<div class="said">about ' in row[2]


def test_the_page_has_counts_a_picture_and_the_roofline(slow: str) -> None:
    assert re.search(r"<td class=\"word\">bank conflicts</td><td>[\d,]+</td>", slow)
    assert re.search(
        r'<details open><summary>.*// here.*</summary>\n<div class="scroll"><figure><img alt="ld.shared', slow
    )
    assert re.search(r'aria-label="predicted: [\d.]+ to [\d.]+ TFLOP/s"', slow)
    assert re.search(r"<dt>speed of light</dt><dd>[\d.]+ to [\d.]+ % \(predicted; ", slow)


def test_a_predicted_rate_is_at_most_the_peak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fast(*args: Any) -> Why:
        return replace(explained_time(*args), predicted=PredictedTime(2e-6, 1e-6, 33e-6, "arithmetic"))

    monkeypatch.setattr("mmcore_tools.report.gathering.explained_time", fast)
    file = tmp_path / "mm.cu"
    file.write_text(kernel_source("naive_square"))
    page = written(file)
    low, high = map(float, re.findall(r"predicted: ([\d.]+) to ([\d.]+) TFLOP/s\"", page)[0])
    (peak,) = map(float, re.findall(r">([\d.]+) TFLOP/s float32<", page))
    assert low < high == peak
    assert re.search(r"<dt>speed of light</dt><dd>\d\d to 100 % \(predicted; ", page)


class Tags(HTMLParser):
    """The tags and references of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.references = set[str](), list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.references += [value or "" for name, value in attrs if name in ("href", "src", "srcset")]


def test_the_page_loads_nothing_and_text_of_a_file_is_no_markup(slow: str) -> None:
    read = Tags(slow)
    assert not {"script", "b", "link", "iframe", "object"} & read.tags
    assert all(each.startswith("data:image/svg+xml;base64,") for each in read.references)
    assert "url(" not in slow
    assert "@import" not in slow
    assert "\u202e" not in slow
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in slow


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here to read the page with")
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, DARK), (DESK, LIGHT)])
def test_a_browser_reads_the_page(width: int, scheme: int, slow: str, tmp_path: Path) -> None:
    found = read_back(slow, width, scheme, tmp_path)
    assert found["overflow"] <= 0, "the page itself is never scrolled sideways"
    assert (found["paper"], found["ink"]) == COLOURS[scheme]
    assert found["figures"] > 0
    assert found["head"] < 1100, "the verdict, the command and the facts are short on a phone"


def test_a_wrong_kernel_has_its_faults_at_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "wrong.cu"
    file.write_text(kernel_source("naive_square").replace("sum +=", "sum -="))
    page = written(file, "--size", "32", status=1)
    assert '<p class="verdict bad">TEST FAIL</p>' in page
    assert re.search(r"<li>\d+:\d+: expected .* - got ", page)
    assert '<p class="note">It is wrong, which comes first.</p>' in page


def test_a_part_that_fails_is_missing_for_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MmcoreError("no <small> product")

    for name in ("explained_time", "explained"):
        monkeypatch.setattr(f"mmcore_tools.report.gathering.{name}", refuse)
    file = tmp_path / "mm.cu"
    file.write_text(kernel_source("naive_square"))
    page = written(file, "--size", "16")
    assert page.count("Not in this report: no &lt;small&gt; product") == 2
    assert "TEST PASS" in page
    assert "<h2>Counters</h2>" not in page


def test_json_has_the_results_of_each_kernel(tmp_path: Path) -> None:
    file = tmp_path / "two.cu"
    text = kernel_source("naive_square")
    (name,) = re.findall(r"__global__ void (\w+)", text)
    file.write_text(
        text
        + text.replace(name, f"{name}2").partition("__global__")[1]
        + text.replace(name, f"{name}2").partition("__global__")[2]
    )
    command = ("report", str(file), "-o", str(tmp_path / "page.html"), "--size", "16", "--device", "emulator", "--json")
    document = json.loads(mmcore(*command).stdout)
    assert [result["verified"] for result in document["results"]] == [True, True]
    assert document["bytes"] == (tmp_path / "page.html").stat().st_size


@pytest.mark.parametrize(
    ("words", "reason"),
    [(("-o", "page.pdf"), "'page.pdf' does not end in .html"), (("-o", "none/page.html"), "cannot be written")],
)
def test_what_cannot_be_written_is_refused(
    words: tuple[str, ...], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = mmcore("report", "upc.kernel01", "--size", "16", "--device", "emulator", *words)
    assert result.exit_code == 2
    assert reason in result.stderr


def test_measured_rates_are_points_below_the_roof() -> None:
    problem = kernels()["upc.kernel11"].problem(1024, 1024, 1024)
    drawn = roofline(
        problem, "float32", Peaks({"float32": 6e13}, 4e12, 0), [Rate("mine", 1e13, 1e13), Rate("theirs", 5e13, 5e13)]
    )
    assert "mine: 10 TFLOP/s; theirs: 50 TFLOP/s" in drawn
    mine, theirs = (float(y) for y in re.findall(r'y1="([\d.]+)" y2="[\d.]+" stroke="var\(--bad\)"', drawn))
    assert mine > theirs, "a higher rate is further up"
    assert not roofline(problem, "float32", Peaks({}, 4e12, 0), [Rate("mine", 1e13, 1e13)])
