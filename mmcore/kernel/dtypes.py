"""The element types a matrix can have."""

from __future__ import annotations

from typing import NamedTuple

from mmcore.errors import InvalidProblem


class DType(NamedTuple):
    """An element type by numpy's name (ml_dtypes' for ``bfloat16``), and the numpy type that holds its bits."""

    name: str
    itemsize: int  # in bytes
    unit_roundoff: float  # half the distance from 1 to the next representable number
    storage: str


_DTYPES = {
    "float16": DType("float16", 2, 2.0**-11, "float16"),
    "bfloat16": DType("bfloat16", 2, 2.0**-8, "uint16"),
    "float32": DType("float32", 4, 2.0**-24, "float32"),
    "float64": DType("float64", 8, 2.0**-53, "float64"),
}
_SHORT_NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def dtype_named(name: str) -> DType:
    """The element type of a name ("float32", or "f32" for short); :class:`InvalidProblem` where there is none."""
    try:
        return _DTYPES[_SHORT_NAMES.get(name, name)]
    except KeyError:
        raise InvalidProblem(f"{name!r} is not an element type; there are {', '.join(_DTYPES)}") from None
