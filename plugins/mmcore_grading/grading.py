"""The grading of a class: each submission in separate processes, several at once, resumed after an interruption."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import mmcore
from mmcore.errors import InvalidProblem
from mmcore.files import read_bytes, read_text
from mmcore.files import replace as replace_file
from mmcore.messages import visible
from mmcore_grading import keeper
from mmcore_grading.criteria import Answer, Answers, Outcome, commands, outcomes
from mmcore_grading.submissions import Submission, file_submission
from mmcore_grading.task import Task

_KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "PYTHONPATH",
)
_MOST_LINES = 4  # of a first failure
_FILE_BYTES = 256 << 20  # the largest file that a submission's processes may write


@dataclass(frozen=True)
class Grade:
    """A student's grade.

    Attributes:
        student, file: the student, and the name of the submission's file.
        outcomes: the outcome of each criterion of the rubric.
        ended: why the submission's processes were ended, or why it could not be graded; empty otherwise.
        confined: whether its processes could read only Python, the system and the submission.
        digest: digest of the submission, the task and the version of mmcore.
    """

    student: str
    file: str
    outcomes: tuple[Outcome, ...]
    ended: str = ""
    confined: bool = True
    digest: str = ""

    @property
    def points(self) -> float:
        """The sum of the points."""
        return round(sum(outcome.points for outcome in self.outcomes), 2)

    @property
    def first_failure(self) -> str:
        """The explanation of the first criterion that was not met; empty if all were."""
        failure = next((f"{each.criterion}: {each.message}" for each in self.outcomes if each.message), self.ended)
        return "\n".join(failure.splitlines()[:_MOST_LINES])

    @property
    def hidden_failure(self) -> str:
        """The part of the failures that the teacher alone may see, such as the hidden size; empty if there is none."""
        hidden = (f"{each.criterion}: {each.hidden}" for each in self.outcomes if each.hidden)
        return "\n".join(line for text in hidden for line in text.splitlines()[:_MOST_LINES])

    def to_json(self) -> dict[str, Any]:
        """Return the grade as JSON-ready values."""
        return {**asdict(self), "points": self.points}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Grade:
        """Return the grade of :meth:`to_json`."""
        plain = {name: values[name] for name in ("student", "file", "ended", "confined", "digest")}
        return cls(outcomes=tuple(Outcome(**each) for each in values["outcomes"]), **plain)


class Gradebook:
    """The grades of a class in a folder, a file each.

    A grade whose submission, task and mmcore are the same is not made again.
    """

    def __init__(self, folder: Path, task: Task) -> None:
        self._folder, self._task = folder, task
        self._reference: Answers = {}
        reference = "" if task.reference is None else read_text(task.reference, "replace")
        self._salt = (mmcore.__version__, task.content, reference)

    def known(self, submission: Submission) -> Grade | None:
        """Return the grade of a submission that was graded before; else None."""
        try:
            grade = Grade.from_json(json.loads(read_bytes(self._path(submission))))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return grade if grade.digest == submission.digest(*self._salt) else None

    def examine_reference(self) -> None:
        """Run the teacher's solution. Raises InvalidProblem if it does not meet its own rubric."""
        if (path := self._task.reference) is None:
            return
        self._reference, ended, _ = examined(self._task, file_submission("reference", path))
        for outcome in outcomes(self._task, self._reference, self._reference):
            if outcome.message:
                reason = ended or outcome.hidden or outcome.message
                raise InvalidProblem(
                    f"the reference {path.name} does not meet its own rubric: {outcome.criterion}: {reason}"
                )

    def grade(self, submission: Submission) -> Grade:
        """Return the grade of a submission, and save it."""
        answers: Answers = {}
        ended, confined = submission.refused, True
        if not ended:
            answers, ended, confined = examined(self._task, submission)
        found = outcomes(self._task, answers, self._reference)
        if ended:
            found = [replace(each, message=ended) if each.message and not each.points else each for each in found]
        grade = Grade(
            submission.student, submission.file, tuple(found), ended, confined, submission.digest(*self._salt)
        )
        replace_file(self._path(submission), json.dumps(grade.to_json(), indent=1).encode())
        return grade

    def _path(self, submission: Submission) -> Path:
        return self._folder / f"{submission.student}.json"


