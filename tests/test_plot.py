"""``mmcore plot``: which figure results make, what is in it, and what is said of files that hold none."""

from __future__ import annotations

import builtins
import contextlib
import copy
import json
import re
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmcore.errors import InvalidResults
from mmcore_plots.drawing import Drawing
from mmcore_plots.figures import KINDS, figure
from mmcore_plots.published import published
from mmcore_plots.quantity import intensity
from mmcore_plots.results import Results, chosen, edge, read
from mmcore_plots.roofline import counted_size
from mmcore_plots.transfers import copies_by_key, share
from tests.command_line import mmcore
from tests.made_up_results import (
    DAY,
    DEVICE,
    EMULATED,
    EXPERIMENTS,
    MACHINE,
    UPC,
    benchmark,
    document,
    emulated,
    rate,
    refusal,
    sweep,
    write,
)

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
PLAIN = document([*sweep(UPC, (640, 641, 1024), (16, 32)), benchmark("poznan.v5", 1024, 16)])


def results(tmp_path: Path, content: dict[str, Any]) -> Results:
    (found,) = read([write(tmp_path / "results.json", content)])
    return found


def texts(drawing: Drawing) -> list[str]:
    """Everything that is written in a figure."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(drawing.svg()).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_gets_its_figure_with_series_units_device_and_date(name: str, tmp_path: Path) -> None:
    found = results(tmp_path, EXPERIMENTS[name])
    drawing = figure(found)
    assert drawing.kind == KIND_OF[name]
    written = texts(drawing)
    assert any(f"{DEVICE} (100 multiprocessors, up to 1000 MHz), {DAY}" in text for text in written)
    assert {"GFLOP/s", "ms", "time of a product, ms"} & set(written), "an axis has a unit"
    for kernel in {entry.cell.kernel for entry in found.entries}:
        assert any(kernel in text for text in written)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_is_small_and_the_same_every_time(name: str, tmp_path: Path) -> None:
    found = results(tmp_path, EXPERIMENTS[name])
    first, second = figure(found).svg(), figure(found).svg()
    assert first == second
    assert len(first) < 100_000
    assert len(figure(found).png()) < 300_000


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_a_figure_says_is_written_in_it_word_for_word(name: str, tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EXPERIMENTS[name]))
    written = " ".join(" ".join(texts(drawing)).split())
    for words in (drawing.title, drawing.text, drawing.caption):
        assert words in written
    assert "driver 580.1234.5678" in written, "digits of a word are no coordinate"


def test_a_figure_says_nothing_of_the_day_it_was_drawn_on(tmp_path: Path) -> None:
    assert "<dc:date>" not in figure(results(tmp_path, EXPERIMENTS["upc-sizes"])).svg()


def test_a_figure_has_a_light_background_of_its_own(tmp_path: Path) -> None:
    svg = ElementTree.fromstring(figure(results(tmp_path, EXPERIMENTS["upc-sizes"])).svg())
    background = next(svg.iter(f"{SVG}path"))
    assert background.get("style") == "fill: #ffffff"
    _, _, width, height = (float(each) for each in svg.attrib["viewBox"].split())
    assert {f"{width:g}", f"{height:g}"} <= set(background.attrib["d"].split())


@pytest.mark.parametrize("name", EMULATED)
def test_emulated_counts_are_said_to_be_no_times(name: str, tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EMULATED[name]))
    written = " ".join(texts(drawing))
    assert "EMULATED COUNTS, NOT TIMES" in written
    assert "as emulated" in written
    assert not re.search(r"GFLOP/s|\bms\b|GeForce", written)


def test_the_lectures_curve_stands_beside_ours_on_axes_of_its_own(tmp_path: Path) -> None:
    first, second = figure(results(tmp_path, EXPERIMENTS["poznan-second"])).panels
    assert (first.title, second.title) == ("GeForce GT 240, as published", DEVICE)


def test_single_published_figures_stand_among_ours(tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EXPERIMENTS["upc-sizes"]))
    assert len(drawing.panels) == 1
    assert "upc.kernel11, b=32, GeForce GTX 1080 Ti" in texts(drawing)


def test_remainders_get_a_panel_for_each_kernel_and_block(tmp_path: Path) -> None:
    drawing = figure(results(tmp_path, EXPERIMENTS["upc-remainders"]))
    assert [panel.title for panel in drawing.panels] == [f"{kernel}, b={b}" for kernel in UPC for b in (16, 32)]


def test_blocks_show_what_is_refused_and_one_of_each_reason(tmp_path: Path) -> None:
    written = " ".join(texts(figure(results(tmp_path, EXPERIMENTS["unsa-blocks"]))))
    assert "unsa.tiled, refused" in written
    assert "a 50×50 block has 2500 threads; the device allows 1024" in written
    assert "n = 500 is not a multiple of 30" in written
    assert "a GPU that is not named, as published" in written


def test_the_share_of_the_copies_is_what_the_global_time_has_beyond_the_kernels(tmp_path: Path) -> None:
    copies = copies_by_key(results(tmp_path, EXPERIMENTS["upc-transfers"]))
    shares = copies["upc.kernel11", "32"].shares("pinned")  # type: ignore[index]
    assert shares == {n: pytest.approx(100 * (1 - 1 / (1 + 300 / n))) for n in (128, 256, 640, 1024, 2048, 3200)}
    assert share(2.0, 1.9) == 0, "noise"


def test_results_of_no_experiment_are_bars_at_the_size_with_most_kernels(tmp_path: Path) -> None:
    found = results(tmp_path, PLAIN)
    assert figure(found).title == "GFLOP/s at n = 1024"
    written = texts(figure(found, size=641))
    assert {"upc.kernel11, b=16", f"{rate('upc.kernel11', 641, 32):.0f}"} <= set(written)
    assert not any("poznan" in text for text in written)


def test_many_bars_become_each_kernels_best(tmp_path: Path) -> None:
    kernels = [f"made.up{i}" for i in range(10)]
    found = results(tmp_path, document(sweep(kernels, (64,), (8, 16, 32))))
    drawing = figure(found)
    assert drawing.title == "GFLOP/s at n = 64, each kernel in its best block"
    assert {text for text in texts(drawing) if text.startswith("made")} == {f"{kernel}, b=32" for kernel in kernels}


def test_a_roofline_places_kernels_by_their_counts_under_their_gpus_ceilings(tmp_path: Path) -> None:
    found = results(tmp_path, document([benchmark("upc.kernel01", 64, 32), benchmark("upc.kernel11", 64, 32)]))
    written = texts(figure(found, "roofline"))
    assert "float32 peak: 25.6 TFLOP/s" in written, "100 × 1 GHz × 128 × 2"
    assert "first-level caches: 12.8 TB/s" in written, "100 × 1 GHz × 128 bytes"
    assert {"upc.kernel01, b=32", "upc.kernel11, b=32"} <= set(written)
    assert "floating-point operations per byte of global sectors (as counted)" in written


@pytest.mark.parametrize(("n", "counted"), [(100, 100), (256, 256), (640, 256), (641, 225), (3200, 256), (1023, 255)])
def test_a_roofline_counts_at_a_smaller_size_with_the_same_remainders(n: int, counted: int) -> None:
    assert counted_size(n) == counted
    assert (n - counted) % 32 == 0


def test_intensity_is_flops_over_the_bytes_of_the_sectors(tmp_path: Path) -> None:
    (entry,) = results(tmp_path, document([emulated("upc.kernel01", 32, 8)], machine={"name": "emulator"})).entries
    assert intensity(entry) == pytest.approx(2 * 32**3 / (32 * (32**3 // 8 + 32 * 32 // 8 + 1)))


@pytest.mark.parametrize(
    ("kind", "size", "said"),
    [
        ("pie", None, "there is no figure 'pie'; there are sizes, remainders"),
        ("bars", 5, "there are no kernel results at n = 5; there are some at 640, 641, 1024"),
        ("sizes", 640, "a figure of sizes is not of one size; leave --size out"),
        ("blocks", None, "takes results of several square blocks at one size"),
        ("transfers", None, "takes kernel times and global times of the same products"),
    ],
)
def test_a_figure_that_cannot_be_made_is_refused(kind: str, size: int | None, said: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidResults, match=re.escape(said)):
        figure(results(tmp_path, PLAIN), kind, size)


def test_lines_that_nobody_could_tell_apart_are_refused(tmp_path: Path) -> None:
    found = results(tmp_path, document(sweep([f"made.up{i}" for i in range(7)], (64, 128), (8, 16, 32))))
    with pytest.raises(InvalidResults, match="21 series are too many for one figure; choose some with --kernel"):
        figure(found, "sizes")
    assert figure(chosen(found, ["made.up[012]"], ["8", "16"]), "sizes").panels


def test_kernels_and_blocks_can_be_chosen(tmp_path: Path) -> None:
    found = chosen(results(tmp_path, EXPERIMENTS["unsa-blocks"]), ["*.tiled"], ["10", "50x50", "30"])
    assert [entry.cell.edge for entry in found.entries] == ["10"]
    assert [each.block for each in found.refused] == ["30"]
    with pytest.raises(InvalidResults, match=r"there are some of unsa\.tiled"):
        chosen(found, ["nobody.*"], [])


def test_files_of_one_device_are_put_together_and_the_latest_result_counts(tmp_path: Path) -> None:
    old = document([benchmark("upc.kernel01", 64, 8, gflops=lambda *_: 1.0), benchmark("upc.kernel01", 96, 8)])
    new = {**document([benchmark("upc.kernel01", 64, 8, gflops=lambda *_: 2.0)]), "datetime": "2001-02-04T00:00:00"}
    paths = [write(tmp_path / name, content) for name, content in (("new.json", new), ("old.json", old))]
    (found,) = read(paths)
    assert {entry.cell.n: entry.gflops for entry in found.entries} == {64: 2.0, 96: rate("upc.kernel01", 96, 8)}
    assert found.date == "2001-02-04"


def test_devices_and_experiments_are_kept_apart(tmp_path: Path) -> None:
    other = document([benchmark("upc.kernel01", 64, 8)], machine={**MACHINE, "name": "Another"})
    contents = [PLAIN, other, EXPERIMENTS["upc-sizes"]]
    found = read(write(tmp_path / f"{index}.json", each) for index, each in enumerate(contents))
    assert [(each.device, each.experiment) for each in found] == [(DEVICE, ""), ("Another", ""), (DEVICE, "upc-sizes")]


def test_a_block_is_written_as_a_user_writes_it() -> None:
    assert [edge(block) for block in ((16, 16, 1), (256, 1, 1), (8, 8, 8), (32,))] == ["16", "256×1", "8×8×8", "32×1"]


def test_published_figures_are_those_of_the_lectures() -> None:
    at_3200 = {figure.kernel: figure.gflops for figure in published() if figure.n == 3200}
    assert at_3200 == {"upc.kernel01": pytest.approx(358, abs=0.5), "upc.kernel11": pytest.approx(1188, abs=0.5)}
    (v3,) = [each for each in published() if (each.kernel, each.n, each.block) == ("poznan.v3", 528, 16)]
    assert v3.gflops == pytest.approx(72.246, abs=0.01), "to the digits that the time is printed with"


# What a results file can be damaged by: each a change, and what is said of it.
def _without(*keys: str) -> Any:
    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for key in keys[:-1]:
            place = place[int(key)] if key.isdecimal() else place[key]
        del place[keys[-1]]

    return change


def _with(value: Any, *keys: str) -> Any:
    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for key in keys[:-1]:
            place = place[int(key)] if key.isdecimal() else place[key]
        place[keys[-1]] = value

    return change


INFO = ("benchmarks", "0", "extra_info")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without("benchmarks"), "holds no results: it is not what pytest-benchmark saves"),
        (_with([], "benchmarks"), "holds no results: nothing was measured in that run"),
        (_without("machine_info", "mmcore"), "is not a result of mmcore's: it has no 'mmcore'"),
        (_with(3, "benchmarks", "0", "extra_info"), "'extra_info' is not an object"),
        (_without(*INFO, "kernel"), "benchmark 1 is not a result of mmcore's: it has no 'kernel'"),
        (_with(0, *INFO, "problem", "n"), "'n' is not a whole number from 1"),
        (_with([16, 16, 1, 1], *INFO, "block"), "'block' is not one to three whole numbers"),
        (_with("speed", *INFO, "measure"), "'measure' is not 'kernel' or 'global'"),
        (_with("hot", *INFO, "caches"), "'caches' is not 'warm' or 'cold'"),
        (_with(-1.0, *INFO, "gflops"), "'gflops' is not a number"),
        (_with("fast", *INFO, "median_ms"), "'median_ms' is not a number"),
        (_with(None, *INFO, "gflops"), "has neither a kernel time nor counts"),
        (_with({"flops": "many"}, *INFO, "counts"), "'counts' is not whole numbers by name"),
        (_with([{"kernel": "upc.kernel01"}], "mmcore", "refused"), "refused 1 is not a result of mmcore's"),
        (_with("yes", "mmcore", "quick"), "'quick' is not true or false"),
        (_with([1], "mmcore", "left_out"), "'left_out' is not a list of texts"),
    ],
)
def test_a_damaged_or_foreign_file_is_told_by_one_sentence(change: Any, said: str, tmp_path: Path) -> None:
    content = copy.deepcopy(document([benchmark("upc.kernel01", 64, 8)], "made-up", refused=[refusal("a.b", 3, 2)]))
    change(content)
    path = write(tmp_path / "damaged.json", content)
    result = mmcore("plot", str(path), "-o", str(tmp_path / "out.svg"))
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert str(path) in line
    assert said in line


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is damaged, or no JSON"),
        (b"\xff\xfe", "is damaged, or no JSON"),
        (b'{"benchmarks": [NaN]}', "NaN is not a number"),
        (b"[" * 100_000, "is damaged, or no JSON"),
        (b"[1]", "it is not what pytest-benchmark saves"),
    ],
)
def test_a_file_that_is_no_json_document_is_told_by_one_sentence(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.json"
    path.write_bytes(content)
    with pytest.raises(InvalidResults, match=re.escape(said)):
        read([path])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidResults, match="cannot be read: No such file"):
        read([tmp_path / "none.json"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(value=JSON, data=st.data())
def test_whatever_value_stands_anywhere_is_read_or_refused(
    value: Any, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = copy.deepcopy(document([emulated("upc.kernel01", 64, 8)], "made-up", refused=[refusal("a.b", 3, 2)]))
    place: Any = content
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = value
    path = tmp_path_factory.getbasetemp() / "fuzzed.json"
    path.write_text(json.dumps(content))
    with contextlib.suppress(InvalidResults):
        (found,) = read([path])
        assert found.entries


def test_the_command_writes_svg_png_and_html(tmp_path: Path) -> None:
    source = write(tmp_path / "results.json", EXPERIMENTS["poznan-first"])
    picture, page = "sizes, from", "a page of"
    for suffix, begins, drawn in (
        (".svg", b"<?xml", picture),
        (".png", b"\x89PNG", picture),
        (".html", b"<!DOCTYPE html>", page),
    ):
        out = tmp_path / f"out{suffix}"
        result = mmcore("plot", str(source), "-o", str(out))
        assert (result.exit_code, result.stdout) == (0, f"{out}: {drawn} 27 results on {DEVICE}\n")
        assert out.read_bytes().startswith(begins)
    width, height = struct.unpack(">II", (tmp_path / "out.png").read_bytes()[16:24])
    assert (width, height > 500) == (1520, True)


def test_json_says_what_was_written(tmp_path: Path) -> None:
    source, out = write(tmp_path / "results.json", PLAIN), tmp_path / "out.svg"
    said = json.loads(mmcore("plot", str(source), "-o", str(out), "--json").stdout)
    assert said == {"file": str(out), "bytes": out.stat().st_size, "cells": 13, "devices": [DEVICE]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "out.pdf"), "'out.pdf' does not end in .png, .svg or .html"),
        (("-o", "out.html", "--figure", "bars"), "a page holds all figures; leave --figure and --size out"),
        (("-o", "no/such/folder/out.svg"), "cannot be written: No such file or directory"),
        (("-o", "out.svg", "--kernel", "nobody.*"), "there are no results of these kernels and blocks"),
    ],
)
def test_what_cannot_be_done_is_refused(
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


def test_without_matplotlib_one_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = builtins.__import__

    def no_matplotlib(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name)
        return import_module(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    result = mmcore("plot", str(write(tmp_path / "r.json", PLAIN)), "-o", str(tmp_path / "out.svg"))
    assert (result.exit_code, result.stderr) == (
        2,
        "Error: figures take matplotlib, which is not installed: python -m pip install 'mmcore[plot]'\n",
    )


def test_help_names_every_kind_of_figure() -> None:
    said = " ".join(mmcore("plot", "--help").stdout.split())
    assert all(kind in said for kind in KINDS)
