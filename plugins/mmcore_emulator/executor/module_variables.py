"""The variables of a loaded module in device memory."""

from __future__ import annotations

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.translation.layout import as_written, used_variables
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory
from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import Function

# The driver's memory for each cooperative launch, as cooperative_groups.h uses it: its size, and a counter.
_GRID_BARRIER = Variable("the grid's barrier", "global", 8, 8, bytes(8))
_KEYWORDS = {"global": "__device__", "const": "__constant__"}


class ModuleMemory:
    """The ``__device__`` and ``__constant__`` variables of one module, created when a function first needs them."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._arrays: dict[str, Array] = {}

    def addresses(self, function: Function, *, cooperative: bool = False) -> dict[str, int]:
        """Return the addresses of the module's variables that a function uses, by symbol.

        The address of the grid's barrier in a cooperative launch is added in two halves, as the registers ``%envreg1``
        and ``%envreg2``.

        Raises:
            UnsupportedInstruction: the initial value of a variable is not known; the message names the variable.
            LaunchError: there is no memory for one.
        """
        used = [variable for variable in used_variables(function) if variable.space in ("global", "const")]
        barrier = self._array(_GRID_BARRIER).base if cooperative else 0
        environment = {"%envreg1": barrier >> 32, "%envreg2": barrier & 0xFFFFFFFF}
        return {variable.name: self._array(variable).base for variable in used} | environment

    def close(self) -> None:
        """Free the variables; the next function that needs them finds their initial values."""
        for array in self._arrays.values():
            self._memory.free(array)
        self._arrays.clear()

    def _array(self, variable: Variable) -> Array:
        if variable.name not in self._arrays:
            self._arrays[variable.name] = self._made(variable)
        return self._arrays[variable.name]

    def _made(self, variable: Variable) -> Array:
        name = as_written(variable.name)
        if variable.unknown:
            raise UnsupportedInstruction(f"the emulator does not know variables like {name}, which {variable.unknown}")
        if self._memory.labelled(name):
            # Violations in it must differ from violations in the matrix of that name.
            name = f"{name} ({_KEYWORDS[variable.space]})"
        array = self._memory.define(name, variable.nbytes, variable.initial)
        array.read_only = variable.space == "const"
        return array
