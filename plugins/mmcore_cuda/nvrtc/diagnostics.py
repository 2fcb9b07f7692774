"""The errors in NVRTC's log."""

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
# NVRTC's file name for an error in a name expression.
_NAME_EXPRESSIONS = "__nv_name_map"


@dataclass(frozen=True)
class Diagnostic:
    """An error that NVRTC reports.

    Attributes:
        path: the file, as NVRTC names it.
        line: its line, from 1.
        column: its column, from 0; -1 if the log does not show it.
        message: the error.
        text: the lines of the log about it.
    """

    path: str
    line: int
    column: int
    message: str
    text: str

    @property
    def of_host(self) -> bool:
        """True if the code is for the host only, which NVRTC does not compile."""
        return "not allowed in JIT mode" in self.message

    @property
    def missing_header(self) -> str:
        """The header that is not found; empty for other errors."""
        match = _NO_FILE.search(self.message)
        return match[1] if match else ""


def lacking(log: str) -> list[str]:
    """Return the instructions and features that ptxas reports as missing; empty if there are other errors."""
    matches = [_LACKING.fullmatch(message) for message in _OF_PTXAS.findall(log)]
    return list(dict.fromkeys(each["name"] for each in matches if each)) if all(matches) else []


def diagnostics(log: str) -> Iterator[Diagnostic]:
    """Yield the errors in files, in the order of the log."""
    for error in _ERROR.finditer(log):
        if error["path"] != _NAME_EXPRESSIONS:
            column = -1 if error["before"] is None else len(error["before"])
            yield Diagnostic(error["path"], int(error["line"]), column, error["message"], error[0].rstrip())
