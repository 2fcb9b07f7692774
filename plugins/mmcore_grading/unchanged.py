"""Submissions of the file that all students were given, without a change."""

from __future__ import annotations

from mmcore.files import read_text
from mmcore_cuda.cuda_source.tokens import without_comments
from mmcore_grading.compared_code import compared_code
from mmcore_grading.submissions import Submission
from mmcore_grading.task import Task


def unchanged(task: Task, submission: Submission) -> list[str]:
    """Return a sentence if a submission has the code of the task's given file, whose comments do not count."""
    if task.given is None or not submission.file:
        return []
    same = _code(task.given.name, read_text(task.given, "replace")) == _code(submission.file, submission.text)
    return [f"the submission is {task.given.name}, as it was given"] if same else []


def words_of_code(text: bytes) -> list[bytes]:
    """Return the words of a CUDA source without its comments."""
    return without_comments(text).split()


def _code(file: str, text: str) -> list[bytes]:
    code = compared_code(file, text)
    written = code.text.encode()
    return words_of_code(written) if code.suffix == "cu" else written.split()
