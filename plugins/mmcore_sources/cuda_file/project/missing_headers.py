"""Headers that a file includes and that are not found, although its kernel compiles without them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.choice import is_product
from mmcore_sources.cuda_file.project.header_folders import lacking
from mmcore_sources.cuda_file.syntax import rejection


def without_missing_headers(
    path: Path, text: str, options: Sequence[str], given: Mapping[str, Any]
) -> tuple[str, tuple[str, ...]]:
    """Return a source without its lines that include headers which are not found, and the headers' names.

    It is returned unchanged, without names, if its matrix products, or the given ``entry``, do not compile that way.
    """
    names, shorter = list[str](), text
    for include in lacking(path, text, options):
        line = rf"^[ \t]*#[ \t]*include[ \t]*[\"<]{re.escape(include.name)}[\">][^\n]*"
        shorter, count = re.subn(line, "", shorter, flags=re.MULTILINE)
        names += [include.name] * (count > 0)
    program = read_program(shorter)
    products = () if given.get("entry") else tuple(each.word for each in program.functions if is_product(each, program))
    if not names or rejection(path, shorter, {**given, "options": tuple(options)}, products):
        return text, ()
    return shorter, tuple(dict.fromkeys(names))
