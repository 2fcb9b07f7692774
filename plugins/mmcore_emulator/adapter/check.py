"""The sanitizer on a kernel: a run on a device that watches every access, and what it found."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmcore.cell import Cell
from mmcore.devices.base import BoundLaunch, Device
from mmcore.devices.loaded_kernel import LoadedKernel
from mmcore.devices.shared_bounds import without_consequences
from mmcore.devices.violations import Violation
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem, dtype_named
from mmcore.measure import Phases, prepared_cell
from mmcore.planning.differing_types import differing_types
from mmcore.registry import registry
from mmcore.verify.inputs import fresh_seed
from mmcore.verify.verify_launches import mixed_inputs, rows_of, verify_part
from mmcore_emulator.adapter.barrier_places import with_causes, with_one_hint
from mmcore_emulator.adapter.checked_code import CheckedCode
from mmcore_emulator.adapter.conversions import execute, mmcore_violations
from mmcore_emulator.adapter.device import EmulatedBuffer, EmulatedModule, check_emulates, emulated_runs
from mmcore_emulator.adapter.launch_facts import Launched
from mmcore_emulator.adapter.nan_outputs import contents, nan_outputs, output_of
from mmcore_emulator.adapter.outside_writers import with_guards
from mmcore_emulator.adapter.views import check_view
from mmcore_emulator.machine import violations as machine_violations
from mmcore_emulator.machine.memory.arrays import Array
from mmcore_emulator.machine.observer import Observer
from mmcore_emulator.numerics.types import Flags
from mmcore_emulator.sanitizer.array_access import least_access_bytes
from mmcore_emulator.sanitizer.hazards import Checking
from mmcore_emulator.sanitizer.input_reads import InputReads
from mmcore_emulator.sanitizer.lost_stores import LostStores
from mmcore_emulator.sanitizer.recording import Recorder, hazards_and_warnings
from mmcore_emulator.sanitizer.shadow import GlobalShadows, Shadow
from mmcore_emulator.sanitizer.stale_reads import StaleReads
from mmcore_emulator.sanitizer.undefined_values import UndefinedValues


@dataclass(frozen=True)
class Check:
    """The hazards of one kernel's launches for one problem.

    Attributes:
        launched: the launches and their device.
        violations: the hazards, by line, then in the order of their discovery.
        warnings: signs of a mistake that are none by themselves.
    """

    launched: Launched
    violations: tuple[Violation, ...]
    warnings: tuple[Violation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the check as JSON-ready values."""
        sorts = {"violations": self.violations, "warnings": self.warnings}
        return {**self.launched.to_json(), **{name: [each.to_json() for each in sorts[name]] for name in sorts}}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Check:
        """Return the check of :meth:`to_json`."""
        sorts = (tuple(map(Violation.from_json, values[name])) for name in ("violations", "warnings"))
        return cls(Launched.from_json(values), *sorts)

    def _repr_html_(self) -> str:
        return check_view(self)._repr_html_()


def check_json(
    device: Device,
    phases: Phases,
    cell: Mapping[str, Any],
    remember: bool,
    quiet: bool,
    most_work: float | None,
    wrong: bool | None,
    kernel: Kernel | None = None,
) -> dict[str, Any]:
    """Return the check of a cell, both as JSON; ``most_work`` is None without a limit."""
    most = math.inf if most_work is None else most_work
    asked = Cell.from_json(cell)
    check = check_cell(asked, device, kernel, phases, remember=remember, quiet=quiet, most_work=most, wrong=wrong)
    return check.to_json()


