"""Small products that take the branches of a large one, as far as the sizes alone decide them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from mmcore.cell import Cell
from mmcore.compile.compiled_module import CompiledModule
from mmcore.errors import MmcoreError
from mmcore.kernel.properties import DeviceProperties
from mmcore.planning.plan import Plan, plan
from mmcore_emulator.adapter.device import functions_of
from mmcore_emulator.adapter.reached_sides import conditions_on_sizes, take_same_sides


def same_branches(planned: Plan, module: CompiledModule, device: DeviceProperties) -> Callable[[Cell], bool]:
    """Return a function that says whether a cell of the same kernel takes the branches of a plan.

    It accepts every cell of a module whose code is not known, such as a library's.
    """
    with contextlib.suppress(MmcoreError):
        by_symbol = functions_of(module)
        functions = [by_symbol[module.functions[planned.entry(launch)].symbol] for launch in planned.launches]
        comparisons = conditions_on_sizes(functions)

        def takes(cell: Cell) -> bool:
            with contextlib.suppress(MmcoreError):
                small = plan(planned.kernel, cell.problem(planned.kernel), planned.config, device)
                if len(small.launches) == len(functions):
                    return take_same_sides(comparisons, functions, planned, small)
            return True

        return takes
    return lambda cell: True
