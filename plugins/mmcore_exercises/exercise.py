"""An exercise: a file with a gap, a task whose rubric checks the filled gap, and a solution for the counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mmcore.errors import InvalidProblem
from mmcore.files import read_bytes
from mmcore_grading.answers import commands
from mmcore_grading.criteria import Outcome, outcomes
from mmcore_grading.runs import examined
from mmcore_grading.submissions import file_submission
from mmcore_grading.task import Task, read_task
from mmcore_grading.unchanged import is_unchanged

_LARGEST = 1 << 20  # bytes of a file


@dataclass(frozen=True)
class Exercise:
    """An exercise in a folder, whose name is a number and the exercise's name."""

    folder: Path

    @property
    def name(self) -> str:
        """The name, such as "guard"."""
        return self.folder.name.partition("_")[2]

    @cached_property
    def task(self) -> Task:
        """The text, the sizes and the rubric."""
        return read_task(self.folder / "task.toml")

    @property
    def start(self) -> bytes:
        """The file with the gap."""
        return self.files[1].read_bytes()

    @property
    def files(self) -> tuple[Path, Path, Path]:
        """The task, the file with the gap, and the solution."""
        return (self.folder / "task.toml", self.folder / "start.cu", self.folder / "solution.cu")

    def is_unfilled(self, file: Path) -> bool:
        """Return whether a file has the code with the gap, whose comments do not count."""
        return is_unchanged(self.task, file_submission(self.name, file))

    def check(self, file: Path) -> Sequence[Outcome]:
        """Return the outcome of each criterion for a file.

        Raises InvalidProblem if the file is no .cu file, cannot be read, or reaches a limit of the task.
        """
        if file.suffix != ".cu":
            raise InvalidProblem(f"{file} is no .cu file")
        try:
            submission = file_submission(self.name, file)
        except OSError as error:
            raise InvalidProblem(f"{file} cannot be read: {error.strerror}") from None
        compared = [file_submission("solution", self.files[2])] if self.task.asks("counts") else []
        with ThreadPoolExecutor(2) as pool:
            run, *solved = pool.map(
                lambda each: examined(self.task, each, commands(self.task, each)), [submission, *compared]
            )
        if run.ended:
            raise InvalidProblem(f"{file}: {run.ended}")
        return outcomes(self.task, run.answers, solved[0].answers if solved else {})


EXERCISES = tuple(map(Exercise, sorted(Path(__file__).parent.glob("[0-9][0-9]_*"))))
"""All exercises, in their order."""


def source_line(message: str, file: Path) -> str:
    """Return the line of a file that a message of mmcore names first; empty if it names none."""
    named = re.search(rf"(?:{re.escape(file.name)}:|\bline )(\d+)", message)
    lines = read_bytes(file, _LARGEST).decode(errors="replace").splitlines()
    return lines[int(named[1]) - 1].strip() if named and 0 < int(named[1]) <= len(lines) else ""
