"""A source whose default macros have the values that a user gives."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmcore_cuda.cuda_source.program import read_program


def with_macros(text: str, given: Mapping[str, object]) -> str:
    """Return a source in which the defaults under ``#ifndef`` have given values; its lines stay where they are."""
    macros = read_program(text).macros
    for name in (each for each in given if each in macros and macros[each].group):
        definition = re.compile(rf"^([ \t]*#[ \t]*define[ \t]+{name}[ \t]+)[^\n/\\]+", re.MULTILINE)
        value = str(given[name]).replace("\\", r"\\")
        text = definition.sub(rf"\g<1>{value}", text)
    return text
