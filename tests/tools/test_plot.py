"""``mmcore plot``: the figure that results make, its content, and messages about other files."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from mmcore_tools.plots.drawing import Drawing
from mmcore_tools.plots.figures import KINDS, ceilings, counted_size, figure, usual_kind
from mmcore_tools.plots.published import published
from mmcore_tools.plots.reading import read
from mmcore_tools.plots.results import RATE, Results, chosen
from mmcore_tools.plots.sweeps import share_of_copies
from mmcore_tools.saved import InvalidResults
from tests.command_line import mmcore
from tests.made_up_results import (
    DAY,
    DEVICE,
    EMULATED,
    EMULATOR,
    EXPERIMENTS,
    MACHINE,
    TITLE,
    UPC,
    benchmark,
    beside,
    document,
    emulated,
    rate,
    refusal,
    sweep,
    write,
)
from tests.strategies import JSON, put_anywhere
from tests.tables import cases

SVG = "{http://www.w3.org/2000/svg}"
KIND_OF = {
    "upc-sizes": "sizes",
    "upc-remainders": "remainders",
    "upc-transfers": "transfers",
    "unsa-blocks": "blocks",
    "lezione9-coalescing": "bars",
    "poznan-first": "sizes",
    "poznan-second": "sizes",
}
# Rungs of two types, and the share of the library's rate that each has.
RUNGS = {
    "made.f32.02_naive": ("float32", 0.01),
    "made.f32.01_tiles": ("float32", 0.5),
    "made.f32.03_all": ("float32", 2.0),
    "made.f64.01_all": ("float64", 0.9),
}


def ladder(benchmarks: Iterable[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a ladder's results with cuBLAS as baseline."""
    return document([*benchmarks], "made-ladder", baseline="cublas.*", **more)


def rungs(*sizes: int) -> dict[str, Any]:
    """Return the results of all rungs at these sizes."""
    return ladder(beside(benchmark(name, n, 16), share, dtype) for name, (dtype, share) in RUNGS.items() for n in sizes)


LADDER, LADDER_SIZES = rungs(512), rungs(512, 1000, 1024, 2048)
PLAIN = document([*sweep(UPC, (640, 641, 1024), (16, 32)), benchmark("poznan.v5", 1024, 16)])
FIRST_RUN = document([emulated(kernel, 64, b) for kernel in UPC for b in (8, 16)], machine=EMULATOR)


def results(tmp_path: Path, content: dict[str, Any]) -> Results:
    (found,) = read([write(tmp_path / "results.json", content)])
    return found


