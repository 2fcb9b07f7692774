"""Classes that are template arguments of a kernel, as in ``gemm<Config64>``, and the types in them that it uses."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from mmcore.errors import InvalidKernel, LacksOption
from mmcore_cuda.cuda_source.functions import Function
from mmcore_cuda.cuda_source.program import HostLaunch, Program
from mmcore_cuda.cuda_source.tree import text_of, walk
from mmcore_sources.cuda_file.inference.class_types import constants_of, definition_of, file_types, type_name
from mmcore_sources.cuda_file.inference.host_code import Reader

_MOST = 3


def class_argument(source: Program, launch: HostLaunch | None, text: str) -> str:
    """Return the name of the class that a template's argument is, as ``lib::Tile<8, 4>``; empty for others."""
    reader = Reader.of(source, launch, {})
    return type_name(reader, text) if text and definition_of(reader, text) is not None else ""


def member_types(source: Program, function: Function, classes: Mapping[str, str]) -> dict[str, str]:
    """Return the types that a kernel takes of its classes, such as "typename Config::T", and its aliases of them."""
    reader = Reader(source)
    found = dict[str, str]()
    for name in sorted(set().union(*(_members(function, each) for each in classes))):
        if meant := type_name(reader, name):
            found |= {name: meant, f"typename {name}": meant}
    for alias in (each for each in walk(function.body) if each.type == "alias_declaration"):
        named, aliased = (alias.child_by_field_name(each) for each in ("name", "type"))
        if named is not None and aliased is not None and text_of(aliased) in found:
            found[text_of(named)] = found[text_of(aliased)]
    return found


def refuse_unknown_class(source: Program, function: Function, name: str) -> None:
    """Raise InvalidKernel for a type of a template whose members a kernel uses.

    It is LacksOption, which names the instances, if classes of the file have such members.
    """
    words = {each.rpartition("::")[2] for each in _members(function, name)}
    if not words:
        return
    fitting = list[str]()
    for each in file_types(source.root):
        definition = definition_of(Reader(source), each)
        names = constants_of(definition).keys() if definition is not None else set[str]()
        if not words.isdisjoint(names) and (written := type_name(Reader(source), each)):
            fitting.append(written)
    lacks = f"{function.name} is a template, and no launch that can be read gives {name}"
    lacks += f"; --entry '{function.word}<…>' names its instance"
    if len(function.template) > 1 or not fitting:
        raise InvalidKernel(lacks)
    raise LacksOption(lacks, *(f"--entry {shlex.quote(f'{function.word}<{each}>')}" for each in fitting[:_MOST]))


def _members(function: Function, name: str) -> set[str]:
    """Return the members of a template's type that a function uses, such as "Config::BM"."""
    texts = [text_of(function.body), function.bounds, *(each.type for each in function.parameters)]
    return {each for text in texts for each in re.findall(rf"\b{name}::\w+", text)}
