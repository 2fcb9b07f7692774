"""What a plugin declares."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias

from mmcore.errors import InvalidBlock, InvalidKernel, InvalidProblem
from mmcore.planning.asking import asking
from mmcore.planning.constraints import Constraint
from mmcore.planning.dtypes import dtype_named
from mmcore.planning.geometry import Dim3, Shape, dim3, parse_shape
from mmcore.planning.launch import Argument, Launch, Scalar, check_argument
from mmcore.planning.limits import Limits
from mmcore.planning.problem import Problem

LaunchRule: TypeAlias = Callable[[Problem, Dim3, Limits], Launch | Sequence[Launch]]

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_]*)+")
_ARCHITECTURE = re.compile(r"\d+[af]?")


def check_name(name: str) -> None:
    """Reject what cannot be a kernel's name.

    Raises:
        InvalidKernel: saying what a name is made of.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidKernel(f"{name!r} is not a kernel name: words of a-z, 0-9 and _ joined by dots, such as acme.fast")


def _capability(pair: Any) -> tuple[int, int]:
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(type(number) is int for number in pair):
        return pair[0], pair[1]
    raise InvalidKernel(f"least_capability is a pair of whole numbers such as (9, 0), not {pair!r}")


def _answer(answer: Any) -> str | None:
    """What a constraint says of a problem: a reason to refuse it, or None."""
    if answer is None or (isinstance(answer, str) and answer.strip()):
        return answer
    raise InvalidKernel(f"it answers {answer!r} instead of a reason or None")


