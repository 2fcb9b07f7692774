"""The plugins of the zoo, the error of each, and the report that it must get."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED = "verified and measured"
"""The report of a kernel that a benchmark finds right."""

_NEVER_WRITTEN = r"\d+:\d+: expected \S+ - got NaN \(never written\)"
_WRONG = r"\d+:\d+: expected \S+ - got (-?\d|NaN|-?inf)"
_AGAIN = "unrepeatable: it was verified at first, and run again on other inputs it is wrong"
_REMEMBERED = "unrepeatable: |implausible: "
_FAILED = r"plugin zoo\.\w+ of zoo-\S+ failed to load: "


@dataclass(frozen=True)
class BadPlugin:
    """One plugin.

    Attributes:
        name: the kernel and its plugin are called ``zoo.NAME``.
        does: its error.
        emulator: pattern of the report of ``pytest bench/`` on the emulator.
        gpu: the same on a GPU, where it differs.
        command: the mmcore command that finds the error where a benchmark cannot.
        shown: pattern of that command's output.
        harm: effect on every command while the plugin is installed, so that it is not installed beside the others. A
            plugin's Python has the user's rights, and nothing prevents this.
        declared: attributes that its declaration of the kernel adds to the right one, as Python.
        statements: Python in its module.
    """

    name: str
    does: str
    emulator: str = ""
    gpu: str = ""
    command: str = ""
    shown: str = ""
    harm: str = ""
    declared: str = ""
    statements: str = ""

    def report(self, device: str) -> str:
        """Return the pattern of the report on the emulator or a GPU."""
        return self.gpu or self.emulator if device != "emulator" else self.emulator


_MEMORY = (
    BadPlugin(
        "writes_before",
        "writes the element before C",
        r"out-of-bounds-write: .* writes 4 bytes before the start of C at kernel\.cu:\d+",
        r"out-of-bounds-write: .*before the start of C",
    ),
    BadPlugin(
        "writes_after",
        "writes the element after C",
        r"out-of-bounds-write: .* writes the first byte past the end of C at kernel\.cu:\d+",
        r"out-of-bounds-write: .*behind the last element of C",
    ),
    BadPlugin(
        "writes_between_rows",
        "writes between the rows of a strided C; packed rows have nothing between them",
        MEASURED,
        command="run zoo.writes_between_rows -m 5 -n 7 -k 3 --ldc 9 --device emulator",
        shown=r"out-of-bounds-write: row 0, column 7 of C, which lies between its rows, was written",
        declared="grid=lambda problem, config: (ceil_div(problem.ldc, 16), ceil_div(problem.m, 16))",
    ),
    BadPlugin(
        "reads_outside",
        "reads the element after A without using it",
        r"out-of-bounds-read: .* reads the first byte past the end of A at kernel\.cu:\d+",
        MEASURED,
        command="check zoo.reads_outside -m 5 -n 7 -k 3 --device emulator",
        shown=r"out-of-bounds-read",
    ),
    BadPlugin(
        "reads_far_outside",
        "reads an address that is not allocated",
        r"out-of-bounds-read: .* far from every array at kernel\.cu:\d+",
        r"illegal-address: ",
    ),
    BadPlugin("overwrites_a", "overwrites an element of A", r"input-overwritten: element \d+ of A"),
    BadPlugin("overwrites_b", "overwrites an element of B", r"input-overwritten: element \d+ of B"),
    BadPlugin(
        "unused_over_read",
        "declares that it reads past A and B, but does not",
        MEASURED,
        command="conform zoo.unused_over_read --device emulator",
        shown=r"FAIL .*over-read: ",
        declared='over_read=lambda problem, config: {"A": problem.k, "B": problem.n}',
    ),
)

_PRODUCT = (
    BadPlugin("leaves_some_unwritten", "leaves the last column of C unwritten", _NEVER_WRITTEN),
    BadPlugin("writes_nan", "writes NaN into the first column", r"\d+:0: expected \S+ - got NaN(?! \(never)"),
    BadPlugin("writes_zeros", "writes zeros", r"\d+:\d+: expected \S+ - got -?0\.000000"),
    BadPlugin("drops_last_k", "omits the last k from the sum", _WRONG),
    BadPlugin("lower_precision", "declares float32 sums, but computes them in float16", _WRONG),
    BadPlugin("small_k_only", "is right up to k = 32 only", _WRONG),
    BadPlugin(
        "too_few_blocks",
        "launches fewer blocks than C needs",
        _NEVER_WRITTEN,
        declared="grid=lambda problem, config: (max(1, ceil_div(problem.n, 16) - 1), ceil_div(problem.m, 16))",
    ),
)

_REMEMBER = {
    "first_input_only": ("counts its launches {}, and is right in the first only", "", '"kept"'),
    "stale_result": ("keeps its first product {}, and copies it in every later launch", "", '"m", "n", "kept"'),
    "every_other_launch": ("counts its launches {}, and does nothing in every other one", "", '"kept"'),
    "remembers_inputs": (
        "copies its last product, kept {}, where the inputs look the same",
        '"A", "B"',
        '"A", "B", "m", "n", "kept"',
    ),
}
"""What each does, and the arguments of its note in a device variable and in a workspace."""


def _remembering(suffix: str, place: str, note: int) -> list[BadPlugin]:
    return [
        BadPlugin(f"{name}{suffix}", row[0].format(place), _AGAIN, _REMEMBERED, declared=f"launch=noting({row[note]})")
        for name, row in _REMEMBER.items()
    ]


_MEMORIES = (
    *_remembering("", "in a device variable", 1),
    *_remembering("_workspace", "in a workspace", 2),
    BadPlugin("skips_when_done", "does nothing where C holds numbers already", _AGAIN, _REMEMBERED),
)

_THREADS = (
    BadPlugin(
        "races",
        "lacks a __syncthreads(); in lockstep the product is right",
        MEASURED,
        rf"{MEASURED}|{_WRONG}",
        "check zoo.races -m 32 -n 32 -k 48",
        r"shared-race of shared at kernel\.cu:\d+",
    ),
    BadPlugin(
        "barrier_in_branch",
        "has a barrier that half of a block's threads never reach, as they have exited",
        MEASURED,
        command="check zoo.barrier_in_branch -m 5 -n 7 -k 3",
        shown=r"warning: skipped-barrier at kernel\.cu:\d+",
    ),
    BadPlugin(
        "never_ends",
        "waits for a value that no thread writes",
        r"deadlock: thread \(0, 0\) of block \(0, 0\) waits here for a value in memory .* at kernel\.cu:\d+",
        r"timeout: ",
    ),
    BadPlugin(
        "traps",
        "traps",
        r"trap: thread \(\d+, \d+\) of block \(0, 0\) comes to a trap at kernel\.cu:\d+",
        r"launch-failure: |illegal-instruction: ",
    ),
)

_RESOURCES = (
    BadPlugin(
        "all_shared_memory",
        "requests more shared memory than a block can have",
        r"a block asks for \d+ bytes of dynamic shared memory; the device allows \d+",
        declared="launch=lambda problem, config, device: "
        "Launch(tiles(problem), config.block, device.shared_bytes_optin + 16)",
    ),
    BadPlugin(
        "too_many_threads",
        "launches blocks of 2048 threads",
        r"a 16×16×8 block has 2048 threads; the device allows 1024",
        declared="launch=lambda problem, config, device: Launch(tiles(problem), (16, 16, 8))",
    ),
    BadPlugin(
        "too_many_registers",
        "needs more registers than a block can have",
        r"a 32×32 block of threads with \d+ registers each takes \d+ registers; the device allows 65536",
        declared='configs=[{"block": (32, 32)}], '
        "grid=lambda problem, config: (ceil_div(problem.n, 128 * 32), ceil_div(problem.m, 32))",
    ),
)

_SOURCES = (
    BadPlugin("does_not_compile", "has CUDA code that does not compile", r"kernel\.cu does not compile:"),
    BadPlugin(
        "missing_header",
        "includes a header that does not exist",
        r"kernel\.cu includes a header that is not found: my_private_tiles\.h",
    ),
    BadPlugin("prints_on_device", "prints megabytes on the device", MEASURED, r"timeout: "),
    BadPlugin(
        "source_elsewhere",
        "declares a lecture's source as its own",
        _FAILED + r"the source of zoo\.source_elsewhere, .*kernel01\.cu, lies outside its package",
        declared='source=Path(mmcore_lectures.upc.__file__).with_name("kernel01.cu")',
        statements="import mmcore_lectures.upc",
    ),
)

_PRINTS = """
import os


