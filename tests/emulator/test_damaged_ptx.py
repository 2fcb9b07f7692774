"""Damaged PTX is refused in a sentence, or does something else and is judged for what it does."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

import numpy as np
import pytest

import mmcore
from mmcore.compile.compiler import compile_plan
from mmcore.devices import loaded_kernel as loaded
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.errors import MmcoreError
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import Plan, plan
from mmcore.verify.mixture import draw_mixed
from mmcore.verify.verify_launches import rows_of_product, verify_launches
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.errors import EmulatorError, PtxError
from mmcore_emulator.executor.translation.translate import translate
from mmcore_emulator.ptx.reader import parse
from tests.emulation import function_of, ptx_kernel
from tests.fuzzing.mangling import MANGLES, Mangle, instructions_changed, lines_moved, numbers_changed, words_changed
from tests.fuzzing.truth import truth_of, widened
from tests.lectures import lecture_kernels

NAMES = sorted(lecture_kernels())
LEAST = 16


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Return the PTX of every kernel."""
    return {name: compile_plan(planned(name), "90").ptx for name in NAMES}


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
    rng, others = random.Random(1), list(texts.values())
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


@pytest.mark.parametrize("mangle", [instructions_changed, lines_moved, words_changed, numbers_changed])
def test_damaged_ptx_gets_the_verdict_of_its_product(
    mangle: Mangle, texts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, others = random.Random(2), list(texts.values())
    outcomes = {tried(name, mangle(rng, texts[name], others), monkeypatch) for name in NAMES * 2}
    assert {"right", "wrong"} <= outcomes


def tried(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the outcome of a kernel with this text as its PTX."""
    monkeypatch.setattr(loaded, "compile_plan", lambda *arguments: replace(compile_plan(*arguments), ptx=text))
    made = planned(name)
    problem = made.problem
    try:
        with ending_within(0.5), LoadedKernel(made, Emulator()) as damaged:
            matrices = draw_mixed(problem, made.kernel.accumulator, 1)
            verified = verify_launches(damaged, problem, matrices)
            flat = np.empty(problem.span("C"), dtype_named(problem.output).storage)
            damaged.buffers["C"].download(flat)
            product = widened(problem, rows_of_product(made, flat))
    except NeverEndsError:
        return "never ends"
    except (MmcoreError, EmulatorError):
        return "refused"
    truth = truth_of(problem, made.kernel.accumulator, matrices)
    assert verified.verification is not None
    assert not (verified.verification.verified and truth.wrong(product))
    assert not (truth.right(product) and not verified.verification.verified)
    return "right" if verified.right else "wrong"


@pytest.mark.parametrize("digits", ["18446744073709551616", "9" * 5000])
@pytest.mark.parametrize(
    "module", [".shared .align 4 .b8 tile[{}];", ".shared .align {} .b8 tile[64];", '.file {} "other.cu"']
)
def test_a_number_of_more_than_64_bits_is_refused(module: str, digits: str) -> None:
    with pytest.raises(PtxError, match="does not fit into 64 bits"):
        function_of(ptx_kernel("", module=module.format(digits)))


@pytest.mark.parametrize(
    "statement", [".reg .b32 %q<{}>;", ".loc 1 {} 3\nmov.b32 %r2, 1;", "mov.b32 %r2, {};", "st.global.u32 [%d1+{}], 1;"]
)
def test_a_number_of_more_than_64_bits_is_refused_in_a_body(statement: str) -> None:
    with pytest.raises(PtxError, match="does not fit into 64 bits"):
        function_of(ptx_kernel(statement.format("9" * 5000)))


def test_a_variable_that_no_gpu_has_memory_for_is_refused() -> None:
    text = ptx_kernel("mov.u32 %r2, tile;", module=".shared .align 4 .b8 tile[1099511627776];")
    with pytest.raises(PtxError, match="tile takes 1099511627776 bytes; 524288 is the most"):
        translate(function_of(text))


def test_local_memory_that_no_gpu_has_is_refused() -> None:
    variables = "".join(f".local .align 8 .b8 depot{number}[400000]; mov.u64 %d3, depot{number};" for number in (1, 2))
    with pytest.raises(PtxError, match="has 800000 bytes of local memory; 524288 is the most"):
        translate(function_of(ptx_kernel(variables)))


def test_an_alignment_of_0_is_refused() -> None:
    with pytest.raises(PtxError, match="tile has an alignment of 0, which is no power of two"):
        function_of(ptx_kernel("", module=".shared .align 0 .b8 tile[64];"))


def test_a_repeated_parameter_is_refused() -> None:
    with pytest.raises(PtxError, match="parameter p is declared twice"):
        parse(".visible .entry f(.param .u64 p, .param .u32 p) { ret; }")


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
