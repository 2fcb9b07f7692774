"""Launches of a program without which the graded kernel does not compute the product, such as a transposition's."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_cuda.cuda_source.program import HostLaunch, Program, read_program
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_grading.answers import NOT_GRADED, RUN, Answers, run_at
from mmcore_grading.compared_code import compared_code
from mmcore_grading.submissions import Submission
from mmcore_grading.task import Task
from mmcore_sources.cuda_file.inference.body import Body

_WRONG = 1  # the exit status of a kernel that is not right
_ALONE = "a program of one launch is graded"


def further_launches(task: Task, submission: Submission, answers: Answers) -> str:
    """Return why a kernel that is wrong at a shown size is not graded alone; empty if its program has no other launch.

    A kernel that the task names for the student is graded alone.
    """
    run = answers.get(RUN)
    shown = (answers.get(run_at(size)) for size in task.shown)
    wrong = any(each is not None and each.status == _WRONG for each in shown)
    if not wrong or submission.student in task.entry or run is None or run.document is None:
        return ""
    names = {each["entry"].partition("<")[0] for each in run.document.get("launched", ())}
    code = compared_code(submission.file, submission.text)
    if code.suffix != "cu" or len(names) != 1:
        return ""
    for launch, clause in _connected(read_program(code.text), *names):
        where = f", which line {launch.line} launches," if submission.file.endswith(".cu") else ""
        return f"{NOT_GRADED}{launch.name}{where} {clause}; {_ALONE}"
    return ""


def _connected(program: Program, name: str) -> Iterator[tuple[HostLaunch, str]]:
    """Yield the launches that store an operand of a kernel, or read its result, with a clause on the array.

    Launches that only set an array, or only use the arrays of the kernel, are not needed by it.
    """
    for graded in (each for each in program.launches if each.name == name):
        read, written = _arrays(program, graded)
        own = read | written
        for other in (each for each in program.launches if each.name != name and each.scope == graded.scope):
            reads, writes = _arrays(program, other)
            if other.line < graded.line and (arrays := writes & read - written) and reads - own:
                yield other, f"stores {min(arrays)} for {name}"
            elif other.line > graded.line and (arrays := reads & written) and writes - own:
                yield other, f"reads {min(arrays)} of {name}"


def _arrays(program: Program, launch: HostLaunch) -> tuple[set[str], set[str]]:
    """Return the pointers that the host code passes for a kernel to read, and those for it to store to."""
    function = program.function(launch.name)
    if function is None:
        return set(), set()
    stored = {pointer for pointer, _ in Body(function).stores}
    passed = zip(function.parameters, map(text_of, launch.arguments), strict=False)
    pointers = {(each.name, text) for each, text in passed if each.pointer}
    written = {text for name, text in pointers if name in stored}
    return {text for _, text in pointers} - written, written
