"""The headers outside of a submission's folder that it includes; the compiler would print lines of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mmcore_cuda.cuda_source.includes import includes
from mmcore_grading.compared_code import compared_code
from mmcore_grading.submissions import Submission


def outside_header(submission: Submission, folder: Path) -> str:
    """Return why a submission in a folder is not compiled: it includes a file elsewhere; empty if it does not.

    Names of headers that do not exist are ignored here: code of the host may include them.
    """
    for name, content in _sources(submission):
        found = includes(content)
        for include in (*found.names, *found.in_macros):
            path = os.path.normpath(include.name)
            if (os.path.isabs(path) or path.startswith(os.pardir)) and _exists(path, (folder / name).parent):
                return f"{name} includes {include.name}, which is outside of the submission's folder"
        if unknown := sorted(found.computed - found.macros):
            return f"{name} includes {unknown[0]}, a macro without the name of a header"
    return ""


def _exists(path: str, folder: Path) -> bool:
    """Return whether a file exists, also as seen from the folders of the compiler's headers."""
    from_root = Path(os.sep, path.replace(f"{os.pardir}{os.sep}", ""))
    return from_root.exists() or (folder / path).exists()


def _sources(submission: Submission) -> Iterator[tuple[str, bytes]]:
    code = compared_code(submission.file, submission.text)
    if code.suffix == "cu":
        yield submission.file, code.text.encode()
    yield from (each for each in submission.files[1:] if not each[0].endswith(".py"))
