"""Whether launches are what was asked for, and fit GPUs that are not here: blocks, grids, registers, shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mmcore_conform.cases import Case
from mmcore_conform.trial import FAILED, PASSED, UNTRIED, Setting, Trial
from mmcore.errors import CompileError, InvalidKernel, MmcoreError, ConstraintViolation
from mmcore.deadline import Deadline
from mmcore_occupancy.compiled import capability_target, compiled_occupancies, target_plan
from mmcore.kernel.geometry import Dim3
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.launch import Launch
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import launches
from mmcore.kernel.problem import Problem
from mmcore.reproduce import block_text, sizes

CAPABILITIES = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
"""The compute capabilities that a kernel must fit, unless it declares that it needs a later one."""

_TIMES_ASKED = 3


def geometry_trials(kernel: Kernel, cases: Sequence[Case], limits: DeviceProperties, setting: Setting) -> list[Trial]:
    """Whether every case fits each compute capability; it is compiled for the largest product in each block.

    A launch rule that answers the same question now so, now so, or does not heed the block, fails too.

    Raises:
        CompilerMissing: NVRTC cannot be loaded.
    """
    by_block: dict[Dim3, list[Case]] = {}
    for case in cases:
        by_block.setdefault(case.block, []).append(case)
    fitting = [
        _geometry_trial(kernel, capability, block, in_block, setting)
        for block, in_block in by_block.items()
        for capability in CAPABILITIES
    ]
    return [*_rule_trials(kernel, by_block, limits, setting), *fitting]


def _rule_trials(
    kernel: Kernel, by_block: Mapping[Dim3, Sequence[Case]], limits: DeviceProperties, setting: Setting
) -> Iterator[Trial]:
    """What is wrong with the launch rule's answers, taken together."""
    answers: dict[Dim3, dict[Problem, list[tuple[Launch, ...]]]] = {}
    for block, cases in by_block.items():
        answers[block] = {case.problem: _answers(kernel, case, limits) for case in cases}
        for case in cases:
            given = answers[block][case.problem]
            if any(answer != given[0] for answer in given):
                reason = f"asked {len(given)} times for the same launch, its rule does not give the same one"
                yield Trial("geometry", str(case), FAILED, reason, setting.run(case))
                break
    for one, other in itertools.combinations(answers, 2):
        common = [problem for problem in answers[one] if answers[one][problem] and answers[other].get(problem)]
        if common and all(answers[one][problem] == answers[other][problem] for problem in common):
            reason = f"it is launched in the same way in {one} and in {other} blocks, as which both are measured"
            yield Trial("geometry", f"{other} blocks", FAILED, reason, setting.conform())


def _answers(kernel: Kernel, case: Case, limits: DeviceProperties) -> list[tuple[Launch, ...]]:
    """What the rule answers when it is asked several times; nothing where running it complains of it."""
    try:
        return [launches(kernel, case.problem, case.block, limits) for _ in range(_TIMES_ASKED)]
    except MmcoreError:
        return []


def _geometry_trial(
    kernel: Kernel, capability: tuple[int, int], block: Dim3, cases: Iterable[Case], setting: Setting
) -> Trial:
    name = ".".join(map(str, capability))
    largest = max(cases, key=lambda case: case.work)
    words = ["mmcore", "occupancy", kernel.name, *sizes(largest.problem), "--block", block_text(block), "--cc", name]
    reproduce = " ".join(words)
    what = f"compute capability {name}, {block} blocks"
    if capability < kernel.min_compute_capability:
        least = ".".join(map(str, kernel.min_compute_capability))
        return Trial("geometry", what, UNTRIED, f"it declares that it needs {least}", reproduce)
    if kernel.architecture and not _runs(kernel, capability):
        return Trial("geometry", what, UNTRIED, f"it is compiled for {kernel.architecture} alone", reproduce)
    target = capability_target(capability)
    try:
        plans = {case: target_plan(kernel, case.problem, case.block, target) for case in cases}
        _, occupancies = compiled_occupancies(plans[largest], target, Deadline(setting.seconds))
    except (ConstraintViolation, InvalidKernel, CompileError) as error:
        return Trial("geometry", what, FAILED, str(error), reproduce)
    crowded = [each.advice for each in occupancies if each.active_blocks == 0]
    if crowded:
        return Trial("geometry", what, FAILED, crowded[0], reproduce)
    return Trial("geometry", what, PASSED, "", reproduce)


def _runs(kernel: Kernel, capability: tuple[int, int]) -> bool:
    """Whether code for the kernel's own architecture ("90", "90a", "100f") runs there."""
    number = int(kernel.architecture.rstrip("af"))
    made_for = divmod(number, 10)
    if kernel.architecture.endswith("a"):
        return capability == made_for
    return capability[0] == made_for[0] and capability >= made_for
