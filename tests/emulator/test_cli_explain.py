"""``mmcore explain``: a list of lines, the pictures of one, and drawings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mmcore as api
from bench.studies import tensor_kernels
from bench.studies.tensor_kernels import MMA_SYNC, STORED, WMMA
from mmcore import Kernel
from mmcore.cell import Cell
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.explanation import Explanation, explain_cell
from mmcore_emulator.explain.banks import Operand
from tests.command_line import mmcore

FILE = Path(tensor_kernels.__file__).parent / "mma_sync.cu"
OF_FILE = (str(FILE), "--config", "SWIZZLE=0", "--block", "128x1")


def explained(kernel: Kernel, size: int = 64) -> Explanation:
    return explain_cell(Cell(kernel.name, size, size, size, device="emulator"), Emulator(), kernel)


def line_of(text: str, path: Path = FILE) -> int:
    (line,) = (number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)
    return line


def test_without_a_line_all_lines_with_pictures_are_listed() -> None:
    result = mmcore("explain", "upc.kernel10", "--size", "64", "--block", "32")
    assert result.exit_code == 0
    source = api.kernels()["upc.kernel10"].source_text().splitlines()
    rows = [line.split(maxsplit=4) for line in result.stdout.splitlines()[5:]]
    # Two stores of 32 warps for each of two steps in each of four blocks, and 64 loads of two words for each warp.
    assert [counts for *counts, _, _ in rows] == [
        ["1,024", "0", "256"],
        ["1,024", "0", "256"],
        ["0", "0", "16,384"],
        ["512", "0", "0"],
    ]
    for *_, number, shown in rows:
        assert source[int(number) - 1].strip() == shown
        assert "tile_" in shown or "C[" in shown


def test_a_line_without_accesses_has_nothing_to_draw() -> None:
    result = mmcore("explain", "upc.kernel01", "--line", "9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is nothing to draw of line '9'; lines with something are 18, 19" in result.stderr


ROWS = """
__global__ void rows(const double *A, const double *B, double *C, int n)
{
    int row = blockIdx.x * 16 + threadIdx.x, col = blockIdx.y * 16 + threadIdx.y;
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}
"""


def test_the_sectors_of_a_global_access_are_drawn(tmp_path: Path) -> None:
    """Lanes 0 and 16 load the first element of row 0, lanes 1 and 17 that of row 1."""
    file = tmp_path / "rows.cu"
    file.write_text(ROWS)
    options = ("--grid", "n/16, n/16", "--block", "16", "--size", "32", "-q")
    text = mmcore("explain", str(file), *options, "--line", "7").stdout
    drawn = [line.rstrip() for line in text.splitlines() if line.startswith("byte ")]
    assert drawn == [f"byte {f'{256 * row:,}':5} {f'{row}×2':>4}" for row in range(16)]
    assert "sectors of A that each lane of warp 0 in block (0, 0) touches" in text
    assert text.endswith("16 sectors of 32 bytes, where 4 would do.\n")
    assert re.search(r"^ +[\d,]+ +0 +0 +7  sum", mmcore("explain", str(file), *options).stdout, re.MULTILINE)


def test_a_line_is_drawn_with_its_counts() -> None:
    """The eight rows of each matrix begin in the same bank."""
    number = line_of("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    result = mmcore("explain", *OF_FILE, "--line", str(number))
    assert result.exit_code == 0
    heading, counts, *pictures = result.stdout.splitlines()
    assert heading.startswith(f"mma_sync.cu:{number}  asm volatile(")
    assert counts == "1,024 wavefronts, 896 bank conflicts"
    assert "A matrix of ldmatrix.sync.aligned.m8n8.x4.shared.b16: 8×8 of 16 bits" in result.stdout
    assert "\nbanks 0-3   0  1*  2*  3*  4*  5*  6*  7*   8  9* 10*" in result.stdout
    assert max(map(len, pictures)) <= 80
    assert mmcore("explain", *OF_FILE, "--line", f"mma_sync.cu:{number}").stdout == result.stdout


def test_a_drawing_has_the_line_or_all(tmp_path: Path) -> None:
    one, every = tmp_path / "one.svg", tmp_path / "all.svg"
    number = line_of("mma.sync.aligned.m16n8k16")
    assert mmcore("explain", *OF_FILE, "--line", str(number), "--svg", str(one)).exit_code == 0
    assert mmcore("explain", *OF_FILE, "--svg", str(every)).exit_code == 0
    texts = [{each.text for each in ElementTree.parse(path).iter()} for path in (one, every)]
    title = f"mma_sync.cu:{number}, A of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: 16×16 of f16"
    assert all(title in each for each in texts)
    assert not any("ldmatrix" in (text or "") for text in texts[0])
    assert any("ldmatrix" in (text or "") for text in texts[1])


def test_json_is_the_profile_with_the_pictures() -> None:
    result = mmcore("explain", *OF_FILE, "--json")
    document = json.loads(result.stdout)
    assert document["ldmatrix_wavefronts"] == 2048
    (line,) = (
        each for each in document["lines"] if each["line"] == line_of("ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    )
    held, access = line["sights"]
    assert (held["kind"], held["opcode"]) == ("held", "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    assert (access["kind"], access["nbytes"], access["warp"], access["block"]) == ("access", 16, 0, [0, 0, 0])
    # Threads 0 to 15 name the first chunks of 16 rows of 128 bytes, the others the second ones.
    first = access["addresses"][0]
    assert access["addresses"] == [first + lane % 16 * 128 + lane // 16 * 16 for lane in range(32)]
    assert first == 0x400, "where the shared memory of a block begins"


@pytest.mark.parametrize("kernel", [MMA_SYNC, STORED, WMMA], ids=lambda kernel: kernel.name)
def test_an_explanation_goes_through_json_and_fits_80_columns(kernel: Kernel) -> None:
    found = explained(kernel)
    again = Explanation.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert again.sights == found.sights
    assert again.to_json() == found.to_json()
    for line in found.sights:
        for picture in found.pictures(line):
            assert max(map(len, picture.text().splitlines())) <= 80


def test_boxes_are_drawn_where_they_are_sent() -> None:
    found = explained(STORED)
    titles = [picture.title for line in found.sights for picture in found.pictures(line)]
    swizzled = [title for title in titles if title.endswith("swizzled by 128 bytes")]
    assert [title.partition(":")[0].split(".")[3] for title in swizzled] == ["tensor", "tensor"]
    assert any(".global.shared::cta." in title for title in swizzled)
    assert not any("mbarrier.init" in title for title in titles)


def test_operands_of_a_warpgroup_are_drawn_at_their_addresses() -> None:
    """Both begin at a multiple of 1024 bytes, in rows of 128, and a product reads 32 of them."""
    found = explained(STORED)
    a, b = (sight for sights in found.sights.values() for sight in sights if isinstance(sight, Operand))
    assert (a.matrix, b.matrix, a.rows, b.rows) == ("A", "B", 64, 64)
    for operand in (a, b):
        first = operand.chunks[0][0]
        assert first % 1024 == 0
        assert operand.chunks == tuple((first + r * 128 + r * 16, first + r * 128 + (r ^ 1) * 16) for r in range(8))


def test_the_worst_of_unrolled_accesses_is_drawn(tmp_path: Path) -> None:
    """A line with the same opcode three times: without conflicts, in pairs of lanes, and by fours."""
    path = tmp_path / "unrolled.cu"
    path.write_text(
        "#define at(i) tile[(i) % 1024]\n"
        "__global__ void f(const float *A, const float *B, float *C, int n) {\n"
        "    volatile __shared__ float tile[1024]; int t = threadIdx.x;\n"
        "    for (int i = t; i < 1024; i += 32) tile[i] = 0;\n"
        "    __syncthreads();\n"
        "    float x = at(t) + at(4 * t) + at(2 * t);\n"
        "    for (int i = 0; i < n; i++) C[t * n + i] = x;\n"
        "}\n"
    )
    result = mmcore("explain", str(path), "--size", "32", "--block", "32x1", "--grid", "1", "--line", "6")
    assert "4 wavefronts, 3 by conflicts" in result.stdout
