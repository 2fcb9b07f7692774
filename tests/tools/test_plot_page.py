"""The page of ``mmcore plot``: one self-contained file with the numbers of the results."""

from __future__ import annotations

import base64
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mmcore_tools.plots.figures import figures
from mmcore_tools.plots.page import page
from mmcore_tools.plots.reading import read
from mmcore_tools.plots.results import Results, number
from tests.browser import CHROMIUM, COLOURS, DARK, DESK, LIGHT, PHONE, read_back
from tests.made_up_results import DEVICE, EMULATED, EXPERIMENTS, TITLE, benchmark, document, refusal, write


def tables(text: str) -> dict[str, list[list[str]]]:
    """Return the tables of a page by their titles, each a list of rows of texts."""
    found = re.findall(r"<summary>(.*?)</summary>\s*<div class=\"scroll\"><table>(.*?)</table>", text, re.DOTALL)
    return {
        unescape(title): [
            [unescape(cell) for cell in re.findall(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", row)]
            for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
        ]
        for title, table in found
    }


class Tags(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def made(tmp_path: Path, *names: str) -> tuple[str, list[Results]]:
    """Return the page of some experiments, and their results."""
    found = read([write(tmp_path / f"{name}.json", EXPERIMENTS[name]) for name in names])
    return page(found), found


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Results]]:
    """Return the page of all experiments."""
    return made(tmp_path_factory.mktemp("everything"), *EXPERIMENTS)


def agree(shown: list[list[str]], benchmarks: list[dict[str, Any]]) -> None:
    """Check that the rows are the results, number for number, to the digits shown."""
    rows = [dict(zip(shown[0], row, strict=True)) for row in shown[1:]]
    assert len(rows) == len(benchmarks) > 0
    for row, info in zip(rows, (each["extra_info"] for each in benchmarks), strict=True):
        product = info["kernel"], f"b={info['config']['block'][0]}", str(info["problem"]["n"])
        assert (row["kernel"], row["config"], row["n"]) == product
        assert row["measure"] == f"{info['measure']}, {info['caches'] or info['memory']}"
        assert float(row["median ms"]) == pytest.approx(info["median_ms"], rel=1e-3)
        assert float(row["gflops"]) == pytest.approx(info["gflops"], rel=1e-3)
        assert float(row["spread percent"]) == info["spread_percent"]
        assert (row["registers"], row["shared bytes"]) == (str(info["registers"]), str(info["shared_bytes"]))


def test_the_page_shows_the_numbers_of_the_results(everything: tuple[str, list[Results]]) -> None:
    shown = tables(everything[0])
    for experiment in EXPERIMENTS.values():
        benchmarks = experiment["benchmarks"]
        agree(shown[f"What was measured: {len(benchmarks)} results"], benchmarks)


def test_the_machine_and_published_times_are_shown(tmp_path: Path) -> None:
    text, (first,) = made(tmp_path, "poznan-first")
    machine = {"name": DEVICE, "compute capability": "9.0", "date": first.date}
    assert all(f"<dt>{name}</dt><dd>{value}</dd>" in text for name, value in machine.items())
    shown = tables(text)["What the lecture published, and what was measured"]
    assert len(shown) == 1 + 27
    ours = benchmark("poznan.v3", 528, 16)["extra_info"]["median_ms"]
    (row,) = [row for row in shown if row[:3] == ["poznan.v3", "b=16", "528"]]
    assert row[3:] == ["kernel, warm", "GeForce GT 240", "4.075", number(ours), number(4.075 / ours)]


def test_what_was_skipped_is_listed_with_its_reason(everything: tuple[str, list[Results]]) -> None:
    shown = tables(everything[0])["What was skipped, and why"]
    assert len(shown) == 1 + 10
    assert ["unsa.traditional", "b=50", "500", "a 50×50 block has 2500 threads; the device allows 1024"] in shown


def test_a_cell_that_failed_is_listed_with_its_reason(tmp_path: Path) -> None:
    content = document([benchmark("upc.kernel01", 64, 8)], "made-up")
    failure = {**refusal("upc.kernel11", 3, 8), "problem": {"m": 1, "n": 2, "k": 3}, "reason": "wrong\n0:1"}
    left_out = ["cold caches: an emulator has none"]
    content["mmcore"] |= {"failed": [failure], "title": "Made up & measured", "left_out": left_out}
    text = page(read([write(tmp_path / "failed.json", content)]))
    shown = tables(text)["What was run and has no time, and why"]
    assert shown[1:] == [["upc.kernel11", "b=8", "1×2×3", "wrong"]]
    assert "Made up &amp; measured: GFLOP/s at n = 64" in text
    assert "<li>cold caches: an emulator has none</li>" in text


def test_a_page_of_emulated_counts_shows_counts_and_says_they_are_no_times(tmp_path: Path) -> None:
    content = EMULATED["lezione9-coalescing"]
    text = page(read([write(tmp_path / "emulated.json", content)]))
    shown = tables(text)[f"What the emulator counted (no times): {len(content['benchmarks'])} results"]
    counted = [each["extra_info"]["figures"] for each in content["benchmarks"]]
    counts = [[number(each["instructions"]), number(each["global_sectors"])] for each in counted]
    assert [row[4:6] for row in shown] == [["instructions", "global sectors"], *counts]
    assert "<strong>not times</strong>" in text
    assert TITLE not in text, "it speaks of GFLOP/s, and of other sizes"
    assert "12.5" not in " ".join(cell for row in shown for cell in row), "the emulation's own time is not shown"


def test_the_page_needs_nothing_but_itself(everything: tuple[str, list[Results]]) -> None:
    text, _ = everything
    tags = Tags(text).found
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in tags}
    leading = [value for _, found in tags for name, value in found.items() if name in ("href", "src", "srcset")]
    assert leading
    assert all(value and value.startswith("data:image/svg+xml;base64,") for value in leading)
    assert "@import" not in text
    assert "url(" not in text


