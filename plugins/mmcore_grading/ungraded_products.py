"""The matrix products of a submission beside the graded one."""

from __future__ import annotations

from collections.abc import Sequence

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import parse
from mmcore_grading.answers import RUN, Answers
from mmcore_grading.compared_code import compared_code
from mmcore_grading.submissions import Submission
from mmcore_sources.cuda_file.inference.choice import products
from mmcore_sources.cuda_file.inference.host_calls import function_name, functions_of


def ungraded_products(submission: Submission, answers: Answers) -> Sequence[str]:
    """Return a warning about the products that were not graded, with their lines; none if all were."""
    document = answers[RUN].document if RUN in answers else None
    code = compared_code(submission.file, submission.text)
    graded = {each["entry"].partition("<")[0] for each in (document or {}).get("launched", ())}
    if code.suffix != "cu" or not graded:
        return []
    words = {name.rpartition("::")[2] for name in graded}
    others = {each.word: each.name for each in products(read_program(code.text)) if each.word not in words}
    if not others:
        return []
    # The code of a notebook or a Python file has other lines.
    lines = {function_name(each): each.start_point.row + 1 for each in functions_of(parse(code.text.encode()))}
    of_file = lines if submission.file.endswith(".cu") else {}
    named = [f"{name} (line {of_file[word]})" if word in of_file else name for word, name in others.items()]
    was = "was" if len(named) == 1 else "were"
    count = len(others) + len(graded)
    return [f"warning: of {count} products {', '.join(sorted(graded))} was graded; {', '.join(named)} {was} not"]
