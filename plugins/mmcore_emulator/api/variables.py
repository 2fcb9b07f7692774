"""The values of ``__device__`` and ``__constant__`` variables, which a program sets by ``cudaMemcpyToSymbol``."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.api.arguments import HostArrays
from mmcore_emulator.errors import LaunchError
from mmcore_emulator.executor.translation.layout import as_written
from mmcore_emulator.machine.memory.arrays import DeviceMemory
from mmcore_emulator.ptx.instructions import Function


def set_variables(
    function: Function,
    addresses: Mapping[str, int],
    memory: DeviceMemory,
    arrays: HostArrays,
    values: Mapping[str, NDArray[np.generic]],
) -> None:
    """Store arrays in variables of a module; those in ``__device__`` memory are copied back after the launch.

    Args:
        function: the kernel.
        addresses: where the variables are that it uses, by symbol.
        memory: device memory.
        arrays: the arrays of the launch.
        values: the arrays, by the variables' names in the source or their symbols.

    Raises:
        LaunchError: the kernel uses no such variable, or it is of another size.
    """
    used = {as_written(symbol): symbol for symbol in addresses if symbol in function.variables}
    for name, host in values.items():
        symbol = used.get(name, name)
        if symbol not in used.values():
            known = f"; it uses {', '.join(used)}" if used else ""
            raise LaunchError(f"the kernel uses no variable {name}{known}")
        variable, copy = function.variables[symbol], memory.at(addresses[symbol])
        assert copy is not None
        if host.nbytes != variable.nbytes:
            raise LaunchError(f"variable {name} has {variable.nbytes} bytes, and its array {host.nbytes}")
        arrays.bind(host, copy, f"variable {name}")
