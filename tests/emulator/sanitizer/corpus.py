"""The kernels of ``corpus/*.cu``: how each is launched, how it is edited, and the hazards that a check must report.

The comment at the top of a file describes it. A line that is indented continues the line before it.

``// launch: block=64 grid=2 n=8 work=512``
    The geometry. The sizes ``m``, ``n`` and ``k`` (n is 32 by default, m and k are n) may follow, and attributes of
    :class:`mmcore.Kernel`. Workspaces may follow too: ``work=512`` has 512 bytes without content, ``work=512*0`` has
    zeros. The kernels of a file are launched in their order. Parameters are bound by their names.
``// right``
    The file as it is has no hazards.
``// NAME [block=40]: drop #mark, BODY `new`, `old` -> `new|other` ==> KIND*COUNT ARRAY #mark #other "text"; KIND …``
    A copy with other launch options, without the code of marked lines, and with words in capitals or other parts of the
    source replaced (one copy for each alternative). After the arrow are all its hazards, or ``nothing``. A hazard has a
    kind, the number of threads or elements, the array, and the mark in the comment of its line. The mark of a line that
    the message names may follow, and a part of the message (or, between slashes, a pattern in it). An omitted part
    matches anything, but a hazard without a mark has no line.

Elements of C that a kernel leaves unwritten count only where a case expects them.
"""

from __future__ import annotations

import itertools
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mmcore_emulator
from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Workspace
from mmcore.devices.violations import Violation
from tests.emulator.marked_source import header, marked_lines, without_header

FOLDER = Path(__file__).parent / "corpus"
LAUNCH_ATTRIBUTES = ("grid", "cluster", "dependent")
ENTRY = re.compile(r"__global__ void (?:__cluster_dims__\([^)]*\) )?(\w+)\(([^)]*)\)")
CASE = re.compile(r"([^`\[]*?)(?: \[(.*?)\])?(?:: (.*))? ==> (.*)")
EDIT = re.compile(r"drop (#[\w-]+)|(?:`([^`]*)` -> |\b([A-Z]+) )`([^`]*)`")
HAZARD = re.compile(r'([a-z-]+)(?:\*(\d+))?(?: ([A-Z]\b|[a-z]\w*))?((?: #[\w-]+)*)((?: "[^"]*"| /[^/]*/)*)')
Lines = dict[str, set[int]]


@dataclass(frozen=True)
class Expected:
    """A hazard as a case describes it; an empty part matches anything, except for the line."""

    kind: str
    count: str
    array: str
    marks: str
    texts: str

    def describes(self, hazard: Violation, lines: Lines) -> bool:
        """Return whether a hazard is this one, in a source with these marked lines."""
        marks = [lines[mark] for mark in self.marks.split()]
        texts = re.findall(r'"([^"]*)"|/([^/]*)/', self.texts)
        return (
            self.kind == hazard.kind
            and self.count in ("", str(hazard.count))
            and self.array in ("", hazard.array)
            and (hazard.line in marks[0] if marks else hazard.line is None)
            and all(any(f"{hazard.source}:{line}" in hazard.message for line in named) for named in marks[1:])
            and all(re.search(pattern or re.escape(text), hazard.message) for text, pattern in texts)
        )


@dataclass(frozen=True)
class Case:
    """A kernel of the corpus with edits and launch options, and what a check must report."""

    file: Path
    name: str
    edits: tuple[tuple[str, str, str], ...]
    options: dict[str, str]
    expected: tuple[Expected, ...]

    def check(self, folder: Path) -> tuple[list[Violation], Lines]:
        """Return the hazards that a check reports, and the numbers of the marked lines."""
        source = without_header(self.file.read_text())
        for mark, old, new in self.edits:
            pattern = rf"(?m)^.*(?= // {mark}$)" if mark else re.escape(old)
            source, count = re.subn(pattern, new.replace("\\", r"\\"), source)
            assert count, f"{self.file.name} does not contain {mark}{old}"
        source = re.sub(r"\b(BODY|THEN|LAST)\b", "", source)
        (folder / self.file.name).write_text(source)
        shutil.copy(FOLDER / "ptx.cuh", folder)
        options = {"n": "32", **self.options}
        sizes = {name: int(options.pop(name, options["n"])) for name in "mkn"}
        checked = mmcore_emulator.check(kernel(folder / self.file.name, options), **sizes, device="emulator")
        ignored = {"unwritten-output"} - {each.kind for each in self.expected}
        return [each for each in (*checked.violations, *checked.warnings) if each.kind not in ignored], marked_lines(
            source
        )


def kernel(path: Path, options: dict[str, str]) -> Kernel:
    """Return a kernel that launches every entry of a file in turn."""
    entries = [(name, [each.split()[-1] for each in text.split(",")]) for name, text in ENTRY.findall(path.read_text())]
    names = {name for _, parameters in entries for name in parameters} - set("ABCmnk")
    workspaces = {name: workspace(name, options.pop(name)) for name in names}
    over_read = {name[-1]: int(options.pop(name)) for name in list(options) if name.startswith("over_read")}
    given = {name: value(text) for name, text in options.items()}
    geometry = {"grid": (1,)} | {name: given.pop(name) for name in LAUNCH_ATTRIBUTES if name in given}

    def launch(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
        bound = [(name, tuple(workspaces.get(each, each) for each in parameters)) for name, parameters in entries]
        rest: dict[str, Any] = {**geometry, "block": config.block, "over_read": over_read}
        return [Launch(**rest, entry=name, arguments=arguments) for name, arguments in bound]

    usual: dict[str, Any] = {"name": f"corpus.{path.stem}", "source": path, "entry": entries[0][0], "launch": launch}
    usual |= {"configs": [{"block": given.pop("block", (32,))}], "architecture": "90a"}
    return Kernel(**usual, min_compute_capability=(9, 0), **given)


def workspace(name: str, size: str) -> Workspace:
    """Return a workspace: "512" without content, "512*0" of zeros."""
    nbytes, _, zero = size.partition("*")
    return Workspace(name, content=bytes(int(nbytes))) if zero else Workspace(name, int(nbytes))


def value(text: str) -> Any:
    """Return "16,2" as a shape, "1.0" as a number, "yes" and "no" as truth values, and other text as it is."""
    if re.fullmatch(r"[\d,]+", text):
        return tuple(map(int, text.split(",")))
    return {"yes": True, "no": False, "1.0": 1.0}.get(text, text)


def cases(file: Path) -> Iterator[Case]:
    """Yield the cases that the comment at the top of a file describes."""
    launch: dict[str, str] = {}
    for text in header(file.read_text()):
        if text.startswith("launch: "):
            launch = dict(each.split("=") for each in text.split()[1:])
        elif text == "right":
            yield Case(file, "right", (), launch, ())
        elif "==>" in text:
            case = CASE.fullmatch(text)
            assert case, text
            name, more, edits, hazards = case.groups("")
            options = launch | dict(each.split("=") for each in more.split())
            pairs = [(mark, old or name, new) for mark, old, name, new in EDIT.findall(edits)]
            expected = [HAZARD.fullmatch(each) for each in hazards.split("; ") if each != "nothing"]
            assert all(expected), hazards
            parts = tuple(Expected(*each.groups("")) for each in expected if each)
            for number, chosen in enumerate(
                itertools.product(*([(mark, old, each) for each in new.split("|")] for mark, old, new in pairs))
            ):
                yield Case(file, f"{name} {number}" if number else name, chosen, options, parts)
