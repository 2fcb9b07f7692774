"""``mmcore exercise``: every file to start from loses points, and every solution gets all of them."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from mmcore_exercises.exercise import EXERCISES, Exercise, source_line
from mmcore_grading.runs import Run
from tests.command_line import mmcore

NAMES = [each.name for each in EXERCISES]
FAST = ("guard", "barrier")


_NAIVE = """\
__global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + column];
    C[row * n + column] = sum;
}
"""
_IN_TURN = """    float sum = 0;
    int stage = 0;
    for (int start = 0; start < k; start += TILE) {
        fetch(stage, start);
        __pipeline_wait_prior(0);
        __syncthreads();
"""


def checked(exercise: Exercise, file: Path) -> None:
    """Check the exercise's two files, each written at a path, and compare exit status, points and successor."""
    for source, status in (("start.cu", 1), ("solution.cu", 0)):
        file.write_bytes((exercise.folder / source).read_bytes())
        answer = mmcore("exercise", "check", exercise.name, str(file), "--json")
        assert answer.exit_code == status, answer.output
        document = json.loads(answer.stdout)
        assert document["right"] == (status == 0) == (document["points"] == document["most"] == 10)
        successor = next(iter(NAMES[NAMES.index(exercise.name) + 1 :]), None)
        assert document["next"] == (None if status else successor)
        assert (document["first_failure"] is None) == (status == 0)


@pytest.mark.parametrize("name", FAST)
def test_a_start_loses_points_and_a_solution_gets_all(name: str, tmp_path: Path) -> None:
    checked(EXERCISES[NAMES.index(name)], tmp_path / "mine.cu")


@pytest.mark.slow
@pytest.mark.parametrize("exercise", [each for each in EXERCISES if each.name not in FAST], ids=lambda each: each.name)
def test_every_start_loses_points_and_every_solution_gets_all(exercise: Exercise, tmp_path: Path) -> None:
    checked(exercise, tmp_path / "mine.cu")


@pytest.mark.parametrize("replaced", ["overlap", "copies"])
def test_a_pipeline_without_overlap_loses_points(replaced: str, tmp_path: Path) -> None:
    text = (EXERCISES[NAMES.index("pipeline")].folder / "solution.cu").read_text()
    start, loop = text.index("    fetch(0, 0);"), text.index("        for (int i = 0;")
    if replaced == "overlap":  # two stages, and each is awaited when it was begun
        text = text[:start] + _IN_TURN + text[loop:]
    else:
        text = text.replace("a[stage][y][i] * b[stage][i][x]", "A[row * k + start + i] * B[(start + i) * n + column]")
        text = re.sub(
            r"    __shared__.*|            fetch\(1.*|        if \(start \+.*|    fetch\(0.*|        __.*", "", text
        )
        text = re.sub(r"    auto fetch[\s\S]*?};\n", "", text)
    (tmp_path / "pipeline.cu").write_text(text)
    document = json.loads(mmcore("exercise", "check", "pipeline", str(tmp_path / "pipeline.cu"), "--json").stdout)
    lost = [each["criterion"] for each in document["criteria"] if each["points"] < each["most"]]
    assert lost == ["overlapped"], document["first_failure"]


@pytest.mark.parametrize("name", ["barrier", "remainder"])
def test_a_kernel_without_tiles_loses_the_points_of_its_loads(name: str, tmp_path: Path) -> None:
    (tmp_path / "naive.cu").write_text(_NAIVE)
    document = json.loads(mmcore("exercise", "check", name, str(tmp_path / "naive.cu"), "--json").stdout)
    lost = [each["criterion"] for each in document["criteria"] if each["points"] < each["most"]]
    assert lost == ["counts"], document["first_failure"]


def test_a_pipeline_may_wait_for_its_first_tile_before_the_loop(tmp_path: Path) -> None:
    text = (EXERCISES[NAMES.index("pipeline")].folder / "solution.cu").read_text()
    wait = "__pipeline_wait_prior(0);\n"
    early = text.replace("    float sum = 0;\n", f"    {wait}    __syncthreads();\n    float sum = 0;\n")
    (tmp_path / "early.cu").write_text(early)
    assert mmcore("exercise", "check", "pipeline", str(tmp_path / "early.cu")).exit_code == 0


def test_the_exercises_are_listed_in_their_order() -> None:
    listed = mmcore("exercise", "list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == NAMES
    assert len(NAMES) == 12
    assert [each["name"] for each in json.loads(mmcore("exercise", "list", "--json").stdout)] == NAMES


def test_a_start_has_one_gap_and_is_not_the_solution() -> None:
    for each in EXERCISES:
        solution = (each.folder / "solution.cu").read_bytes()
        assert each.start.count(b"// your code") == 1, each.name
        assert b"// your code" not in solution, each.name


def test_start_writes_one_file_and_changes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begun = mmcore("exercise", "start", "guard")
    assert begun.exit_code == 0
    assert "Add a guard." in begun.stdout
    assert begun.stdout.endswith("  mmcore exercise check guard\n")
    assert [path.name for path in tmp_path.iterdir()] == ["guard.cu"]
    Path("guard.cu").write_text("mine")
    again = mmcore("exercise", "start", "guard")
    assert again.exit_code == 2
    assert again.stderr == "Error: guard.cu exists already, and is not changed\n"
    assert Path("guard.cu").read_text() == "mine"
    mmcore("exercise", "start", "guard", "-o", "week 1")
    assert Path("week 1/guard.cu").read_bytes() == EXERCISES[1].start


def test_a_class_is_graded_by_the_task_of_an_exercise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    begun = mmcore("exercise", "task", "guard", "-o", "week 1")
    assert begun.stdout.endswith("  mmcore grade 'week 1/task.toml' SUBMISSIONS -o REPORT\n")
    again = mmcore("exercise", "task", "guard", "-o", "week 1")
    assert (again.exit_code, again.stderr) == (2, "Error: week 1/task.toml exists already, and is not changed\n")
    Path("class").mkdir()
    for source in ("start", "solution"):
        Path(f"class/{source}.cu").write_bytes(Path(f"week 1/{source}.cu").read_bytes())
    graded = json.loads(mmcore("grade", "week 1/task.toml", "class", "-o", "report", "--json").stdout)
    assert {each["student"]: each["points"] for each in graded["grades"]} == {"solution": 10, "start": 0}


def test_a_failure_is_shown_with_its_line_and_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mmcore("exercise", "start", "thread")
    Path("thread.cu").write_text(Path("thread.cu").read_text().replace("int row = 0;", "int row = 0"))
    shown = mmcore("exercise", "check", "thread")
    assert shown.exit_code == 1
    assert "compiles     0 of 1" in shown.stdout
    assert 'error: expected a ";"' in shown.stdout
    assert "more about it:\n  mmcore run thread.cu --args" in shown.stdout


def test_a_gap_that_is_not_filled_gets_no_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mmcore("exercise", "start", "guard")
    file = Path("guard.cu")
    file.write_text(f"// mine\n{file.read_text()}")
    shown = mmcore("exercise", "check", "guard").stdout
    assert "0 of 10 points" in shown
    assert "The gap in guard.cu is not filled, so that nothing counts." in shown
    assert "out-of-bounds" in shown
    file.write_text(file.read_text() + "int other;\n")
    assert "3 of 10 points" in mmcore("exercise", "check", "guard").stdout


def test_each_fault_is_shown_with_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mmcore("exercise", "start", "barrier")
    lines = Path("barrier.cu").read_text().splitlines()
    shown = mmcore("exercise", "check", "barrier").stdout.splitlines()
    faults = {int(found[1]): after for line, after in pairwise(shown) if (found := re.search(r"cu:(\d+): ", line))}
    assert {12, 13, 16} <= faults.keys()
    assert faults == {number: f"    {lines[number - 1].strip()}" for number in faults}


@pytest.mark.parametrize(
    ("name", "command"),
    [("guard", "mmcore run guard.cu --size 33x34x35 "), ("coalescing", "mmcore why coalescing.cu --args")],
)
def test_the_command_of_a_failure_has_its_size(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mmcore("exercise", "start", name)
    failure = json.loads(mmcore("exercise", "check", name, "--json").stdout)["first_failure"]
    assert failure["command"].startswith(command)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("at 3×4×5: out-of-bounds-read at my.cu:2: thread (0, 1) reads", "second"),
        ("line 1: a warp's load of A touches 16 sectors", "first"),
        ("my.cu(2): error, with the compiler's own quotation", ""),
        ("my.cu:9: no such line", ""),
        ("2 barriers, and the reference has 1", ""),
    ],
)
def test_the_source_line_of_a_message_is_found(message: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "my.cu").write_text("  first\n\tsecond\n")
    assert source_line(message, tmp_path / "my.cu") == line


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("start", "gard"), "'gard' is not one of 'thread', 'guard'"),
        (("check", "guard", "no.cu"), "no.cu cannot be read: No such file or directory"),
        (("check", "guard", "guard.txt"), "guard.txt is no .cu file"),
    ],
)
def test_a_request_that_cannot_run_is_refused_in_a_sentence(words: tuple[str, ...], sentence: str) -> None:
    answer = mmcore("exercise", *words)
    assert answer.exit_code == 2
    assert sentence in answer.stderr


def test_a_file_that_reaches_a_limit_could_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mmcore_exercises import exercise

    monkeypatch.setattr(exercise, "examined", lambda task, submission, asked: Run({}, "it used too much"))
    (tmp_path / "guard.cu").write_text("int x;")
    answer = mmcore("exercise", "check", "guard", str(tmp_path / "guard.cu"))
    assert answer.exit_code == 2
    assert answer.stderr.endswith("guard.cu: it used too much\n")
