"""Sizes that constants of a source fix beside those that its kernel gets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mmcore.kernel.arguments import Argument, Scalar
from mmcore.kernel.configs import Config
from mmcore.kernel.problem import Problem
from mmcore_sources.cuda_file.inference.body import built_in
from mmcore_sources.cuda_file.inference.fixed_sizes import limits
from mmcore_sources.cuda_file.inference.roles import Roles
from mmcore_sources.cuda_file.inference.source_kernel import SourceKernel
from mmcore_sources.cuda_file.inference.storage import strides_of


@dataclass(frozen=True)
class FixedSides:
    """A constraint: the source is written for one n, one k, or one of each. A size of 0 is free."""

    n: int = 0
    k: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that it fixes, by name."""
        return {name: size for name, size in (("n", self.n), ("k", self.k)) if size}

    @property
    def description(self) -> str:
        return f"{self.text}, which the source fixes"

    @property
    def text(self) -> str:
        """The sizes that it fixes, in words."""
        return " and ".join(f"{name} = {size}" for name, size in self.sizes.items())

    def violation(self, problem: Problem, config: Config) -> str | None:
        for name, size in self.sizes.items():
            if getattr(problem, name) != size:
                return f"{name} is {getattr(problem, name)}, but the source fixes it as {size}"
        return None

    def nearest(self, problem: Problem, config: Config) -> tuple[int, int, int]:
        """Return the sizes of a problem with those that it fixes."""
        return problem.m, self.n or problem.n, self.k or problem.k


def fixed_sides(kernel: SourceKernel, roles: Roles) -> dict[str, str]:
    """Return the constant that is n, and the one that is k, if the lengths of C's or A's rows are constants.

    The kernel gets other sizes. A size that is passed is not fixed, except a lone one whose role is by default that of
    squares.
    """
    passed, found = {*roles.sizes.values()}, dict[str, str]()
    a, b = (strides_of(kernel.body, roles.pointers[matrix], {*roles.sizes}) for matrix in "AB")
    if not {"n", "ldb", "ldc"} & passed or (_is_lone(kernel, roles) and (a or _limits_rows_alone(kernel, roles))):
        found["n"] = _length_of_c(kernel, roles)
    if not {"k", "lda"} & passed and not a and (b or found.get("n")):
        found["k"] = _longest(kernel, roles.pointers["A"])
    return {size: name for size, name in found.items() if name}


def with_rows(kernel: SourceKernel, roles: Roles) -> Roles:
    """Return roles beside a constant n: a lone size is k if it is the length of A's rows, else m."""
    if not _is_lone(kernel, roles):
        return roles
    (name,) = roles.sizes
    role = "k" if strides_of(kernel.body, roles.pointers["A"], {name}) else "m"
    return replace(roles, sizes={name: role}, arguments=tuple(_renamed(each, role) for each in roles.arguments))


def _is_lone(kernel: SourceKernel, roles: Roles) -> bool:
    """Return whether a kernel gets one size, whose role the user does not give."""
    return "args" not in kernel.given and [*roles.sizes.values()] == ["n"]


def _limits_rows_alone(kernel: SourceKernel, roles: Roles) -> bool:
    """Return whether comparisons with the sizes limit nothing but the rows of C."""
    c = roles.pointers["C"]
    compared = limits(kernel.body, c, _longest(kernel, c))
    return all(of_rows for limit, of_rows in compared if limit in roles.sizes)


def _renamed(argument: Argument, role: str) -> Argument:
    if isinstance(argument, Scalar) and argument.value == "n":
        return replace(argument, value=role)
    return role if argument == "n" else argument


def _length_of_c(kernel: SourceKernel, roles: Roles) -> str:
    """Return the constant that is the length of C's rows; empty if the index depends on a size or on the grid."""
    terms = [term for index in kernel.body.indexes(roles.pointers["C"]) for term in index]
    words = {word.strip("()") for term in terms for factor in term for word in factor.split()}
    of_grid = any(kind == "gridDim" for term in terms for kind, _ in built_in(term))
    return "" if of_grid or words & {*roles.sizes} else _longest(kernel, roles.pointers["C"])


def _longest(kernel: SourceKernel, pointer: str) -> str:
    known = kernel.constants
    return max(strides_of(kernel.body, pointer, {*known}), key=known.__getitem__, default="")
