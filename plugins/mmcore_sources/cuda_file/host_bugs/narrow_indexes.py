"""Places of blocks that a kernel holds in 8 or 16 bits, which larger matrices exceed."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import initializers, text_of, walk
from mmcore_sources.cuda_file.host_bugs.bug import Bug

_LARGEST = {
    "char": 127, "signed char": 127, "int8_t": 127, "unsigned char": 255, "uint8_t": 255,
    "short": 32767, "short int": 32767, "int16_t": 32767,
    "unsigned short": 65535, "unsigned short int": 65535, "uint16_t": 65535, "ushort": 65535,
}  # fmt: skip


def narrow_indexes(text: str, entry: str) -> Iterator[Bug]:
    """Find a variable of a kernel that is a multiple of a block's index, in a type of at most 16 bits."""
    function = read_program(text).function(entry)
    for node in walk(function.body) if function is not None else ():
        declared = node.child_by_field_name("type") if node.type == "declaration" else None
        type_ = " ".join(text_of(declared).split()).removeprefix("std::") if declared is not None else ""
        for name, value in initializers(node) if type_ in _LARGEST else ():
            if "blockIdx" in text_of(value) and "*" in text_of(value):
                most = f"{_LARGEST[type_]:,}"
                message = f"{name} is {type_}, which holds at most {most}: matrices with more rows or columns are wrong"
                yield Bug("narrow-index", node.start_point.row + 1, message)
