"""Sources that fix their sizes by macros and constants, rewritten so that they can be compiled for others."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterable, Mapping, Set

from mmcore_cuda.cuda_source.tree import identifiers, text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.expressions import names_in
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.shared_tiles import shared_arrays
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel

_PREFIX = "MMCORE_"
_MACRO = r"[ \t]*#[ \t]*define[ \t]+{0}[ \t]+"
_WORDS = r"(?:static|inline|const|constexpr|auto|signed|unsigned|int|long|uint|(?:std::)?(?:size_t|u?int\d+_t))"
_CONSTANT = rf"[ \t]*(?=[^;=]*\bconst(?:expr)?\b)(?:{_WORDS} +)+(?:\w+ *= *[^;,]+, *)*{{0}} *= *"
_DEFINED = rf"^(?:{_MACRO}(.*?)[ \t]*(?=//|/\*|$)|{_CONSTANT}([^;,]+?) *(?=[;,]))"


def with_free_sizes(kernel: SourceKernel, roles: Mapping[str, str]) -> tuple[str, dict[str, str]] | None:
    """Return the kernel's source with macros for its sizes, and their definitions.

    ``roles`` are the roles of the constants that are sizes. One line has to define each of them, by a number or by
    constants that the kernel uses as the edges of tiles alone. Otherwise, or if the block depends on them, return None.
    """
    text, defines, parts = kernel.text, {}, set[str]()
    if _behind(kernel, _of_block(kernel), set()) & roles.keys():
        return None
    for name, role in roles.items():
        definitions = list(re.finditer(_DEFINED.format(re.escape(name)), text, re.MULTILINE))
        if len(definitions) != 1:
            return None
        group = definitions[0].lastindex or 1
        value, (begin, end) = definitions[0][group], definitions[0].span(group)
        parts |= {*re.findall(r"[A-Za-z_]\w*", value)}
        macro = f"{_PREFIX}{name.upper()}"
        text = f"{text[:begin]}{_resized(value, macro)}{text[end:]}"
        defines[macro] = f"{{{role}}}"
    behind = _behind(kernel, parts, set())
    used = _behind(kernel, kernel.body.names, {*roles})
    return None if (behind - roles.keys()) & (used - edges_of_tiles(kernel)) else (text, defines)


def passed_sizes(kernel: SourceKernel, sizes: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of the constants that a kernel uses although its launch passes them as parameters.

    ``sizes`` are the roles of the parameters. Constants that are edges of tiles, or passed as several sizes, are left
    out.
    """
    launch, roles = kernel.launch, dict[str, set[str]]()
    if launch is None:
        return {}
    reader = Reader.of(kernel.source, launch, {name: ast.Name(name) for name in kernel.constants})
    for parameter, argument in zip(kernel.function.parameters, launch.arguments, strict=False):
        with contextlib.suppress(Unreadable):
            if parameter.name in sizes and isinstance(number := reader.number(argument), ast.Name):
                roles.setdefault(number.id, set()).add(sizes[parameter.name])
    parameters = {each.name for each in kernel.function.parameters}
    used = _behind(kernel, kernel.body.names, set()) - edges_of_tiles(kernel) - parameters - kernel.values.keys()
    known = {name: min(several) for name, several in roles.items() if name in used and len(several) == 1}
    return {name: role for name, role in known.items() if role in ("m", "n", "k")}


def freed_sizes(text: str, defines: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of the constants that :func:`with_free_sizes` made macros of, by name."""
    found = dict[str, str]()
    for macro, role in defines.items():
        definition = re.search(rf"^.*\b{re.escape(macro)}\b", text, re.MULTILINE)
        if macro.startswith(_PREFIX) and definition is not None:
            names = re.findall(r"[A-Za-z_]\w*", definition[0])
            found |= {name: role.strip("{}") for name in names if f"{_PREFIX}{name.upper()}" == macro}
    return found


def _resized(value: str, macro: str) -> str:
    """Return an expression of the same type with the value of a macro."""
    return re.sub(r"\d+", macro, value) if re.fullmatch(r"\(?\d+\)?", value) else f"(({value}) * 0 + {macro})"


def _behind(kernel: SourceKernel, names: Iterable[str], without: Set[str]) -> set[str]:
    """Return the macros and constants among some names, and those that they depend on except through ``without``."""
    source, found = kernel.source, set[str]()
    pending = [*names]
    while pending:
        name = pending.pop()
        if name in found or name in without or name not in source.macros.keys() | source.constants.keys():
            continue
        found.add(name)
        text = source.macros[name].text if name in source.macros else text_of(source.constants[name])
        pending += re.findall(r"[A-Za-z_]\w*", text)
    return found


def edges_of_tiles(kernel: SourceKernel) -> set[str]:
    """Return the constants that are extents of the block or of the kernel's shared arrays, and their factors.

    A longer constant, as ``N`` in an edge of ``N / 16``, is no factor.
    """
    edges = {name for _, sizes in shared_arrays(kernel.body) for each in sizes for name in identifiers(each)}
    edges |= _of_block(kernel)
    longest = max((kernel.constants.get(each, 0) for each in edges), default=0)
    return {each for each in _behind(kernel, edges, set()) if kernel.constants.get(each, 0) <= longest}


def _of_block(kernel: SourceKernel) -> set[str]:
    """Return the constants in the extents of the block that the file launches."""
    launch, names = kernel.launch, set[str]()
    if launch is not None and len(launch.geometry) > 1:
        reader = Reader.of(kernel.source, launch, {name: ast.Name(name) for name in kernel.constants})
        with contextlib.suppress(Unreadable):
            names = {name for each in reader.extents(launch.geometry[1]) for name in names_in(each)}
    return names
