"""Values that other files of a project give to macros which a file uses without defining them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.tokens import words
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.tuned_macros import UndefinedMacros
from mmcore_sources.cuda_file.project.sources import sources_of_project


def with_values_of_project(path: Path, error: UndefinedMacros) -> UndefinedMacros:
    """Return a file's error with the values that the nearest files of its project define, instead of examples."""
    values, places = dict(error.values), dict[str, str]()
    for other, content in sources_of_project(path):
        names = (values.keys() - places.keys()) & words(content.encode())
        defined = _numbers(content, names) if names else {}
        values |= defined
        places |= dict.fromkeys(defined, other.name)
    found = UndefinedMacros(error.file, error.names, values, places)
    _, *bugs = str(error).splitlines()
    found.args = ("\n".join([str(found), *bugs]),)
    return found


def _numbers(text: str, names: Collection[str]) -> dict[str, int]:
    """Return the positive numbers among a source's macros and constants of these names."""
    program = read_program(text)
    several = {name: Reader(program).whole(name) for name in {*program.macros, *program.constants} & {*names}}
    return {name: number for name, number in sorted(several.items()) if number is not None and number > 0}
