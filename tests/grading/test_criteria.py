"""The criteria of a rubric, judged by made-up answers on a submission."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmcore.devices.violations import Violation
from mmcore.kernel.sizes import Sizes
from mmcore_grading.answers import Answer, commands
from mmcore_grading.criteria import Outcome, outcomes
from mmcore_grading.explanation import explanation
from mmcore_grading.further_launches import further_launches
from mmcore_grading.grading import Grade, grade_of
from mmcore_grading.pages import class_page, student_page
from mmcore_grading.repetition import launch, proved_size, repeating_commands
from mmcore_grading.runs import Run
from mmcore_grading.submissions import Submission
from mmcore_grading.tables import csv_table, gradescope_results
from mmcore_grading.task import Criterion, Task
from mmcore_sources.cuda_file.inference.notes import Note, notes_table
from tests.grading.made_up_class import NAIVE


def test_a_result_that_ended_before_a_verdict_has_its_reason() -> None:
    assert Answer(2, {"kernel": "mm"}, "Error: it used more than 256 MB of memory").faults == [
        "it used more than 256 MB of memory"
    ]


def test_a_kernel_that_the_emulator_does_not_know_is_not_graded() -> None:
    criteria = Criterion("compiles", 1), Criterion("shown-sizes", 2)
    task, submission = Task("a product", (Sizes(8, 8, 8),), criteria), Submission("ada", (("a.cu", b""),))
    asked = commands(task, submission)
    unknown = Answer(2, None, "note\nError: the emulator does not know the instruction call.uni of malloc (a.cu:3)")
    for answer, points in ((unknown, None), (replace(unknown, message="Error: the grid is empty"), 1)):
        answers = {each: Answer(0, {"registers": 8}) if each == "compile" else answer for each in asked}
        grade = grade_of(task, submission, Run(answers), {})
        assert grade.to_json()["points"] == points
        assert grade.ungraded == (
            "" if points else "the emulator does not know the instruction call.uni of malloc (a.cu:3)"
        )


@pytest.mark.parametrize("shown", [True, False])
def test_a_task_may_hide_what_mends_a_submission(shown: bool) -> None:
    race = Violation("shared-race", "thread (0, 0) writes", source="a.cu", line=3, hint="__syncthreads() after line 3")
    document = {"verified": False, "verification": None, "violations": [race.to_json()], "warnings": ["no check"]}
    wrong, mended = Answer(1, document), Answer(1, {**document, "hints": ["hint: the product is right with k"]})
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 2),), hints=shown)
    submission = Submission("ada", (("a.cu", b""),))
    answers = {"compile": Answer(0, {}), "run": wrong, "run 8x8x8": wrong}
    assert bool(explanation(task, submission, answers)) == shown
    page = student_page(task, grade_of(task, submission, Run({**answers, "explain": mended}), {}), submission)
    assert ("with k" in page, "__syncthreads" in page) == (shown, shown)
    assert ("thread (0, 0) writes" in page, "no check" in page) == (True, True)


def test_code_that_nvcc_refuses_beside_a_kernel_costs_the_points_of_compiling() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 2),))
    refused = "uncompiled-kernel at a.cu:31: identifier is undefined: other is left out, and nvcc refuses it"
    for warnings, message in ((["branch-by-value", refused], refused), (["branch-by-value"], "")):
        answers = {"compile": Answer(0, {}), "run": Answer(0, {"verified": True, "warnings": warnings})}
        (found,) = outcomes(task, answers, {})
        assert (found.points, found.message) == (0 if message else 2, message)


def test_a_verdict_at_a_hidden_size_is_repeated_without_a_size() -> None:
    criteria = (Criterion("shown-sizes", 1), Criterion("hidden-sizes", 1))
    task = Task("a product", (Sizes(8, 8, 8),), criteria, hidden=(Sizes(7, 7, 7),))
    submission, right = Submission("ada", (("a.cu", b""),)), Answer(0, {"verified": True})
    wrong = Answer(1, {"verified": False, "violations": []})
    answers = {"compile": right, "run": wrong, "run 8x8x8": right, "run 7x7x7": wrong}
    *_, line = repeating_commands(task, submission, answers, {})
    assert line == "mmcore run a.cu --device emulator --seed 1"
    assert len(repeating_commands(task, submission, answers | {"run": right, "run 7x7x7": right}, {})) == 1


def test_a_verdict_on_another_product_is_repeated_without_a_size() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),))
    unzeroed = Violation("not-zeroed", "nothing zeroes C", source="a.cu", line=3).to_json()
    answers = {
        "run 8x8x8": Answer(0, {"verified": True, "violations": []}),
        "run": Answer(1, {"verified": False, "violations": [unzeroed]}),
    }
    *_, line = repeating_commands(task, Submission("ada", (("a.cu", b""),)), answers, {})
    assert line == "mmcore run a.cu --device emulator --seed 1"


@pytest.mark.parametrize(("status", "option"), [(0, ""), (1, " --column-major ''")])
def test_a_right_product_by_rows_is_repeated_without_its_storage(status: int, option: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),), options=("--column-major", ""))
    answers = {"run 8x8x8": Answer(status, {"verified": not status, "violations": []})}
    (line,) = repeating_commands(task, Submission("ada", (("a.cu", b""),)), answers, {})
    assert line == f"mmcore run a.cu --size 8x8x8 --no-hazards --device emulator{option} --seed 1"


def test_a_count_names_its_size() -> None:
    criterion = Criterion("counts", 1, "barriers", 2)
    task = Task("a product", (Sizes(8, 9, 10),), (criterion,))
    own, other = (Answer(0, {"launches": [{"barriers": count}]}) for count in (5, 2))
    right = {"compile": Answer(0, {}), "run 8x9x10": Answer(0, {"verified": True, "violations": []})}
    (found,) = outcomes(task, {**right, "profile": own}, {"profile": other})
    assert found.message == "5 barriers at 8×9×10, and the reference has 2; 2 times is allowed"


def test_the_given_file_earns_nothing_where_it_is_submitted_unchanged(tmp_path: Path) -> None:
    (tmp_path / "start.cu").write_text(NAIVE)
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 1),), given=tmp_path / "start.cu")
    same = "compiles: the submission is start.cu, as it was given"
    for text, points, failure in ((f"// Ada\n{NAIVE}", 0, same), (f"{NAIVE}int n;", 1, "")):
        submission = Submission("ada", (("a.cu", text.encode()),))
        grade = grade_of(task, submission, Run({"compile": Answer(0, {})}), {})
        assert (grade.points, grade.first_failure) == (points, failure)


def test_commands_repeat_a_verdict_on_other_types_than_the_references() -> None:
    task, submission = (
        Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),)),
        Submission("ada", (("a.cu", b""),)),
    )
    half, wanted = typed("float16", "float16", "float16"), typed("float16", "float32", "float32")
    reference = {"run 8x8x8": wanted}
    repeated = "mmcore run a.cu --size 8x8x8 --no-hazards --device emulator --seed 1"
    (line,) = repeating_commands(task, submission, {"run 8x8x8": half}, reference)
    assert line == f"{repeated} --output=float32 --accumulator=float32"
    assert [*repeating_commands(task, submission, {"run 8x8x8": wanted}, reference)] == [repeated]


def test_a_file_is_not_graded_and_runs_again_where_a_package_is_missing() -> None:
    missing = Answer(2, None, "Error: Numba is not installed; python -m pip install 'mmcore-cuda[numba]' brings it")
    assert missing.reason.startswith("not graded: Numba is not installed")
    assert [Run({"compile": each}).is_complete for each in (missing, Answer(2, None, "Error: Numba rejects it"))] == [
        False,
        True,
    ]


def test_a_kernel_that_the_task_names_wrongly_costs_no_points() -> None:
    answer = Answer(2, None, "Error: ada.cu has no __global__ function gemm_xx; it has gemm_db, naive")
    reason = "not graded: ada.cu has no __global__ function gemm_xx, which the task names; it has gemm_db, naive"
    assert answer.reason == reason


def test_any_size_names_a_size_that_the_program_does_not_use() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 2),))
    size = {"m": 41, "n": 21, "k": 35, "why": "tiles with remainders", "right": False}
    of_tiles = {"verified": True, "not_tried": "", "sizes": [size], "violations": []}
    (found,) = outcomes(task, {name: Answer(0, of_tiles) for name in ("compile", "run", "run 8x8x8")}, {})
    message = "it is wrong at 41×21×35 (tiles with remainders), which its program does not use"
    assert (found.points, found.message) == (0, message)


@pytest.mark.parametrize(("limit", "points"), [("time limit", 0), ("", 2)])
def test_any_size_is_not_earned_where_sizes_were_not_tried(limit: str, points: float) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 2),))
    right = {"verified": True, "sizes": [], "not_tried": limit}
    (found,) = outcomes(task, {name: Answer(0, right) for name in ("compile", "run", "run 8x8x8")}, {})
    assert (found.points, found.message) == (points, limit and f"not tried at other sizes: {limit}")


@pytest.mark.parametrize(
    ("wrong_at", "points", "message"),
    [
        ("", 2, ""),
        ("9x9x9", 0, "it gave no result at a size that is not shown"),
        ("8x8x8", 0, "at 8×8×8: it used more than 256 MB"),
    ],
)
def test_any_size_of_a_source_of_fixed_sizes_is_judged_at_the_sizes_of_the_task(
    wrong_at: str, points: float, message: str
) -> None:
    criteria = Criterion("any-size", 2), Criterion("hidden-sizes", 1)
    task = Task("a product", (Sizes(8, 8, 8),), criteria, hidden=(Sizes(9, 9, 9),))
    fixed = {"verified": True, "sizes": [], "not_tried": "the source fixes 64×64×64, which --size 64 tries"}
    answers = dict.fromkeys(commands(task, Submission("a", (("a.cu", b""),))), Answer(0, fixed))
    wrong = {f"run {wrong_at}": Answer(2, None, "Error: it used more than 256 MB")} if wrong_at else {}
    found = outcomes(task, {**answers, **wrong}, {})[0]
    assert (found.points, found.message) == (points, message)
    alone = replace(task, rubric=criteria[:1])
    assert outcomes(alone, answers, {})[0].message.startswith("not tried at other sizes: the source fixes")


@pytest.mark.parametrize(
    ("at", "message"),
    [(32, "a hazard at 32×32×32: shared-race at a.cu:3"), (8, "it is wrong at 32×32×32 (whole tiles)")],
)
def test_any_size_calls_a_right_product_with_a_race_no_wrong_one(at: int, message: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 2),))
    race = Violation("shared-race", f"at {at}×{at}×{at}, thread (0, 0) writes", source="a.cu", line=3)
    size = {"m": 32, "n": 32, "k": 32, "why": "whole tiles", "right": False}
    document: dict[str, Any] = {"verified": False, "verification": None, "not_tried": ""}
    document |= {"violations": [race.to_json()], "sizes": [size]}
    right = Answer(0, {"verified": True})
    (found,) = outcomes(task, {"compile": right, "run 8x8x8": right, "run": Answer(1, document)}, {})
    assert (found.points, found.message) == (0, message)


def test_any_size_is_not_earned_by_accesses_out_of_bounds_in_the_first_run() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 2),))
    fault = Violation("out-of-bounds-write", "thread (16, 15) writes past the end of As", source="a.cu", line=3)
    document: dict[str, Any] = {"verified": False, "verification": None, "not_tried": "", "sizes": []}
    wrong = Answer(1, document | {"violations": [fault.to_json()]})
    (found,) = outcomes(task, {"compile": Answer(0, {"verified": True}), "run 8x8x8": wrong, "run": wrong}, {})
    assert (found.points, found.message) == (0, str(fault))


def test_a_sum_in_the_place_of_c_is_explained_once_without_an_option() -> None:
    names = ("shown-sizes", "hidden-sizes", "any-size", "proved")
    task = Task("a product", (Sizes(8, 8, 8),), tuple(Criterion(name, 1) for name in names), hidden=(Sizes(9, 9, 9),))
    advice = "line 3 adds to C: write = instead of +="
    fault = Violation("unusual-reading", advice, source="a.cu", line=3, hint="--beta 1 if this is meant")
    wrong = Answer(1, {"verified": False, "violations": [fault.to_json()], "verification": None, "sizes": []})
    right = Answer(0, {"verified": True})
    answers = {"compile": right, "run 8x8x8": right, "run 9x9x9": right, "run": wrong}
    grade = Grade("a", "a.cu", tuple(outcomes(task, answers, {})))
    assert [(each.points, each.message) for each in grade.outcomes] == [
        (0, f"unusual-reading at a.cu:3: {advice}"),
        *[(0, "not counted: it is right only as another product, such as C + A·B or the first of a batch")] * 3,
    ]
    page = student_page(task, grade, Submission("a", (("a.cu", b"one\ntwo\nthree\n"),)))
    below = page.partition("What is missing")[2]
    assert (below.count(advice), "--beta" in page) == (1, False)
    assert below.index("three</") < below.index(advice)


def test_a_wrong_step_to_the_next_product_of_a_batch_earns_nothing_for_sizes() -> None:
    names = ("compiles", "shown-sizes", "any-size", "no-hazards")
    task = Task("products", (Sizes(8, 8, 8),), tuple(Criterion(name, 1) for name in names))
    fault = Violation("batch-step", "goes 64 elements to the next B", array="C", source="a.cu", line=3)
    wrong = Answer(1, {"verified": False, "violations": [fault.to_json()], "verification": None, "sizes": []})
    right = Answer(0, {"verified": True})
    found = outcomes(task, {"compile": right, "run 8x8x8": right, "run": wrong}, {})
    assert [each.points for each in found] == [1, 0, 0, 0]
    assert found[1].message == str(fault)


@pytest.mark.parametrize("kind", ["uncovered-product", "unwritten-output"])
def test_a_part_of_c_that_is_left_out_is_no_hazard(kind: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 2), Criterion("no-hazards", 1)))
    fault = Violation(kind, "the grid is 2×2", array="C", source="a.cu", line=3)
    document: dict[str, Any] = {"verified": False, "violations": [fault.to_json()], "verification": None}
    document |= {"sizes": [], "not_tried": "", "hazards": "none"}
    right = Answer(0, {"verified": True})
    found = outcomes(task, {"compile": right, "run 8x8x8": right, "run": Answer(1, document)}, {})
    assert [(each.points, each.message.partition(" ")[0]) for each in found] == [(0, kind), (1, "")]


@pytest.mark.parametrize("any_size", [True, False])
@pytest.mark.parametrize(("kind", "costs_any_size"), [("wrong-size", False), ("rounded-down-grid", True)])
def test_of_main_only_its_grid_costs_points_and_a_warning_names_the_rest(
    kind: str, costs_any_size: bool, any_size: bool
) -> None:
    others = [Criterion("any-size", 1)] if any_size else []
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1), Criterion("no-hazards", 1), *others))
    fault = Violation(kind, "n * n bytes", array="C", source="a.cu", line=3)
    document: dict[str, Any] = {"verified": False, "violations": [fault.to_json()], "verification": None}
    document |= {"sizes": [], "not_tried": "", "hazards": "none"}
    right = Answer(0, {"verified": True, "hazards": "none"})
    submission = Submission("a", (("a.cu", b""),))
    answers = dict.fromkeys(commands(task, submission), right) | {"run": Answer(1, document)}
    grade = grade_of(task, submission, Run(answers), {})
    costs = any_size and costs_any_size
    assert [each.points for each in grade.outcomes] == [1, 1, 0 if costs else 1][: len(grade.outcomes)]
    assert grade.hints == (() if costs else (f"warning: {fault}",))


@pytest.mark.parametrize(
    ("size", "message"),
    [("9x9x9", "at 9×9×9: out-of-bounds-read at a.cu:3: reads"), ("7x7x7", "there is one at a size that is not shown")],
)
def test_a_hazard_at_a_size_of_the_task_costs_no_hazards(size: str, message: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8), Sizes(9, 9, 9)), (Criterion("no-hazards", 1),), hidden=(Sizes(7, 7, 7),))
    fault = Violation("out-of-bounds-read", "reads", array="A", source="a.cu", line=3)
    right = Answer(0, {"verified": True, "hazards": "none"})
    wrong = Answer(1, {"verified": False, "violations": [fault.to_json()], "verification": None})
    asked = commands(task, Submission("a", (("a.cu", b""),)))
    answers = {**dict.fromkeys([*asked, "run 7x7x7"], right), f"run {size}": wrong}
    (found,) = outcomes(task, answers, {})
    assert (found.points, found.message) == (0, message)


@pytest.mark.parametrize("any_size", [True, False])
def test_hazards_at_sizes_that_the_task_excludes_count_with_any_size_alone(any_size: bool) -> None:
    others = [Criterion("any-size", 1)] if any_size else []
    task = Task("a product", (Sizes(16, 16, 16), Sizes(512, 512, 512)), (Criterion("no-hazards", 1), *others))
    submission = Submission("a", (("a.cu", b""),))
    asked = commands(task, submission)
    assert [name for name in asked if name.startswith("check ")] == ([] if any_size else ["check 16x16x16"])
    remainder = Violation("out-of-bounds-read", "at 17×17×17: reads", array="A", source="a.cu", line=3)
    wrong: dict[str, Any] = {"verified": False, "violations": [remainder.to_json()], "hazards": "found", "sizes": []}
    answers = dict.fromkeys(asked, Answer(0, {"verified": True})) | {"run": Answer(1, wrong | {"not_tried": ""})}
    found = outcomes(task, answers, {})[0]
    assert (found.points, bool(explanation(task, submission, answers))) == ((0, True) if any_size else (1, False))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(2, None, "Error: it used more than 256 MB"), "at 8×8×8: it used more than 256 MB"),
        (Answer(2, None, "Error: file.a: 8×8×8 is not what the source fixes, m×n×k = 24×24×24; --size"), ""),
    ],
)
def test_hazards_that_were_not_looked_for_are_not_excluded(answer: Answer, message: str) -> None:
    task = Task("a product", (Sizes(9, 9, 9), Sizes(8, 8, 8)), (Criterion("no-hazards", 1),))
    answers = dict.fromkeys(commands(task, Submission("a")), Answer(0, {"verified": True})) | {"check 8x8x8": answer}
    (found,) = outcomes(task, answers, {})
    assert (found.points, found.message) == (0 if message else 1, message)


@pytest.mark.parametrize(
    ("error", "needing"),
    [
        ("MemoryError: Unable to allocate 1.00 GiB for an array with shape (9,)", "the emulation needs"),
        ("the host has no memory for the 4096 bytes of scratch", "the 4096 bytes of scratch need"),
    ],
)
def test_a_refused_allocation_is_the_limit_of_the_task(error: str, needing: str) -> None:
    criteria = [Criterion(name, 1) for name in ("no-hazards", "shown-sizes", "hidden-sizes")]
    task = Task("a product", (Sizes(8, 8, 8),), tuple(criteria), hidden=(Sizes(9, 9, 9),))
    submission, reason = Submission("a", (("a.cu", b""),)), f"{needing} more memory than allowed"
    answers = dict.fromkeys(commands(task, submission), Answer(0, {"verified": True, "hazards": "none"}))
    answers |= dict.fromkeys(("check 8x8x8", "run 9x9x9"), Answer(2, None, f"Error: {error}"))
    grade = grade_of(task, submission, Run(answers), {})
    assert [each.message for each in grade.outcomes] == [
        f"at 8×8×8: {reason}; limits.memory_mb of the task sets the limit",
        "",
        "it gave no result at a size that is not shown",
    ]
    assert reason in grade.hidden_failure
    page = student_page(task, grade, submission)
    assert (reason in page, "limits.memory_mb" in page) == (True, False)
    document = {"verified": True, "hazards": f"not looked for: {error}", "sizes": [], "not_tried": ""}
    any_size = replace(task, rubric=(criteria[0], Criterion("any-size", 1)))
    assert outcomes(any_size, answers | {"run": Answer(0, document)}, {})[0].message.startswith(
        f"not looked for: {reason}"
    )


def test_a_size_that_a_source_cannot_be_compiled_for_is_not_run() -> None:
    criteria = Criterion("shown-sizes", 2), Criterion("hidden-sizes", 2), Criterion("no-hazards", 1)
    task = Task("a product", (Sizes(8, 8, 8),), criteria, hidden=(Sizes(9, 9, 9),))
    refusal = "Error: file.a: 8×8×8 is not what the source fixes, m×n×k = 24×24×24; --size 24x24x24 asks for that"
    refused, right = Answer(2, None, refusal), Answer(0, {"verified": True})
    answers = {"compile": right, "run": right, "run 8x8x8": refused, "run 9x9x9": refused}
    grade = Grade("ada", "a.cu", tuple(outcomes(task, answers, {})))
    assert [each.message for each in grade.outcomes] == [
        "not run at 8×8×8: the source fixes 24×24×24",
        "not run at a size that is not shown: the source fixes 24×24×24",
        "not counted: it was run at no shown size",
    ]
    assert "<dt>not run at each size</dt><dd>ada</dd>" in class_page(task, [grade], None)


def test_a_pages_summary_has_the_lines_of_a_message_apart() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("coalesced", 1),))
    lines = [f"line {line}: {'a load ' * 12}by the row" for line in (16, 17, 18)]
    page = class_page(task, [Grade("ada", "a.cu", (Outcome("coalesced", 0, 1, "\n".join(lines)),))], None)
    assert "the row; line 17: " in page.partition("<summary>")[2].partition("</summary>")[0]
    assert "the row<br>line 17: " in page.partition("</summary>")[2]


def test_only_missing_points_are_called_missing() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 1),))
    submission = Submission("ada", (("a.cu", b"one"),))
    for points, heading in ((0, "What is missing"), (1, "Warnings")):
        grade = Grade("ada", "a.cu", (Outcome("compiles", points, 1),), hints=("warning: other-type at a.cu:1",))
        assert f"<h2>{heading}</h2>" in student_page(task, grade, submission)


@pytest.mark.parametrize(
    "sentence",
    ["line 3 launches 4096 threads; give another with --block", "it is not known; --config TPB=16 gives a value"],
)
def test_an_option_that_a_message_asks_for_is_the_tasks(sentence: str) -> None:
    assert Answer(2, None, f"Error: {sentence}").reason == f"{sentence}; options = [...] of the task takes it"


def test_a_submission_that_is_not_graded_has_no_points_anywhere() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 2),))
    grade = Grade("ada", "a.cu", (Outcome("compiles", 0, 2, "not graded: two kernels"),))
    assert csv_table(task, [grade]).splitlines()[1] == "ada,a.cu,,2,,not graded: two kernels,"
    page = student_page(task, grade, Submission("ada", (("a.cu", b"one"),)))
    assert "points" not in page.partition("<body>")[2]
    assert '<p class="verdict warn">not graded</p>' in page
    assert "<dt>reason</dt><dd>two kernels</dd>" in page
    row = class_page(task, [grade], None).partition("<tbody>")[2]
    assert (row.count("<td>–</td>"), '"bad"' in row) == (2, False)
    results = {"score": 0, "output": "not graded: two kernels", "stdout_visibility": "hidden"}
    assert gradescope_results(grade) == results
    assert grade.to_json()["points"] is None


def test_a_value_that_a_run_of_a_python_file_computes_is_not_graded() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 1), Criterion("shown-sizes", 2)))
    unknown = Answer(2, None, "Error: TPB of line 4 is computed when the program runs", "UnknownValue")
    grade = grade_of(task, Submission("ada", (("a.py", b""),)), Run({"compile": unknown}), {})
    assert grade.ungraded == "TPB of line 4 is computed when the program runs"


def test_a_student_reads_nothing_about_a_declaration_where_a_header_is_not_found() -> None:
    found = "a.cu includes a header that is not found: tile.cuh (a.cu:3)"
    folders = "; --option=-I/tmp/common, or include= in its declaration names the folders that have it"
    assert Answer(2, None, f"Error: {found}{folders}").reason == f"{found}; submit headers with the file"


_FLOAT, _HALF = ("float32", "float32", "float32"), ("float16", "float16", "float32")
_HALF_IN = ("float16", "float32", "float32")


def typed(dtype: str, output: str, accumulator: str) -> Answer:
    """Return the answer on a right kernel of some types."""
    return Answer(0, {"verified": True, "dtype": dtype, "output": output, "accumulator": accumulator})


@pytest.mark.parametrize(
    ("own", "of_task", "reason"),
    [
        (_FLOAT, _FLOAT, ""),
        (_HALF, _FLOAT, "its elements are float16, where the task has float32"),
        (_HALF, _HALF_IN, "the elements of C are float16, where the task has float32"),
        (_FLOAT, _HALF_IN, "the elements of A and B are float32, where the task has float16"),
        (("float16", "float32", "float16"), _HALF_IN, "it sums in float16, where the task has float32"),
        (_HALF_IN, ("float16", "float32", "float16"), ""),
        (("tf32", "float32", "float32"), _FLOAT, "its tensor cores multiply tf32, where the task has float32"),
        (_FLOAT, ("tf32", "float32", "float32"), ""),
    ],
)
def test_a_product_of_other_types_than_the_references_is_not_right(own: Any, of_task: Any, reason: str) -> None:
    names = ("compiles", "shown-sizes", "proved")
    task = Task("a product", (Sizes(8, 8, 8),), tuple(Criterion(name, 1) for name in names))
    answers, reference = (
        {"compile": Answer(0, {}), "run 8x8x8": typed(*types), "run": typed(*types)} for types in (own, of_task)
    )
    found = outcomes(task, answers, reference)[1:]
    assert found[0].message == reason
    assert (found[1].message == "not counted: its types are not those of the task") == bool(reason)


def test_products_that_are_rounded_before_a_float_sum_are_no_narrow_sums() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),))
    note = Note("products in", "float16", "__hmul in line 9 rounds them", "--accumulator")
    narrow = replace(typed("float16", "float32", "float16"), message=notes_table("a.cu", [note]))
    answers = {"compile": Answer(0, {}), "run 8x8x8": narrow, "run": narrow}
    (found,) = outcomes(task, answers, {"run": typed(*_HALF_IN)})
    assert (found.points, found.message) == (0, "it rounds products to float16: __hmul in line 9")


@pytest.mark.parametrize(("guessed", "points"), [(True, 1), (False, 0)])
def test_arrays_whose_types_are_a_guess_are_not_of_another_type(guessed: bool, points: float) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),))
    why = "the file does not show their type, which no launch in it passes"
    notes = [Note("arguments", "A, B, C", "by their names", "--args")]
    notes.append(Note("arrays", "float32, float32, float32", why, "--dtype, --output", guessed))
    own = replace(typed(*_FLOAT), message=notes_table("a.py", notes))
    double = typed("float64", "float64", "float64")
    answers, reference = ({"compile": Answer(0, {}), "run 8x8x8": each, "run": each} for each in (own, double))
    (found,) = outcomes(task, answers, reference)
    assert found.points == points


def test_coalescing_is_judged_by_the_accesses_and_not_by_their_cost_at_a_shown_size() -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("coalesced", 1),))
    assert "--size" not in commands(task, Submission("a", (("a.cu", b""),)))["why"]
    far = {
        "kind": "uncoalesced",
        "line": 3,
        "sentence": "a warp's load touches 16 sectors",
        "advice": "exchange x and y",
    }
    right, reasons = Answer(0, {"verified": True}), [{"kind": "small product"}]
    for accesses, message in (([far], "line 3: a warp's load touches 16 sectors; exchange x and y"), ([], "")):
        why = Answer(0, {"reasons": reasons, "findings": accesses})
        (found,) = outcomes(task, {"compile": right, "run 8x8x8": right, "run": right, "why": why}, {})
        assert (found.points, found.message) == (0 if message else 1, message)


_HOST = """__global__ void mm(const float* A, const float* B, float* C, int n) { C[0] = A[0] * B[0]; }
__global__ void move(const float* from, float* to) { to[0] = from[0]; }
__global__ void fill(float* to) { to[0] = 1; }
void host(float* a, float* b, float* c, float* t) {
    LAUNCHES
}
"""


@pytest.mark.parametrize(
    ("launches", "named", "clause"),
    [
        ("move<<<1, 1>>>(a, t);\nmm<<<1, 1>>>(t, b, c, n);", False, "move, which line 5 launches, stores t for mm"),
        ("mm<<<1, 1>>>(a, b, t, n);\nmove<<<1, 1>>>(t, c);", False, "move, which line 6 launches, reads t of mm"),
        ("move<<<1, 1>>>(a, t);\nmm<<<1, 1>>>(t, b, c, n);", True, ""),
        ("fill<<<1, 1>>>(a);\nmm<<<1, 1>>>(a, b, c, n);", False, ""),
        ("move<<<1, 1>>>(a, t);\nmm<<<1, 1>>>(a, b, c, n);", False, ""),
        ("move<<<1, 1>>>(a, c);\nmm<<<1, 1>>>(a, b, c, n);", False, ""),
    ],
)
def test_a_wrong_kernel_that_needs_another_launch_is_not_graded(launches: str, named: bool, clause: str) -> None:
    entry = {"ada": "mm"} if named else {}
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),), entry=entry)
    submission = Submission("ada", (("a.cu", _HOST.replace("LAUNCHES", launches).encode()),))
    for status, expected in ((1, clause), (0, "")):
        document = {"verified": not status, "launched": [{"entry": "mm"}]}
        answers = dict.fromkeys(("compile", "run", "run 8x8x8"), Answer(status, document))
        reason = further_launches(task, submission, answers)
        assert reason.startswith("not graded: ") == bool(expected)
        assert expected in reason


_TILES = NAIVE.replace("mm", "tiles")
_MOVE = "__global__ void move(const float* from, float* to) { to[0] = from[0]; }\n"


@pytest.mark.parametrize(
    ("text", "graded", "warning"),
    [
        (NAIVE + _TILES, "mm", "of 2 products mm was graded; tiles (line 8) was not"),
        (_TILES + NAIVE, "tiles<float>", "of 2 products tiles was graded; mm (line 8) was not"),
        (NAIVE + _TILES + _MOVE, "x", "of 3 products x was graded; mm (line 1), tiles (line 8) were not"),
        (_MOVE + NAIVE, "mm", ""),
    ],
)
def test_a_product_that_was_not_graded_is_named_beside_all_points(text: str, graded: str, warning: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1),))
    submission = Submission("ada", (("a.cu", text.encode()),))
    document = {"verified": True, "launched": [{"entry": graded}]}
    document |= {"cell": {"kernel": {"entry": "mm", "inferred": {"block": "16×16"}}}}
    answers = dict.fromkeys(("compile", "run", "run 8x8x8"), Answer(0, document))
    grade = grade_of(task, submission, Run(answers), {})
    assert (grade.points, grade.launch, len(grade.hints)) == (1, "function mm; block 16×16", bool(warning))
    for page in (student_page(task, grade, submission), class_page(task, [grade], None)):
        assert f"warning: {warning}" in page or not warning


def test_what_a_limit_of_time_leaves_unanswered_hides_no_hazard_that_was_found() -> None:
    criteria = [Criterion(each, 1) for each in ("no-hazards", "hidden-sizes", "proved")]
    task = Task("a product", (Sizes(8, 8, 8), Sizes(9, 9, 9)), tuple(criteria), hidden=(Sizes(7, 7, 7),))
    right = Answer(0, {"verified": True, "violations": []})
    faults = [Violation("shared-race", "both write", source="a.cu", line=3), Violation("timeout", "it was running")]
    racing, late = (Answer(1, {"violations": [each.to_json()]}) for each in faults)
    answers = {"compile": right, "run 8x8x8": right, "check 8x8x8": racing, "check 9x9x9": late}
    grade = grade_of(task, Submission("ada", (("a.cu", b""),)), Run(answers, "it took more than 9 seconds"), {})
    found, *others = (each.message for each in grade.outcomes)
    assert found == "at 8×8×8: shared-race at a.cu:3: both write"
    assert others == ["it took more than 9 seconds", "not reached: the submission was ended before this"]


def test_a_file_may_have_the_name_of_an_option() -> None:
    submission = Submission("-final", (("-final.cu", b""),))
    asked = commands(Task("a product", (Sizes(8, 8, 8),), (Criterion("any-size", 1),)), submission)
    assert {words[1] for words in asked.values()} == {"./-final.cu"}


def test_a_students_page_has_the_launch_and_the_commands_of_its_verdict_without_hidden_sizes() -> None:
    criteria = [Criterion(name, 1) for name in ("shown-sizes", "hidden-sizes", "any-size", "proved")]
    sizes = Sizes(8, 8, 8), Sizes(9, 9, 9)
    task = Task("a product", sizes, tuple(criteria), options=("--define", "T=1 2"), hidden=(Sizes(7, 7, 7),))
    submission = Submission("ada", (("a.cu", b""),))
    inferred = {"function": "mm", "arguments": "A, B, C, n", "block": "16×16", "grid": "ceil(n / 16), ceil(m / 16)"}
    right = Answer(0, {"verified": True, "cell": {"kernel": {"inferred": inferred}}})
    proof = Answer(0, {"problem": {"m": 64, "n": 64, "k": 64}})
    answers = dict.fromkeys(commands(task, submission), right) | {"prove": proof, "run 9x9x9": Answer(1, None)}
    lines = repeating_commands(task, submission, answers, {})
    assert lines == [
        "mmcore run a.cu --size 9x9x9 --no-hazards --device emulator --define 'T=1 2' --seed 1",
        "mmcore run a.cu --device emulator --define 'T=1 2' --seed 1",
        "mmcore prove a.cu --device emulator --define 'T=1 2' --seed 1",
    ]
    found = tuple(Outcome(each.name, 1, 1) for each in criteria)
    facts = launch(answers), proved_size(answers), tuple(lines)
    page = student_page(task, Grade("ada", "a.cu", found, "", True, (), *facts), submission)
    shown = "function mm; arguments A, B, C, n; block 16×16; grid ceil(n / 16), ceil(m / 16)"
    assert f"<dt>launch</dt><dd>{shown}</dd>" in page
    assert "1 of 1: the product is proved for all values at 64×64×64" in page
    assert "mmcore prove a.cu --device emulator --define &#x27;T=1 2&#x27; --seed 1" in page
    assert "7x7" not in page
    assert "7×7" not in page


@pytest.mark.parametrize("name", ["no-hazards", "any-size", "hidden-sizes"])
def test_a_rubric_by_which_a_race_costs_no_points_is_said_on_the_class_page(name: str) -> None:
    task = Task("a product", (Sizes(8, 8, 8),), (Criterion("shown-sizes", 1), Criterion(name, 1)))
    note = (
        "<dt>hazards</dt><dd>not looked for: without no-hazards or any-size in the rubric, a race costs no points</dd>"
    )
    assert (note in class_page(task, [], None)) == (name == "hidden-sizes")
