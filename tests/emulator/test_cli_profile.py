"""``mmcore profile``: tables for a student, a document for a program."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import mmcore as api
import mmcore_emulator
from bench.studies import tensor_kernels
from mmcore_emulator.profiler.counters import NAMES
from tests.command_line import mmcore

# Counters and ratios that the command always reports.
PROMISED = {
    *("thread_instructions", "warp_instructions", "fmas", "flops", "global_load_requests", "global_load_sectors"),
    *("global_store_requests", "global_store_sectors", "global_load_transactions_cc1x", "shared_load_requests"),
    *("shared_load_wavefronts", "shared_store_requests", "shared_store_wavefronts", "shared_bank_conflicts"),
    *("barriers", "global_accesses_per_thread", "cgma", "cgma_cc1x"),
}


def rows(output: str) -> dict[str, list[str]]:
    """Return the cells of the counters' table by name."""
    table = output.split("\n\n")[2].splitlines()[1:]
    return {cells[0]: cells[1:] for cells in (re.split(r" {2,}", line.strip()) for line in table)}


def test_json_is_the_profile_with_all_documented_keys() -> None:
    result = mmcore("profile", "upc.kernel11", "--size", "40", "--block", "8", "--seed", "1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document == mmcore_emulator.profile("upc.kernel11", 40, block=8, seed=1).to_json()
    assert document.keys() >= PROMISED
    assert document.keys() >= set(NAMES)


def test_the_table_gives_each_counter_in_all_per_block_and_per_thread() -> None:
    result = mmcore("profile", "upc.kernel01", "--size", "64", "--block", "32")
    assert result.exit_code == 0
    table = rows(result.stdout)
    assert table["fused multiply-adds"] == ["262,144", "65,536", "64"]
    assert table["global load requests"] == ["16,384", "4,096", "4"]
    assert table["global load sectors"] == ["40,960", "10,240", "10"]
    assert not any(name.startswith("shared") for name in table), "it uses none"
    assert "CGMA       6.4 fused multiply-adds per global sector loaded" in result.stdout
    assert "loads      2.5 sectors per request" in result.stdout
    assert "accesses   129 to global memory per thread" in result.stdout
    assert "__global__" not in result.stdout, "lines are shown with --by-line only"


def test_coalescing_cc1x_counts_its_transactions_and_gives_the_published_cgma() -> None:
    command = ("profile", "poznan.v4a", "--size", "128", "--block", "8", "--by-line", "--coalescing")
    assert "'cc3' is not one of 'sectors', 'cc1x'" in mmcore(*command, "cc3").stderr
    output = mmcore(*command, "cc1x").stdout
    assert rows(output)["global load transactions, cc 1.2"][0] == f"{4 * 128**3 // 128 * (128 + 8) // 128:,}"
    assert "global load sectors" not in output
    assert re.search(r"CGMA +120.5 fused multiply-adds per load transaction of compute capability 1.2", output)
    assert "transactions cc1x" in output


def test_by_line_shows_which_line_makes_the_32_sectors() -> None:
    output = mmcore("profile", "lezione9.kernel2", "--size", "32", "--by-line").stdout
    lines = output.split("\n\n")[-1].splitlines()
    (at,) = (place for place, line in enumerate(lines) if line.endswith("C[row * n + column] = sum;"))
    number, *_ = lines[at].split()
    source = api.kernels()["lezione9.kernel2"].source.read_text(encoding="utf-8").splitlines()
    assert source[int(number) - 1].strip() == "C[row * n + column] = sum;"
    assert "1,024 sectors stored" in lines[at + 1], "32 sectors for each of 32 warps"
    (at,) = (place for place, line in enumerate(lines) if "tile_a[tx][p] * tile_b[p][ty]" in line)
    assert "conflicts" in lines[at + 1]


def test_on_a_narrow_terminal_no_number_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("mmcore.cli.output.on_terminal", lambda: True)
    monkeypatch.setattr("mmcore.cli.output.click.echo", written.append)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    assert mmcore("profile", "upc.kernel10", "--size", "128", "--block", "32", "--by-line").exit_code == 0
    lines = written[0].split("\n")
    assert "…" not in written[0]
    assert max(map(len, lines)) <= 80
    (at,) = (number for number, line in enumerate(lines) if "tile_a[ty][tx] = A[" in line)
    sentence = " ".join(line.strip() for line in lines[at + 1 : at + 3])
    assert sentence.startswith("4,096 instructions, 2,048 load requests, 8,192 sectors, 2,048 shared requests, ")


def test_source_shows_counters_beside_each_line() -> None:
    output = mmcore("profile", "upc.kernel10", "--size", "64", "--block", "32", "--source").stdout
    source = api.kernels()["upc.kernel10"].source_text().rstrip().splitlines()
    heading, *shown = output.splitlines()[-len(source) - 1 :]
    assert heading.split() == ["instr.", "sectors", "conflicts", "kernel10.cu"]
    for number, (line, row) in enumerate(zip(source, shown, strict=True), start=1):
        assert row.endswith(f"{number}  {line}".rstrip())
    (store,) = (row.split()[:2] for row in shown if "C[row * n + column] = sum;" in row)
    assert store[1] == "512", "4 sectors for each of 128 warps"


TENSOR = (str(Path(tensor_kernels.__file__).parent / "mma_sync.cu"), "--size", "64", "--block", "128x1")


def test_tensor_cores_and_copies_have_rows_in_the_table() -> None:
    """One block multiplies 64³ in products of 16×8×16, of tiles that 128 threads copy 16 bytes at a time."""
    output = mmcore("profile", *TENSOR, "--config", "SWIZZLE=1").stdout
    table = rows(output)
    assert table["instructions of tensor cores"] == ["128", "128", "1"]
    assert table["mma m16n8k16 f32.f16.f16"] == ["128", "128", "1"]
    assert table["operations of tensor cores"] == table["f32.f16.f16"] == ["524,288", "524,288", "4,096"]
    assert table["async copies"] == ["1,024", "1,024", "8"]
    assert table["ldmatrix wavefronts"] == ["256", "256", "2"]
    assert "fused multiply-adds" not in table
    assert "CGMA" not in output, "it says nothing of tensor cores"
    assert "intensity  10.67 useful floating-point operations" in output


def test_lines_have_their_products_and_copies() -> None:
    output = mmcore("profile", *TENSOR, "--config", "SWIZZLE=0", "--by-line", "--source").stdout
    assert "128 instructions, 128 mma m16n8k16 f32.f16.f16" in output
    assert "32 matrix requests, 1,024 wavefronts, 896 conflicts" in output
    assert re.search(r"instructions, 32 copy requests, 512 sectors copied, 128 wavefronts\n", output)
    heading, *shown = output.partition("\ninstr.")[2].splitlines()
    assert heading.split() == ["sectors", "conflicts", "tensor", "mma_sync.cu"]
    (product,) = (row.split()[:2] for row in shown if 'asm volatile("mma.sync.aligned' in row)
    assert product == ["128", "128"], "instructions, and those of tensor cores"
    (copy,) = (row.split()[:2] for row in shown if 'asm volatile("cp.async.cg' in row)
    assert copy[1] == "512", "sectors"