@dataclass(frozen=True)
class Kernel:
    """One variant of the matrix product: its CUDA source, and the rule by which it is launched.

    ``entry``, ``defines`` and ``options`` are templates: ``{m}``, ``{n}``, ``{k}``, ``{block.x}``, ``{block.y}`` and
    ``{block.z}`` stand for the launch's values, so ``entry="tiled<{block.x}>"`` instantiates a C++ template per block.

    Attributes:
        name: unique dotted identifier, lecture or package first: "upc.kernel11".
        title: one line on what the variant does.
        lecture: where it comes from, down to the page.
        source: path of its .cu file.
        entry: the ``__global__`` function, or a template's name expression.
        arguments: what the function takes, in its own order: "A", "B", "C" (pointers), "m", "n", "k",
            "lda", "ldb", "ldc" (passed as int), or :class:`Scalar`, :class:`Workspace`, :class:`TensorMap`.
        launch: the launch rule, ``(problem, block, limits) -> Launch`` or a sequence of launches made in turn.
        blocks: block shapes it is meant for, the default first.
        dtype: element type of A and B.
        accumulator: type the sums are kept in; ``dtype`` when not given.
        output: element type of C; ``accumulator`` when not given.
        accumulate: whether C's old value is added (C = C + A·B).
        constraints: what problem and block must satisfy.
        defines: preprocessor macros.
        options: further NVRTC options.
        least_capability: least compute capability it runs on, (major, minor).
        architecture: architecture to compile for instead of the device's own, such as "90a".
        known_faults: what is wrong with it on purpose, a sentence each; empty but for variants that teach a mistake.

    Raises:
        InvalidKernel: when the declaration contradicts itself. (Its source is only looked for when it is compiled.)
    """

    name: str
    title: str
    lecture: str
    source: Path
    entry: str
    arguments: tuple[Argument, ...]
    launch: LaunchRule
    blocks: tuple[Shape, ...]
    dtype: str = "float32"
    accumulator: str = ""
    output: str = ""
    accumulate: bool = False
    constraints: tuple[Constraint, ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    least_capability: tuple[int, int] = (7, 5)
    architecture: str = ""
    known_faults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name(self.name)
        try:
            self._normalise()
        except (InvalidProblem, InvalidBlock, InvalidKernel) as error:
            raise InvalidKernel(f"{self.name}: {error}") from None
        except (TypeError, ValueError, AttributeError) as error:
            raise InvalidKernel(f"{self.name} is declared with a value of the wrong type: {error}") from None

    def _normalise(self) -> None:
        for attribute in ("title", "lecture", "entry"):
            text = getattr(self, attribute)
            if not isinstance(text, str) or not text.strip() or "\n" in text:
                raise InvalidKernel(f"its {attribute} must be a text of one line, not {text!r}")
        if not callable(self.launch):
            raise InvalidKernel("its launch rule is not callable")
        object.__setattr__(self, "source", Path(self.source))
        object.__setattr__(self, "dtype", dtype_named(self.dtype).name)
        object.__setattr__(self, "accumulator", dtype_named(self.accumulator or self.dtype).name)
        object.__setattr__(self, "output", dtype_named(self.output or self.accumulator).name)
        shapes = self._several("blocks")
        if any(isinstance(shape, int) for shape in shapes):
            raise InvalidKernel(f"its blocks are several shapes, such as ((16, 16),), not {shapes}")
        object.__setattr__(self, "blocks", tuple(map(dim3, shapes)))
        for several in ("arguments", "constraints", "options", "known_faults"):
            object.__setattr__(self, several, self._several(several))
        if not self.blocks:
            raise InvalidKernel("it declares no block shape")
        for argument in self.arguments:
            check_argument(argument)
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint) or not callable(constraint.refusal):
                raise InvalidKernel(f"{constraint!r} is not a constraint: it has no sentence or no refusal")
            if not isinstance(constraint.sentence, str) or not constraint.sentence.strip():
                raise InvalidKernel(f"the sentence of {constraint!r} is no text, but {constraint.sentence!r}")
        if not isinstance(self.accumulate, bool):
            raise InvalidKernel(f"accumulate is True or False, not {self.accumulate!r}")
        object.__setattr__(self, "least_capability", _capability(self.least_capability))
        for template in (self.entry, *self.defines.values(), *self.options):
            self.expand(template, self.problem(64, 64, 64), dim3(self.blocks[0]))
        if self.architecture and not _ARCHITECTURE.fullmatch(self.architecture):
            raise InvalidKernel(f"architecture {self.architecture!r} is not of the form 90 or 90a")

    def _several(self, attribute: str) -> tuple[Any, ...]:
        value = getattr(self, attribute)
        if not isinstance(value, (tuple, list)):
            raise InvalidKernel(f"its {attribute} are several: ({value!r},) instead of {value!r}")
        if attribute in ("options", "known_faults") and not all(isinstance(text, str) for text in value):
            raise InvalidKernel(f"its {attribute} are texts, unlike {value!r}")
        return tuple(value)

    @property
    def operation(self) -> str:
        """ "C=AB" or "C=C+AB"."""
        return "C=C+AB" if self.accumulate else "C=AB"

    @property
    def sums(self) -> str:
        """ " summed in bfloat16" where that is narrower than its matrices' types would have it; else empty."""
        narrowest = min(dtype_named(name).unit_roundoff for name in (self.dtype, self.output))
        return f" summed in {self.accumulator}" if dtype_named(self.accumulator).unit_roundoff > narrowest else ""

    def source_text(self) -> str:
        """The content of its .cu file.

        Raises:
            InvalidKernel: the file is not there, cannot be read or is not UTF-8 text.
        """
        try:
            # NVRTC takes a byte order mark for a part of the first word.
            return self.source.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise InvalidKernel(f"{self.name}: its source {self.source} cannot be read: {reason}") from None

    @property
    def strided(self) -> bool:
        """Whether it takes leading dimensions; one that does not gets its matrices packed."""
        names = {argument.value if isinstance(argument, Scalar) else argument for argument in self.arguments}
        return not names.isdisjoint(("lda", "ldb", "ldc"))

    def problem(self, m: int, n: int, k: int, *, lda: int = 0, ldb: int = 0, ldc: int = 0) -> Problem:
        """The m×n×k product in this kernel's types.

        Raises:
            InvalidProblem: for sizes below 1 or leading dimensions shorter than a row.
        """
        return Problem(m, n, k, self.dtype, self.output, lda, ldb, ldc, self.accumulate)

    def block(self, shape: str | SupportsIndex | Shape) -> Dim3:
        """A block shape as a user writes it: "32x8", (32, 8), or "32" for 32×32 (32×1 if all declared blocks are flat).

        Raises:
            InvalidBlock: unless it is one to three positive whole numbers.
        """
        extents: tuple[int, ...]
        if isinstance(shape, str):
            extents = parse_shape(shape)
        elif isinstance(shape, (tuple, list)):
            extents = tuple(shape)
        elif isinstance(shape, SupportsIndex):
            extents = (operator.index(shape),)
        else:
            raise InvalidBlock(f"{shape!r} is not a block: give one to three positive whole numbers")
        if len(extents) == 1 and any(dim3(declared).y > 1 for declared in self.blocks):
            extents *= 2
        return dim3(extents)

    def refusals(self, problem: Problem, block: Dim3) -> list[str]:
        """Why its constraints forbid ``problem`` in such blocks, a clause each; empty when they do not.

        Raises:
            InvalidKernel: one of the constraints cannot tell.
            Unanswered: one of them does not return.
        """
        with asking(f"{self.name}: a constraint", f"{problem} in {block} blocks"):
            answers = [_answer(constraint.refusal(problem, block)) for constraint in self.constraints]
            return [answer for answer in answers if answer is not None]

    def fitting_block(self, problem: Problem) -> Dim3:
        """The first declared block in which ``problem`` may run; the first of all when it may run in none."""
        shapes = [dim3(block) for block in self.blocks]
        return next((shape for shape in shapes if not self.refusals(problem, shape)), shapes[0])

    def square_problem(self, least: int, *blocks: Dim3) -> Problem:
        """The smallest product with m = n = k from ``least`` on that one of ``blocks`` allows.

        ``least`` itself when none up to 4096 more is allowed, so that its refusal can say why. Any declared block
        will do when none is given.
        """
        shapes = blocks or tuple(dim3(block) for block in self.blocks)
        for size in range(least, least + 4097):
            problem = self.problem(size, size, size)
            if not all(self.refusals(problem, shape) for shape in shapes):
                return problem
        return self.problem(least, least, least)

    def expand(self, template: str, problem: Problem, block: Dim3) -> str:
        """``template`` with the launch's values filled in.

        Raises:
            InvalidKernel: for a placeholder that is no value of a launch.
        """
        try:
            return template.format(m=problem.m, n=problem.n, k=problem.k, block=block)
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            reason = f"{error} is no value of a launch" if isinstance(error, KeyError) else str(error)
            raise InvalidKernel(f"{template!r} cannot be filled in: {reason}") from None
