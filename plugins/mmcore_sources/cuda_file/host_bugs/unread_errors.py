"""A note about launches whose errors a program never reads."""

from __future__ import annotations

from collections.abc import Iterator

from mmcore.registry import registry
from mmcore.result import Result
from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tree import Node
from mmcore_sources.cuda_file.host_bugs.host import HostCode

_READERS = ("cudaGetLastError", "cudaPeekAtLastError")


def note(result: Result) -> Iterator[str]:
    """Yield the note for the file of a result's kernel."""
    file = registry().files.get(result.kernel)
    text = unread_errors(HostCode(file.kernel.source_text())) if file is not None else ""
    if text:
        yield text


def unread_errors(host: HostCode) -> str:
    """Return that a whole program reads the error of no launch; empty if it reads one."""
    if not host.launches or not host.has_main:
        return ""
    text = read_program(host.text).text
    used = [each for each in host.calls if each.name.startswith("cuda") and _is_used(each.node)]
    if used or any(reader in text for reader in _READERS):
        return ""
    return f"no error of the launch in line {host.launches[0].line} is read: cudaGetLastError() after it returns one"


def _is_used(call: Node) -> bool:
    above = call.parent
    return above is not None and above.type not in ("expression_statement", "comma_expression")