def check_cell(
    cell: Cell,
    device: Device,
    kernel: Kernel | None = None,
    phases: Phases | None = None,
    *,
    remember: bool = False,
    quiet: bool = False,
    most_work: float = math.inf,
    wrong: bool | None = None,
) -> Check:
    """Run a kernel on fresh inputs and look for every hazard.

    With ``remember``, the same launches of the same code are not run again after a check without a violation. With
    ``quiet``, what the kernel prints is dropped. A launch is stopped after ``most_work``. ``wrong`` says whether the
    product is known to be wrong; None verifies it where nothing else is found. Of a wrong product, stale reads are
    violations. Of one that is known to be, without any violation, stores that are lost and elements that no thread
    reads are warnings.

    Memory counts as written if the host has uploaded something there, or a launch has stored something. A kernel may
    also read the declared over-read area behind a matrix. Arguments are those of :func:`mmcore.measure.measure`.

    Raises:
        NoDevice: the device has no sanitizer.
        TimeLimit: its deadline has passed, or a launch has done the most work.
        MmcoreError: the launch is refused, or its source does not become code.
    """
    check_emulates(device, "look for hazards")
    phases = phases or Phases()
    seed = fresh_seed() if cell.seed is None else cell.seed
    with prepared_cell(replace(cell, seed=seed), device, kernel, phases, mixed=True) as loaded, phases("check"):
        memory = CheckedCode(loaded) if remember else None
        if memory and memory.known:
            return Check(Launched.of(loaded), ())
        if quiet:
            assert isinstance(loaded.module, EmulatedModule)
            loaded.module.write = None
        before = contents(loaded)
        violations = sanitized_run(loaded, most_work=most_work)
        violations += causes(loaded, violations) if wrong else []
        types = _differing_types(loaded)
        violations += nan_outputs(loaded, before, {violation.kind for violation in violations}, types)
        if wrong is None and not violations and not _is_right(loaded, seed):
            violations = stale_reads(loaded)
    hazards, warnings = hazards_and_warnings(violations)
    check = Check(Launched.of(loaded), hazards, (*types, *warnings) if hazards or wrong else warnings)
    if memory and not check.violations:
        memory.add()
    return check


def _differing_types(loaded: LoadedKernel) -> list[Violation]:
    """Return a warning for each matrix of another type in the source than in the declaration."""
    by_option = loaded.plan.kernel.name in registry().files
    several = differing_types(loaded.plan, by_option=by_option)
    return [Violation("differing-type", each.sentence, each.matrix, each.source, each.line) for each in several]


def sanitized_run(
    loaded: LoadedKernel, *, most_work: float = math.inf, watching: Sequence[Observer] = ()
) -> list[Violation]:
    """Make a kernel's launches on the emulator with every access observed, and return what they did wrong.

    There is one violation for each kind, array and line, with the number of threads or elements of C. Other observers
    may be ``watching`` too. Raises TimeLimit after ``most_work`` of a launch, as at the deadline.
    """
    module, output, problem = loaded.module, loaded.buffers["C"], loaded.plan.problem
    assert isinstance(module, EmulatedModule)
    assert isinstance(output, EmulatedBuffer)
    accesses = (least_access_bytes(module.function(call)) for call in loaded.launches)
    shadows = GlobalShadows(min(dtype_named(problem.output).itemsize, *accesses), output.array, _inputs(loaded))
    for name in "AB":
        _note_order(loaded, name)
    recorder = Recorder()
    never_written = [each.name for each in loaded.plan.workspaces.values() if each.content]
    # The marks of unwritten memory are NaN. Among integers, they are numbers like any other.
    domain = _undefined_values(marked=not dtype_named(problem.output).is_integer)
    runs = emulated_runs(loaded, lambda translation: Checking(shadows, recorder, translation), domain)
    for number, (call, run) in enumerate(zip(loaded.launches, runs, strict=True)):
        (checking,) = run.observers
        assert isinstance(checking, Checking)
        if call.launch.dependent:
            # The first launch waits for the producers of A and B.
            readable = [loaded.buffers[name] for name in (*never_written, *("AB" if number else ""))]
            checking.early_reads = [each.array for each in readable if isinstance(each, EmulatedBuffer)]
        # Blocks that others wait for run late, so that missing waits show.
        run.alone, run.most_work = checking.reads_flags, most_work
        run.observers = (checking, *watching)
        execute(run)
    kernel = loaded.plan.kernel
    found = with_guards(with_causes(with_one_hint(mmcore_violations(recorder.violations), kernel), kernel))
    found += _unwritten(problem, shadows.of(output.array))
    found += itertools.chain.from_iterable(_ignored_counts(module, call) for call in loaded.launches)
    found = [*without_consequences(found, kernel.launch)]
    return [replace(each, hint=_in_its_language(each.hint, kernel)) for each in found]


def _note_order(loaded: LoadedKernel, name: str) -> None:
    """Note at the array of A or B if its neighbours are along k."""
    buffer, strides = loaded.buffers[name], loaded.plan.problem.strides(name)
    if isinstance(buffer, EmulatedBuffer):
        buffer.array.major = "K" if strides["BA".index(name)] == 1 else "MN"


def _is_right(loaded: LoadedKernel, seed: int) -> bool:
    """Return whether the product that a kernel has left in C is right."""
    problem = loaded.plan.problem
    return verify_part(loaded, problem, mixed_inputs(loaded, problem, seed), output_of(loaded)).verified


