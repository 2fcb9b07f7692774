"""Similar submissions, found by the fingerprints of their tokens (the package copydetect, extra ``grade``)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from mmcore.files import read_text
from mmcore_grading.compared_code import Code, code_of, compared_code
from mmcore_grading.submissions import Submission

_TOKENS = 25  # characters of tokenised code in a match at least
_WINDOW = 1  # all fingerprints: a selection depends on Python's hashes, which differ from run to run
_LEAST = 0.8  # the part of the smaller submission that is in the other


class Pair(NamedTuple):
    """Two students whose submissions are alike, and the part of the shorter one that both have."""

    first: str
    second: str
    part: float


class Group(NamedTuple):
    """Students whose submissions are alike, some of them through a third one; the least and largest part of a pair."""

    students: tuple[str, ...]
    least: float
    largest: float


def similar(submissions: Sequence[Submission], given: Path | None) -> Sequence[Pair] | None:
    """Return the pairs of similar submissions, the most similar first; None without the package copydetect.

    Names of variables, comments and spaces do not count; nor does the code of ``given``, a file that all students were
    given.
    """
    try:
        from copydetect import CodeFingerprint, compare_files
    except ImportError:
        return None

    def fingerprint(code: Code, common: Sequence[int] = ()) -> CodeFingerprint:
        return CodeFingerprint(f"code.{code.suffix}", _TOKENS, _WINDOW, list(common), fp=io.StringIO(code.text))

    shared = compared_code(given.name, read_text(given, "replace")) if given else None
    common = list(fingerprint(shared).hashes) if shared else []
    codes = [(each.student, code_of(each)) for each in submissions if each.file]
    prints = [(student, code.suffix, fingerprint(code, common)) for student, code in codes]
    pairs = []
    for (one, language, first), (other, second_language, second) in combinations(prints, 2):
        part = float(max(compare_files(first, second)[1])) if language == second_language else 0.0
        if part >= _LEAST:
            pairs.append(Pair(one, other, round(min(part, 1.0), 3)))
    return sorted(pairs, key=lambda pair: -pair.part)


def groups(pairs: Sequence[Pair]) -> Sequence[Group]:
    """Return the groups that similar pairs connect, the largest first."""
    connected: list[set[str]] = []
    for pair in pairs:
        joined = [each for each in connected if not each.isdisjoint(pair[:2])]
        connected = [each for each in connected if each not in joined] + [set(pair[:2]).union(*joined)]
    found = []
    for students in connected:
        parts = [pair.part for pair in pairs if pair.first in students]
        found.append(Group(tuple(sorted(students)), min(parts), max(parts)))
    return sorted(found, key=lambda group: (-len(group.students), group.students))