def texts(svg: str) -> list[str]:
    """Return all text in a figure."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def written(drawing: Drawing) -> str:
    return " ".join(" ".join(texts(drawing.svg())).split())


def axes_of(drawing: Drawing, panel: str) -> Any:
    axes = Figure().subplots()
    drawing.panels[panel](axes)
    return axes


def drawn(drawing: Drawing, panel: str) -> dict[str, dict[int, float]]:
    """Return the points of each line in a panel, by label."""
    axes = axes_of(drawing, panel)
    return {str(line.get_label()): dict(np.asarray(line.get_xydata()).tolist()) for line in axes.lines}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_gets_its_figure_with_title_series_units_device_and_date(name: str, tmp_path: Path) -> None:
    found = results(tmp_path, EXPERIMENTS[name])
    drawing = figure(found)
    svg = drawing.svg()
    assert svg == figure(found).svg(), "it is the same every time"
    words = written(drawing)
    assert usual_kind(found) == KIND_OF[name]
    assert drawing.title.startswith(TITLE)
    assert f"{DEVICE} (100 multiprocessors, up to 1000 MHz), {DAY}" in words
    assert "driver 580.1234.5678" in words, "digits of a word are no coordinate"
    assert {"GFLOP/s", "ms", "time of a product, ms"} & set(texts(svg)), "an axis has a unit"
    assert all(text in words for text in (drawing.title, drawing.text, drawing.caption))
    assert all(entry.kernel in words for entry in found.entries)
    assert len(svg) < 100_000
    assert "<dc:date>" not in svg, "it says nothing of the day it was drawn on"


def test_a_figure_has_a_light_background(tmp_path: Path) -> None:
    svg = ElementTree.fromstring(figure(results(tmp_path, PLAIN)).svg())
    background = next(svg.iter(f"{SVG}path"))
    assert background.get("style") == "fill: #ffffff"
    _, _, width, height = (float(each) for each in svg.attrib["viewBox"].split())
    assert {f"{width:g}", f"{height:g}"} <= set(background.attrib["d"].split())


def test_a_name_is_written_as_it_is_and_never_as_a_formula(tmp_path: Path) -> None:
    name = r"$\odd$ & <GPU>"
    assert name in written(figure(results(tmp_path, document([*PLAIN["benchmarks"]], machine={"name": name}))))


@pytest.mark.parametrize("content", [*EMULATED.values(), FIRST_RUN], ids=[*EMULATED, "first run"])
def test_an_emulators_counts_are_never_drawn_as_speed(content: dict[str, Any], tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, content))
    words = written(drawing)
    assert drawing.title.startswith("Counted, not timed: ")
    assert "EMULATED COUNTS, NOT TIMES" in words
    assert "as emulated" in words
    assert not re.search(r"GFLOP/s|\bms\b|GeForce|better", words)


def test_remainders_have_a_panel_for_each_config_and_parts_their_own_heading(tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EXPERIMENTS["upc-remainders"]))
    assert list(drawing.panels) == [f"{kernel}, b={b}" for kernel in UPC for b in (16, 32)]
    quick = document(sweep(UPC, range(30, 40), (8,)), "upc-remainders", quick=True)
    assert figure(results(tmp_path, quick)).title == "GFLOP/s at every n from 30 to 39"
    found = results(tmp_path, EXPERIMENTS["poznan-first"])
    assert figure(chosen(found, ["poznan.v3"], [])).title == "GFLOP/s against n from 176 to 528"


def test_configs_are_called_by_their_parameters_less_those_that_follow_from_others(tmp_path: Path) -> None:
    several = [benchmark("made.up", 64, 8) for _ in range(2)]
    for made, bm in zip(several, (64, 128), strict=True):
        made["extra_info"] |= {"config": {"block": [256, 1, 1], "BM": bm, "TILE": 16}, "config_id": f"b256x1-BM{bm}"}
    found = results(tmp_path, document(several))
    assert [entry.label for entry in found.entries] == [f"made.up, b=256×1, BM={bm}" for bm in (64, 128)]
    assert [entry.parameters for entry in chosen(found, [], ["b=256×1", "BM=128"]).entries] == ["BM=128"]


def test_the_lectures_curve_has_separate_axes(tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EXPERIMENTS["poznan-second"]))
    assert list(drawing.panels) == ["GeForce GT 240, as published", DEVICE]
    lecture = drawn(drawing, "GeForce GT 240, as published")
    assert list(lecture["poznan.v5, b=16"]) == [128, 256, 384, 512, 640]
    assert list(lecture["poznan.v3, b=16"]) == [176, 352, 528], "at its own sizes, within ours"


def test_single_published_figures_are_on_the_same_axes(tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, document(sweep(UPC, (512, 640, 1024), (32,)), "upc-sizes")), "sizes")
    assert len(drawing.panels) == 1
    assert "upc.kernel11, b=32, GeForce GTX 1080 Ti" in written(drawing)


def test_a_ladder_has_a_panel_for_each_type_with_rungs_in_their_order(tmp_path: Path) -> None:
    found = results(tmp_path, LADDER)
    assert usual_kind(found) == "ladder"
    drawing = figure(found)
    assert list(drawing.panels) == ["float32, made.f32.*", "float64, made.f64.*"]
    axes = axes_of(drawing, "float32, made.f32.*")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["02_naive", "01_tiles", "03_all"]
    low, high = axes.get_ylim()
    assert low > high, "the first rung is on top"
    rates = [rate(name, 512, 16) / 1e3 for name, (dtype, _) in RUNGS.items() if dtype == "float32"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(rates)
    words = [text.get_text() for text in axes.texts]
    assert [text.partition(" ")[2] for text in words[:3]] == ["(1.0 %)", "(50 %)", "(200 %)"]
    assert figure(found, size=512).title == TITLE
    assert figure(results(tmp_path, LADDER_SIZES), "ladder", 1024).title == "TFLOP/s of each kernel at n = 1024"


def test_a_ladders_line_is_the_median_of_the_librarys_rates(tmp_path: Path) -> None:
    shares = {"made.up0": 0.5, "made.up1": 0.25, "made.up2": 2.0}
    made = [beside(benchmark(name, 512, 16, gflops=lambda *_: 1000.0), share) for name, share in shares.items()]
    lines = drawn(figure(results(tmp_path, document(made, "made-ladder")), "ladder"), "float32, made.*")
    (line,) = lines.values()
    assert list(line) == pytest.approx([2.0]), "TFLOP/s, of 2, 4 and 0.5"
    alone = results(tmp_path, ladder(benchmark(name, 512, 16) for name in RUNGS))
    assert usual_kind(alone) == "ladder"
    assert not any(word in written(figure(alone)) for word in ("%", "dashed"))


def test_an_emulated_ladder_shows_counts_in_the_rungs_order(tmp_path: Path) -> None:
    content = ladder([emulated(name, 64, 16) for name in ("made.up2", "made.up1")], machine=EMULATOR)
    drawing = figure(results(tmp_path, content))
    axes = axes_of(drawing, "float32, made.*")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["up2", "up1"]
    assert "Counted, not timed" in drawing.title
    assert "as emulated" in axes.get_xlabel()


def test_sizes_beside_a_library_have_a_panel_for_each_type_with_its_line(tmp_path: Path) -> None:
    found = results(tmp_path, LADDER_SIZES)
    assert usual_kind(found) == "sizes"
    drawing = figure(found)
    assert list(drawing.panels) == ["float32", "float64"]
    lines = drawn(drawing, "float64")
    assert list(lines["cuBLAS"]) == list(lines["made.f64.01_all"]) == [512, 1024, 2048], "multiples of 16"
    assert lines["cuBLAS"][512] == pytest.approx(lines["made.f64.01_all"][512] / 0.9)
    assert [list(points) for name, points in lines.items() if name.startswith("_")] == [[1000], [1000]]
    assert "n that is no multiple of 16" in drawing.text
    assert "multiple of 16" not in figure(results(tmp_path, rungs(512, 1024))).text


def test_a_kernel_tuned_for_each_size_is_one_line(tmp_path: Path) -> None:
    made = [beside(benchmark("made.up", n, b), 0.5) for n, b in ((512, 8), (1024, 16), (2048, 32))]
    once = drawn(figure(results(tmp_path, ladder(made))), "float32")
    assert list(once["made.up"]) == [512, 1024, 2048]
    twice = [*made, beside(benchmark("made.up", 512, 32), 0.5)]
    both = drawn(figure(results(tmp_path, ladder(twice))), "float32")
    assert list(both["made.up, b=32"]) == [512, 2048]
    one_apart = ladder(beside(benchmark("made.up", n, 16), 0.5) for n in (512, 513))
    assert usual_kind(results(tmp_path, one_apart)) == "sizes", "no remainders beside a library"


def test_blocks_show_what_was_skipped_and_one_of_each_reason(tmp_path: Path) -> None:
    words = written(figure(results(tmp_path, EXPERIMENTS["unsa-blocks"])))
    assert "unsa.tiled, skipped" in words
    assert "a 50×50 block has 2500 threads; the device allows 1024" in words
    assert "n = 500 is not a multiple of 30" in words
    assert "a GPU that is not named, as published" in words


def test_the_share_of_the_copies_is_what_the_end_to_end_time_has_beyond_the_kernels(tmp_path: Path) -> None:
    lines = drawn(figure(results(tmp_path, EXPERIMENTS["upc-transfers"])), "share of the copies")
    shares = lines["upc.kernel11, b=32: end to end, pinned"]
    assert shares == {n: pytest.approx(100 * (1 - 1 / (1 + 300 / n))) for n in (128, 256, 640, 1024, 2048, 3200)}
    assert share_of_copies({64: 2.0}, {64: 1.9, 128: 3.0}) == {64: 0}, "noise"


def test_results_of_no_experiment_are_bars_at_the_size_with_most_kernels(tmp_path: Path) -> None:
    found = results(tmp_path, PLAIN)
    assert figure(found).title == "GFLOP/s at n = 1024"
    words = texts(figure(found, size=641).svg())
    assert {"upc.kernel11, b=16", f"{rate('upc.kernel11', 641, 32):.0f}"} <= set(words)
    assert not any("poznan" in text for text in words)


def test_many_bars_become_each_kernels_best(tmp_path: Path) -> None:
    kernels = [f"made.up{i}" for i in range(10)]
    drawing = figure(results(tmp_path, document(sweep(kernels, (64,), (8, 16, 32)))))
    assert drawing.title == "GFLOP/s at n = 64, each kernel in its best config"
    shown = {text for text in texts(drawing.svg()) if text.startswith("made")}
    assert shown == {f"{kernel}, b=32" for kernel in kernels}


def test_a_roofline_places_kernels_by_their_counts_under_their_gpus_ceilings(tmp_path: Path) -> None:
    kernels = ("upc.kernel01", "upc.kernel11", "lezione9.kernel1")
    drawing = figure(results(tmp_path, document(sweep(kernels, (32,), (32,)))), "roofline")
    words = written(drawing)
    assert "peak of float32: 25.6 TFLOP/s" not in words, "float64's is as high, and on the same line"
    assert "peak of float32 and of float64 in tensor cores: 25.6 TFLOP/s" in words, "100 × 1 GHz × 128 × 2"
    assert "first-level caches: 12.8 TB/s" in words, "100 × 1 GHz × 128 bytes"
    assert all(f"{kernel}, b=32" in words for kernel in kernels)
    assert "useful flop (2·m·n·k) per byte of global sectors, as counted" in words
    axes = axes_of(drawing, "")
    points = [line for line in axes.lines if line.get_marker() != "None"]
    assert len({(line.get_color(), line.get_marker()) for line in points}) == len(kernels), "named in the legend"


def test_a_peak_that_takes_tensor_cores_says_so() -> None:
    a100, turing = ({**MACHINE, "compute_capability": capability} for capability in ([8, 0], [7, 5]))
    half = ["float16", "float32", "float64"]
    assert list(ceilings(a100, half)[0]) == ["float16 in tensor cores", "float32", "float64 in tensor cores"]
    assert list(ceilings(turing, half)[0]) == ["float16 in tensor cores", "float32", "float64"]


@pytest.mark.parametrize(("n", "counted"), [(100, 100), (256, 256), (640, 256), (641, 225), (3200, 256), (1023, 255)])
def test_a_roofline_counts_at_a_smaller_size_with_the_same_remainders(n: int, counted: int) -> None:
    assert counted_size(n) == counted
    assert (n - counted) % 32 == 0


@cases(__file__, "no_such_figures", "kind, size, said")
def test_a_figure_that_cannot_be_made_is_refused(kind: str, size: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidResults, match=re.escape(said)):
        figure(results(tmp_path, FIRST_RUN if kind == "roofline" else PLAIN), kind, size or None)


def test_too_many_lines_are_refused(tmp_path: Path) -> None:
    found = results(tmp_path, document(sweep([f"made.up{i}" for i in range(7)], (64, 128), (8, 16, 32))))
    beside_a_library = ladder(beside(benchmark(f"made.up{i}", n, 8), 0.5) for i in range(21) for n in (64, 128))
    for several in (found, results(tmp_path, beside_a_library)):
        with pytest.raises(InvalidResults, match="21 series are too many for one figure; choose some with --kernel"):
            figure(several, "sizes")
    assert figure(chosen(found, ["made.up[012]"], ["b=8", "b=16"]), "sizes").panels


def test_kernels_and_blocks_can_be_chosen(tmp_path: Path) -> None:
    found = chosen(results(tmp_path, EXPERIMENTS["unsa-blocks"]), ["*.tiled"], ["b=10", "b=50", "b=30"])
    assert [entry.edge for entry in found.entries] == [10]
    assert [each.edge for each in found.skipped] == [30, 50]
    with pytest.raises(InvalidResults, match=r"there are some of unsa\.tiled"):
        chosen(found, ["acme.*"], [])


def test_files_of_one_device_are_put_together_and_the_latest_result_counts(tmp_path: Path) -> None:
    old = document([benchmark("upc.kernel01", 64, 8, gflops=lambda *_: 1.0), benchmark("upc.kernel01", 96, 8)])
    new = {**document([benchmark("upc.kernel01", 64, 8, gflops=lambda *_: 2.0)]), "datetime": "2001-02-04T00:00:00"}
    paths = [write(tmp_path / name, content) for name, content in (("new.json", new), ("old.json", old))]
    (found,) = read(paths)
    rates = {entry.n: entry.numbers["gflops"] for entry in found.entries}
    assert rates == pytest.approx({64: 2.0, 96: rate("upc.kernel01", 96, 8)})
    assert found.date == "2001-02-04"


def test_devices_and_experiments_are_kept_apart(tmp_path: Path) -> None:
    other = document([benchmark("upc.kernel01", 64, 8)], machine={**MACHINE, "name": "Another"})
    contents = [PLAIN, other, EXPERIMENTS["upc-sizes"]]
    found = read(write(tmp_path / f"{index}.json", each) for index, each in enumerate(contents))
    assert [(each.device, each.experiment) for each in found] == [(DEVICE, ""), ("Another", ""), (DEVICE, "upc-sizes")]


def test_published_figures_are_those_of_the_lectures() -> None:
    at_3200 = {figure.kernel: RATE.of(figure.entry) for figure in published() if figure.n == 3200}
    assert at_3200 == {"upc.kernel01": pytest.approx(358, abs=0.5), "upc.kernel11": pytest.approx(1188, abs=0.5)}
    (v3,) = [each for each in published() if (each.kernel, each.n, each.block) == ("poznan.v3", 528, 16)]
    assert RATE.of(v3.entry) == pytest.approx(72.246, abs=0.01), "to the digits that the time is printed with"
    assert {figure.measure for figure in published()} == {"kernel", "end-to-end"}


@cases(__file__, "damaged", "value, where, said")
def test_a_damaged_or_foreign_file_is_one_sentence(value: str, where: str, said: str, tmp_path: Path) -> None:
    made = beside(benchmark("upc.kernel01", 64, 8), 0.5)
    content = copy.deepcopy(document([made], "made-up", refused=[refusal("a.b", 3, 2)]))
    place: Any = content
    *outer, last = where.replace("INFO", "benchmarks 0 extra_info").split()
    for key in outer:
        place = place[int(key)] if key.isdecimal() else place[key]
    if value:
        place[last] = json.loads(value)
    else:
        del place[last]
    path = write(tmp_path / "damaged.json", content)
    result = mmcore("plot", str(path), "-o", str(tmp_path / "out.svg"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert str(path) in result.stderr.splitlines()[-1]
    assert said in result.stderr.splitlines()[-1]


@pytest.mark.parametrize("content", ["", "[1]", '{"benchmarks": [NaN]}'])
def test_a_file_that_is_no_json_document_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "damaged.json").write_text(content)
    with pytest.raises(InvalidResults, match=r"damaged\.json .*(no JSON|did not save it|NaN is not a number)"):
        read([tmp_path / "damaged.json"])


@settings(max_examples=100)
@given(value=JSON, data=st.data())
def test_any_value_is_read_or_refused(
    value: Any, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = data.draw(st.sampled_from([emulated("upc.kernel01", 64, 8), beside(benchmark("upc.kernel01", 64, 8), 0.5)]))
    content = copy.deepcopy(document([made], "made-up", refused=[refusal("a.b", 3, 2)]))
    put_anywhere(data, content, value)
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_text(json.dumps(content))
    with contextlib.suppress(InvalidResults):
        (found,) = read([path])
        assert found.entries


def test_the_command_writes_svg_png_and_html(tmp_path: Path) -> None:
    source = write(tmp_path / "results.json", EXPERIMENTS["poznan-first"])
    for suffix, begins in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")):
        out, drawn = tmp_path / f"out{suffix}", "a page of" if suffix == ".html" else "sizes, from"
        result = mmcore("plot", str(source), "-o", str(out))
        assert (result.exit_code, result.stdout) == (0, f"{out}: {drawn} 27 results on {DEVICE}\n")
        assert out.read_bytes().startswith(begins)
    width, height = struct.unpack(">II", (tmp_path / "out.png").read_bytes()[16:24])
    assert (width, height > 500) == (1520, True)


def test_json_describes_the_file(tmp_path: Path) -> None:
    source, out = write(tmp_path / "results.json", PLAIN), tmp_path / "out.svg"
    text = mmcore("plot", str(source), "-o", str(out), "--block", "16", "--size", "641", "--json").stdout
    assert json.loads(text) == {"file": str(out), "bytes": out.stat().st_size, "cells": 7, "devices": [DEVICE]}


@cases(__file__, "what_cannot_be_done_is_refused", "arguments, said")
def test_impossible_requests_are_refused(
    arguments: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "results.json", PLAIN)
    result = mmcore("plot", "results.json", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert not list(tmp_path.glob("out.*"))


def test_a_picture_is_of_one_experiment(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", EXPERIMENTS[name]) for name in ("poznan-first", "poznan-second")]
    result = mmcore("plot", *map(str, paths), "-o", str(tmp_path / "out.svg"))
    assert result.exit_code == 2
    assert "these files are of 2 experiments or devices, and a picture is of one; a .html has all" in result.stderr


@pytest.mark.usefixtures("without_matplotlib")
def test_without_matplotlib_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    result = mmcore("plot", str(write(tmp_path / "r.json", PLAIN)), "-o", str(tmp_path / "out.svg"))
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: figures are drawn with matplotlib, which is not installed: python -m pip install 'mmcore-cuda[plot]'"
    )


def test_help_names_every_kind_of_figure() -> None:
    said = " ".join(mmcore("plot", "--help").stdout.split())
    assert all(kind in said for kind in KINDS)
