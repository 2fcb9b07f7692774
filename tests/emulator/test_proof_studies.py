"""The studies of proofs: the errors of random products, and kernels with an instruction changed."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest

from bench.studies.proof.bounds import Subject, observed, relative_error
from bench.studies.proof.equivalence import NOT_EXECUTED, SAME_CODE, SAME_RESULT, argument
from bench.studies.proof.inputs import KINDS, drawn, exponents
from bench.studies.proof.mutants import drawn as drawn_mutants
from bench.studies.proof.mutants import loaded_plan, outcome, prover
from bench.studies.study import RESULTS, ROOT
from mmcore.kernel.problem import Problem, accumulator_named, dtype_named
from mmcore.verify.elements import narrow, widen


@pytest.mark.parametrize("kernel", ["upc.kernel01", "lezione9.kernel1", "ladder.bf16.03_mma_sync"])
def test_errors_of_random_products_are_within_the_bound_of_the_proof(kernel: str) -> None:
    row = observed(Subject(kernel, None, "emulator", 20, seed=7))
    assert row["outcome"] == "proved"
    assert row["within"]
    assert 0 < row["observed"] < row["bound"]


@pytest.mark.parametrize(
    ("dtype", "output", "accumulator"),
    [
        ("float64", "float64", "float64"),
        ("float32", "float32", "float32"),
        ("tf32", "float32", "float32"),
        ("float16", "float16", "float16"),
        ("bfloat16", "bfloat16", "float32"),
        ("float8_e4m3fn", "bfloat16", "float22"),
        ("float8_e5m2", "float16", "float32"),
        ("int8", "int32", "int32"),
        ("uint8", "int32", "int32"),
        ("int32", "int32", "int32"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_neither_overflow_nor_underflow(kind: str, dtype: str, output: str, accumulator: str) -> None:
    problem = Problem(20, 30, 41, dtype, output)
    for seed in range(10):
        matrices = drawn(kind, problem, accumulator, "", seed)
        a, b = np.abs(widen(matrices.a, dtype)), np.abs(widen(matrices.b, dtype))
        terms = a[:, :, np.newaxis] * b
        for each in (accumulator_named(accumulator), dtype_named(output)):
            assert terms[terms > 0].min() >= 2.0 ** each.exponents[0]
            assert terms.sum(axis=1).max() / 2 < 2.0 ** each.exponents[1]


def test_a_type_on_the_way_and_flushing_narrow_the_exponents_of_inputs() -> None:
    problem = Problem(8, 8, 64)
    usual = exponents(problem, "float32", "")
    assert usual == (-62, 60)
    assert exponents(problem, "float32", "cvt.rn.bf16.f32 %rs1, %f1;") == usual
    assert exponents(problem, "float32", "cvt.rn.f16.f32 %rs1, %f1;") == (0, 0)
    assert exponents(problem, "float32", "fma.rn.ftz.f32 %f1, %f1, %f1, %f1;") == (-50, 60)


def test_the_relative_error_is_the_largest_of_the_elements_and_infinite_for_what_is_not_finite() -> None:
    problem = Problem(4, 4, 3, beta=1.0)
    matrices = drawn("cancelling", problem, "float32", "", 1)
    a, b, before = (widen(each, "float32") for each in (matrices.a, matrices.b, matrices.c))
    c, magnitude = a @ b + before, np.abs(a) @ np.abs(b) + np.abs(before)
    assert relative_error(problem, matrices, narrow(c, "float32")) < 2.0**-23
    c[2, 1] += 0.5 * magnitude[2, 1]
    assert relative_error(problem, matrices, narrow(c, "float32")) == pytest.approx(0.5, abs=1e-6)
    c[3, 3] = np.nan
    assert relative_error(problem, matrices, narrow(c, "float32")) == np.inf


@pytest.mark.slow
def test_no_proved_mutant_is_refuted_by_verification() -> None:
    rows = [outcome(mutant) for mutant in drawn_mutants(16, 5, ["hpsee.tiled", "upc.kernel11"])]
    assert {row["outcome"] for row in rows} >= {"wrong", "not proved"}
    assert [row for row in rows if row["outcome"] == "proved" and not row["equal"]] == []


@pytest.mark.parametrize(
    ("factor", "arguments"), [(1, {SAME_CODE, SAME_RESULT}), (3, {""})], ids=["the same", "another"]
)
def test_an_instruction_may_be_replaced_by_one_with_the_same_result(factor: int, arguments: set[str]) -> None:
    planned, compiled = loaded_plan("hpsee.tiled")
    shift = re.search(r"shl\.b32 \t(%r\d+, %r\d+), (\d+);", compiled.ptx)
    assert shift
    line = compiled.ptx[: shift.start()].count("\n") + 1
    new = f"mul.lo.s32 \t{shift[1]}, {factor << int(shift[2])};"
    assert argument(compiled.ptx, line, shift[0], new, prover(planned, compiled)) in arguments


def test_an_instruction_that_no_thread_executes_may_be_any() -> None:
    planned, compiled = loaded_plan("hpsee.tiled")
    exit_ = compiled.ptx.rindex("ret;")
    ptx = f"{compiled.ptx[:exit_]}ret;\nbar.sync 0;\n{compiled.ptx[exit_:]}"
    line = ptx[: ptx.rindex("bar.sync 0;")].count("\n") + 1
    assert argument(ptx, line, "bar.sync 0;", "bar.sync 1;", prover(planned, compiled)) in (NOT_EXECUTED, SAME_CODE)
    first = ptx[: ptx.index("bar.sync")].count("\n") + 1
    assert argument(ptx, first, "bar.sync \t0;", "bar.sync \t1;", prover(planned, compiled)) == ""


def test_each_proved_mutant_has_an_argument_or_a_hazard() -> None:
    results = json.loads((RESULTS / "proof.json").read_text(encoding="utf-8"))["mutants"]
    listed = (ROOT / "bench" / "studies" / "proof" / "equivalent.toml").read_text(encoding="utf-8")
    by_hand = {(each["kernel"], each["line"], each["new"]) for each in tomllib.loads(listed)["mutant"]}
    proved = [row for row in results if row["outcome"] == "proved"]
    without = {(row["kernel"], row["line"], " ".join(row["new"].split())) for row in proved if not row["argument"]}
    hazardous = {(row["kernel"], row["line"], " ".join(row["new"].split())) for row in proved if row["hazards"]}
    assert without - hazardous == by_hand
    assert all(row["equal"] for row in proved)
    assert len(results) == 200
