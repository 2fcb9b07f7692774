"""Tables of the things that plugins add, by name, each with its origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from mmcore.errors import DuplicateName, MmcoreError, UnknownName
from mmcore.messages import suggestion

FAILED_HINT = "; a plugin that failed to load may bring it, and mmcore doctor says which did"
NEW_HINT = "; a new entry point counts once its package is installed again"
_T = TypeVar("_T")


class Origin(NamedTuple):
    """The name of an entry point, and of the distribution that it belongs to."""

    plugin: str
    distribution: str

    def __str__(self) -> str:
        return f"{self.plugin} of {self.distribution}"


class Registered(NamedTuple, Generic[_T]):
    """Something that a plugin adds, such as a kernel, and its origin."""

    item: _T
    origin: Origin


class FailedPlugin(NamedTuple):
    """A plugin that failed to load or in a hook, or that implements an unknown one, and the reason in one sentence."""

    origin: Origin
    reason: str
    failed: str = "failed to load"

    def __str__(self) -> str:
        return f"plugin {self.origin}{self.failed and ' '}{self.failed}: {self.reason}"


class PluginTable(dict[str, Registered[_T]]):
    """The items of one kind that plugins add, by name.

    A name that several plugins use belongs to none of them, and is in ``duplicates`` instead.

    Args:
        kind: the kind of the items in messages, such as "kernel".
        listed_by: the command that lists them; empty where there is none.
        unknown: the error for a name that is not in the table.
        owner: the distribution that keeps its names when others use them too.
    """

    def __init__(
        self, kind: str, listed_by: str = "", unknown: type[UnknownName] = UnknownName, owner: str = ""
    ) -> None:
        super().__init__()
        self._kind, self._listed_by, self._unknown, self._owner = kind, listed_by, unknown, owner
        self.duplicates: dict[str, list[Origin]] = {}

    def enter(self, name: str, item: _T, origin: Origin) -> None:
        """Add an item, or a duplicate of its name. Raises MmcoreError if the name is not a text, or is the owner's."""
        if not isinstance(name, str):
            raise MmcoreError(f"the name of a {self._kind} is a text, not {name!r}")
        if name in self and self[name].origin.distribution == self._owner:
            raise MmcoreError(f"the {self._kind} {name!r} is mmcore's own")
        if name in self.duplicates:
            self.duplicates[name].append(origin)
        elif name in self:
            self.duplicates[name] = [self.pop(name).origin, origin]
        else:
            self[name] = Registered(item, origin)

    def conflict(self, name: str) -> str:
        """Return a sentence on a duplicate name."""
        origins = " and ".join(map(str, self.duplicates[name]))
        return f"{self._kind} {name!r} is brought by {origins}; it belongs to none of them until it is renamed"

    def named(self, name: str, failed: Sequence[FailedPlugin] = ()) -> _T:
        """Return the item of that name. Raises DuplicateName, or UnknownName with similar names or a failed plugin."""
        if not isinstance(name, str):
            raise UnknownName(f"a {self._kind} is known by its name, not by {name!r}")
        if name in self:
            return self[name].item
        if name in self.duplicates:
            raise DuplicateName(self.conflict(name))
        if reasons := [each for each in failed if each.origin.plugin == name]:
            raise self._unknown(f"there is no {self._kind} {name!r}: {reasons[0]}")
        command, names = self._listed_by, ", ".join(self) or "none"
        known = f"{command} shows what there is" if command else f"there are {names}"
        near = suggestion(name, self)
        hint = FAILED_HINT if failed else "" if near else NEW_HINT
        raise self._unknown(f"there is no {self._kind} {name!r}; {near or known}{hint}")
