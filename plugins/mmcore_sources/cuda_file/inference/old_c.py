"""The pointer to what C held before, in kernels that compute D = A·B + C."""

from __future__ import annotations

import re

from mmcore_cuda.cuda_source.functions import Function
from mmcore_sources.cuda_file.inference.body import Body

_MAP = "(?:tensor|tma|tm|map|desc|_)+"
_BEFORE, _AFTER = f"d|dev|device|g|gpu|h|mat|matrix|global|in|out|ptr|{_MAP}", f"d|dev|device|mat|ptr|gpu|{_MAP}"
MATRIX = re.compile(rf"(?:\w+\.)?(?:{_BEFORE})?_?([abc])_?(?:{_AFTER})?")
_OR_D = re.compile(MATRIX.pattern.replace("abc", "abcd"))


def old_c(function: Function, body: Body) -> str:
    """Return the name of the pointer to C's old value in D = A·B + C, of four pointers; empty without one.

    Their names say it, or else the indexes: C's old value is read only at elements that the output is stored to.
    """
    named = {match[1]: each.name for each in function.parameters
             if each.pointer and (match := _OR_D.fullmatch(each.name.casefold()))}  # fmt: skip
    written = {pointer for pointer, _ in body.stores}
    count = sum(each.pointer for each in function.parameters)
    if count == len(named) == 4 and named["c"] not in written:
        return named["c"]
    if count != 4 or len(written) != 1:
        return ""
    stored = list(body.indexes(*written))
    read = {each.name: list(body.indexes(each.name)) for each in function.parameters if each.pointer}
    same = [name for name, indexes in read.items()
            if name not in written and indexes and all(index in stored for index in indexes)]  # fmt: skip
    return same[0] if len(same) == 1 else ""
