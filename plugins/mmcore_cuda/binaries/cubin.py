"""The kernel functions of a CUBIN: registers, static shared memory and parameters.

A CUBIN is an ELF file. NVIDIA documents neither its sections nor the records in ``.nv.info``; the tests compare the
result with ptxas's report on the same code. From architecture 9.0 on, the hardware reserves a part of each block's
shared memory, which ``.nv.shared`` includes and ptxas's report does not.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from typing import NamedTuple

from mmcore_cuda.binaries.code import Code, CodeFunction, UnreadableCode

_CUDA = 190  # the ELF machine
_NEWER_FLAGS = 8  # the version of the ABI from which on e_flags holds the architecture in its second byte
_KERNEL = 0x10  # bit of a symbol's st_other that marks a kernel function
_NO_BITS = 8  # type of a section without bytes in the file
_SIZED = 4  # format of a record of .nv.info whose value has a variable size
_PARAMETER, _REGISTERS = 0x17, 0x2F  # records: a parameter's ordinal and size; a symbol's registers
_RESERVED_SINCE, _RESERVED_BYTES = 90, 1024  # of each block's shared memory, from that architecture on


class _Section(NamedTuple):
    content: bytes
    size: int


@functools.lru_cache(maxsize=64)
def read_cubin(cubin: bytes) -> Code:
    """Return the facts in machine code; raise :class:`UnreadableCode` if it is not a CUBIN."""
    try:
        return _read(cubin)
    except (struct.error, IndexError, ValueError, KeyError, UnicodeDecodeError) as error:
        raise UnreadableCode(f"its ELF structure is damaged ({type(error).__name__})") from None


def _read(cubin: bytes) -> Code:
    if cubin[:5] != b"\x7fELF\x02" or struct.unpack_from("<H", cubin, 18)[0] != _CUDA:
        raise UnreadableCode("it is no 64-bit ELF file of machine code for NVIDIA's GPUs")
    (flags,) = struct.unpack_from("<I", cubin, 48)
    architecture = flags >> 8 & 0xFF if cubin[8] >= _NEWER_FLAGS else flags & 0xFF
    reserved = _RESERVED_BYTES if architecture >= _RESERVED_SINCE else 0
    sections = dict(sections_of(cubin))
    symbols = list(_symbols(sections))
    records = _records(sections.get(".nv.info", _Section(b"", 0)).content)
    registers = dict(struct.unpack("<II", value) for kind, value in records if kind == _REGISTERS)
    functions = {
        name: CodeFunction(
            name,
            _parameter_bytes(sections.get(f".nv.info.{name}", _Section(b"", 0)).content),
            max(0, sections.get(f".nv.shared.{name}", _Section(b"", 0)).size - reserved),
            registers.get(number, 0),
        )
        for number, (name, kernel) in enumerate(symbols)
        if kernel
    }
    return Code(str(architecture), functions)


def sections_of(cubin: bytes) -> Iterator[tuple[str, _Section]]:
    """Yield the sections of an ELF file, each with its name."""
    (begin,) = struct.unpack_from("<Q", cubin, 40)
    entry_bytes, count, of_names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, begin + number * entry_bytes) for number in range(count)]
    names = headers[of_names][4]
    for name, kind, _, _, offset, size in headers:
        yield _text(cubin, names + name), _Section(b"" if kind == _NO_BITS else cubin[offset : offset + size], size)


def _symbols(sections: dict[str, _Section]) -> Iterator[tuple[str, bool]]:
    """Yield each symbol's name, and whether it is a kernel function."""
    names = sections[".strtab"].content
    for name, _, other, *_ in struct.iter_unpack("<IBBHQQ", sections[".symtab"].content):
        yield _text(names, name), bool(other & _KERNEL)


def _records(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the kind and value of each record in an ``.nv.info`` section that has a value of variable size."""
    position = 0
    while position < len(content):
        form, kind, size = struct.unpack_from("<BBH", content, position)
        position += 4
        if form == _SIZED:
            yield kind, content[position : position + size]
            position += size


def _parameter_bytes(content: bytes) -> tuple[int, ...]:
    """Return the size of each parameter, in order."""
    parameters = [struct.unpack("<IHHI", value) for kind, value in _records(content) if kind == _PARAMETER]
    return tuple(properties >> 18 for _, _, _, properties in sorted(parameters, key=lambda record: record[1]))


def _text(content: bytes, begin: int) -> str:
    return content[begin : content.index(0, begin)].decode()
