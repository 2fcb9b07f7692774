"""Submissions of the file that all students were given, without a change."""

from __future__ import annotations

from mmcore.files import read_text
from mmcore_cuda.cuda_source.tokens import without_comments
from mmcore_grading.compared_code import compared_code
from mmcore_grading.submissions import Submission
from mmcore_grading.task import Task


def is_unchanged(task: Task, submission: Submission) -> bool:
    """Return whether a submission has the code of the task's given file, whose comments do not count."""
    if task.given is None or not submission.file:
        return False
    return _words(task.given.name, read_text(task.given, "replace")) == _words(submission.file, submission.text)


def _words(file: str, text: str) -> list[bytes]:
    code = compared_code(file, text)
    written = code.text.encode()
    return (without_comments(written) if code.suffix == "cu" else written).split()