def causes(loaded: LoadedKernel, violations: Sequence[Violation]) -> list[Violation]:
    """Return the stale reads that explain a wrong product of a kernel, or lost data where it has no violations."""
    return stale_reads(loaded) or ([] if violations else lost_data(loaded))


def stale_reads(loaded: LoadedKernel) -> list[Violation]:
    """Return the reads of shared memory that explain a wrong product of a kernel, which is run once more."""
    found: dict[str, machine_violations.Violation] = {}
    for run in emulated_runs(loaded, lambda translation: StaleReads(translation.layout, found)):
        run.write = None
        execute(run)
    return mmcore_violations(found.values())


def lost_data(loaded: LoadedKernel) -> list[Violation]:
    """Return the lost stores and unread elements that may explain a wrong product of a kernel, which is run again."""
    found: list[Violation] = []
    reads = InputReads(_inputs(loaded))
    for run in emulated_runs(loaded, lambda translation: LostStores(translation.layout)):
        (stores,) = run.observers
        assert isinstance(stores, LostStores)
        run.write, run.observers = None, (stores, reads)
        execute(run)
        found += mmcore_violations(stores.found())
    needed = "AB" if loaded.plan.problem.alpha else ""
    return found or [each for name in needed for each in _unread(loaded, name, reads.read.get(name))]


def _ignored_counts(module: EmulatedModule, call: BoundLaunch) -> Iterator[Violation]:
    """Yield a warning for the first ``setmaxnreg`` of a launch if the machine code has none."""
    if call.function.reallocates_registers is not False:
        return
    found = (each for each in module.function(call).body if each.mnemonic.startswith("setmaxnreg"))
    why = (
        "has no effect: the assembler leaves it out where it does not know the registers at the launch, which "
        "__launch_bounds__ with a number of blocks, as (256, 1), or __maxnreg__ fixes"
    )
    for each in itertools.islice(found, 1):
        yield Violation("ignored-setmaxnreg", f"setmaxnreg {why}", None, each.source, each.line)


def _inputs(loaded: LoadedKernel) -> list[Array]:
    return [each.array for name in "AB" if isinstance(each := loaded.buffers[name], EmulatedBuffer)]


def _in_its_language(hint: str, kernel: Kernel) -> str:
    """Return a hint with the names of the language whose compiler is the kernel's build rule."""
    names: Mapping[str, str] = getattr(kernel.build, "names", {})
    for name, own in names.items():
        hint = hint.replace(name, own)
    return hint


@functools.cache
def _undefined_values(*, marked: bool) -> UndefinedValues:
    """Return the domain that finds values in C that were never set; runs of the same code share its translation."""
    return UndefinedValues(lambda array: array.label == "C", marked=marked)


def _unwritten(problem: Problem, shadow: Shadow) -> list[Violation]:
    """Return a violation if a launch has left elements of C unwritten."""
    pieces = dtype_named(problem.output).itemsize // shadow.piece
    down, along = problem.strides("C")
    elements = np.arange(problem.m)[:, np.newaxis] * down + np.arange(problem.n) * along
    stored = shadow.stored[(elements[..., np.newaxis] * pieces) + np.arange(pieces)].all(axis=2)
    if stored.all():
        return []
    row, column = (int(index) for index in np.argwhere(~stored)[0])
    message = f"no thread writes element ({row}, {column}) of C: the product is not complete"
    return [Violation("unwritten-output", message, "C", count=int((~stored).sum()))]


def _unread(loaded: LoadedKernel, matrix: str, read: Flags | None) -> list[Violation]:
    """Return a violation if launches have left elements of A or B unread; ``read`` has the bytes they read."""
    if read is None:
        return []
    nbytes = loaded.plan.problem.dtype_of(matrix).itemsize
    span = loaded.plan.problem.span(matrix)
    elements = np.asarray(read[: span * nbytes].reshape(span, nbytes).any(axis=1))
    missing = ~rows_of(loaded.plan, matrix, elements)
    if not missing.any():
        return []
    row, column = (int(index) for index in np.argwhere(missing)[0])
    number, size = int(missing.sum()), f"{missing.shape[0]}×{missing.shape[1]}"
    message = f"no thread reads element ({row}, {column}) of {matrix}, nor {number - 1:,} others of its {size}"
    if missing.all():
        message = f"no thread reads {matrix}; the compiler leaves out loads whose values are not used"
    return [Violation("unread-input", message, matrix, count=number)]
