"""Notebooks: the HTML of verdicts, and the magics ``%mmcore`` and ``%%mmcore``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import mmcore
import mmcore_emulator
from mmcore.cli.earlier_cells import with_earlier_cells
from mmcore.cli.notebook import Answer
from mmcore.view import View

RIGHT = """\
__global__ void product(const float* a, const float* b, float* c, int n)
{
    int column = blockDim.x * blockIdx.x + threadIdx.x;
    int row = blockDim.y * blockIdx.y + threadIdx.y;
    float sum = 0;
    if (row < n && column < n) {
        for (int i = 0; i < n; ++i)
            sum += a[row * n + i] * b[i * n + column];
        c[row * n + column] = sum;
    }
};
"""
UNGUARDED = RIGHT.replace("row < n && column < n", "true")
PYTHON = f'import cupy\n\nproduct = cupy.RawKernel(r"""\nextern "C" {UNGUARDED}""", "product")\n'
RUN = "run --size 33 --seed 1 --device emulator"
READ, WRITTEN = "reads the first byte past the end of", "writes the first byte past the end of"

Magic = Callable[..., Answer]


class Page(HTMLParser):
    """The lines of a page: the texts of its blocks, and those with a coloured border.

    Reading it asserts that every element is closed, and that nothing is a script.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines, self.marked = [""], list[str]()
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        assert {name for name, _ in attrs} <= {"style"}
        self._open.append((tag, dict(attrs).get("style") or ""))
        self.lines += [""] if tag in ("div", "tr", "pre", "details") else []

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag
        self.lines[-1] += " " if tag == "th" else ""

    def handle_data(self, data: str) -> None:
        self.lines[-1] += data
        if any("3px solid #" in style for _, style in self._open):
            self.marked.append(data)

    @property
    def first(self) -> str:
        """The first line."""
        return next(filter(None, self.lines))


@pytest.fixture(scope="module")
def magic() -> Magic:
    """Return the magic, as a notebook calls it."""

    class Shell:
        displayhook = SimpleNamespace(prompt_count=0)
        user_ns: ClassVar = {"In": ["", "import cupy\nWIDTH = int('8')\nx = y", "\nBOTH = (WIDTH, WIDTH)"], "WIDTH": 8}

        def register_magic_function(self, function: Any, magic_kind: str, magic_name: str) -> None:
            assert (magic_kind, magic_name) == ("line_cell", "mmcore")
            self.magic = function

    def magic(line: str, cell: str | None = None) -> Answer:
        # No cell is CUDA first and Python later, so that the name of its kernel needs no suffix.
        shell.displayhook.prompt_count = 4 if cell is not None and "import cupy" in cell else 3
        answer: Answer = shell.magic(line) if cell is None else shell.magic(line, cell)
        return answer

    mmcore.load_ipython_extension(shell := Shell())
    return magic


def test_a_wrong_kernel_has_its_message_below_the_line_at_fault(magic: Magic) -> None:
    answer = magic(RUN, UNGUARDED)
    page = Page(answer._repr_html_())
    assert answer.status == 1
    assert page.first == "TEST FAIL file.cell3 33×33×33 on emulator"
    assert "problem C=AB, m×n×k = 33×33×33, float32" in page.lines
    assert [re.sub(r" +", " ", each) for each in page.marked] == [
        " 9",
        " sum += a[row * n + i] * b[i * n + column];",
        f"out-of-bounds-read at cell3.cu:9: thread (0, 1) of block (0, 2) {READ} A",
        f"out-of-bounds-read at cell3.cu:9: thread (1, 0) of block (2, 0) {READ} B",
        "10",
        " c[row * n + column] = sum;",
        f"out-of-bounds-write at cell3.cu:10: thread (0, 1) of block (0, 2) {WRITTEN} C",
    ]


def test_the_text_is_that_of_the_command(magic: Magic) -> None:
    text = repr(magic(RUN, UNGUARDED))
    assert text.startswith("inferred from cell3.cu, with the option that changes it:\n  --entry  function product")
    assert text.endswith("\nTEST FAIL")
    assert "/cell3.cu" not in text, "the folder is nothing to the user"
    assert unescape(magic(RUN, UNGUARDED)._repr_html_()).count(text) == 1


