"""The explanation of a kernel: its profile, and pictures of what its lines do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from mmcore.cell import Cell
from mmcore.devices.base import Device
from mmcore.errors import InvalidProblem
from mmcore.kernel.declaration import Kernel
from mmcore.measure import Phases
from mmcore.messages import quoted
from mmcore_emulator.adapter.launch_facts import Json
from mmcore_emulator.adapter.profile import Profile, profile_cell
from mmcore_emulator.explain.access_recorder import AccessRecorder, Sight
from mmcore_emulator.explain.banks import Box, Operand, WarpAccess
from mmcore_emulator.explain.fragments import Held
from mmcore_emulator.explain.picture import Picture
from mmcore_emulator.explain.sectors import GlobalAccess
from mmcore_emulator.profiler.counters import Line
from mmcore_emulator.ptx.instructions import Block

_SIGHTS: Mapping[str, type[Sight]] = {
    "held": Held,
    "access": WarpAccess,
    "sectors": GlobalAccess,
    "box": Box,
    "operand": Operand,
}
_KINDS = {sight: kind for kind, sight in _SIGHTS.items()}


@dataclass(frozen=True)
class Explanation:
    """The profile of a kernel, with what can be drawn of its lines."""

    profile: Profile
    sights: Mapping[Line, tuple[Sight, ...]]  # of each line that has some, in order

    def pictures(self, line: Line) -> Iterator[Picture]:
        """Yield the pictures of a line."""
        for sight in self.sights[line]:
            yield from sight.pictures()

    def line_named(self, text: str) -> Line:
        """Return the line that "42", of the kernel's own file, or "tiles.cuh:42" names.

        Raises:
            InvalidProblem: there is nothing to draw of it.
        """
        source, _, number = text.rpartition(":")
        for line in self.sights:
            if str(line.number) == number and source in ("", line.source):
                return line
        lines = ", ".join(dict.fromkeys(str(line.number) for line in self.sights)) or "none"
        raise InvalidProblem(f"there is nothing to draw of line {quoted(text)}; lines with something are {lines}")

    def to_json(self) -> Json:
        """Return the profile as JSON-ready values, each line with what can be drawn of it."""
        document = self.profile.to_json()
        for values in document["lines"]:
            sights = self.sights.get(Line(values["source"], values["line"]), ())
            values["sights"] = [{"kind": _KINDS[type(sight)], **asdict(sight)} for sight in sights]
        return document

    @classmethod
    def from_json(cls, values: Json) -> Explanation:
        """Return the explanation of :meth:`to_json`."""
        lines = {Line(line["source"], line["line"]): tuple(map(_sight, line["sights"])) for line in values["lines"]}
        return cls(Profile.from_json(values), {line: sights for line, sights in lines.items() if sights})


def _sight(values: Json) -> Sight:
    fields: Json = {name: _frozen(value) for name, value in values.items() if name != "kind"}
    return _SIGHTS[values["kind"]](**fields)


def _frozen(value: object) -> object:
    """Return a value with tuples in place of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def explanation_json(device: Device, phases: Phases, cell: Json, kernel: Kernel | None = None) -> Json:
    """Return the explanation of a cell, both as JSON."""
    return explain_cell(Cell.from_json(cell), device, kernel, phases).to_json()


def explain_cell(cell: Cell, device: Device, kernel: Kernel | None = None, phases: Phases | None = None) -> Explanation:
    """Profile a kernel, and record what its first warps do.

    Arguments and errors are those of :func:`~mmcore_emulator.adapter.profile.profile_cell`.
    """
    recorders: list[AccessRecorder] = []

    def counting(blocks: Sequence[Block]) -> AccessRecorder:
        recorders.append(AccessRecorder(blocks))
        return recorders[-1]

    profile = profile_cell(cell, device, kernel, phases, counting)
    sights: dict[Line, dict[Sight, None]] = {}
    for recorder in recorders:
        for line, recorded in recorder.sights.items():
            sights.setdefault(line, {}).update(dict.fromkeys(recorded))
    return Explanation(profile, {line: tuple(sights[line]) for line in sorted(sights)})
