"""``mmcore grade`` gives each submission of a made-up class its points, and loses nothing."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore.errors import InvalidProblem
from mmcore.kernel.sizes import Sizes
from mmcore_grading import runs
from mmcore_grading.answers import COULD_NOT_RUN, Answer, Commands, commands
from mmcore_grading.command import _words
from mmcore_grading.criteria import Outcome, outcomes
from mmcore_grading.explanation import hints
from mmcore_grading.grading import Grade
from mmcore_grading.outside_headers import outside_header
from mmcore_grading.pages import class_page, student_page
from mmcore_grading.runs import Run, examined
from mmcore_grading.similarity import Pair, groups, similar
from mmcore_grading.submissions import Submission, single_submission, submissions
from mmcore_grading.tables import csv_table
from mmcore_grading.task import CRITERIA, Criterion, Task, read_task
from tests.command_line import mmcore
from tests.grading.made_up_class import HOSTILE, NAIVE, STRIP, TILED, WRONG, grades_of, write_class

DOCS = Path(__file__).parents[2] / "docs"
NEWLINE = "\n"
COMMAND = [sys.executable, "-m", "mmcore", "grade"]
RUBRIC = '[[rubric]]\ncriterion = "compiles"\npoints = 1\n'
COUNTS = '[[rubric]]\ncriterion = "counts"\nmost = 2\npoints = 1\n'
SIZES = '[sizes]\nshown = ["32"]\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("title = ", "is no TOML file"),
        (f"{SIZES}{RUBRIC}", "title is missing"),
        (f"title = 3\n{SIZES}{RUBRIC}", "title must be a string, not '3'"),
        (f'title = "x"\nsize = 3\n{SIZES}{RUBRIC}', "size is not a key of a task"),
        (f'title = "x"\n[sizes]\nshown = ["3y"]\n{RUBRIC}', "sizes.shown: '3y' is not a whole number"),
        (f'title = "x"\n{SIZES}{RUBRIC}weight = 1\n', "rubric 1: weight is not a key of a task"),
        (
            f'title = "x"\n{SIZES}[[rubric]]\ncriterion = "q"\npoints = 1\n',
            "rubric 1: there is no criterion 'q'; there are compiles, ",
        ),
        (
            f'title = "x"\n{SIZES}[[rubric]]\ncriterion = "compile"\npoints = 1\n',
            "rubric 1: there is no criterion 'compile'; did you mean compiles?",
        ),
        (
            f'title = "x"\n{SIZES}{COUNTS}counter = "global_load_sector"\n',
            "rubric 1: there is no counter 'global_load_sector'; did you mean global_load_sectors?",
        ),
        (
            f'title = "x"\n{SIZES}{COUNTS}counter = "sectors"\n',
            "there is no counter 'sectors'; did you mean global_load_sectors or global_store_sectors or global_atomic_",
        ),
        (
            f'title = "x"\n{SIZES}{COUNTS}counter = "warm"\n',
            "rubric 1: there is no counter 'warm'; mmcore profile --json prints all",
        ),
        (
            f'title = "x"\n{SIZES}{RUBRIC}[limits]\nseconds = -1\n',
            "limits.seconds must be a number from 0 on, not '-1.0'",
        ),
        (f'title = "x"\n{SIZES}{RUBRIC}[limits]\nmemory_mb = 100\n', "limits.memory_mb must be 400 or more, not 100"),
        (f'title = "x"\n{SIZES}{RUBRIC}[entry]\nalice = 3\n', "entry.alice must be a string, not '3'"),
        (f'title = "x"\nreference = "no.cu"\n{SIZES}{RUBRIC}', "no.cu is no file"),
        (f'title = "x"\nsubmission = "../a"\n{SIZES}{RUBRIC}', "submission must be a path in a student's folder, not"),
        (f'title = "x"\n{SIZES}[[rubric]]\ncriterion = "time"\nmost = 2\npoints = 1\n', "compares with a reference"),
        (
            f'title = "x"\nreference = "x.cu"\n{SIZES}[[rubric]]\ncriterion = "time"\nmost = 2\npoints = 1\n',
            'the criterion "time" takes device = "cuda"',
        ),
        (f'title = "x"\n{SIZES}[[rubric]]\ncriterion = "hidden-sizes"\npoints = 1\n', "sizes.hidden has none"),
    ],
)
def test_a_bad_task_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    task = tmp_path / "task.toml"
    task.write_text(text)
    with pytest.raises(InvalidProblem) as refused:
        read_task(task)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith(str(task))


def test_a_folder_is_a_students_submission(tmp_path: Path) -> None:
    (tmp_path / "alice" / "week3").mkdir(parents=True)
    (tmp_path / "alice" / "week3" / "mm.cu").write_text(NAIVE)
    (tmp_path / "alice" / "week3" / "tile.cuh").write_text("#define T 16\n")
    (tmp_path / "alice" / "week3" / "._mm.cu").write_bytes(b"\0")  # as macOS packs beside each file
    (tmp_path / "bob").mkdir()
    (tmp_path / "bob" / "work.zip").touch()
    (tmp_path / "carol.cu").symlink_to(tmp_path / "alice" / "week3" / "mm.cu")
    (tmp_path / "dave.zip").touch()
    (tmp_path / "erin").mkdir()
    (tmp_path / "erin" / "tiles.py").write_text("TILE = 16\n")
    (tmp_path / "erin" / "work.py").write_text(f"import tiles\nsource = {NAIVE!r}\n")
    (tmp_path / "fred").mkdir()
    (tmp_path / "fred" / "readme.txt").touch()
    (tmp_path / "fred" / "mm.cu").symlink_to(tmp_path / "alice" / "week3" / "mm.cu")
    (tmp_path / "notes.txt").touch()
    (alice, bob, carol, dave, erin, fred), ignored = submissions(tmp_path)

    assert [name for name, _ in alice.files] == ["mm.cu", "tile.cuh"]
    assert bob.refused == "its folder has no file that ends in .cu, .py, .ipynb, but work.zip"
    assert carol.refused == "it is a link, and not a file"
    assert dave.refused == "dave.zip is an archive: submit the file, or its folder"
    assert [name for name, _ in erin.files] == ["work.py", "tiles.py"]
    assert fred.refused == "links are not graded: mm.cu"
    assert ignored == ("notes.txt",)


@pytest.mark.parametrize(
    ("name", "right"), [("ada.CU", ".cu"), ("ada.Py", ".py"), ("ada.cpp", ".cu"), ("ada.C", ".cu"), ("ada.cxx", ".cu")]
)
def test_a_source_with_another_suffix_is_a_submission_that_is_not_graded(name: str, right: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(NAIVE)
    for ignored in ("ada.h", "common.cuh", "Makefile"):
        (tmp_path / ignored).touch()
    (ada,), others = submissions(tmp_path)
    assert ada.student == "ada"
    assert ada.refused == f"its name ends in {Path(name).suffix}; rename it to {right}"
    assert others == ("Makefile", "ada.h", "common.cuh")


def test_a_report_does_not_go_into_the_submissions_folder(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text(f'title = "x"\n{SIZES}{RUBRIC}')
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "alice.cu").write_text(NAIVE)
    refused = mmcore("grade", str(tmp_path / "task.toml"), str(tmp_path / "all"), "-o", str(tmp_path / "all"))
    assert refused.exit_code == 2
    assert "has the submissions; give another folder for the report" in refused.stderr
    assert [path.name for path in (tmp_path / "all").iterdir()] == ["alice.cu"]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (".", ["3 files for a kernel: ps1/mm.cu, ps2/a.cu, ps2/b.cu", "", "links are not graded: ps1"]),
        ("ps1", ["", "its folder has no ps1", "ps1 in its folder is a link"]),
        ("ps2", ["2 files for a kernel: a.cu, b.cu; submission in the task names", "", "its folder has no ps2"]),
        ("ps2/b.cu", ["", "its folder has no ps2/b.cu", "its folder has no ps2/b.cu"]),
    ],
)
def test_a_task_names_the_path_of_a_submission_in_a_students_folder(
    part: str, expected: Sequence[str], tmp_path: Path
) -> None:
    for name in ("alice/ps1/mm.cu", "alice/ps2/a.cu", "alice/ps2/b.cu", "alice/ps2/tile.cuh", "bob/ps2/a.cu"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "carol").mkdir()
    (tmp_path / "carol" / "ps1").symlink_to(tmp_path / "alice" / "ps1")
    found, _ = submissions(tmp_path, part)
    for each, reason in zip(found, expected, strict=True):
        assert reason in each.refused
        assert bool(each.refused) == bool(reason)
    if part == "ps2/b.cu":
        assert [name for name, _ in found[0].files] == ["b.cu", "tile.cuh"]


def test_an_ambiguous_submission_is_not_graded_and_stops_no_other(tmp_path: Path) -> None:
    submitted, report, task = tmp_path / "submitted", tmp_path / "report", tmp_path / "task.toml"
    (submitted / "bob").mkdir(parents=True)
    for name in ("adams.cu", "adams.py", "bob/one.cu", "bob/two.cu", "carol.cu", "sato.zip", "notes.txt"):
        (submitted / name).write_text(NAIVE)
    (submitted / "dora.py").write_text("import cupy\nkernel = cupy.RawKernel(open('mm.txt').read(), 'mm')\n")
    task.write_text(f'title = "x"\n{SIZES}{RUBRIC}')
    command = [*COMMAND, *map(str, (task, submitted, "-o", report, "--json"))]
    for _ in range(2):  # the answers are stored
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        document = json.loads(done.stdout)
        assert (done.returncode, document["ignored"]) == (2, ["notes.txt"])
        assert f"not graded: adams, bob, dora, sato; {report / 'index.html'} has the reasons" in done.stderr
        assert {each["student"]: each["points"] for each in document["grades"]} == {
            "adams": None,
            "bob": None,
            "carol": 1,
            "dora": None,
            "sato": None,
        }
        page = (report / "index.html").read_text()
        assert "2 submissions have this name: adams.cu, adams.py" in page
        assert "its folder has 2 files for a kernel: one.cu, two.cu" in page
        assert "dora.py has no kernel: CuPy compiles code in line 2 that the program reads" in page
        assert "<dt>ignored files</dt><dd>notes.txt</dd>" in page


TWO = Task("x", (Sizes(32, 32, 32),), (Criterion("compiles", 1), Criterion("hidden-sizes", 2)))


def test_every_cell_of_the_csv_is_one_line() -> None:
    message = 'a.cu does not compile:\na.cu(5): error: expected a ";"\n      for (;;)\n      ^'
    failed = Grade("a\nb", "a.cu", (Outcome("compiles", 0, 1, message), Outcome("hidden-sizes", 0, 2, "it is\nwrong")))
    right = Grade("c", "c.cu", (Outcome("compiles", 1, 1), Outcome("hidden-sizes", 2, 2)))
    lines = csv_table(TWO, [failed, right]).splitlines()
    assert [*csv.reader(lines)] == [
        ["student", "file", "points", "max", "compiles", "hidden-sizes", "first failure", "hidden failure"],
        [
            *("a; b", "a.cu", "0", "3", "0", "0"),
            'compiles: a.cu does not compile: a.cu(5): error: expected a ";"; for (;;)',
            "",
        ],
        ["c", "c.cu", "3", "3", "1", "2", "", ""],
    ]


def test_the_teacher_alone_sees_the_message_of_a_hidden_size() -> None:
    hidden = Outcome("hidden-sizes", 0, 2, "it is not right elsewhere", "at 33×33×33: wrong-product: 0:0")
    grade = Grade("a", "a.cu", (Outcome("compiles", 1, 1), hidden))
    seen = "hidden-sizes: at 33×33×33: wrong-product: 0:0"
    assert seen in csv_table(TWO, [grade])
    assert f"{hidden.message}<br>{seen}" in class_page(TWO, [grade], None)
    assert "33×33" not in student_page(TWO, grade, Submission("a", (("a.cu", b""),)))


def test_a_class_gets_its_points_pages_and_tables(tmp_path: Path) -> None:
    task, submitted = write_class(tmp_path, 1, NAIVE, seconds=20)
    few = ("right_naive", "wrong_transposed", "include")
    (submitted / "notes.txt").write_text("no kernel")
    (submitted / "both.cu").write_text(NAIVE + NAIVE.replace("mm(", "other("))
    for path in submitted.iterdir():
        if path.stem not in (*few, "notes", "both"):
            path.unlink()
    (submitted / "=<b>.cu").write_text("int broken(\n")
    report = tmp_path / "report"
    done = subprocess.run(
        [*COMMAND, task, submitted, "-o", report, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    points = {grade["student"]: grade["points"] for grade in document["grades"]}
    assert points == {"right_naive": 10, "both": 10, "wrong_transposed": 1, "include": 0, "=<b>": 0}
    assert "ignored: notes.txt" in done.stderr
    assert "'=<b>," in (report / "grades.csv").read_text()
    page = (report / "students" / "=<b>.html").read_text()
    assert "<b>.cu" not in page
    assert "&lt;b&gt;.cu" in page
    hidden = json.loads((report / "gradescope" / "wrong_transposed.json").read_text())
    assert hidden["score"] == 1
    assert {"name", "score", "max_score", "output"} <= hidden["tests"][0].keys()
    body = (report / "students" / "wrong_transposed.html").read_text().split("<body>")[1]
    assert "33×33" not in body
    seen = {grade["student"]: grade["hints"] for grade in document["grades"] if grade["hints"]}
    assert seen.keys() == {"both", "wrong_transposed"}
    assert seen["both"] == ["warning: of 2 products mm was graded; other (line 8) was not"]
    results = json.loads((report / "gradescope" / "wrong_transposed.json").read_text())
    for text in (body, (report / "index.html").read_text(), results["output"]):
        assert "with B[k * n + column] instead of B[column * n + k] in line 5:" in text
        assert "mmcore run" not in text.partition("Commands that repeat this")[0]


def test_submissions_compute_the_product_of_the_reference(tmp_path: Path) -> None:
    submitted, task, of_columns = tmp_path / "submitted", tmp_path / "task.toml", "B[column * n + k]"
    submitted.mkdir()
    transposed = NAIVE.replace("B[k * n + column]", of_columns)
    (tmp_path / "reference.cu").write_text(f"// C = A * B^T, and B is n x k\n{transposed}")
    (submitted / "right.cu").write_text(transposed)
    (submitted / "another.cu").write_text(NAIVE)
    text = f'title = "x"\nreference = "reference.cu"\noptions = ["--block", "16x16"]\n{SIZES}{RUBRIC}'
    task.write_text(f'{text}[[rubric]]\ncriterion = "shown-sizes"\npoints = 4\n')
    command = [*COMMAND, *map(str, (task, submitted, "-o", tmp_path / "report", "--json"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert {each["student"]: each["points"] for each in json.loads(done.stdout)["grades"]} == {"another": 1, "right": 5}
    (tmp_path / "reference.cu").write_text(transposed)  # nothing says that it is B transposed
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "the reference reference.cu does not meet its own rubric: shown-sizes: unusual-reading: " in refused.stderr
    assert re.search(
        r"\ninferred from reference.cu, .*\n(?:  .*\n)*  --column-major +storage of B by columns", refused.stderr
    )
    assert "\nhint: --column-major B if this is meant; options = [...] of the task takes it\n" in refused.stderr


@pytest.mark.parametrize(
    ("files", "score", "reason"),
    [
        (("product.cu", "tile.cuh", "README.md"), 1, ""),
        (("product.cu", "copy.cu", "tile.cuh"), 0, "its folder has 2 files for a kernel: copy.cu, product.cu"),
        (("tile.cuh",), 0, "its folder has no file that ends in .cu, .py, .ipynb, but tile.cuh"),
    ],
)
def test_the_lines_for_gradescope_give_each_submission_its_results(
    files: Sequence[str], score: float, reason: str, tmp_path: Path
) -> None:
    autograder = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (autograder / name).mkdir(parents=True)
    (autograder / "source/task.toml").write_text(f'title = "x"\n{SIZES}{RUBRIC}')
    for name in files:
        text = f'#include "tile.cuh"\n{TILED.partition(NEWLINE)[2]}' if name.endswith(".cu") else "#define T 16\n"
        (autograder / "submission" / name).write_text(text)
    recipe = (DOCS / "grading.md").read_text().partition("`run_autograder` has these lines:\n\n```bash\n")[2]
    lines = recipe.partition("```")[0].replace("/autograder", str(autograder))
    lines = lines.replace("mmcore grade", " ".join(COMMAND))
    subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, check=True, cwd=tmp_path)
    results = json.loads((autograder / "results/results.json").read_text())
    assert results["score"] == score
    assert reason in results["output"]
    assert bool(results["output"]) == bool(reason)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.cu": '#include "/proc/self/environ"'}, "a.cu includes /proc/self/environ, which is outside of the"),
        ({"a.cu": '#include "tile.h"', "tile.h": '#define X "../b.h"\n#include X'}, "tile.h includes ../b.h, which"),
        ({"a.cu": "#inc\\\nlude <sub/../../../../../proc/self/environ>"}, "a.cu includes sub/../../../../../proc"),
        ({"a.cu": "#define S(x) #x\n#include S(/proc/self/environ)"}, "a.cu includes S, a macro without"),
        ({"a.py": "text = '''#include \"/etc/passwd\"\n__global__ void f() {}'''"}, "a.py includes /etc/passwd, which"),
        ({"a.cu": '#include <mma.h>\n#include "sub/../tile.h"\n// #include "/etc/passwd"'}, ""),
        ({"a.cu": '#define X "tile.h"\n#include X'}, ""),
        ({"a.cu": '#include "../common/book.h"\n#include "/home/me/book.h"'}, ""),
    ],
)
def test_a_header_outside_of_the_submissions_folder_is_not_read(
    files: Mapping[str, str], reason: str, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b.h").touch()
    submission = Submission("a", tuple((name, text.encode()) for name, text in files.items()))
    found = outside_header(submission, tmp_path / "a")
    assert found.startswith(reason)
    assert bool(found) == bool(reason)
    if reason and "b.h" not in reason:
        run = examined(TWO, submission, commands(TWO, submission))
        assert [*run.answers] == ["compile"]
        assert run.answers["compile"].reason == found


_VECTORS = """__global__ void add(const float* A, const float* B, float* C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) C[i] = A[i] + B[i];
}
"""
_LAUNCH = "void host(float* a, float* b, float* c, int n) { mm<<<dim3(n / 64, n / 64), dim3(64, 64)>>>(a, b, c, n); }\n"


@pytest.mark.parametrize(
    ("text", "points", "reason"),
    [
        (_VECTORS, 1, "add is not a matrix product: it indexes A and B as vectors"),
        (NAIVE + _LAUNCH, 1, "line 8 launches 64×64 = 4096 threads; a GPU allows 1024"),
        (_VECTORS.replace("(i < n)", "(j < n)"), 0, 'identifier "j" is undefined'),
        (f"{_VECTORS}int main() {{ return 0 }}\n", 0, 'host-syntax at a.cu:5: expected a ";"; nvcc refuses it'),
        ("int main() { return 0; }\n", 0, "a.cu has no __global__ function with a body"),
    ],
)
def test_a_kernel_that_cannot_be_launched_as_a_product_compiles(text: str, points: float, reason: str) -> None:
    task = replace(TWO, hidden=TWO.shown)
    submission = Submission("a", (("a.cu", text.encode()),))
    name, words = next(iter(commands(task, submission).items()))
    compiles, sizes = outcomes(task, examined(task, submission, {name: words}).answers, {})
    assert (compiles.points, sizes.points) == (points, 0)
    assert reason in (sizes if points else compiles).message


def test_a_student_alone_is_a_files_name(tmp_path: Path) -> None:
    (tmp_path / "mm.cu").write_text(NAIVE)
    assert [name for name, _ in single_submission("ada", tmp_path).files] == ["mm.cu"]
    task = tmp_path / "task.toml"
    task.write_text(f'title = "x"\n{SIZES}{RUBRIC}')
    command = [*COMMAND, *map(str, (task, tmp_path, "-o", tmp_path / "report", "--student", "../ada"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "Error: --student must be a file's name, not '../ada'\n")


def test_a_student_alone_does_not_replace_the_report_of_a_class(tmp_path: Path) -> None:
    task, report = tmp_path / "task.toml", tmp_path / "report"
    task.write_text(f'title = "x"\n{SIZES}{RUBRIC}')
    (report / "students").mkdir(parents=True)
    for name in ("ada", "bob"):
        (report / "students" / f"{name}.html").write_text(name)
    (tmp_path / "mm.cu").write_text(NAIVE)
    result = mmcore("grade", str(task), str(tmp_path), "-o", str(report), "--student", "ada")
    said = f"Error: {report} has the report of 1 other student; give another folder for that of ada alone\n"
    assert (result.exit_code, result.stderr) == (2, said)
    assert (report / "students" / "bob.html").read_text() == "bob"


def test_a_task_names_the_kernel_of_a_students_file_with_several(tmp_path: Path) -> None:
    submitted, task = tmp_path / "submitted", tmp_path / "task.toml"
    submitted.mkdir()
    (submitted / "two.cu").write_text(NAIVE.replace("mm(", "naive(") + TILED.replace("mm(", "tiled("))
    text = f'title = "x"\n{SIZES}{RUBRIC}[[rubric]]\ncriterion = "shown-sizes"\npoints = 4\n'

    def graded() -> tuple[int, float | None, set[str], str]:
        command = [*COMMAND, *map(str, (task, submitted, "-o", tmp_path / "report", "--json"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (grade,) = json.loads(done.stdout)["grades"]
        return done.returncode, grade["points"], {each["message"] for each in grade["outcomes"]}, done.stderr

    task.write_text(text)
    reason = "two.cu has 2 kernels, naive, tiled; the table [entry] of the task can name a student's kernel"
    races = "hazards: not looked for: without no-hazards or any-size in the rubric, a race costs no points\n"
    said = f"{races}not graded: two; {tmp_path / 'report' / 'index.html'} has the reasons\n"
    assert graded() == (2, None, {f"not graded: {reason}"}, said)
    assert "<dt>not graded</dt><dd>two</dd>" in (tmp_path / "report" / "index.html").read_text()
    task.write_text(f'{text}[entry]\ntwo = "tiled"\nlate = "tiled"\n')
    assert graded() == (0, 5, {""}, f"entry names students without a submission: late\n{races}")


def test_a_changed_rubric_grades_what_is_stored(tmp_path: Path) -> None:
    task, submitted = write_class(tmp_path, 1, NAIVE, seconds=20)
    for path in submitted.iterdir():
        if path.stem not in ("right_naive", "wrong_transposed"):
            path.unlink()
    report = tmp_path / "report"

    def grade() -> str:
        done = subprocess.run([*COMMAND, task, submitted, "-o", report], capture_output=True, text=True, check=True)
        return " ".join((done.stdout + done.stderr).split())

    assert "2 submissions, 1 with all 10 points" in grade()
    stored = {path: path.stat().st_mtime_ns for path in (report / "answers").iterdir()}
    task.write_text(task.read_text().replace("points = 4", "points = 9").replace("for any n", "for each n"))
    assert "2 submissions (2 from stored answers), 1 with all 15 points" in grade()
    assert stored == {path: path.stat().st_mtime_ns for path in (report / "answers").iterdir()}
    assert "for each n" in (report / "students" / "right_naive.html").read_text()

    (submitted / "wrong_transposed.cu").rename(submitted / "late.cu")
    task.write_text(task.read_text().replace('"33"', '"35"'))
    said = grade()
    assert f"removed from {report}: wrong_transposed (no longer in {submitted})" in said
    assert "2 submissions, 1 with" in said  # another hidden size: both ran again
    assert {path.stem for name in ("students", "gradescope") for path in (report / name).iterdir()} == {
        "right_naive",
        "late",
    }


def test_a_new_criterion_runs_its_command_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = [Submission(name, (("a.cu", b""),)) for name in ("right", "broken", "endless")]
    asked: list[tuple[str, ...]] = []

    def examined(task: Task, submission: Submission, commands: Commands) -> Run:
        asked.append((submission.student, *commands))
        name, answer = submission.student, Answer(0, {})
        if name == "broken":
            return Run({"compile": Answer(COULD_NOT_RUN, None)})
        answered = [*commands][:2] if name == "endless" else commands
        return Run(dict.fromkeys(answered, answer), "it took too long" if name == "endless" else "")

    monkeypatch.setattr(runs, "examined", examined)
    first = Task("a product", (Sizes(8, 8, 8),), (Criterion("compiles", 1),))
    proved = replace(first, rubric=(*first.rubric, Criterion("proved", 2)))
    larger = replace(proved, shown=(Sizes(9, 9, 9),))
    usual = ("compile", "run 8x8x8", "run")
    for task, expected in (
        (first, [(each.student, *usual) for each in several]),
        (first, []),
        (proved, [("right", "compile", "prove")]),
        (larger, [("right", "compile", "run 9x9x9"), ("endless", "compile", "run 9x9x9", "run", "prove")]),
        (proved, [("right", "compile", "run 8x8x8"), ("endless", *usual, "prove")]),
    ):
        asked.clear()
        stored = runs.Runs(tmp_path, task)
        found = [stored.stored(each) or stored.run(each) for each in several]
        assert asked == expected
        assert {*found[0].answers} == {*commands(task, several[0])}


def test_each_criterion_of_a_students_page_has_its_reason() -> None:
    broken = Outcome("compiles", 0, 1, 'a.cu does not compile:\na.cu(5): error: expected a ";"\n      ^')
    page = student_page(TWO, Grade("a", "a.cu", (broken, Outcome("hidden-sizes", 2, 2))), Submission("a"))
    assert "0 of 1: a.cu does not compile: a.cu(5): error: expected a &quot;;&quot;</dd>" in page
    assert "2 of 2: the product is right at sizes that are not shown</dd>" in page
    criteria = tuple(Outcome(name, 0, 0) for name in CRITERIA)
    assert student_page(TWO, Grade("a", "a.cu", criteria), Submission("a")).count("0 of 0: ") == len(CRITERIA)


def test_a_long_failure_is_folded_below_a_row_of_the_class() -> None:
    short, long = "it is wrong", "shared-race at a.cu:3: " + "thread (0, 0) writes element 0, " * 20
    grades = [
        Grade(name, f"{name}.cu", (Outcome("compiles", 1, 1), Outcome("hidden-sizes", 2 * (not text), 2, text)))
        for name, text in (("ada", ""), ("bob", short), ("carol", long))
    ]
    page = class_page(TWO, grades, None)
    assert page.count("<details>") == 1
    assert f'<td class="word" colspan="4">hidden-sizes: {short}</td>' in page
    summary = page.partition("<summary>")[2].partition("</summary>")[0]
    assert summary.endswith(" …")
    assert (long.startswith(summary.removeprefix("hidden-sizes: ")[:-2]), long in page) == (True, True)


def test_a_fault_in_a_notebook_is_below_the_line_of_its_cell() -> None:
    cells = [{"cell_type": "code", "source": text} for text in ("import cupy", "%%cuda\none = 1\ntwo = 2")]
    notebook = json.dumps({"nbformat": 4, "cells": cells}).encode()
    races = Outcome("no-hazards", 0, 3, "shared-race at a.ipynb[cell 2]:3: third")
    submission = Submission("a", (("a.ipynb", notebook),))
    page = student_page(TWO, Grade("a", "a.ipynb", (Outcome("compiles", 1, 1), races)), submission)
    below = page.partition("What is missing")[2]
    assert below.index("two = 2") < below.index("third")
    assert "cell_type" not in page


def test_warnings_cost_no_points_and_have_no_commands() -> None:
    found = "copy-direction at a.cu:3: copies from the host\n  mmcore run a.cu"
    answers = {"run": Answer(0, {"verified": True, "warnings": [found]})}
    assert hints(TWO, answers) == ["warning: copy-direction at a.cu:3: copies from the host"]


def test_a_page_says_which_line_leaves_remainders_out() -> None:
    left_out = "remainders are left out: line 14 counts k / 16 whole steps and leaves the rest of k out"
    further = ["excluded from a.cu as host code: main (lines 25-40)", "hint: this has more\n  mmcore check a.cu"]
    assert hints(TWO, {"explain": Answer(0, {"verified": True, "hints": [*further, left_out]})}) == [left_out]


def test_each_fault_is_below_its_line_of_the_source() -> None:
    races = Outcome("no-hazards", 0, 3, "shared-race at a.cu:1: first\nshared-race at a.cu:3: third\nno line")
    submission = Submission("a", (("a.cu", b"one\ntwo\nthree\n"),))
    page = student_page(TWO, Grade("a", "a.cu", (Outcome("compiles", 1, 1), races)), submission)
    page = page.partition("What is missing")[2]
    places = [page.index(word) for word in ("one</", "a.cu:1: first", "two</", "three</", "a.cu:3: third")]
    assert places == sorted(places)
    compiler = Outcome("compiles", 0, 1, "a.cu does not compile:\na.cu(1): error: x\n  one\n  ^\na.cu(3): error: y")
    assert [*map(len, map(str.splitlines, compiler.faults))] == [4, 1]


def test_code_that_all_were_given_makes_no_submissions_similar(tmp_path: Path) -> None:
    pytest.importorskip("copydetect")
    line = "sum += a[threadIdx.y][i] * b[i][threadIdx.x];"
    loop = f"for (int i = 0; i < T; ++i) {line}"
    given = tmp_path / "start.cu"
    given.write_text(TILED.replace(loop, ""))
    down = "for (int i = T - 1; i >= 0; --i) { float x = a[threadIdx.y][i]; sum = fmaf(b[i][threadIdx.x], x, sum); }"
    twice = f"#pragma unroll\nfor (int i = 0; i < T; i += 2) {{ {line} {line.replace('[i]', '[i + 1]')} }}"
    fills = {"up": loop, "copied": f"// mine\n{loop}", "down": down, "twice": twice, "start": ""}
    written = [Submission(name, ((f"{name}.cu", TILED.replace(loop, fill).encode()),)) for name, fill in fills.items()]

    assert [pair[:2] for pair in similar(written, given) or []] == [("up", "copied")]
    assert len(similar(written, None) or []) > 1


def test_submissions_are_similar_by_the_code_of_their_cells_and_headers() -> None:
    pytest.importorskip("copydetect")

    def notebook(*cells: str) -> bytes:
        code = {"cell_type": "code", "metadata": {"id": "x"}, "outputs": [{"text": [f"GPU {n}\n" for n in range(99)]}]}
        return json.dumps({"nbformat": 4, "cells": [{**code, "source": cell} for cell in cells]}).encode()

    setup, host = "!nvidia-smi\n%load_ext nvcc4jupyter", "for size in (64, 128):\n    print(size, run(size))\n" * 9
    string = f"import cupy\nkernel = cupy.RawKernel(r'''{STRIP}''', 'mm')\n{host}"
    files = {
        "tiled.ipynb": notebook(setup, f"%%cuda\n{TILED}"),
        "strip.ipynb": notebook(setup, f"%%writefile mm.cu\n{STRIP}"),
        "naive.ipynb": notebook(setup, f"%%cuda\n{NAIVE}"),
        "copy.cu": TILED.replace("sum", "total").encode(),
        "string.py": string.encode(),
        "other.py": string.replace(STRIP, NAIVE).encode(),
        "broken.ipynb": b"{",
        "torn.ipynb": b"{",
    }
    written = [Submission(name.replace(".", "_"), ((name, content),)) for name, content in files.items()]
    written.append(Submission("header", (("main.cu", b'#include "strip.cuh"\n'), ("strip.cuh", STRIP.encode()))))
    pairs = {frozenset(pair[:2]) for pair in similar(written, None) or []}
    assert pairs == {
        frozenset(each)
        for each in (
            ("tiled_ipynb", "copy_cu"),
            ("strip_ipynb", "string_py"),
            ("naive_ipynb", "other_py"),
            ("strip_ipynb", "header"),
            ("string_py", "header"),
        )
    }


def test_similar_submissions_are_in_groups() -> None:
    pairs = [Pair("d", "e", 1.0), Pair("a", "b", 0.98), Pair("f", "c", 0.9), Pair("b", "c", 0.85)]
    assert [*groups(pairs)] == [(("a", "b", "c", "f"), 0.85, 0.98), (("d", "e"), 1, 1)]
    page = class_page(TWO, [], pairs)
    assert "<li>a, b, c, f: 85 % to 98 %<ul>" in page
    several_pairs = page.partition("<li>a, b, c, f")[2].partition("</ul>")[0]
    of_pair = [f'<a href="students/{each}.html">{each}</a>' for each in (pairs[0].first, pairs[0].second)]
    assert f"<li>{', '.join(of_pair)}: {100 * pairs[0].part:.0f} %</li>" in page
    assert several_pairs.count("<li>") == sum(pair.first in "abcf" for pair in pairs)
    count = [_words(TWO, [], several).partition("points, ")[2] for several in (pairs, pairs[:1], [])]
    assert count == [f"{each} of similar submissions" for each in ("2 groups", "1 group", "no groups")]
    assert "similar ones not looked for" in _words(TWO, [], None)
    many = [Pair("a", f"b{number}", 1.0) for number in range(12)]
    assert "<li>2 more pairs in grades.json</li></ul>" in class_page(TWO, [], many)


def test_a_loop_that_does_not_end_is_named_by_its_line(tmp_path: Path) -> None:
    task, submitted = write_class(tmp_path, 1, NAIVE, seconds=6)
    for path in submitted.iterdir():
        path.unlink()
    (submitted / "endless.cu").write_text(NAIVE.replace("++k", "k += 0"))
    subprocess.run([*COMMAND, task, submitted, "-o", tmp_path / "report", "-q"], check=True, timeout=100)
    (grade,) = json.loads((tmp_path / "report" / "grades.json").read_text())["grades"]
    place = "timeout at endless.cu:5: thread (0, 0) of block (0, 0) was still running "
    assert grade["ended"].startswith(f"{place}when all of its commands had used 6 s of processor time; ")
    endless = "; the loop in line 5 never ends, since k does not change in it"
    assert grade["ended"].endswith(f"{endless}; limits.seconds of the task sets the limit")
    first, *others = (each["message"] for each in grade["outcomes"][1:])
    assert (first, {*others}) == (grade["ended"], {"not reached: the submission was ended before this"})
    assert grade["points"] == 1
    assert "limits." not in (tmp_path / "report" / "students" / "endless.html").read_text()
    assert "; limits.seconds of the task sets the limit" in (tmp_path / "report" / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "base"), [(1, NAIVE), (2, TILED), (3, STRIP)])
def test_every_grade_of_a_class_is_right(number: int, base: str, tmp_path: Path) -> None:
    task, submitted = write_class(tmp_path, number, base, seconds=30)
    before = {path.name for path in tmp_path.iterdir()}
    report = tmp_path / "report"
    command = [*COMMAND, str(task), str(submitted), "-o", str(report), "-q"]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=900)
    assert (done.returncode, "not graded: link; " in done.stderr) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} == before | {"report"}
    for student, parts in grades_of(report).items():
        kind, _, name = student.partition("_")
        missed = {criterion for criterion, part in parts.items() if part < 1}
        if kind == "right":
            assert missed == set(), student
        elif kind == "wrong":
            expected = {*WRONG[name].fails} if "compiles" not in WRONG[name].fails else {*parts}
            assert missed >= expected, student
            assert ("compiles" in missed) == ("compiles" in expected), student
        else:
            assert {"shown-sizes", "hidden-sizes", "any-size"} <= missed, student
    assert len(HOSTILE) == 10
