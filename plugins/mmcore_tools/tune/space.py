"""The search space: the configs of a kernel that can be launched for a product on a device."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from mmcore.errors import InvalidProblem, MmcoreError
from mmcore.kernel.configs import BLOCK, Config
from mmcore.kernel.declaration import Kernel
from mmcore.kernel.problem import Problem
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import plan
from mmcore.registry import registry
from mmcore_cuda.tuned_configs.files import Tuned, all_tuned

Value: TypeAlias = int | float | str
Point: TypeAlias = Mapping[str, Value]


class SearchSpace:
    """The configs that constraints and the device's limits allow, as points of the parameters that vary.

    The entries of the file to write are ``written``. Raises InvalidProblem if no config can be launched.

    Attributes:
        configs: the configs by id.
        refused: the number of configs that cannot be launched.
        parameters: the ordered values of each free parameter that varies.
        usual, written: the ids of the kernel's usual configs, and of the config that the result would replace, if any.
        known: the ids of configs tuned for other products or cards, or for the kernel in another layout.
    """

    def __init__(
        self, kernel: Kernel, problem: Problem, device: DeviceProperties, written: Sequence[Tuned] = ()
    ) -> None:
        self.configs: dict[str, Config] = {}
        self.refused = 0
        reason = ""
        for config in kernel.all_configs:
            try:
                plan(kernel, problem, config, device)
                self.configs[config.id] = config
            except MmcoreError as error:  # a violation, or a launch rule that fails
                self.refused += 1
                reason = str(error)
        if not self.configs:
            raise InvalidProblem(f"none of the {self.refused} configs can be launched for {problem}: {reason}")
        self.usual = [config.id for config in kernel.usual_configs if config.id in self.configs]
        family = {kernel.name, kernel.variant_of} - {""}
        kin = family | {each.item.name for each in registry().kernels.values() if each.item.variant_of in family}
        self.known = list(dict.fromkeys(self._ids(kernel, kin, all_tuned())))
        same = [each for each in written if (each.m, each.n, each.k) == (problem.m, problem.n, problem.k)]
        self.written = list(self._ids(kernel, [kernel.name], same))
        first = next(iter(self.configs.values()))
        values = {
            name: sorted({_value(config, name) for config in self.configs.values()}, key=_order)
            for name in first
            if name not in first.derived
        }
        self.parameters = {name: several for name, several in values.items() if len(several) > 1}
        self._by_point = {tuple(self.point(id).items()): id for id in self.configs}

    def _ids(self, kernel: Kernel, kin: Collection[str], several: Sequence[Tuned]) -> Iterator[str]:
        for tuned in several:
            with contextlib.suppress(MmcoreError):  # the kernel no longer has this parameter
                if tuned.kernel in kin and (id := kernel.all_configs.own(**tuned.config).id) in self.configs:
                    yield id

    def point(self, id: str) -> Point:
        return {name: _value(self.configs[id], name) for name in self.parameters}

    def at(self, point: Point) -> str | None:
        """Return the id of the config at a point; None if there is none."""
        return self._by_point.get(tuple((name, point[name]) for name in self.parameters))

    def neighbours(self, id: str) -> Iterable[str]:
        """Yield the configs that differ from one in a single parameter, the nearest values first."""
        here = self.point(id)
        steps = [
            (abs(place - values.index(here[name])), name, value)
            for name, values in self.parameters.items()
            for place, value in enumerate(values)
            if value != here[name]
        ]
        for _, name, value in sorted(steps, key=lambda step: step[0]):
            if (found := self.at({**here, name: value})) is not None:
                yield found


def _value(config: Config, name: str) -> Value:
    value: Value = config.block_text if name == BLOCK else config[name]
    return value


def _order(value: Value) -> tuple[bool, float, str]:
    """Return a sort key that puts numbers before texts."""
    return (True, 0.0, value) if isinstance(value, str) else (False, value, "")
