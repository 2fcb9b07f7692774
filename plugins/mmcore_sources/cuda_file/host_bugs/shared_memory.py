"""Bugs of dynamic shared memory: more than 48 KB without the kernel's attribute, and tiles that nothing aligns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from mmcore.kernel.arguments import Argument, TensorMap
from mmcore_cuda.cuda_source.program import HostLaunch, read_program
from mmcore_cuda.cuda_source.tokens import without_comments
from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.host_bugs.bug import Bug
from mmcore_sources.cuda_file.host_bugs.host import Call, HostCode

_LIMIT = 48 << 10  # bytes of dynamic shared memory that a block may have without an attribute of its kernel
_ATTRIBUTES = ("MaxDynamicSharedMemorySize", "MAX_DYNAMIC_SHARED_SIZE")
_DYNAMIC = re.compile(
    r"\bextern\s+__shared__\s+(?!\s*(?:alignas|__align__))[\w:\s]*?(?P<type>\w+)\s+(?P<name>\w+)\s*\[\s*\]\s*;"
)
_ALIGNMENT = re.compile(r"\b(?:alignas|__align__)\s*\(\s*(0[xX][0-9a-fA-F]+|[1-9]\d*)\s*\)")
_LUCK = "they have it by luck, if at all; alignas({}) asks for it"
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_SWIZZLED = {128: 1024, 64: 512, 32: 256}  # the alignment in bytes that a swizzle's pattern repeats at


def unaligned_tiles(text: str, arguments: Iterable[Argument]) -> Iterator[Bug]:
    """Find dynamic shared memory without an alignment, into which bulk copies swizzle tiles.

    A source that computes with the alignment, or one less, anywhere aligns the address itself. A pointer to a structure
    aligns nothing, whatever its members ask for, but an array of structures has the alignment of those. Alignments that
    are all smaller than needed are named.
    """
    swizzle = max((each.swizzle for each in arguments if isinstance(each, TensorMap)), default=0)
    needed = _SWIZZLED.get(swizzle, 0)
    number, less = (rf"(?:{each}|0x0*{each:x})u?l*" for each in (needed, needed - 1))
    aligned = rf"[%/*]\s*{number}\b|\b{number}\s*-|\b{less}\b|\balign(?!as\b)|aligned\b"
    code = _STRING.sub('""', without_comments(text.encode()).decode())
    if not needed or re.search(aligned, code, re.IGNORECASE):
        return
    asked = max((int(number, 0) for number in _ALIGNMENT.findall(code)), default=0)
    most = f"the source asks for {asked} bytes at most, where " if 0 < asked < needed else ""
    luck = f"alignas({needed}) of them and of {{}} asks for it" if 0 < asked < needed else _LUCK.format(needed)
    for found in _DYNAMIC.finditer(text):
        if "align" in code and re.search(rf"\bstruct\b[^;{{]*\b{found['type']}\b", code):
            continue
        asks = f"{found['name']} has no alignment, and {most}tiles swizzled by {swizzle} bytes need {needed}"
        yield Bug("unaligned-tiles", text.count("\n", 0, found.start()) + 1, f"{asks}: {luck.format(found['name'])}")


def unraised_limit(host: HostCode, known: Mapping[int, int]) -> Iterator[Bug]:
    """Find a launch with more than 48 KB of dynamic shared memory that no attribute allows before it.

    ``known`` has the bytes of launches by their line where they depend on a template's parameters.
    """
    for launch in host.launches:
        constant = host.value(launch.geometry[2], launch.scope) if len(launch.geometry) > 2 else None
        size = known.get(launch.line, constant)
        if size is None or size <= _LIMIT:
            continue
        asked = f"{launch.name} is launched with {size} bytes of shared memory per block"
        allows = f"cudaFuncSetAttribute({launch.name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {size})"
        why = _lacks(host, launch, size)
        if why:
            left_wrong = "C" if host.has_main else ""  # another file may set the attribute
            yield Bug("shared-memory-limit", launch.line, f"{asked}, and {why}: {allows} does", left_wrong)


def _lacks(host: HostCode, launch: HostLaunch, size: int) -> str:
    """Return what keeps the attributes that a program sets from allowing a launch; empty if they allow it."""
    program = read_program(host.text)
    kernels = {each.word for each in program.functions} - {launch.name.rpartition("::")[2]}
    raising = [each for each in host.calls if len(each.arguments) == 3 and _raises(each)]
    calls = [each for each in raising if kernels.isdisjoint(identifiers(each.arguments[0]))]
    unread = not raising and any(word in program.text for word in _ATTRIBUTES)
    if not calls:
        return "" if unread else f"the program does not raise the limit of {_LIMIT}"
    if all(
        each.scope.start_byte == launch.scope.start_byte and each.node.start_byte > launch.geometry[0].start_byte
        for each in calls
    ):
        return f"line {calls[0].line} raises the limit of {_LIMIT} after that"
    values = [host.value(each.arguments[2], each.scope) for each in calls]
    if all(value is not None and value < size for value in values):
        return f"line {calls[0].line} raises the limit to {values[0]} only"
    return ""


def _raises(call: Call) -> bool:
    return any(word in text_of(call.arguments[1]) for word in _ATTRIBUTES)
