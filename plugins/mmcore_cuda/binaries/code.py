"""The kernel functions of compiled code: their parameters, registers, static shared and local memory.

A CUBIN is an ELF file. NVIDIA documents neither its sections nor the records in ``.nv.info``; the tests compare the
result with ptxas's report on the same code. From architecture 9.0 on, the hardware reserves a part of each block's
shared memory, which ``.nv.shared`` includes and ptxas's report does not.
"""

from __future__ import annotations

import functools
import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mmcore.errors import MmcoreError
from mmcore_emulator.isa.architectures import split_architecture

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+[af]?)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*(?:\((?P<parameters>[^)]*)\))?[^{;]*\{")
_DECLARATION = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)\b[^,\[]*(?:\[(\d+)\])?")
_SHARED = re.compile(
    r"(?P<extern>\.extern\s+)?\.shared\s+(?:\.align\s+(?P<align>\d+)\s+)?\.[a-z]+(?P<bits>\d+)\s+"
    r"(?P<name>[\w$%]+)\s*(?P<extents>(?:\[\d*\]\s*)*)"
)
_CUDA = 190  # the ELF machine
_NEWER_FLAGS = 8  # the version of the ABI from which on e_flags holds the architecture in its second byte
_KERNEL = 0x10  # bit of a symbol's st_other that marks a kernel function
_NO_BITS = 8  # type of a section without bytes in the file
_SIZED = 4  # format of a record of .nv.info whose value has a variable size
_USETMAXREG = 0x9C8  # the lowest 12 bits of the instruction, which has 16 bytes
# Records: a parameter's ordinal and size; a symbol's registers; its stack and its callees'.
_ORDINAL, _REGISTERS, _STACK = 0x17, 0x2F, 0x12
_RESERVED_SINCE, _RESERVED_BYTES = 90, 1024  # of each block's shared memory, from that architecture on


class UnreadableCode(MmcoreError):
    """Bytes that are not readable PTX or CUBIN."""


@dataclass(frozen=True)
class CodeFunction:
    """A kernel function in compiled code."""

    symbol: str
    parameter_bytes: tuple[int, ...]  # size of each parameter, in order
    shared_bytes: int  # static shared memory of a block
    registers: int = 0  # registers per thread; 0 in PTX, which does not allocate them
    local_bytes: int | None = None  # local memory per thread; None in PTX
    reallocates_registers: bool | None = None  # whether warps change their registers by ``setmaxnreg``; None in PTX


@dataclass(frozen=True)
class Code:
    """Compiled code: its architecture, such as "90a", and its kernel functions by symbol."""

    architecture: str
    functions: dict[str, CodeFunction]


def machine_code_runs(made_for: str, on: str) -> bool:
    """Return True if machine code for one architecture runs on another."""
    (major, minor, _), (their_major, their_minor, _) = split_architecture(made_for), split_architecture(on)
    return major == their_major and minor <= their_minor


@functools.lru_cache(maxsize=64)
def read_ptx(text: str) -> Code:
    """Return the facts in PTX text; raise :class:`UnreadableCode` if it is not PTX."""
    text = _COMMENT.sub(" ", text)
    target = _TARGET.search(text)
    if target is None:
        raise UnreadableCode("PTX has a line such as .target sm_90")
    spans = [(entry, entry.end(), _end(text, entry.end())) for entry in _ENTRY.finditer(text)]
    outside, position = "", 0
    for entry, _, end in spans:
        outside, position = outside + text[position : entry.start()], end
    outside += text[position:]
    functions = {
        entry[1]: CodeFunction(entry[1], _declared_bytes(entry["parameters"] or ""), _shared(outside, text[begin:end]))
        for entry, begin, end in spans
    }
    return Code(target[1], functions)


def parameter_bytes(text: str, symbol: str) -> tuple[int, ...]:
    """Return the size of each parameter of a kernel function, as its PTX declares them."""
    declaration = re.search(rf"\.entry\s+{re.escape(symbol)}\s*\(([^)]*)\)", text)
    return _declared_bytes(declaration[1]) if declaration else ()


def _declared_bytes(declarations: str) -> tuple[int, ...]:
    return tuple(int(bits) // 8 * int(count or 1) for bits, count in _DECLARATION.findall(declarations))


def _end(text: str, position: int) -> int:
    """Return the end of the body that begins at ``position``, after its brace."""
    depth = 1
    for brace in re.compile("[{}]").finditer(text, position):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    raise UnreadableCode("the body of a function does not end")


def _shared(outside: str, body: str) -> int:
    """Return the bytes of shared memory that a function declares, or uses from its module."""
    size = 0
    used = [each for each in _SHARED.finditer(outside) if re.search(rf"(?<![\w$]){re.escape(each['name'])}\b", body)]
    for variable in (*used, *_SHARED.finditer(body)):
        extents = re.findall(r"\d+", variable["extents"])
        # The size of an array without extents is the launch's.
        if variable["extern"] or (variable["extents"] and not extents):
            continue
        element = int(variable["bits"]) // 8
        align = int(variable["align"] or element)
        size = -(-size // align) * align + element * functools.reduce(int.__mul__, map(int, extents), 1)
    return size


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
    known = dict(sections_of(cubin))
    sections = defaultdict(lambda: _Section(b"", 0), known)
    records = [*_records(sections[".nv.info"].content)]
    registers, stacks = (
        dict(struct.unpack("<II", value) for kind, value in records if kind == wanted)
        for wanted in (_REGISTERS, _STACK)
    )
    functions = {}
    for number, (name, kernel) in enumerate(_symbols(known)):
        if kernel:
            parameters = _parameter_bytes(sections[f".nv.info.{name}"].content)
            shared_bytes = max(0, sections[f".nv.shared.{name}"].size - reserved)
            functions[name] = CodeFunction(
                name,
                parameters,
                shared_bytes,
                registers.get(number, 0),
                stacks.get(number),
                _has_instruction(sections[f".text.{name}"].content, _USETMAXREG),
            )
    return Code(str(architecture), functions)


def _has_instruction(code: bytes, opcode: int) -> bool:
    """Return whether some code has an instruction, by the lowest bits of its first word."""
    return any(first & 0xFFF == opcode for first, _ in struct.iter_unpack("<QQ", code))


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
    parameters = [struct.unpack("<IHHI", value) for kind, value in _records(content) if kind == _ORDINAL]
    return tuple(properties >> 18 for _, _, _, properties in sorted(parameters, key=lambda record: record[1]))


def _text(content: bytes, begin: int) -> str:
    return content[begin : content.index(0, begin)].decode()
