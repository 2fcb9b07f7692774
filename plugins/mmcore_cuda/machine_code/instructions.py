"""The instructions of machine code, read from nvdisasm's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.file_names import without_escapes
from mmcore_emulator.ptx.project_headers import is_of_project

_SECTION = re.compile(r'\s*\.section\s+\.text\.([^",\s]+)')
_LINE = re.compile(r'\s*//## File "(?P<path>.*?)", line (?P<line>\d+)')
_LABEL = re.compile(r"(?P<label>[.$\w]+):\s*$")
_INSTRUCTION = re.compile(
    r"\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<predicate>!?\w+)\s+)?(?P<opcode>[A-Z][\w.]*)\s*(?P<operands>.*?)\s*;"
    r"\s*/\* 0x[0-9a-f]{16} \*/"
)
_NOTE = re.compile(r"\(\*(.*?)\*\)")
_TARGET = re.compile(r"`\((.+?)\)")
_SPILL = "SpillRefill"
_WIDTHS = {"8": 1, "U8": 1, "S8": 1, "16": 2, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


_NOWHERE = Line("", 0)


@dataclass(frozen=True)
class Instruction:
    """An instruction of machine code.

    Attributes:
        address: byte offset in the function.
        opcode: its name with modifiers, such as "LDG.E.128".
        operands: its operands in order, as nvdisasm writes them.
        predicate: the predicate that guards it, such as "!P0"; empty without one.
        line: the source line that it was compiled from; number 0 if the code has no lines.
        targets: the labels that it names, of a branch or call.
        spill: whether ptxas notes that it stores or reloads a spilled register.
        kernel_line: the line of the kernel that leads to it, another one than ``line`` if a function was inlined.
    """

    address: int
    opcode: str
    operands: tuple[str, ...]
    predicate: str
    line: Line
    targets: tuple[str, ...]
    spill: bool
    kernel_line: Line = _NOWHERE

    @property
    def name(self) -> str:
        """The opcode without its modifiers."""
        return self.opcode.partition(".")[0]

    @property
    def nbytes(self) -> int:
        """The bytes that a thread loads or stores with it, if it is a load or store."""
        return next((_WIDTHS[part] for part in self.opcode.split(".") if part in _WIDTHS), 4)


@dataclass(frozen=True)
class Listing:
    """The instructions of a function in order, and its labels' addresses."""

    name: str
    instructions: list[Instruction]
    labels: dict[str, int]


class _Lines:
    """The source line of each instruction of a function.

    Code of a function from a library's header is attributed to the line that calls it, as by the emulator's profiler.
    """

    def __init__(self) -> None:
        self._lines = _NOWHERE, _NOWHERE
        self._main = ""
        self._places: list[tuple[str, int]] = []  # a place that was marked, then the calls that it was inlined at

    def add(self, path: str, number: int) -> None:
        """Add a mark before the next instruction."""
        self._places.append((path, number))

    def current(self) -> tuple[Line, Line]:
        """Return the line of the next instruction, and the kernel's line that leads to it.

        Without a mark they are those of the previous instruction.
        """
        if self._places:
            self._main = self._main or self._places[-1][0]
            own = [each for each in self._places if each[0] == self._main or is_of_project(each[0], self._main)]
            places = own[:1] or self._places[-1:]
            if places[0][1]:  # 0 marks code that belongs to no line
                line, call = (Line(PurePath(path).name, number) for path, number in (*places, *self._places[-1:]))
                self._lines = line, call
            self._places = []
        return self._lines


def listings(text: str) -> Iterator[Listing]:
    """Yield the functions in nvdisasm's text, each without the padding at its end."""
    listing, lines, labels = None, _Lines(), list[str]()
    for row in text.splitlines():
        if section := _SECTION.match(row):
            if listing is not None:
                yield _trimmed(listing)
            listing, lines, labels = Listing(section[1], [], {}), _Lines(), []
        elif listing is None:
            continue
        elif place := _LINE.match(row):
            lines.add(without_escapes(place["path"]), int(place["line"]))
        elif label := _LABEL.match(row):
            labels.append(label["label"])
        elif instruction := _INSTRUCTION.match(row):
            listing.labels.update(dict.fromkeys(labels, int(instruction["address"], 16)))
            listing.instructions.append(_instruction(instruction, *lines.current()))
            labels = []
    if listing is not None:
        yield _trimmed(listing)


def _instruction(match: re.Match[str], line: Line, kernel_line: Line) -> Instruction:
    text, notes = _NOTE.sub("", match["operands"]).strip(), _NOTE.findall(match["operands"])
    return Instruction(
        address=int(match["address"], 16),
        opcode=match["opcode"],
        operands=tuple(operand.strip() for operand in text.split(",")) if text else (),
        predicate=match["predicate"] or "",
        line=line,
        targets=tuple(_TARGET.findall(text)) + tuple(re.findall(r"\.L_x_\d+", " ".join(notes))),
        spill=any(_SPILL in note for note in notes),
        kernel_line=kernel_line,
    )


def _trimmed(listing: Listing) -> Listing:
    """Return a function without the branch to itself and the empty instructions that follow its code."""
    instructions = listing.instructions
    while instructions and instructions[-1].name == "NOP":
        instructions.pop()
    if instructions and [listing.labels.get(label) for label in instructions[-1].targets] == [instructions[-1].address]:
        instructions.pop()
    return listing
