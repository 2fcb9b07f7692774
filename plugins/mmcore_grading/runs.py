"""The run of a submission: the rubric's commands in processes under the task's limits, and their answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import mmcore
from mmcore.files import read_bytes
from mmcore.files import replace as replace_file
from mmcore.messages import visible
from mmcore_grading import keeper
from mmcore_grading.answers import COULD_NOT_RUN, NOT_GRADED, OF_CLOCK, Answer, Answers, Commands, commands
from mmcore_grading.explanation import EXPLAIN, explanation
from mmcore_grading.outside_headers import outside_header
from mmcore_grading.submissions import Submission, kernel_names
from mmcore_grading.task import Task
from mmcore_sources.cuda_file.hints.endless_loops import endless_loop
from mmcore_sources.python_file import endless_loops as python_loops

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
_STOPPED = re.compile(r"timeout at (?P<file>[^:]+):(?P<line>\d+):")
_UNANSWERED = f"{NOT_GRADED}its process ended before it answered"
_FILE_BYTES = 256 << 20  # the largest file that a submission's processes may write


@dataclass(frozen=True)
class Run:
    """The run of a submission.

    Attributes:
        answers: the answers of the commands, by name.
        ended: why the submission's processes were ended, or why it could not run; empty otherwise.
        confined: whether its processes could read only Python, the system and the submission.
    """

    answers: Answers
    ended: str = ""
    confined: bool = True

    @property
    def is_complete(self) -> bool:
        """True if the processes answered or reached a limit; an interruption or a crash ends them before that.

        A file that lacks a package is to be run again, as it may have been installed.
        """
        return self.ended != _UNANSWERED and not any(each.lacks_package for each in self.answers.values())


class Runs:
    """The runs of a class in a folder, a file each.

    A command does not run again while its words, the submission's files, the limits and mmcore are the same.
    """

    def __init__(self, folder: Path, task: Task) -> None:
        self._folder, self._task = folder, task

    def stored(self, submission: Submission) -> Run | None:
        """Return the stored run of a submission; None if there is none, or if it lacks an answer."""
        run, asked = self._read(submission)
        return None if run is None or self._missing(submission, run, asked) else run

    def run(self, submission: Submission) -> Run:
        """Run the commands of a submission that lack an answer, and store the answers if they are complete."""
        before, asked = self._read(submission)
        missing = self._missing(submission, before, asked)
        refused = f"{NOT_GRADED}{submission.refused}" if submission.refused else ""
        done = Run({}, refused) if refused else self._explained(submission, missing)
        wanted = self._wanted(submission)
        if before is not None:
            kept = {name: each for name, each in before.answers.items() if name in {*wanted, EXPLAIN} - {*missing}}
            confined = before.confined and done.confined
            done = replace(done, answers={**kept, **done.answers}, confined=confined)
        if done.is_complete:
            values = {**asdict(done), "commands": wanted, "digest": self._digest(submission)}
            replace_file(self._path(submission), json.dumps(values).encode())
        return done

    def _explained(self, submission: Submission, asked: Commands) -> Run:
        """Return the answers of commands, and hints if a product is wrong and no limit was reached."""
        done = examined(self._task, submission, asked)
        further = {} if done.ended else explanation(self._task, submission, done.answers)
        if not further:
            return done
        explained = examined(self._task, submission, further)
        ended = "" if explained.is_complete else explained.ended
        return replace(done, answers={**done.answers, **explained.answers}, ended=ended)

    def _read(self, submission: Submission) -> tuple[Run | None, Commands]:
        """Return the stored run of a submission's files, with its commands; None if there is none."""
        try:
            values = json.loads(read_bytes(self._path(submission)))
            answers = {name: Answer(**each) for name, each in values["answers"].items()}
            if values["digest"] == self._digest(submission):
                return Run(answers, values["ended"], values["confined"]), dict(values["commands"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return None, {}

    def _missing(self, submission: Submission, run: Run | None, asked: Commands) -> Commands:
        """Return the commands of the task without an answer, after the one that compiles the file.

        A file that does not compile, or has reached a limit, gets no further ones.
        """
        wanted = self._wanted(submission)
        missing = {name: words for name, words in wanted.items() if asked.get(name) != words}
        if run is None or not missing:
            return wanted if run is None else {}
        if run.ended:
            return {} if all(wanted.get(name) == words for name, words in asked.items()) else wanted
        first = next(iter(wanted))
        compiled = first in missing or run.answers[first].status != COULD_NOT_RUN
        return {first: wanted[first], **missing} if compiled else {}

    def _wanted(self, submission: Submission) -> Commands:
        return {} if submission.refused else commands(self._task, submission)

    def _path(self, submission: Submission) -> Path:
        return self._folder / f"{submission.student}.json"

    def _digest(self, submission: Submission) -> str:
        return submission.digest(mmcore.__version__, json.dumps(asdict(self._task.limits)))


def examined(task: Task, submission: Submission, asked: Commands) -> Run:
    """Run commands on a submission, alone in a folder and under the task's limits.

    A submission that includes a file outside of its folder is not compiled.
    """
    with tempfile.TemporaryDirectory(prefix="mmcore-grade-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder).resolve()
        for name, content in submission.files:
            path = workspace / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if reason := outside_header(submission, workspace / "submission"):
            return Run({next(iter(asked)): Answer(COULD_NOT_RUN, None, f"Error: {reason}")})
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
        ended = ended or _UNANSWERED
    several = [_answer(each) for each in documents[1:] if each != "end"]
    if ended and several:
        places = (_with_loop(fault, submission) for fault in several[-1].faults if fault.startswith("timeout at"))
        places = (place.removesuffix(f"; {OF_CLOCK}") for place in places)
        ended = next((f"{place}; limits.seconds of the task sets the limit" for place in places), ended)
    return Run(dict(zip(asked, several, strict=False)), ended, bool(documents and documents[0]["confined"]))


def _with_loop(fault: str, submission: Submission) -> str:
    """Return the line in which a kernel was stopped, with the loop around it if that never ends."""
    place = _STOPPED.match(fault)
    if place is None or place["file"] != Path(submission.file).name:
        return fault
    text, lines, endless = submission.text, [int(place["line"])], ""
    if submission.file.endswith(".cu"):
        loops = (endless_loop(text, name, lines) for name in sorted(kernel_names(text)))
        endless = next(filter(None, loops), "")
    elif submission.file.endswith(".py"):
        endless = python_loops.endless_loop(text, lines)
    return f"{fault}; {endless}" if endless else fault


def _kept(task: Task, workspace: Path, request: bytes) -> tuple[bytes, str]:
    """Run :mod:`mmcore_grading.examine` under the keeper; return its output, and why it was ended.

    A signal to the keeper, such as that of Ctrl-C, ends it with another exit status than 0.
    """
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
        return output.read(_FILE_BYTES), _UNANSWERED if done.returncode else done.stdout.decode().strip()


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
    return Answer(values["status"], next(verdicts, None), visible(values["message"]), values["error"])
