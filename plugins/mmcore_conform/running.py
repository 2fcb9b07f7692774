"""Cases run twice on the device: product, output, inputs, surroundings, and the same bits again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mmcore_conform.cases import Case
from mmcore_conform.complaints import Complaint, aspect_of
from mmcore_conform.trial import Setting
from mmcore.errors import CompileError, CompilerStopped, DeviceError, DeviceLost, InvalidKernel, ConstraintViolation, Unanswered
from mmcore.experiment import Experiment, host_arrays, rows_of_product
from mmcore.verify.inputs import draw
from mmcore.verify.verification import unwritten_words
from mmcore.devices.base import Device, HostArray
from mmcore.devices.loaded import LoadedKernel
from mmcore.outcome import Outcome
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.declaration import Kernel

ASPECTS_OF_RUNS = ("product", "written", "bounds", "inputs", "repeatable")


@dataclass(frozen=True)
class Runs:
    """What came of running a case.

    Attributes:
        complete: whether it ran to its end, so that what nobody complains of is well.
        complaints: what is wrong.
        timed_out: whether it was stopped because it took too long.
    """

    complete: bool
    complaints: tuple[Complaint, ...]
    timed_out: bool = False


def run_case(
    kernel: Kernel, case: Case, device: Device, setting: Setting, over_read: Collection[str], *, force: bool = False
) -> Runs:
    """Run a case and say what is wrong with it.

    It is run twice on the same inputs. The second time C holds numbers instead of poison, and workspaces what the
    first run left in them: a kernel that computes with what it finds there gives itself away.

    Args:
        kernel: the kernel.
        case: what to run.
        device: where.
        setting: what the commands need that show it again.
        over_read: matrices of which the kernel declares an over-read.
        force: run against the kernel's own constraints.

    Raises:
        MmcoreError: the device cannot run such a kernel at all.
    """
    reproduce = setting.run(case, force=force)
    device.deadline.set(setting.seconds)
    try:
        with Experiment(kernel, case.problem, case.block, device, seed=setting.seed, force=force) as experiment:
            outcome = experiment.verify()
            complaints = [
                Complaint(aspect_of(violation.kind, violation.array, over_read), str(violation), reproduce)
                for violation in outcome.violations
            ]
            if outcome.verdict is None:
                return Runs(False, tuple(complaints), any(violation.kind == "timeout" for violation in outcome.violations))
            first = _product(experiment.prepared)
            unwritten = _unwritten(experiment.prepared, outcome, first)
            complaints += _of_product(outcome, unwritten, reproduce)
            # What nobody writes differs because the run before it left something else there.
            complaints += _of_second_run(experiment.prepared, case, setting, first, unwritten)
            return Runs(True, tuple(complaints))
    except ConstraintViolation as refused:
        reason = f"its constraints allow what is refused: {refused}"
        return Runs(False, (Complaint("geometry", reason, reproduce),))
    except (InvalidKernel, CompileError, DeviceError, DeviceLost) as error:
        timed_out = isinstance(error, (Unanswered, CompilerStopped))
        return Runs(False, (Complaint("product", str(error), reproduce),), timed_out)


def _product(prepared: LoadedKernel) -> HostArray:
    """C as the device left it, m×n."""
    problem = prepared.plan.problem
    flat = np.empty(problem.span("C"), dtype_named(problem.output).storage)
    prepared.buffers["C"].download(flat)
    return rows_of_product(prepared.plan, flat)


def _unwritten(prepared: LoadedKernel, outcome: Outcome, product: HostArray) -> NDArray[np.bool_]:
    """The elements of a wrong product that are what they were before the launch."""
    if outcome.verdict is None or outcome.verdict.verified:
        return np.zeros(product.shape, np.bool_)
    before = host_arrays(prepared.plan, draw(prepared.plan.problem, outcome.seed))["C"]
    return np.asarray(_bits(rows_of_product(prepared.plan, before)) == _bits(product))


def _of_product(outcome: Outcome, unwritten: NDArray[np.bool_], reproduce: str) -> Iterator[Complaint]:
    verdict, missing = outcome.verdict, int(unwritten.sum())
    assert verdict is not None
    if missing:
        row, column = (int(index) for index in np.argwhere(unwritten)[0])
        words = unwritten_words(outcome.problem.output)
        reason = f"element ({row}, {column}) of C is {words}; {missing} of {unwritten.size} are"
        yield Complaint("written", reason, reproduce)
    if verdict.wrong > missing or (not verdict.verified and not missing):
        wrong = f"{verdict.wrong} of the {verdict.compared} elements compared are wrong"
        yield Complaint("product", f"{verdict.mismatch}; {wrong}", reproduce)


def _of_second_run(
    prepared: LoadedKernel, case: Case, setting: Setting, first: HostArray, unwritten: NDArray[np.bool_]
) -> Iterator[Complaint]:
    planned = prepared.plan
    host = host_arrays(planned, draw(case.problem, setting.seed))
    if not planned.kernel.accumulate:
        host["C"] = host_arrays(planned, draw(replace(case.problem, accumulate=True), setting.seed + 1))["C"]
    prepared.upload(host)
    violations = prepared.run()
    if any(violation.fatal for violation in violations):
        yield Complaint("repeatable", f"the second run failed where the first did not: {violations[-1]}", setting.conform())
        return
    second = _product(prepared)
    changed = (_bits(first) != _bits(second)) & ~unwritten
    if changed.any():
        row, column = (int(index) for index in np.argwhere(changed)[0])
        reason = (
            f"run twice on the same inputs, element ({row}, {column}) of C is {float(first[row, column])!r}, then "
            f"{float(second[row, column])!r}; {int(changed.sum())} of {changed.size} elements differ"
        )
        yield Complaint("repeatable", reason, setting.conform())


def _bits(values: HostArray) -> NDArray[np.unsignedinteger]:
    return values.view(f"u{values.dtype.itemsize}")