def test_each_figure_is_in_the_page_once_with_a_description(everything: tuple[str, list[Results]]) -> None:
    text, found = everything
    images = [attributes for tag, attributes in Tags(text).found if tag == "img"]
    drawings = [drawing for results in found for drawing in figures(results)]
    assert [image["alt"] for image in images] == [f"{each.title}. {each.text} {each.caption}" for each in drawings]
    sources = [str(image["src"]).partition(",")[2] for image in images]
    assert [base64.b64decode(source).decode() for source in sources] == [each.svg() for each in drawings]


def test_text_of_a_file_cannot_become_markup(tmp_path: Path) -> None:
    content = document([benchmark("upc.kernel01", 64, 8)], "<script>alert(1)</script>")
    assert "<script" not in page(read([write(tmp_path / "odd.json", content)]))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here to read the page with")
@pytest.mark.parametrize(("width", "scheme"), [(PHONE, DARK), (DESK, LIGHT)])
def test_a_browser_reads_the_page(
    width: int, scheme: int, everything: tuple[str, list[Results]], tmp_path: Path
) -> None:
    text, found = everything
    shown = read_back(text, width, scheme, tmp_path)
    titles = [title for title in shown["tables"] if title.startswith("What was measured")]
    for results, title in zip(found, titles, strict=True):
        agree(shown["tables"][title], EXPERIMENTS[results.experiment]["benchmarks"])
    assert shown["overflow"] <= 0, "the page itself is never scrolled sideways"
    assert shown["figures"] == 9, "each figure once: seven experiments, one of them at three sizes"
    assert 0.8 * min(width, 730) < shown["widest"] <= width, "no wider than the page"
    assert shown["height"] > 50, "pixels"
    assert (shown["paper"], shown["ink"]) == COLOURS[scheme]
