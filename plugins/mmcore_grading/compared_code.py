"""The code of a submission that is compared with others: CUDA C++ if it has any, else Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mmcore.errors import InvalidKernel
from mmcore_grading.submissions import Submission
from mmcore_sources.python_file.choice import python_program
from mmcore_sources.python_file.notebook import without_magics

_OF_DEVICES = ("__global__", "__device__")


class Code(NamedTuple):
    """A text in one language, which is the suffix of its files."""

    text: str
    suffix: str


def code_of(submission: Submission) -> Code:
    """Return the code of all files of a submission."""
    several = [compared_code(name, content.decode(errors="replace")) for name, content in submission.files]
    suffix = "cu" if any(each.suffix == "cu" for each in several) else "py"
    return Code("\n".join(each.text for each in several if each.suffix == suffix), suffix)


def compared_code(file: str, text: str) -> Code:
    """Return the code of a file, of which a notebook's outputs and metadata are no part.

    Of Python, it is the CUDA C++ in cells and strings, if there is any. A file that cannot be read has none.
    """
    if not file.endswith((".py", ".ipynb")):
        return Code(text, "cu")
    try:
        program = python_program(Path(file), text)
    except InvalidKernel:
        return Code("", "py")
    cuda = [*(without_magics(each.text) for each in program.cells if each.is_cuda), *_sources(program.tree)]
    return Code("\n".join(cuda), "cu") if cuda else Code(program.text, "py")


def _sources(tree: ast.AST) -> Iterator[str]:
    """Yield the strings that contain functions of a device, with the constant parts of f-strings."""
    for node in ast.iter_child_nodes(tree):
        constants = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        if isinstance(node, ast.Constant | ast.JoinedStr):
            string = "".join(each for each in constants if isinstance(each, str))
            if any(word in string for word in _OF_DEVICES):
                yield string
        else:
            yield from _sources(node)