@pytest.mark.parametrize("cell", [UNGUARDED, PYTHON])
def test_the_magic_is_line_1_and_no_message_names_a_folder(magic: Magic, cell: str) -> None:
    at_fault = 1 + next(number for number, line in enumerate(cell.splitlines(), 1) if "sum +=" in line)
    page = Page(magic(RUN, cell)._repr_html_())
    assert re.search(rf"out-of-bounds-read at cell[34]\.\w+:{at_fault}: ", "\n".join(page.marked))
    assert any(re.fullmatch(rf" *{at_fault} .*sum \+= .*", each) for each in page.lines)
    assert any(re.fullmatch(rf" *1  %%mmcore {RUN}", each) for each in page.lines) == (at_fault <= 9)
    assert re.search(r"  %%mmcore run -m 48 ", "\n".join(page.lines))
    assert "mmcore run cell" not in "\n".join(page.lines), "there is no such file"
    assert "/cell" not in "\n".join(page.lines)


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (RUN, "TEST PASS file.cell3 33×33×33 on emulator"),
        (f"{RUN} -q", "TEST PASS file.cell3 33×33×33 on emulator"),
        ("check --size 33", "CHECK PASS file.cell3 33×33×33 on emulator"),
        ("prove --size 16", "PROVED file.cell3 16×16×16 on emulator"),
        ("profile --size 32", "PROFILE file.cell3 32×32×32 on emulator"),
    ],
)
def test_a_right_kernel(magic: Magic, line: str, first: str) -> None:
    answer = magic(line, RIGHT)
    page = Page(answer._repr_html_())
    assert (answer.status, page.first) == (0, first)
    speaks = line == RUN or line.startswith("profile")
    assert bool(page.marked) == speaks, "only a profile and the reason why it is slow are about lines"


def test_a_profile_has_the_counts_of_each_line(magic: Magic) -> None:
    marked = Page(magic("profile --size 32", RIGHT)._repr_html_()).marked
    assert any(re.fullmatch(r"cell3\.cu:9: [\d,]+ instructions, 32,768 fma, .*", each) for each in marked)


def test_a_cell_that_does_not_compile(magic: Magic) -> None:
    answer = magic(RUN, RIGHT.replace("sum = 0", "sum = <zero>"))
    page = Page(answer._repr_html_())
    assert answer.status == 2
    assert page.first == "ERROR cell3.cu does not compile:"
    number, line, message = page.marked[:3]
    assert (number, line.strip()) == (" 6", "float sum = <zero>;")
    assert message.startswith("cell3.cu(6): error: ")
    needed = RIGHT.replace("sum = 0", "sum = ZERO")
    answer = magic(RUN, f'#include "no.cuh"\n{needed}')
    assert Page(answer._repr_html_()).marked[:2] == [" 2", '  #include "no.cuh"']


