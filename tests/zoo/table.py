"""What each plugin of the zoo does, and what must be reported of it."""

from __future__ import annotations

from dataclasses import dataclass

MEASURED = "verified and measured"
"""Reported of a kernel that is right as far as a benchmark can see."""

_NEVER_WRITTEN = r"\d+:\d+: expected \S+ - got NaN \(never written\)"
_WRONG = r"\d+:\d+: expected \S+ - got (-?\d|NaN|-?inf)"
_AGAIN = "unrepeatable: it was verified at first, and run again on other inputs it is wrong"
_NOT_ITS_OWN = "unrepeatable: |implausible: "
_FAILED = r"plugin zoo\.\w+ of zoo-\S+ failed to load: "


@dataclass(frozen=True)
class BadPlugin:
    """One plugin.

    Attributes:
        name: the kernel and its plugin are called ``zoo.NAME``.
        does: what is wrong with it.
        emulator: what ``pytest bench/`` says of it on the emulator, as a regular expression.
        gpu: the same on a GPU.
        command: the mmcore command that shows what is wrong where no benchmark can; empty where the benchmark does.
        shown: what that command says, as a regular expression.
        harm: what it does to every command while it is installed, so that it is not installed beside the others: a
            plugin's Python runs with the user's rights, and nothing keeps it from this. Empty for all but a few.
    """

    name: str
    does: str
    emulator: str
    gpu: str
    command: str = ""
    shown: str = ""
    harm: str = ""


def _on_both(name: str, does: str, reported: str, command: str = "", shown: str = "") -> BadPlugin:
    """A plugin of which the same is reported wherever it runs."""
    return BadPlugin(name, does, reported, reported, command, shown)


_MEMORY = (
    BadPlugin(
        "writes_before",
        "writes the element before C",
        r"out-of-bounds-write: .* writes 4 bytes before the start of C at kernel\.cu:\d+",
        r"out-of-bounds-write: .*before the start of C",
    ),
    BadPlugin(
        "writes_after",
        "writes the element behind C",
        r"out-of-bounds-write: .* writes the first byte past the end of C at kernel\.cu:\d+",
        r"out-of-bounds-write: .*behind the last element of C",
    ),
    _on_both(
        "writes_between_rows",
        "writes between the rows of a strided C; packed rows have nothing between them",
        MEASURED,
        "run zoo.writes_between_rows -m 5 -n 7 -k 3 --ldc 9 --device emulator",
        r"out-of-bounds-write: row 0, column 7 of C, which lies between its rows, was written",
    ),
    BadPlugin(
        "reads_outside",
        "reads the element behind A, and does nothing with it",
        r"out-of-bounds-read: .* reads the first byte past the end of A at kernel\.cu:\d+",
        MEASURED,
        "check zoo.reads_outside -m 5 -n 7 -k 3 --device emulator",
        r"out-of-bounds-read",
    ),
    BadPlugin(
        "reads_far_outside",
        "reads an address that is nobody's",
        r"out-of-bounds-read: .* far from every array at kernel\.cu:\d+",
        r"illegal-address: ",
    ),
    _on_both("overwrites_a", "overwrites an element of A", r"input-overwritten: element \d+ of A"),
    _on_both("overwrites_b", "overwrites an element of B", r"input-overwritten: element \d+ of B"),
    _on_both(
        "unused_over_read",
        "declares that it reads past A and B, and does not",
        MEASURED,
        "conform zoo.unused_over_read --device emulator",
        r"FAIL .*over-read: ",
    ),
)

_PRODUCT = (
    _on_both("leaves_some_unwritten", "leaves the last column of C unwritten", _NEVER_WRITTEN),
    _on_both("writes_nan", "writes NaN into the first column", r"\d+:0: expected \S+ - got NaN(?! \(never)"),
    _on_both("writes_zeros", "writes zeros", r"\d+:\d+: expected \S+ - got -?0\.000000"),
    _on_both("drops_last_k", "leaves the last k out of the sum", _WRONG),
    _on_both("lower_precision", "declares float32 sums, and makes them in float16", _WRONG),
    _on_both("small_k_only", "is right up to k = 32 only", _WRONG),
    _on_both("too_few_blocks", "launches fewer blocks than C needs", _NEVER_WRITTEN),
)

