"""Leading dimensions that a launch passes, and that are not the lengths of the rows in its kernel."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore.kernel.arguments import Argument
from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import HostCode
from mmcore_sources.cuda_file.inference.size_names import SIDES


def other_rows(host: HostCode, launch: HostLaunch, arguments: tuple[Argument, ...], column_major: str) -> Iterator[Bug]:
    """Find a leading dimension that is the number of rows instead of their length, or is less than this length.

    Matrices in ``column_major`` are stored by columns, whose number and length count instead. With less than this
    length, rows overlap, so that C is wrong.
    """
    passed = dict(zip(map(str, arguments), launch.arguments, strict=False))
    for matrix, sides in SIDES.items():
        by_columns = matrix in column_major
        number, length = (passed.get(side) for side in (sides[::-1] if by_columns else sides))
        leading = passed.get(f"ld{matrix.lower()}")
        if leading is None or number is None or length is None or text_of(leading) == text_of(length):
            continue
        least, has = (host.value(each, launch.scope) for each in (length, leading))
        short = least is not None and has is not None and has < least
        if short or (text_of(leading) == text_of(number) and (least is None or has != least)):
            lines = "columns" if by_columns else "rows"
            words = f"as the leading dimension of {matrix}, whose {lines} have {text_of(length)} elements"
            message = f"{launch.name} is passed {text_of(leading)} {words}"
            yield Bug("wrong-leading-dimension", launch.line, message, "C" if short else "")