def graded(
    task: Task, submissions: Sequence[Submission], folder: Path, jobs: int, report: Callable[[int], None]
) -> Sequence[Grade]:
    """Return the grades of a class, in the order of the submissions.

    Args:
        task: the task.
        submissions: the submissions.
        folder: the folder of the grades; grades that it has are kept.
        jobs: the number of submissions that run at once.
        report: is called with the number of submissions that are graded.

    Raises:
        InvalidProblem: the reference does not meet its own rubric.
    """
    folder.mkdir(parents=True, exist_ok=True)
    gradebook = Gradebook(folder, task)
    grades = {each.student: gradebook.known(each) for each in submissions}
    missing = [each for each in submissions if grades[each.student] is None]
    if missing:
        gradebook.examine_reference()
    report(len(submissions) - len(missing))
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for count, grade in enumerate(pool.map(gradebook.grade, missing), start=1):
                grades[grade.student] = grade
                report(len(submissions) - len(missing) + count)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return [grade for grade in grades.values() if grade is not None]


def examined(task: Task, submission: Submission) -> tuple[Answers, str, bool]:
    """Run the rubric's commands on a submission, alone in a folder and under the task's limits.

    Returns:
        The answers by command; why the processes were ended, or ""; and whether their files were confined.
    """
    with tempfile.TemporaryDirectory(prefix="mmcore-grade-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder).resolve()
        for name, content in submission.files:
            path = workspace / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        asked = commands(task, submission.file, submission.text)
        request = {
            "workspace": str(workspace),
            "commands": [*asked.values()],
            "message_bytes": int(task.limits.output_kb * 1024),
        }
        lines, ended = _kept(task, workspace, json.dumps(request).encode())
    for text, short in ((f"{workspace}/submission/", ""), (f"{workspace}/submission", ".")):
        lines = lines.replace(text.encode(), short.encode())
    documents = [*_documents(lines)]
    if not documents or documents[-1] != "end":
        ended = ended or "its process ended before it answered"
    several = [_answer(each) for each in documents[1:] if each != "end"]
    if ended and several:
        ended = next((fault for fault in several[-1].faults if fault.startswith("timeout at")), ended)
    return dict(zip(asked, several, strict=False)), ended, bool(documents and documents[0]["confined"])


def _kept(task: Task, workspace: Path, request: bytes) -> tuple[bytes, str]:
    """Run :mod:`mmcore_grading.examine` under the keeper; return its output, and why it was ended."""
    limits = {
        "seconds": task.limits.seconds,
        "wall_seconds": task.limits.wall_seconds,
        "memory_bytes": int(task.limits.memory_mb) << 20,
        "processes": int(task.limits.processes),
        "file_bytes": _FILE_BYTES,
    }
    command = [sys.executable, "-P", "-m", "mmcore_grading.examine"]
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"MMCORE_CACHE_DIR": str(workspace / "cache"), "TMPDIR": str(workspace), "OMP_NUM_THREADS": "1"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryFile() as output:
        words = [sys.executable, "-I", "-S", keeper.__file__, json.dumps([limits, command]), str(output.fileno())]
        done = subprocess.run(
            words,
            input=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[output.fileno()],
            cwd=workspace / "submission",
            env=environment,
            check=False,
        )
        output.seek(0)
        return output.read(_FILE_BYTES), done.stdout.decode().strip()


def _documents(lines: bytes) -> Iterator[Any]:
    """Yield the documents of complete lines; the process may have been ended while it wrote."""
    for line in lines.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            return


def _answer(values: Mapping[str, Any]) -> Answer:
    """Return the answer of a command; of one about several kernels, the first with a verdict."""
    several = values["document"] if isinstance(values["document"], list) else [values["document"]]
    verdicts = (each for each in several if isinstance(each, dict) and "error" not in each)
    return Answer(values["status"], next(verdicts, None), visible(values["message"]))
