"""What the lines of a kernel do that a picture shows: the profile, and what the first warp does that comes by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import InvalidProblem
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.messages import quoted
from mmcore_emulator.adapter.profile import Profile, profile_cell
from mmcore_emulator.explain.access_recorder import Looking, Sight
from mmcore_emulator.explain.banks import (
    Box,
    Operand,
    WarpAccess,
    picture_of_access,
    picture_of_box,
    picture_of_operand,
)
from mmcore_emulator.explain.fragments import Held, pictures_of
from mmcore_emulator.explain.picture import Picture
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.blocks import Block

_SIGHTS: Mapping[str, Any] = {"held": Held, "access": WarpAccess, "box": Box, "operand": Operand}


@dataclass(frozen=True)
class Explanation:
    """What can be drawn of a kernel's lines.

    Attributes:
        profile: what each line does.
        sights: of each line that has some, in order: matrices that threads hold together, one access of a warp to
            shared memory for each opcode, boxes of tensors, and matrices that ``wgmma`` reads in shared memory.
    """

    profile: Profile
    sights: Mapping[Line, tuple[Sight, ...]]

    def pictures(self, line: Line) -> Iterator[Picture]:
        """The pictures of a line."""
        for sight in self.sights[line]:
            match sight:
                case Held():
                    yield from pictures_of(sight)
                case WarpAccess():
                    yield picture_of_access(sight)
                case Box():
                    yield picture_of_box(sight)
                case Operand():
                    yield picture_of_operand(sight)

    def line_named(self, text: str) -> Line:
        """The line that "42", of the kernel's own file, or "tiles.cuh:42" names.

        Raises:
            InvalidProblem: there is nothing to draw of it.
        """
        source, _, number = text.rpartition(":")
        found = [line for line in self.sights if str(line.number) == number and source in ("", line.source)]
        if found:
            return found[0]
        lines = ", ".join(dict.fromkeys(str(line.number) for line in self.sights)) or "none"
        raise InvalidProblem(f"there is nothing to draw of line {quoted(text)}; lines with something are {lines}")

    def to_json(self) -> dict[str, Any]:
        """JSON-ready values; the profile's, and of each line what can be drawn."""
        document = self.profile.to_json()
        for values in document["lines"]:
            sights = self.sights.get(Line(values["source"], values["line"]), ())
            values["sights"] = [{"kind": _kind(sight), **asdict(sight)} for sight in sights]
        return document

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Explanation:
        """What :meth:`to_json` made."""
        by_line = {Line(each["source"], each["line"]): tuple(map(_sight, each["sights"])) for each in values["lines"]}
        return cls(Profile.from_json(values), {line: sights for line, sights in by_line.items() if sights})


def _kind(sight: Sight) -> str:
    return next(kind for kind, each in _SIGHTS.items() if isinstance(sight, each))


def _sight(values: Mapping[str, Any]) -> Sight:
    given = {name: _frozen(value) for name, value in values.items()}
    found: Sight = _SIGHTS[given.pop("kind")](**given)
    return found


def _frozen(value: Any) -> Any:
    """Lists as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def explanation_json(
    device: Device, phases: Phases, cell: Mapping[str, Any], kernel: Kernel | None = None
) -> dict[str, Any]:
    """The explanation of a cell, both as JSON."""
    return explain_cell(Cell.from_json(cell), device, kernel, phases).to_json()


def explain_cell(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Explanation:
    """Profile a kernel, and look at what its first warps do.

    Arguments and errors are those of :func:`~mmcore_emulator.adapter.profile.profile_cell`.
    """
    launches: list[Looking] = []

    def looking(blocks: Sequence[Block]) -> Looking:
        launches.append(Looking(blocks))
        return launches[-1]

    profile = profile_cell(cell, device, kernel, phases, looking)
    sights: dict[Line, tuple[Sight, ...]] = {}
    for launch in launches:
        for line, found in launch.sights.items():
            sights[line] = tuple(dict.fromkeys((*sights.get(line, ()), *found)))
    return Explanation(profile, {line: sights[line] for line in sorted(sights)})
