"""The sizes of a product in the host function that launches its kernel, and expressions of them in other functions."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mmcore_cuda.cuda_source.program import HostLaunch
from mmcore_cuda.cuda_source.tree import Node, identifiers, text_of
from mmcore_sources.cuda_file.inference.c_expressions import Unreadable
from mmcore_sources.cuda_file.inference.host_calls import parameter_names, passed, template_names
from mmcore_sources.cuda_file.inference.host_code import Reader
from mmcore_sources.cuda_file.inference.size_names import usual_role

_DEEPEST = 8
_SIZES = ("m", "n", "k")


@dataclass(frozen=True)
class HostSizes:
    """The sizes in a host function.

    Attributes:
        scope: the function.
        roles: the roles of its names; a name that is passed as several sizes has several.
        anywhere: the roles of names that are a size in all functions.
        program: the numbers that the program passes, by role.
        equal_sizes: the sizes that are equal, such as "mn".
    """

    scope: Node
    roles: Mapping[str, frozenset[str]]
    anywhere: Mapping[str, str]
    program: Mapping[str, int]
    equal_sizes: str

    @classmethod
    def of(
        cls,
        launch: HostLaunch,
        parameters: Sequence[str],
        sizes: Mapping[str, str],
        program: Mapping[str, int],
        *,
        equal_sizes: str,
    ) -> HostSizes:
        """Return the sizes that a launch passes to parameters; ``sizes`` has the roles of parameters and constants."""
        found: dict[str, set[str]] = {}
        for parameter, node in zip(parameters, launch.arguments, strict=False):
            if parameter in sizes and node.type in ("identifier", "field_expression"):
                found.setdefault(text_of(node), set()).add(sizes[parameter])
        known = set().union(*found.values())
        for name in {*identifiers(launch.scope)} - found.keys():
            if (role := usual_role(name)) in _SIZES and role not in known:
                found[name] = {role}
        anywhere = {name: role for name, role in sizes.items() if name not in parameters}
        roles = {name: frozenset(several) for name, several in found.items()}
        return cls(launch.scope, roles, anywhere, program, equal_sizes)

    def is_named(self, role: str) -> bool:
        """Return whether the function has a name for a size that it passes."""
        return not self.anywhere and any(role in several for several in self.roles.values())

    def equal(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """Return lengths of which those are equal that always are."""
        groups = (*self.roles.values(), frozenset(self.equal_sizes))
        changed = dict(lengths)
        for several in groups:
            if known := several & changed.keys():
                changed |= dict.fromkeys(known, max(changed[each] for each in known))
        return changed

    def number(self, reader: Reader, node: Node, depth: int = 0) -> ast.expr:
        """Return an expression of any host function in these sizes. Raises Unreadable."""
        meant: dict[str, ast.expr] = {name: ast.Name(role) for name, role in self.anywhere.items()}
        if depth > _DEEPEST:
            raise Unreadable(text_of(node))
        if reader.scope == self.scope:
            meant |= {name: ast.Name(min(several)) for name, several in self.roles.items()}
        elif reader.scope is not None:
            for name in (*parameter_names(reader.scope), *template_names(reader.scope)):
                meant.pop(name, None)
                if (argument := passed(reader.scope, name, reader.call)) is not None:
                    with contextlib.suppress(Unreadable):
                        meant[name] = self.number(reader.caller(argument), argument.value, depth + 1)
        return replace(reader, names=meant).number(node)
