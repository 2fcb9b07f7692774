"""A task: the product that submissions compute, the sizes, the limits and the rubric, read from a TOML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os.path import normpath
from pathlib import Path
from typing import Any

from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.files import read_text
from mmcore.kernel.sizes import Sizes, parse_size
from mmcore.messages import quoted, suggestion
from mmcore_emulator.profiler.counters import NAMES
from mmcore_grading.submissions import kernel_names

CRITERIA: Mapping[str, Sequence[str]] = {
    "compiles": (),
    "shown-sizes": (),
    "hidden-sizes": (),
    "any-size": (),
    "no-hazards": (),
    "proved": (),
    "coalesced": (),
    "overlapped": (),
    "counts": ("counter", "most"),
    "time": ("most",),
}
"""The criteria of a rubric, each with the further values that it takes."""

_LARGEST = 1e9
_CHECKED = 1 << 24  # multiply-adds of a product in which every access is observed
_LEAST_MB = 400  # Python and the compiler take as much


@dataclass(frozen=True)
class Criterion:
    """A line of a rubric.

    Attributes:
        name: one of :data:`CRITERIA`.
        points: the points for a submission that meets it.
        counter: of "counts", the counter of ``mmcore profile``.
        most: of "counts" and "time", the largest multiple of the reference's that earns the points.
    """

    name: str
    points: float
    counter: str = ""
    most: float = 1.0


@dataclass(frozen=True)
class Limits:
    """The limits of one submission: processor seconds in all, processes at once, and sizes in MB and kB."""

    seconds: float = 30
    memory_mb: float = 4096
    processes: float = 32
    output_kb: float = 64

    @property
    def wall_seconds(self) -> float:
        """The seconds by the clock, a last resort: a busy machine must not change a grade."""
        return 20 * self.seconds


@dataclass(frozen=True)
class Task:
    """A task for a class.

    Attributes:
        title, text: the product to compute, for the pages.
        options: words of ``mmcore run FILE`` that hold for every submission, such as ``--block 16x16``.
        device: the device on which submissions run.
        seed: the seed of all inputs, so that a grade is the same each time.
        shown, hidden: sizes that submissions know, and sizes that they do not.
        reference: the teacher's solution, with which counts and times are compared; None without one.
        given: a file that all students were given, whose code does not make submissions similar; None without one.
        limits, rubric: the limits of a submission, and the criteria.
        entry: the kernel to grade in a student's file of several, by student.
        submission: the path of the submission in a student's folder, such as "ps1"; "." is the folder.
        hints: whether students see what makes a wrong product right.
        content: the text of the file, which with the submission decides a grade.
    """

    title: str
    shown: tuple[Sizes, ...]
    rubric: tuple[Criterion, ...]
    text: str = ""
    options: tuple[str, ...] = ()
    device: str = "emulator"
    seed: int = 1
    hidden: tuple[Sizes, ...] = ()
    reference: Path | None = None
    given: Path | None = None
    limits: Limits = field(default_factory=Limits)
    content: str = ""
    entry: Mapping[str, str] = field(default_factory=dict)
    submission: str = "."
    hints: bool = True

    @property
    def hazards(self) -> str:
        """A note for the teacher if no criterion looks for hazards; else empty."""
        looks = {"no-hazards", "any-size"} & {criterion.name for criterion in self.rubric}
        return "" if looks else "not looked for: without no-hazards or any-size in the rubric, a race costs no points"

    @property
    def points(self) -> float:
        """The points of a submission that meets every criterion."""
        return sum(criterion.points for criterion in self.rubric)

    @cached_property
    def kernels(self) -> set[str]:
        """The names of the kernels of the reference and of the given file."""
        paths = filter(None, (self.reference, self.given))
        return {name for path in paths for name in kernel_names(read_text(path, "replace"))}

    @property
    def tried(self) -> Sequence[Sizes]:
        """The sizes at which products are run: the shown ones, and hidden ones if the rubric has them."""
        hidden = self.hidden if self.asks("hidden-sizes") else ()
        return [*dict.fromkeys([*self.shown, *hidden])]

    @property
    def checked(self) -> Sequence[Sizes]:
        """The sizes that decide on hazards, small first, without large ones.

        There are none if those that the code asks for decide, or the rubric does not ask.
        """
        if self.asks("any-size") or not self.asks("no-hazards"):
            return []
        most = max(_CHECKED, min(map(_work, self.shown)))
        return sorted((size for size in self.tried if _work(size) <= most), key=_work)

    def asks(self, *names: str) -> bool:
        """Return whether the rubric has one of some criteria."""
        return any(criterion.name in names for criterion in self.rubric)


def read_task(path: Path) -> Task:
    """Return the task of a TOML file. Raises InvalidProblem, which names the key that is wrong."""
    try:
        content = read_text(path)
        document = tomllib.loads(content)
    except OSError as error:
        raise InvalidProblem(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidProblem(f"{path} is no TOML file: {error}") from None
    try:
        return _task(_Table(document, ""), path.parent, content)
    except InvalidProblem as error:
        raise InvalidProblem(f"{path}: {error}") from None


def _work(size: Sizes) -> int:
    return size.m * size.n * size.k


class _Table:
    """A table of a TOML file, whose values are taken one by one; keys that are left over are errors."""

    def __init__(self, values: Any, name: str) -> None:
        if not isinstance(values, dict):
            raise InvalidProblem(f"{name} must be a table")
        self._values, self._name = dict(values), name

    def take(self, key: str, kind: type, usual: Any = None) -> Any:
        """Return a value of a type; ``usual`` if it is missing. Raises InvalidProblem."""
        value = self._values.pop(key, usual)
        words = {str: "a string", list: "a list", dict: "a table", float: "a number from 0 on", bool: "true or false"}
        if value is None:
            raise InvalidProblem(f"{self._name}{key} is missing")
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, float) and not 0 <= value <= _LARGEST):
            raise InvalidProblem(f"{self._name}{key} must be {words[kind]}, not {quoted(str(value))}")
        return value

    def end(self) -> None:
        """Raise InvalidProblem if a key was not taken."""
        for key in self._values:
            raise InvalidProblem(f"{self._name}{key} is not a key of a task")


def _task(table: _Table, folder: Path, content: str) -> Task:
    sizes = _Table(table.take("sizes", dict), "sizes.")
    limits = _Table(table.take("limits", dict, {}), "limits.")
    shown, hidden = (_sizes(sizes.take(key, list, usual), key) for key, usual in (("shown", None), ("hidden", [])))
    entries = table.take("entry", dict, {})
    reference, given = (table.take(key, str, "") for key in ("reference", "given"))
    task = Task(
        table.take("title", str),
        shown,
        tuple(_criterion(each, number) for number, each in enumerate(table.take("rubric", list), start=1)),
        table.take("text", str, ""),
        tuple(map(str, table.take("options", list, []))),
        table.take("device", str, Task.device),
        int(table.take("seed", float, Task.seed)),
        hidden,
        folder / reference if reference else None,
        folder / given if given else None,
        Limits(**{name: limits.take(name, float, getattr(Limits, name)) for name in vars(Limits())}),
        content,
        {student: _Table(entries, "entry.").take(student, str) for student in entries},
        normpath(table.take("submission", str, ".")),
        table.take("hints", bool, True),
    )
    for each in (table, sizes, limits):
        each.end()
    _check(task)
    return task


def _sizes(texts: Sequence[Any], key: str) -> tuple[Sizes, ...]:
    try:
        return tuple(parse_size(str(text)) for text in texts)
    except MmcoreError as error:
        raise InvalidProblem(f"sizes.{key}: {error}") from None


def _criterion(values: Any, number: int) -> Criterion:
    table = _Table(values, f"rubric {number}: ")
    name = table.take("criterion", str)
    if name not in CRITERIA:
        known = suggestion(name, CRITERIA) or f"there are {', '.join(CRITERIA)}"
        raise InvalidProblem(f"rubric {number}: there is no criterion {quoted(name)}; {known}")
    kinds = {"counter": str, "most": float}
    criterion = Criterion(
        name, table.take("points", float), **{key: table.take(key, kinds[key]) for key in CRITERIA[name]}
    )
    table.end()
    if criterion.counter and criterion.counter not in NAMES:
        known = suggestion(criterion.counter, NAMES) or "mmcore profile --json prints all"
        raise InvalidProblem(f"rubric {number}: there is no counter {quoted(criterion.counter)}; {known}")
    return criterion


def _check(task: Task) -> None:
    """Raise InvalidProblem if parts of the task do not go together."""
    if not task.rubric:
        raise InvalidProblem("rubric has no criterion")
    if not task.shown:
        raise InvalidProblem("sizes.shown has no size")
    if task.limits.memory_mb < _LEAST_MB:
        raise InvalidProblem(f"limits.memory_mb must be {_LEAST_MB} or more, not {task.limits.memory_mb:g}")
    if task.asks("hidden-sizes") and not task.hidden:
        raise InvalidProblem('the rubric has "hidden-sizes", but sizes.hidden has none')
    if task.asks("counts", "time") and task.reference is None:
        raise InvalidProblem('the rubric compares with a reference; reference = "FILE" names it')
    if task.asks("time") and task.device == Task.device:
        raise InvalidProblem('the criterion "time" takes device = "cuda", since the emulator has no kernel times')
    if Path(task.submission).is_absolute() or task.submission.startswith(".."):
        raise InvalidProblem(f"submission must be a path in a student's folder, not {quoted(task.submission)}")
    for path in filter(None, (task.reference, task.given)):
        if not path.is_file():
            raise InvalidProblem(f"{path} is no file")
