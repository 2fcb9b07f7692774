"""The matrices that a Numba kernel takes as transposed arrays, such as B of n×k elements for C = A·Bᵀ."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmcore_sources.cuda_file.inference.notes import Note
from mmcore_sources.cuda_file.inference.size_names import SIDES
from mmcore_sources.cuda_file.inference.unusual import Unusual, transposing_word
from mmcore_sources.numba.subscripts import Subscripts
from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.host_text import PythonLaunch
from mmcore_sources.python_file.program import PythonProgram
from mmcore_sources.python_file.values import ValueReader

_TRANSPOSED = re.compile(r"\b\w+\.T\b")


@dataclass(frozen=True)
class TransposedArrays:
    """The matrices that a kernel takes as transposed arrays.

    Attributes:
        matrices: their names.
        evidence: the words of the file that support this; empty if none do.
        is_given: True if the user says it.
    """

    matrices: frozenset[str] = frozenset()
    evidence: str = ""
    is_given: bool = False

    @property
    def sides(self) -> dict[str, str]:
        """The sizes of each matrix's array along its two axes."""
        return {each: sizes[::-1] if each in self.matrices else sizes for each, sizes in SIDES.items()}

    @property
    def notes(self) -> list[Note]:
        """The notes on what is inferred."""
        several = [] if self.is_given else sorted(self.matrices)
        why = self.evidence or "as the subscripts show"
        return [Note(each, f"of {_shape(self.sides[each])}", f"{why}; '' is {_shape(SIDES[each])}", "--column-major")
                for each in several]  # fmt: skip

    @property
    def unusual(self) -> list[Unusual]:
        """The unusual reading, if this is one that the user does not ask for."""
        if self.is_given or not self.matrices:
            return []
        several = sorted(self.matrices)
        transposed = " and ".join(f"{each} of {_shape(self.sides[each])}" for each in several)
        usual = " and ".join(f"{each} of {_shape(SIDES[each])}" for each in several)
        option = f"--column-major {''.join(several)}"
        return [Unusual(transposed, usual, {"column_major": ""}, option, self.evidence)]


def _shape(sizes: str) -> str:
    return "×".join(sizes)


def transposed_arrays(
    program: PythonProgram, names: Sequence[str], subscripts: Subscripts, launches: Sequence[PythonLaunch]
) -> TransposedArrays:
    """Return the matrices that a kernel takes as transposed arrays, according to the shapes that the program passes.

    Where these are not known, the subscripts decide, unless comparisons with the array's shape contradict them.
    ``names`` are the parameters.
    """
    contradicted = (each for each, votes in subscripts.compared.items() if votes == {False})
    passed = dict.fromkeys(contradicted, False) | _passed_shapes(program, names, subscripts.names, launches)
    found = {each for each in subscripts.names if passed.get(each, each in subscripts.exchanged)}
    return TransposedArrays(frozenset(found), _evidence(program, found, subscripts, passed, launches))


def _evidence(
    program: PythonProgram,
    found: Collection[str],
    subscripts: Subscripts,
    passed: Mapping[str, bool],
    launches: Sequence[PythonLaunch],
) -> str:
    """Return the words of the file that show that matrices are transposed arrays; empty if one has none."""
    others = [each for each in sorted(found) if each not in passed]
    words = [f"the shapes that line {launches[0].line} passes"] if len(others) < len(found) else []
    if compared := [f"{subscripts.names[each]}.shape" for each in others if True in subscripts.compared[each]]:
        words.append(f"the comparisons with {' and '.join(compared)}")
    for each in (each for each in others if True not in subscripts.compared[each]):
        word = transposing_word(each, program.text) or next(iter(_TRANSPOSED.findall(program.text)), "")
        if not word:
            return ""
        words.append(f'the word "{word}"')
    return " and ".join(dict.fromkeys(words))


def _passed_shapes(
    program: PythonProgram, names: Sequence[str], matrices: Mapping[str, str], launches: Sequence[PythonLaunch]
) -> dict[str, bool]:
    """Return whether the first launch passes transposed arrays, as far as the sides of all three show it."""
    sides = {}
    for launch in launches[:1]:
        arguments = dict(zip(names, launch.arguments, strict=False))
        for matrix, name in matrices.items():
            if name in arguments:
                sides[matrix] = [*_sides(program, arguments[name], launch)]
    if len(sides) < len(SIDES) or any(len(each) != 2 for each in sides.values()):
        return {}
    fitting = [turned for turned in itertools.product((False, True), repeat=3) if _fits(sides, turned)]
    found = {matrix: {each[place] for each in fitting} for place, matrix in enumerate(sorted(sides))}
    return {matrix: min(several) for matrix, several in found.items() if len(several) == 1}


def _fits(sides: Mapping[str, Sequence[str]], transposed: Sequence[bool]) -> bool:
    """Return whether the sides of A, B and C have one m, n and k if some of these are transposed."""
    sizes: dict[str, set[str]] = {}
    for matrix, is_transposed in zip(sorted(sides), transposed, strict=True):
        for size, side in zip(SIDES[matrix], sides[matrix][:: -1 if is_transposed else 1], strict=True):
            sizes.setdefault(size, set()).add(side)
    return all(len(several) == 1 for several in sizes.values())


def _sides(program: PythonProgram, argument: ast.expr, launch: PythonLaunch) -> Iterator[str]:
    """Yield the sides of an array as numbers, or as the host writes them."""
    for side in ArrayReader(program).read(argument, launch.scope, launch.line).sides:
        value = ValueReader(program).value(side, launch.scope, launch.line)
        yield str(value) if isinstance(value, int) else ast.unparse(side)