_MEMORIES = (
    BadPlugin(
        "first_input_only",
        "counts its launches in a device variable, and is right in the first only",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "stale_result",
        "keeps its first product in a device variable, and copies it in every later launch",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "every_other_launch",
        "counts its launches in a device variable, and does nothing in every other one",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "remembers_inputs",
        "copies its last product from a device variable where the inputs look the same",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "first_input_only_workspace",
        "sees by a workspace that it ran before, and is right in the first launch only",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "stale_result_workspace",
        "keeps its first product in a workspace, and copies it in every later launch",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "every_other_launch_workspace",
        "counts its launches in a workspace, and does nothing in every other one",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin(
        "remembers_inputs_workspace",
        "copies its last product from a workspace where the inputs look the same",
        _AGAIN,
        _NOT_ITS_OWN,
    ),
    BadPlugin("skips_when_done", "does nothing where C holds numbers already", _AGAIN, _NOT_ITS_OWN),
)

_THREADS = (
    BadPlugin(
        "races",
        "leaves out a __syncthreads(); in lockstep it comes out right",
        MEASURED,
        rf"{MEASURED}|{_WRONG}",
        "check zoo.races -m 32 -n 32 -k 48",
        r"shared-race of shared at kernel\.cu:\d+",
    ),
    BadPlugin(
        "barrier_in_branch",
        "has a barrier that half of a block's threads never come to, as they have ended",
        MEASURED,
        MEASURED,
        "check zoo.barrier_in_branch -m 5 -n 7 -k 3",
        r"warning: skipped-barrier at kernel\.cu:\d+",
    ),
    BadPlugin(
        "never_ends",
        "waits for what never comes",
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
    _on_both(
        "all_shared_memory",
        "asks for more shared memory than there is",
        r"a block asks for \d+ bytes of dynamic shared memory; the device allows \d+",
    ),
    _on_both(
        "too_many_threads",
        "asks for blocks of 2048 threads",
        r"a 16×16×8 block has 2048 threads; the device allows 1024",
    ),
    _on_both(
        "too_many_registers",
        "asks for more registers than there are",
        r"a 32×32 block of threads with \d+ registers each takes \d+ registers; the device allows 65536",
    ),
)

_SOURCES = (
    _on_both("does_not_compile", "has CUDA code that does not compile", r"kernel\.cu does not compile:"),
    _on_both(
        "missing_header",
        "includes a header that is not there",
        r"kernel\.cu includes a header that is not found: my_private_tiles\.h",
    ),
    BadPlugin("prints_on_device", "prints megabytes on the device", MEASURED, r"timeout: "),
)

_PYTHON = (
    _on_both("rule_raises", "raises in its launch rule", r"its launch rule failed: ZeroDivisionError"),
    _on_both("rule_prints", "prints megabytes in its launch rule", MEASURED),
    _on_both("prints_at_import", "prints megabytes when it is imported", MEASURED),
    _on_both("hook_raises", "raises in its hook", _FAILED + "RuntimeError: the licence"),
    _on_both("invalid_name", "calls its kernel what no kernel can be called", _FAILED + ".* is not a kernel name"),
    _on_both(
        "claims_a_name",
        "brings a kernel called upc.kernel11_naive_guard",
        r"kernel 'upc\.kernel11_naive_guard' is brought by .* and zoo\.claims_a_name of zoo-claims-a-name",
    ),
)

_SOURCE = _on_both(
    "source_elsewhere",
    "passes a lecture's source off as its own",
    _FAILED + r"the source of zoo\.source_elsewhere, .*kernel01\.cu, lies outside its package",
)


def _harmful(name: str, does: str, harm: str) -> BadPlugin:
    return BadPlugin(name, does, "", "", harm=harm)


HARMFUL = (
    _harmful("exits_at_import", "calls os._exit when it is imported", "ends it without a word, with status 0"),
    _harmful("segfaults_at_import", "reads address 0 when it is imported", "has it killed by SIGSEGV"),
    _harmful("interrupts_at_import", "raises KeyboardInterrupt when it is imported", "ends it as Ctrl-C does"),
    _harmful("never_imported", "takes for ever to import", "keeps it from ever beginning"),
    _harmful("patches_mmcore", "has mmcore call every product right", "makes it call wrong products right"),
    _harmful(
        "patches_benchmark",
        "has pytest-benchmark note a thousandth of every time",
        "leaves it alone, and makes the times that pytest saves wrong",
    ),
)
"""What only not installing it helps against."""

INSTALLED = (*_MEMORY, *_PRODUCT, *_MEMORIES, *_THREADS, *_RESOURCES, *_SOURCES, *_PYTHON, _SOURCE)
"""What is installed beside the lectures' plugins, all at once."""

ZOO = (*INSTALLED, *HARMFUL)
