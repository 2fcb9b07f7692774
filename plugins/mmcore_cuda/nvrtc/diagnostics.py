"""What NVRTC's log says, error by error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ERROR = re.compile(
    r"^(?P<path>[^\n(][^\n]*?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<message>.*)\n"
    r"(?:  (?P<shown>.*)\n  (?P<before>\s*)\^)?",
    re.MULTILINE,
)
_NO_FILE = re.compile(r"(?:could not|cannot) open source file \"(.*?)\"")
_OF_PTXAS = re.compile(r"^ptxas .*?; error *: (?P<message>.*)$", re.MULTILINE)
_LACKING = re.compile(r"\w+ '(?P<name>[^']+)'.* (?:requires|not supported on) \.target .*")
# What a name expression that names nothing is reported in.
_NAME_EXPRESSIONS = "__nv_name_map"


@dataclass(frozen=True)
class Diagnostic:
    """An error that NVRTC reports.

    Attributes:
        path: the file that it is in, as NVRTC names it.
        line: its line, from 1.
        column: its column, from 0; -1 where the log does not show it.
        message: what is wrong.
        text: the lines of the log that say so.
    """

    path: str
    line: int
    column: int
    message: str
    text: str

    @property
    def of_host(self) -> bool:
        """Whether something is for the host alone, which NVRTC does not compile."""
        return "not allowed in JIT mode" in self.message

    @property
    def missing_header(self) -> str:
        """The header that is not found; empty where something else is wrong."""
        found = _NO_FILE.search(self.message)
        return found[1] if found else ""


def lacking(log: str) -> list[str]:
    """What ptxas says that the architecture lacks: instructions, and features of them; nothing if it says more."""
    found = [_LACKING.fullmatch(message) for message in _OF_PTXAS.findall(log)]
    return list(dict.fromkeys(each["name"] for each in found if each)) if all(found) else []


def diagnostics(log: str) -> Iterator[Diagnostic]:
    """The errors in files, in the order of the log."""
    for found in _ERROR.finditer(log):
        if found["path"] != _NAME_EXPRESSIONS:
            column = -1 if found["before"] is None else len(found["before"])
            yield Diagnostic(found["path"], int(found["line"]), column, found["message"], found[0].rstrip())
