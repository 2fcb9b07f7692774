"""The device half of a CUDA source: the part that NVRTC can compile, which compiles no host code.

NVRTC expands macros and then reports which functions and variables are for the host. These are removed, without
changing line numbers, until the rest compiles or only errors of the device half remain. A function that NVRTC does not
report belongs to the device. It is removed as a whole if it does not compile and nothing uses it, and never in part.
The project's headers are treated like the source. Libraries' headers are unchanged if possible: NVRTC compiles their
functions for the device.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mmcore_cuda.cuda_source.entities import EditableSource, Entity, of_device
from mmcore_cuda.cuda_source.tokens import words
from mmcore_cuda.nvrtc.bindings import Diagnostic, diagnostics
from mmcore_cuda.nvrtc.project import Project
from mmcore_cuda.nvrtc.stand_ins import FAMILIES, FULL_STD, PRELUDE, stand_in

_NVCC = f"-include={PRELUDE}"
_FULL_STD = f"-D{FULL_STD}"
_DEFAULT_DEVICE = "-default-device"
# Names of std that device templates use, and host programs rarely.
_TRAIT = re.compile(
    r'"std" has no member (?:class |template )?"(is_\w+|(?:true|false)_type|enable_if\w*|conditional\w*|numeric_limits|'
    r'(?:remove|add|make)_\w+|decay\w*|integral_constant|(?:index|integer)_sequence|declval|common_type\w*)"'
)
_INSTANCE = re.compile(rb"(?:extern\s+)?template\s+(?!<)")
_NAMED = re.compile(r'"([^"\n]*)"|(\w+) is not a template')


@dataclass(frozen=True)
class ExcludedCode:
    """Code that is not part of a device half."""

    name: str  # name of the function, class, variable or header
    path: str  # the file that contains it
    first: int
    last: int  # its last line
    reason: str  # NVRTC's error that excludes it


@dataclass(frozen=True)
class DeviceHalf:
    """The part of a source that NVRTC compiles."""

    text: str  # the source with blanks in place of excluded code
    headers: dict[str, str]  # in memory by name: stand-ins, and the device halves of the project's headers
    options: tuple[str, ...]
    excluded: tuple[ExcludedCode, ...]  # the code excluded from the source and its headers, sorted by file and line


class DeviceHalfSearch:
    """The search for the device half of a source, error by error.

    The folders of CUDA's own headers are ``installed``; ``entries`` are the name expressions of the needed functions.
    """

    def __init__(
        self, source: Path, text: str, options: Sequence[str], installed: Sequence[str], entries: Sequence[str]
    ) -> None:
        self._project = Project(source, text, options, installed)
        self._entries = {word for entry in entries for word in words(entry.encode())}
        self._excluded: list[ExcludedCode] = []
        self._options: tuple[str, ...] = ()
        self._families: set[str] = set()
        self.missing: dict[str, Diagnostic] = {}

    def half(self) -> DeviceHalf:
        text, headers = self._project.program()
        excluded = sorted(self._excluded, key=lambda each: (each.path, each.first, each.last))
        return DeviceHalf(text, headers, self._options, tuple(excluded))

    def learn(self, log: str) -> bool:
        """Exclude the host code that a compilation's log reports; return whether there was any."""
        errors = list(diagnostics(log))
        if any(each.message.startswith("#error") and self._project.file(each.path) for each in errors):
            return False  # the author's own #error
        absent = [each for each in errors if each.missing_header]
        if absent:
            return self._learn_missing_headers(absent)
        if self.missing:
            return False
        learnt = self._stand_in()
        if any(_TRAIT.search(each.message) for each in errors) and self._add(_FULL_STD):
            return True
        learnt |= self._exclude_families(errors)
        of_host = [each for each in errors if each.of_host]
        learnt |= self._exclude([each for each in of_host if not self._project.of_library(each.path)])
        return (
            learnt
            or (bool(of_host) and self._add(_DEFAULT_DEVICE))
            or self._exclude([each for each in errors if not each.of_host])
            or ("std" in _names(errors) and self._add(_FULL_STD))
            or self._exclude(of_host)  # in libraries, too: functions that are explicitly for the host
        )

    def _add(self, option: str) -> bool:
        """Add an option of NVRTC; return whether it is new."""
        known = option in self._options
        self._options += () if known else (option,)
        return not known

    def _stand_in(self) -> bool:
        """Provide what nvcc includes from the host; return whether that is new."""
        if not self._add(_NVCC):
            return False
        self._project.stand_in_for_the_c_library()
        self._project.stand_in_for_host_headers()
        return True

    def reasons(self, log: str) -> str:
        """Return why the code that a log's errors miss was excluded."""
        missed = _names(list(diagnostics(log)))
        reasons = dict.fromkeys(each.reason for each in self._excluded if each.name in missed)
        return "".join(f"{reason}\n\n" for reason in reasons)

    def _learn_missing_headers(self, absent: list[Diagnostic]) -> bool:
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

    def _exclude_families(self, errors: list[Diagnostic]) -> bool:
        learnt = False
        for each in errors:
            family = next((family for family in FAMILIES if f"/{family}" in each.path), "")
            if family and family not in self._families and self._project.file(each.path) is None:
                self._families.add(family)
                for name in self._project.stand_in_for_host_headers((family,)):
                    self._excluded.append(ExcludedCode(family.rstrip("/"), name, 0, 0, each.text))
                    learnt = True
        return learnt

    def _exclude(self, errors: list[Diagnostic]) -> bool:
        """Exclude the code that errors report; return whether there was any."""
        by_file: dict[str, list[Diagnostic]] = {}
        for each in errors:
            by_file.setdefault(each.path, []).append(each)
        learnt = False
        for path, in_file in by_file.items():
            source = self._project.file(path)
            if source is not None and self._exclude_from(source, path, in_file):
                self._project.edited(path)
                learnt = True
        return learnt

    def _exclude_from(self, source: EditableSource, path: str, errors: list[Diagnostic]) -> bool:
        """Exclude the code of one file that errors report, from its end, so that earlier positions stay valid."""
        chosen: dict[tuple[int, int], tuple[Entity, Diagnostic]] = {}
        for error in errors:
            entity = source.entity(error.line, error.column)
            if error.of_host and entity is not None and entity.head and entity.declared_for_device:
                entity = source.entity_from_line(error.line, error.column)
            if entity is not None and (entity.begin, entity.end) not in chosen and self._is_host(entity, error):
                chosen[entity.begin, entity.end] = entity, error
        for begin, end in sorted(chosen, reverse=True):
            entity, error = chosen[begin, end]
            if error.of_host and (entity.of_both or entity.for_its_type) and not entity.of_device:
                source.annotate(entity)
            elif not any(begin <= first and last <= end and (first, last) != (begin, end) for first, last in chosen):
                first, last = source.remove(entity)
                self._excluded.append(ExcludedCode(entity.name, self._project.name(path), first, last, error.text))
        return bool(chosen)

    def _is_host(self, entity: Entity, error: Diagnostic) -> bool:
        """Return whether the device half does not need an entity that has an error."""
        if not entity.parsed:
            return False
        if error.of_host:
            if self._project.in_body(error.path):
                return False  # a member of a class in a kernel
            return entity.head and not entity.of_kernel and (entity.function >= 0 or not entity.of_device)
        if not self._project.at_file_scope(error.path):
            return False
        if _INSTANCE.match(entity.text):
            return not entity.of_kernel  # device code makes the instances that it uses
        others = [each for file in self._project.files() for each in file.entities if each.text != entity.text]
        namesakes = [each for each in others if each.name == entity.name]
        if entity.function >= 0:
            kernel = entity.of_kernel or not any(each.of_kernel for each in namesakes)
            needed = kernel and (entity.name in self._entries or (entity.of_kernel and not self._entries))
            return not needed and not self._is_used(entity, others)
        of_excluded = not _names([error]).isdisjoint(each.name for each in self._excluded)
        by_macro = not of_excluded and not words(entity.text).isdisjoint(
            self._project.macros_with(lambda text: b"{" in text)
        )
        # Without these, another overload or the primary template would be used silently.
        replaceable = entity.specialised or namesakes
        # A class with members for both sides belongs to the host if it needs excluded code and no device code names it.
        for_device = entity.of_device and not (of_excluded and not self._is_used(entity, others))
        return not for_device and not by_macro and not (replaceable and self._is_used(entity, others))

    def _is_used(self, entity: Entity, others: Sequence[Entity]) -> bool:
        """Return whether device code may use an entity; an operator, for example, is used without its name."""
        meant = {name: set[str]().union(*map(words, texts)) for name, texts in self._project.macros().items()}
        annotations = self._project.macros_with(of_device)
        named = {each.name for each in (entity, *others) if each.of_device or annotations & words(each.text)}
        if not entity.name.isidentifier():
            return entity.name in named
        used = set[str]()
        for each in others:
            if each.name in named:
                # A declaration of the same name is not a use.
                declared = rb"\b%s\b" % each.name.encode()
                used |= words(re.sub(declared, b"", each.text, count=1) if each.name == entity.name else each.text)
        while more := {word for name in meant.keys() & used for word in meant[name]} - used:
            used |= more
        return entity.name in used


def _names(errors: list[Diagnostic]) -> set[str]:
    found = (match[1] or match[2] or "" for each in errors for match in _NAMED.finditer(each.message))
    return {word for named in found for word in words(named.encode())}
