"""The variables of a loaded module in device memory."""

from __future__ import annotations

from mmcore_emulator.errors import UnsupportedInstruction
from mmcore_emulator.executor.layout import as_written, used_variables
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory
from mmcore_emulator.ptx.declarations import Variable
from mmcore_emulator.ptx.instructions import Function

# What the driver has for each cooperative launch, of which cooperative_groups.h knows: its size, and a counter.
_GRID_BARRIER = Variable("the grid's barrier", "global", 8, 8, bytes(8))
_KEYWORDS = {"global": "__device__", "const": "__constant__"}


class ModuleMemory:
    """``__device__`` and ``__constant__`` variables of one module: made when a function first needs them, then kept."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self._arrays: dict[str, Array] = {}

    def addresses(self, function: Function, *, cooperative: bool = False) -> dict[str, int]:
        """Where the module's variables lie that a function uses, by symbol; and the halves of where the barrier of a
        cooperative launch's grid lies, as registers of the environment have them.

        Raises:
            UnsupportedInstruction: what one of them holds at first is not known; it names the variable.
            LaunchError: there is no memory for one.
        """
        used = [variable for variable in used_variables(function) if variable.space in ("global", "const")]
        barrier = self._array(_GRID_BARRIER).base if cooperative else 0
        environment = {"%envreg1": barrier >> 32, "%envreg2": barrier & 0xFFFFFFFF}
        return {variable.name: self._array(variable).base for variable in used} | environment

    def close(self) -> None:
        """Free the variables; the next function that needs them finds them as at first."""
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
            # A violation in it must not be taken for one in the matrix of that name.
            name = f"{name} ({_KEYWORDS[variable.space]})"
        array = self._memory.define(name, variable.nbytes, variable.initial)
        array.read_only = variable.space == "const"
        return array
