"""The device half of a CUDA source: what remains of it for NVRTC, which compiles nothing of the host's.

NVRTC tells which functions and variables are the host's, after it has expanded the macros. So it is asked: what it
points at is left out, line numbers remaining, until what is left compiles or only errors of the device half remain.
Headers of the project are treated as the source is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcore_nvrtc.diagnostics import Diagnostic, diagnostics
from mmcore_nvrtc.entities import Entity, Source, words
from mmcore_nvrtc.project import Project
from mmcore_nvrtc.stand_ins import FAMILIES, FULL_STD, PRELUDE, stand_in

_NVCC = (f"-include={PRELUDE}",)
# What templates of the device take from std, and programs for the host seldom.
_TRAIT = re.compile(
    r'"std" has no member (?:class |template )?"(is_\w+|(?:true|false)_type|enable_if\w*|conditional\w*|numeric_limits|'
    r'(?:remove|add|make)_\w+|decay\w*|integral_constant|(?:index|integer)_sequence|declval|common_type\w*)"'
)
_QUOTED = re.compile(r'"([^"\n]*)"')


@dataclass(frozen=True)
class LeftOut:
    """What is no part of a device half.

    Attributes:
        name: name of the function, class, variable or header.
        path: the file that it is in.
        first: its first line.
        last: its last line.
        reason: NVRTC's error that it was left out for.
    """

    name: str
    path: str
    first: int
    last: int
    reason: str


@dataclass(frozen=True)
class DeviceHalf:
    """What NVRTC compiles of a source.

    Attributes:
        text: the source with blanks in the place of what was left out.
        headers: what NVRTC is given in the place of files: stand-ins, and the device halves of the project's headers.
        options: further options.
        left_out: what was left out of the source and its headers, in the order of files and lines.
    """

    text: str
    headers: dict[str, str]
    options: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


class DeviceHalfSearch:
    """The search for the device half of a source, error by error.

    Args:
        source: path of the source.
        text: its content.
        options: NVRTC's.
        installed: the folders of CUDA's own headers.
        entries: name expressions of the functions that are needed.
    """

    def __init__(
        self, source: Path, text: str, options: Sequence[str], installed: Sequence[str], entries: Sequence[str]
    ) -> None:
        self._project = Project(source, text, options, installed)
        self._entries = {word for entry in entries for word in words(entry.encode())}
        self._left_out: list[LeftOut] = []
        self._options: tuple[str, ...] = ()
        self._families: set[str] = set()
        self.missing: dict[str, Diagnostic] = {}

    def half(self) -> DeviceHalf:
        """What is to be compiled as far as is known."""
        text, headers = self._project.program()
        left_out = sorted(self._left_out, key=lambda each: (each.path, each.first, each.last))
        return DeviceHalf(text, headers, self._options, tuple(left_out))

    def learn(self, log: str) -> bool:
        """Leave out what the log of a compilation shows to be the host's; whether there was anything."""
        found = list(diagnostics(log))
        if any(each.message.startswith("#error") and self._project.file(each.path) for each in found):
            return False  # its author refuses
        absent = [each for each in found if each.missing_header]
        if absent:
            return self._learn_missing(absent)
        if self.missing:
            return False
        learnt = self._stand_in()
        if not self._full_std and any(_TRAIT.search(each.message) for each in found):
            return self._add_full_std()
        learnt |= self._leave_out_families(found)
        by_file: dict[str, list[Diagnostic]] = {}
        for each in found:
            by_file.setdefault(each.path, []).append(each)
        for path, errors in by_file.items():
            source = self._project.file(path)
            if source is not None and self._leave_out_of(source, path, errors):
                self._project.edited(path)
                learnt = True
        if not learnt and not self._full_std and "std" in _names(found):
            return self._add_full_std()
        return learnt

    @property
    def _full_std(self) -> bool:
        return len(self._options) > len(_NVCC)

    def _add_full_std(self) -> bool:
        """Give NVRTC the parts of the C++ library that take long to compile."""
        self._options = (*_NVCC, f"-D{FULL_STD}")
        return True

    def _stand_in(self) -> bool:
        """Give NVRTC what nvcc has from the host; whether that is new."""
        if self._options:
            return False
        self._options = _NVCC
        self._project.stand_in_for_the_c_library()
        self._project.stand_in_for_host_headers()
        return True

    def reasons(self, log: str) -> str:
        """Why those entities were left out that the errors of a log miss."""
        missed = _names(list(diagnostics(log)))
        reasons = dict.fromkeys(each.reason for each in self._left_out if each.name in missed)
        return "".join(f"{reason}\n\n" for reason in reasons)

    def _learn_missing(self, absent: list[Diagnostic]) -> bool:
        self._stand_in()
        for each in absent:
            name = each.missing_header
            known = stand_in(name)
            if known is None:
                if name in self.missing:
                    return False
                self.missing[name] = each
            self._project.in_memory[name] = known or ""
        return True

    def _leave_out_families(self, found: list[Diagnostic]) -> bool:
        """Leave out the libraries for the host whose own headers do not compile."""
        learnt = False
        for each in found:
            family = next((family for family in FAMILIES if f"/{family}" in each.path), "")
            if family and family not in self._families and self._project.file(each.path) is None:
                self._families.add(family)
                for name in self._project.stand_in_for_host_headers((family,)):
                    self._left_out.append(LeftOut(family.rstrip("/"), name, 0, 0, each.text))
                    learnt = True
        return learnt

    def _leave_out_of(self, source: Source, path: str, errors: list[Diagnostic]) -> bool:
        """Leave out of one file what the errors show; from its end, so that the places before remain."""
        chosen: dict[tuple[int, int], tuple[Entity, Diagnostic]] = {}
        for error in errors:
            entity = source.entity(error.line, error.column)
            if entity is not None and (entity.begin, entity.end) not in chosen and self._is_host(entity, error):
                chosen[entity.begin, entity.end] = entity, error
        for begin, end in sorted(chosen, reverse=True):
            entity, error = chosen[begin, end]
            if error.of_host and (entity.of_both or entity.for_its_type) and not entity.of_device:
                source.give_to_device(entity)
            elif not any(begin <= first and last <= end and (first, last) != (begin, end) for first, last in chosen):
                first, last = source.leave_out(entity)
                self._left_out.append(LeftOut(entity.name, self._project.name(path), first, last, error.text))
        return bool(chosen)

    def _is_host(self, entity: Entity, error: Diagnostic) -> bool:
        """Whether the device half can do without an entity that has an error."""
        if error.of_host:
            return not entity.of_kernel
        if entity.of_device:
            needed = entity.name in self._entries or (entity.of_kernel and not self._entries)
            return entity.function >= 0 and not needed and not self._is_used(entity)
        # Something else would silently take the place of these.
        return entity.parsed and not ((entity.of_both or entity.specialised) and self._is_used(entity))

    def _is_used(self, entity: Entity) -> bool:
        """Whether something that is annotated as the device's names an entity."""
        annotated = (each for file in self._project.files() for each in file.entities() if each.of_device)
        return any(each.text != entity.text and entity.name in words(each.text) for each in annotated)


def _names(found: list[Diagnostic]) -> set[str]:
    """The identifiers that errors quote."""
    return {word for each in found for quoted in _QUOTED.findall(each.message) for word in words(quoted.encode())}