def shout():
    for _ in range(4096):
        print("this is the best kernel there is " * 32)
    os.write(1, b"straight to the terminal " * 1024)
    return True
"""
_PYTHON = (
    BadPlugin(
        "rule_raises",
        "raises in its launch rule",
        r"its launch rule failed: ZeroDivisionError",
        declared="grid=lambda problem, config: (problem.n // 0, 1)",
    ),
    BadPlugin(
        "rule_prints",
        "prints megabytes in its launch rule, through sys.stdout and past it",
        MEASURED,
        declared="grid=lambda problem, config: shout() and tiles(problem)",
        statements=_PRINTS,
    ),
    BadPlugin("prints_at_import", "prints megabytes when it is imported", MEASURED, statements=f"{_PRINTS}\n\nshout()"),
    BadPlugin(
        "hook_raises",
        "raises in its hook",
        _FAILED + "RuntimeError: the licence",
        declared="**fail()",
        statements='def fail():\n    raise RuntimeError("the licence of this kernel has run out")',
    ),
    BadPlugin(
        "invalid_name",
        "has a kernel with an invalid name",
        _FAILED + ".* is not a kernel name",
        declared='name="Zoo: my fastest!"',
    ),
    BadPlugin(
        "claims_a_name",
        "has a kernel called upc.kernel11_naive_guard",
        r"kernel 'upc\.kernel11_naive_guard' is brought by .* and zoo\.claims_a_name of zoo-claims-a-name",
        declared='name="upc.kernel11_naive_guard"',
    ),
)


def _harmful(name: str, does: str, harm: str, statements: str) -> BadPlugin:
    return BadPlugin(name, does, harm=harm, statements=statements)


HARMFUL = (
    _harmful(
        "exits_at_import",
        "calls os._exit when it is imported",
        "ends it without a message, with status 0",
        "import os\n\nos._exit(0)",
    ),
    _harmful(
        "segfaults_at_import",
        "reads address 0 when it is imported",
        "has it killed by SIGSEGV",
        "import ctypes\n\nctypes.string_at(0)",
    ),
    _harmful(
        "interrupts_at_import",
        "raises KeyboardInterrupt when it is imported",
        "ends it as Ctrl-C does",
        "raise KeyboardInterrupt",
    ),
    _harmful(
        "never_imported",
        "never finishes its import",
        "keeps it from starting",
        "import time\n\nwhile True:\n    time.sleep(1)",
    ),
    _harmful(
        "patches_mmcore",
        "makes mmcore call every product right",
        "makes it call wrong products right",
        """
from unittest.mock import patch

from mmcore.verify.outcome import Verification


def approve(problem, accumulator, matrices, c, *further):
    return Verification(True, 0.0, None, "every element against float64", 0, c.size)


patch("mmcore.verify.verify_launches.verify_product", approve).start()
""",
    ),
    _harmful(
        "patches_benchmark",
        "makes pytest-benchmark record a thousandth of every time",
        "leaves it alone, but makes the times that pytest saves wrong",
        """
from unittest.mock import patch

from pytest_benchmark.stats import Stats

update = Stats.update


def note_a_thousandth(self, duration):
    update(self, duration / 1000)


patch.object(Stats, "update", note_a_thousandth).start()
""",
    ),
)
"""Plugins that only uninstalling helps against."""

INSTALLED = (*_MEMORY, *_PRODUCT, *_MEMORIES, *_THREADS, *_RESOURCES, *_SOURCES, *_PYTHON)
"""The plugins that are installed together, next to the lectures' plugins."""

ZOO = (*INSTALLED, *HARMFUL)
