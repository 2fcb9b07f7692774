"""Tuned configs: for a product on a card, the config and the kernel that were measured to be the fastest.

They are in JSON files, one for each card model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mmcore.hookspecs import hookimpl, hookspec

if TYPE_CHECKING:
    from mmcore.kernel.configs import Config
    from mmcore.kernel.declaration import Kernel
    from mmcore.kernel.problem import Problem
    from mmcore.kernel.properties import DeviceProperties
    from mmcore.planning.kernel_choice import Choice


@hookspec
def mmcore_tuning() -> Iterable[Path]:  # type: ignore[empty-body]
    """Return folders of tuned configs, with a file for each card model as ``mmcore tune --output`` writes it."""


@hookimpl
def mmcore_tuned_config(
    kernel: Kernel, problem: Problem, device: DeviceProperties, fits: Callable[[Config], bool]
) -> Choice | None:
    """Return the kernel's first config that fits, tuned on this card or on one of the same compute capability."""
    if not device.card:
        return None
    from mmcore_cuda.tuned_configs.files import tuned_configs

    return next((choice for choice in tuned_configs(kernel, problem, device) if fits(choice.config)), None)


@hookimpl
def mmcore_best_kernel(
    problem: Problem, device: DeviceProperties, fits: Callable[[Kernel, Config], bool]
) -> Choice | None:
    """Return the fastest of the tuned kernels that compute such a product."""
    if not device.card:
        return None
    from mmcore_cuda.tuned_configs.files import best_kernels

    return next((choice for choice in best_kernels(problem, device) if fits(choice.kernel, choice.config)), None)
