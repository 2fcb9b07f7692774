"""Damaged PTX is refused in a sentence, or does something else and is judged for what it does."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

import pytest

import mmcore
from mmcore.compile.compiler import compile_plan
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError
from mmcore.planning.plan import Plan, plan
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.errors import EmulatorError
from mmcore_emulator.executor.translation.translate import translate
from mmcore_emulator.ptx.reader import parse
from tests.emulation import ptx_kernel, ptx_of, translated
from tests.emulator.test_corpus import CORPUS
from tests.fuzzing.mangling import MANGLES, Mangle
from tests.lectures import lecture_kernels

NAMES = sorted(lecture_kernels())
LEAST = 16


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Return the PTX of every kernel."""
    return {name: compile_plan(planned(name), "90").ptx for name in NAMES}


def of_the_corpus() -> list[str]:
    """Return PTX with debug information, and with narrow types."""
    structures, narrow = ((CORPUS / f"{name}.cu").read_text() for name in ("structures", "small_arguments"))
    return [ptx_of(structures, "-G"), ptx_of(narrow)]


def planned(name: str) -> Plan:
    kernel = mmcore.kernels()[name]
    config = kernel.usual_configs[-1]
    return plan(kernel, kernel.square_problem(LEAST, config), config, Emulator().properties)


class NeverEndsError(Exception):
    """It did not end in the time it was given."""


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise NeverEndsError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("mangle", MANGLES, ids=lambda mangle: mangle.__name__)
def test_damaged_ptx_is_read_or_refused_in_one_sentence(mangle: Mangle, texts: dict[str, str]) -> None:
    rng, others = random.Random(1), [*texts.values(), *of_the_corpus()]
    sentences = []
    for text in others * 2:
        try:
            with ending_within(20):
                for function in parse(mangle(rng, text, others)).values():
                    translate(function)
        except (MmcoreError, EmulatorError) as error:
            sentences.append(str(error))
    assert sentences
    assert not [sentence for sentence in sentences if "\n" in sentence]


@pytest.mark.parametrize("digits", ["18446744073709551616", "9" * 5000], ids=["2^64", "5000 digits"])
@pytest.mark.parametrize(
    ("module", "body"),
    [
        (".shared .align 4 .b8 tile[{}];", ""),
        (".shared .align {} .b8 tile[64];", ""),
        ('.file {} "other.cu"', ""),
        ("", ".reg .b32 %q<{}>;"),
        ("", ".loc 1 {} 3\nmov.b32 %r2, 1;"),
        ("", "mov.b32 %r2, {};"),
        ("", "st.global.u32 [%d1+{}], 1;"),
    ],
)
def test_a_number_of_more_than_64_bits_is_refused(module: str, body: str, digits: str) -> None:
    error = translated(ptx_kernel(body.format(digits), module=module.format(digits)))
    assert error.startswith("PtxError: ")
    assert "does not fit into 64 bits" in error


DEPOTS = "".join(f".local .align 8 .b8 depot{number}[400000]; mov.u64 %d3, depot{number};" for number in (1, 2))


@pytest.mark.parametrize(
    ("module", "body", "sentence"),
    [
        (".shared .b8 tile[524289];", "mov.u32 %r2, tile;", "tile takes 524289 bytes; 524288 is the most"),
        (
            "",
            ".local .align 8 .b8 __local_depot0[524296]; mov.u64 %d3, __local_depot0;",
            "the local arrays of a thread take 524296 bytes; 524288 is the most",
        ),
        ("", DEPOTS, "has 800000 bytes of local memory; 524288 is the most"),
        (".shared .align 0 .b8 tile[64];", "", "tile has an alignment of 0, which is no power of two"),
        (".visible .entry g(.param .u64 p, .param .u32 p) { ret; }", "", "PTX parameter p is declared twice"),
        (".visible .entry g() { ret; nonsense }", "", "PTX statement 'nonsense' is not understood"),
    ],
)
def test_a_damaged_module_is_refused_in_words(module: str, body: str, sentence: str) -> None:
    error = translated(ptx_kernel(body, module=module))
    assert error.startswith("PtxError: ")
    assert sentence in error


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ((".entry kernel01", ".entry other"), "the PTX has no function kernel01"),
        (
            (".param .u32 kernel01_param_5", ".param .u64 kernel01_param_5"),
            r"takes parameters of \[.*8\] bytes, not of",
        ),
    ],
)
def test_ptx_of_another_function_is_refused(texts: dict[str, str], changed: tuple[str, str], reason: str) -> None:
    text = texts["upc.kernel01"].replace(*changed)
    assert text != texts["upc.kernel01"]
    compiled = replace(compile_plan(planned("upc.kernel01"), "90"), ptx=text)
    with (
        pytest.raises(MmcoreError, match=reason),
        LoadedKernel(planned("upc.kernel01"), Emulator(), compiled) as damaged,
    ):
        damaged.run()