def test_a_cell_includes_headers_beside_the_notebook(
    magic: Magic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zero.cuh").write_text("#define ZERO 0\n")
    assert magic(RUN, '#include "zero.cuh"\n' + RIGHT.replace("sum = 0", "sum = ZERO")).status == 0
    wrong = repr(magic(RUN, '#include "zero.cuh"\n' + UNGUARDED))
    assert re.search(r"  %%mmcore run -m \d+ ", wrong), "the command of the cell does without the folder of headers"


def test_a_python_cell_is_judged_at_its_lines(magic: Magic) -> None:
    page = Page(magic(RUN, PYTHON)._repr_html_())
    assert page.first == "TEST FAIL file.cell4 33×33×33 on emulator"
    assert "12" in page.marked
    assert f"out-of-bounds-read at cell4.py:12: thread (0, 1) of block (0, 2) {READ} A" in page.marked
    assert 'extern "C" __global__ void product' in " ".join(page.lines)


def test_a_python_cell_takes_names_of_earlier_cells(magic: Magic) -> None:
    launch = "n = 100\nproduct((n // WIDTH, n // WIDTH), BOTH, (a, b, c, n))\n"
    answer = magic(RUN, PYTHON.removeprefix("import cupy\n") + launch)
    assert "block 8×8 (as launched in line 17)" in " ".join(answer.text.split())
    assert "0:32: expected" in answer.text  # the grid is rounded down
    assert "mmcore: cell" not in answer._repr_html_()


def test_only_the_statements_that_a_cell_needs_are_taken() -> None:
    first = "import numpy as np\nT = f(3)\n%time g()"
    second = "import math, os\nT = 4\n\n@jit\ndef d(x):\n    return T * math.pi\nz = 1"
    earlier = ["", first, second, "broken ("]
    kept = "import math, os\n\n\n@jit\ndef d(x):\n    return T * math.pi\n\n"
    expected = f"T = 4\n# %% mmcore: cell 2\n{kept}# %% mmcore: cell 0\ny = d(np)\n"
    assert with_earlier_cells("y = d(np)\n", earlier, {"T": 4}) == expected
    assert with_earlier_cells("q = p\n", earlier, {}) == "q = p\n"


@pytest.mark.parametrize(
    ("line", "cell", "said"),
    [
        ("run --sise 5", RIGHT, "ERROR No such option '--sise'."),
        ("run --size none", RIGHT, "ERROR Invalid value for '--size': "),
        ("", RIGHT, "ERROR a command is missing, such as run in %%mmcore run"),
        ("runs", RIGHT, "ERROR there is no command 'runs'"),
        ("run 'a", RIGHT, "ERROR No closing quotation in run 'a"),
        ("run", "import cupy\nf(", "ERROR cell4.py "),
        ("run no.such.kernel", None, "ERROR there is no kernel 'no.such.kernel'"),
    ],
)
def test_what_cannot_run_is_a_sentence(magic: Magic, line: str, cell: str | None, said: str) -> None:
    answer = magic(line, cell)
    assert answer.status == 2
    assert Page(answer._repr_html_()).first.startswith(said)


def test_a_command_without_a_verdict_is_shown_as_text(magic: Magic) -> None:
    answer = magic("list-kernels upc.kernel11")
    assert "\nupc.kernel11 " in repr(answer)
    assert Page(answer._repr_html_()).first == repr(answer)
    assert json.loads(repr(magic("run upc.kernel11 --size 16 --device emulator --json")))["verified"] is True


def test_objects_show_the_same(cu_file: Path) -> None:
    cu_file.write_text(UNGUARDED)
    result = mmcore.run(str(cu_file), 33, seed=1, device="emulator")
    page = Page(result._repr_html_())
    assert page.first == "TEST FAIL file.kernel 33×33×33 on emulator"
    assert [each for each in page.marked if each.isspace() or each.strip().isdigit()] == [" 8", " 9"]
    check = mmcore_emulator.check("upc.kernel11", 33)
    assert Page(check._repr_html_()).first == "CHECK PASS upc.kernel11 33×33×33 on emulator"
    profile = mmcore_emulator.profile("upc.kernel11", 32)
    assert Page(profile._repr_html_()).first == "PROFILE upc.kernel11 32×32×32 on emulator"


def test_only_the_lines_around_a_fault_are_shown_and_all_of_it_is_escaped() -> None:
    text = "".join(f"line<{number}>\n" for number in range(1, 101))
    messages = ["<b> & more", "x at a.cu:50: y", "x at ba.cu:3: y", "y at b.cuh:2, called at a.cu:90: z", "a.cu:999: u"]
    html = View("FAIL", False, "<i>", [("a<", "b\u202e"), ("none", "")], messages, "a.cu", text)._repr_html_()
    page = Page(html)
    numbers = [int(found[1]) for each in page.lines if (found := re.fullmatch(r" *(\d+)  line<\1>", each))]
    assert numbers == [*range(42, 59), *range(82, 99)]
    assert page.lines.count("  ⋮") == 2
    assert page.marked == [" 50", "  line<50>", messages[1], " 90", "  line<90>", messages[3]]
    assert [each for each in page.lines if each][-3:] == [messages[0], messages[2], messages[4]]
    assert "a< b\\u202e" in page.lines


def test_an_interrupted_command_ends_the_cell(magic: Magic, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(cell: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mmcore_tools.run.measure_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        magic(RUN, RIGHT)


@pytest.mark.slow
def test_a_notebook_is_executed(tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="tox -e slow installs nbclient")
    sources = [
        "%load_ext mmcore",
        f"%%mmcore {RUN}\n{UNGUARDED}",
        "size = 33\n%mmcore run upc.kernel11 --size $size --device emulator",
        f"%%mmcore check --size 33\n{RIGHT}",
        "_.status",
        "import mmcore\nmmcore.run('upc.kernel11', 16, device='emulator')",
    ]
    empty: dict[str, Any] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**empty, "id": f"cell{number}", "source": source} for number, source in enumerate(sources)]
    path = tmp_path / "notebook.ipynb"
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    # jupyter execute; the cells use worker processes, as a user's do.
    environment = {name: value for name, value in os.environ.items() if name != "MMCORE_IN_PROCESS"}
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    outputs = [cell["outputs"] for cell in json.loads(path.read_text())["cells"]]
    assert outputs[0] == []
    shown = [output["data"] for each in outputs[1:] for output in each]
    assert [Page("".join(each.get("text/html", each["text/plain"]))).first for each in shown] == [
        "TEST FAIL file.cell2 33×33×33 on emulator",
        "TEST PASS upc.kernel11 33×33×33 on emulator",
        "CHECK PASS file.cell4 33×33×33 on emulator",
        "0",
        "TEST PASS upc.kernel11 16×16×16 on emulator",
    ]
    assert "".join(shown[0]["text/plain"]).endswith("\nTEST FAIL")
