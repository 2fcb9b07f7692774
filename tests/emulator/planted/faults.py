"""Faults to plant in the kernels of this folder, each with the lines that a good finding names.

The comment at the top of a kernel's file has one line for each. An indented line continues the line before it.

``// KIND: NAME: EDIT ==> #mark #other``
    The kind of mistake, a description, the edit, and marks in the comments of lines. A finding must name one of these
    lines. ``nothing`` after the arrow says that the edit leaves the kernel right.

An edit is one of these:

- ``drop #mark``: replace a statement by an empty one.
- ``if `condition` #mark``: execute a statement only under a condition.
- ``move #mark after #other``: move a line.
- ```old` -> `new```: replace a text that occurs once.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mmcore import Kernel
from tests.emulator.marked_source import header, without_header
from tests.emulator.planted.kernels import KERNELS

FAULT = re.compile(r"(?P<kind>[\w. ]+): (?P<name>.*): (?P<edit>(?:drop|if|move|`).*) ==> (?P<expected>.*)")
KINDS = (
    "read too early",
    "overwrite in flight",
    "fence.proxy.async",
    "wgmma.fence",
    "wgmma.wait_group",
    "phase",
    "transaction count",
    "descriptor",
    "cluster left",
    "barrier count",
    "barrier missing",
    "deadlock",
    "harmless",
)


@dataclass(frozen=True)
class Fault:
    """An edit that makes a right kernel wrong.

    Attributes:
        kernel: name of the kernel.
        kind: the mistake.
        name: a description of the edit.
        edit: the edit.
        expected: marks of the lines that a good finding names, in a finding's place or in its message.
    """

    kernel: str
    kind: str
    name: str
    edit: str
    expected: set[str]

    def planted(self, folder: Path) -> Kernel:
        """Return the kernel with the fault, in a source written to ``folder``."""
        kernel = KERNELS[self.kernel]
        (folder / kernel.source.name).write_text(edited(without_header(kernel.source_text()), self.edit))
        return replace(kernel, source=folder / kernel.source.name)


def edited(source: str, edit: str) -> str:
    """Return a source with an edit."""

    def line(mark: str) -> str:
        (found,) = re.findall(rf"(?m)^.* // {mark}(?![\w-]).*\n", source)
        return str(found)

    match edit.split(" "):
        case ["drop", mark]:
            old, new = line(mark), f"; // {mark}\n"
        case ["move", mark, "after", other]:
            old, new = line(other), line(other) + line(mark)
            source = source.replace(line(mark), "")
        case ["if", *_, mark]:
            old = line(mark)
            new = f"if ({edit.split('`')[1]}) {old}"
        case _:
            _, old, _, new, _ = edit.split("`")
    assert source.count(old) == 1, f"{old!r} does not occur once"
    return source.replace(old, new)


def _faults(name: str) -> Iterator[Fault]:
    for line in header(KERNELS[name].source_text())[1:]:
        fault = FAULT.fullmatch(line)
        assert fault, line
        yield Fault(name, fault["kind"], fault["name"], fault["edit"], set(fault["expected"].split()))


_ALL = sorted(itertools.chain(*map(_faults, KERNELS)), key=lambda fault: KINDS.index(fault.kind))
FAULTS = [fault for fault in _ALL if fault.kind != "harmless"]
HARMLESS = [fault for fault in _ALL if fault.kind == "harmless"]
