"""The roles of sizes by their names: "colsA", "Wm" for the width of a matrix "Md", "lda", "pitchA", "K_size"."""

from __future__ import annotations

import re
from collections.abc import Mapping

SIDES = {"A": "mk", "B": "kn", "C": "mn"}
"""The numbers of rows and columns of each matrix."""

_SIDES = r"(?:num|n)?([{0}])?(rows?|cols?|columns?|widths?|heights?|w|h)(?:of)?([{0}])?"
_OF_SIDE = {
    ("a", "r"): "m", ("a", "c"): "k", ("b", "r"): "k", ("b", "c"): "n", ("c", "r"): "m", ("c", "c"): "n",
}  # fmt: skip
_POINTER = re.compile(r"(?:d|dev|h|g)?_?([a-z])_?(?:d|dev)?")
_SIZE = re.compile(r"([mnk])_?(?:ld|size|dim|total|global)|(?:ld|size|dim)_([mnk])")
_LOGARITHM = re.compile(r"1<<(?:log2?|lg|ld)?_?")  # of a power of two
_PITCH = re.compile(r"pitch([abc])|([abc])(?:pitch|ld)")  # in elements


def last_word(name: str) -> str:
    """Return the name of a member of a structure without the structure's, and other names as they are."""
    return name.rpartition(".")[2]


def usual_role(name: str) -> str:
    """Return the name of a size without its affixes: "m" for "M_size", and others as they are."""
    match = _SIZE.fullmatch(word := _LOGARITHM.sub("", last_word(name).casefold()))
    return match[1] or match[2] if match else word


def sure_role(name: str, matrices: Mapping[str, str]) -> str:
    """Return the role of a name that names a matrix and its rows or columns."""
    word = last_word(name).casefold().replace("_", "")
    if word in ("lda", "ldb", "ldc"):
        return word
    if pitch := _PITCH.fullmatch(word):
        return f"ld{pitch[1] or pitch[2]}"
    plain = {matrix: _POINTER.fullmatch(last_word(pointer).casefold()) for matrix, pointer in matrices.items()}
    letters = {match[1]: matrix.casefold() for matrix, match in plain.items() if match}
    letters = dict(zip("abc", "abc", strict=True)) | letters
    match = re.fullmatch(_SIDES.format("".join(letters)), word)
    if not match or bool(match[1]) == bool(match[3]):
        return ""
    return _OF_SIDE[letters[match[1] or match[3]], "r" if match[2][0] in "rh" else "c"]
