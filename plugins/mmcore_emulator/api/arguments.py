"""The arguments and variables of a launch: numpy arrays in device memory, and numbers in parameter memory."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mmcore_emulator.api.tensor_map import TensorMap
from mmcore_emulator.errors import LaunchError
from mmcore_emulator.executor.translation.layout import as_written
from mmcore_emulator.machine.asynchronous.tensor_maps import MAP_BYTES
from mmcore_emulator.machine.memory.arrays import Array, DeviceMemory
from mmcore_emulator.numerics.types import DType
from mmcore_emulator.ptx.instructions import Function, Parameter
from mmcore_emulator.ptx.types import TYPE_BYTES

Argument: TypeAlias = NDArray[np.generic] | np.generic | TensorMap | bytes | bool | int | float | None
"""An argument of a kernel."""

_POINTER_BYTES = 8
_FORMATS = {4: "<f", 8: "<d"}


class HostArrays:
    """The arrays that a launch is given, each with its copy in device memory."""

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        # The copies by address and size in the host's memory: an array that is passed twice has one copy.
        self._copies: dict[tuple[int, int], tuple[str, Array]] = {}
        self._hosts: list[tuple[NDArray[np.generic], Array]] = []

    def upload(self, label: str, host: NDArray[np.generic], place: str) -> Array:
        """Return the copy of an array in device memory; hazards call it ``label``, errors ``place``: "argument 2 (n)".

        Raises:
            LaunchError: its memory is not contiguous, holds no numbers, or overlaps another array's in part.
        """
        _check_array(host, place)
        begin, nbytes = host.ctypes.data, host.nbytes
        if nbytes and (begin, nbytes) in self._copies:
            _, copy = self._copies[begin, nbytes]
            self._hosts.append((host, copy))
            return copy
        for (other, size), (earlier, _) in self._copies.items():
            if nbytes and begin < other + size and other < begin + nbytes:
                raise LaunchError(f"{place} overlaps {earlier} in part; pass the whole array, and an offset")
        copy = self._memory.define(label, nbytes, b"")
        if nbytes:
            self._copies[begin, nbytes] = place, copy
        self.bind(host, copy, place)
        return copy

    def bind(self, host: NDArray[np.generic], copy: Array, place: str) -> None:
        """Store an array in device memory that exists; :meth:`download` copies it back from there.

        Raises:
            LaunchError: its memory is not contiguous, or holds no numbers.
        """
        _check_array(host, place)
        if host.nbytes:
            copy.content[: host.nbytes] = _bytes_of(host)
        self._hosts.append((host, copy))

    @property
    def alignments(self) -> set[int]:
        """The largest powers of two that divide the sizes of the arrays' elements, in bytes."""
        return {host.dtype.itemsize & -host.dtype.itemsize for host, _ in self._hosts if host.dtype.itemsize}

    @property
    def inputs(self) -> list[Array]:
        """The copies of arrays that are read-only, which a kernel must not write to."""
        writable = {copy.base for host, copy in self._hosts if host.flags.writeable}
        return [copy for _, copy in self._hosts if copy.base not in writable]

    def changed_inputs(self) -> list[str]:
        """Return the labels of the read-only arrays whose copies a kernel has changed."""
        inputs = {copy.base for copy in self.inputs}
        changed = (
            copy.label
            for host, copy in self._hosts
            if copy.base in inputs and host.nbytes and (copy.content[: host.nbytes] != _bytes_of(host)).any()
        )
        return list(dict.fromkeys(changed))

    def download(self) -> None:
        """Copy what the kernel has stored back into the arrays that are writable."""
        for host, copy in self._hosts:
            if host.flags.writeable and host.nbytes:
                _bytes_of(host)[:] = copy.content[: host.nbytes]


def _bytes_of(host: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return a view of a contiguous array's bytes."""
    return host.reshape(-1).view(np.uint8)


def _check_array(host: NDArray[np.generic], place: str) -> None:
    if not host.flags.c_contiguous:
        raise LaunchError(f"{place} is an array that is not C-contiguous; pass numpy.ascontiguousarray of it")
    if host.dtype.hasobject or not host.dtype.isnative:
        raise LaunchError(f"{place} is an array of {host.dtype}, which a kernel cannot read")


def argument_bytes(
    parameters: Sequence[Parameter], names: Sequence[str], arguments: Sequence[Argument], memory: DeviceMemory
) -> tuple[list[bytes], HostArrays]:
    """Return the bytes of each parameter, and the arrays that they point to; ``names`` may be empty.

    Raises:
        LaunchError: there are more or fewer arguments than parameters, or one does not fit its parameter.
    """
    if len(arguments) != len(parameters):
        takes = f"{len(parameters)} argument{'s' * (len(parameters) != 1)}"
        called = f" ({', '.join(names)})" if names else ""
        raise LaunchError(f"the kernel takes {takes}{called}, not {len(arguments)}")
    arrays, values = HostArrays(memory), []
    for number, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        place = f"argument {number}" + (f" ({names[number]})" if names else "")
        label = names[number] if names else place
        if isinstance(argument, np.ndarray):
            if parameter.nbytes != _POINTER_BYTES or parameter.type.startswith("f"):
                raise LaunchError(f"{place} is an array, and the parameter {_described(parameter)}")
            value = _address(arrays.upload(label, np.asarray(argument), place))
        elif isinstance(argument, TensorMap):
            content = argument.encode(arrays.upload(label, argument.array, place).base)
            in_place = parameter.nbytes == MAP_BYTES
            value = content if in_place else _address(memory.define(f"{label} (a tensor map)", MAP_BYTES, content))
        else:
            value = _scalar(parameter, argument, place)
        if len(value) != parameter.nbytes:
            raise LaunchError(f"{place} has {len(value)} bytes, and the parameter {parameter.nbytes}")
        values.append(value)
    return values, arrays


def _address(array: Array) -> bytes:
    return array.base.to_bytes(_POINTER_BYTES, "little")


def _scalar(parameter: Parameter, argument: object, place: str) -> bytes:
    """Return a number or a structure as a parameter holds it.

    Raises:
        LaunchError: it does not fit the parameter.
    """
    if isinstance(argument, np.generic):
        _check_kind(parameter, argument.dtype, place)
        return argument.tobytes()
    if isinstance(argument, bytes):
        return argument
    if argument is None and parameter.nbytes == _POINTER_BYTES:
        return bytes(_POINTER_BYTES)
    if not isinstance(argument, int | float) or _is_structure(parameter):
        name = type(argument).__name__
        what = "None" if argument is None else f"a{'n' * (name[0] in 'aeiou')} {name}"
        advice = "; pass bytes or a numpy.void" if _is_structure(parameter) else ""
        raise LaunchError(f"{place} is {what}, and the parameter {_described(parameter)}{advice}")
    if isinstance(argument, int) and not parameter.type.startswith("f"):
        return _integer(argument, parameter.nbytes, place)
    if parameter.type[0] in "us" or parameter.nbytes not in _FORMATS:
        raise LaunchError(f"{place} is a float, and the parameter {_described(parameter)}")
    return _real(argument, parameter.nbytes, place)


def _is_structure(parameter: Parameter) -> bool:
    return parameter.nbytes != TYPE_BYTES[parameter.type]


def _check_kind(parameter: Parameter, dtype: DType, place: str) -> None:
    """Raise LaunchError for a numpy scalar that is an integer where the kernel takes a float, or the reverse."""
    kinds = {"f": "f", "u": "iub", "s": "iub"}.get(parameter.type[0], "")
    if dtype.itemsize != parameter.nbytes or (kinds and dtype.kind in "iubfc" and dtype.kind not in kinds):
        raise LaunchError(f"{place} has the dtype {dtype.name}, and the parameter {_described(parameter)}")


def _integer(value: int, size: int, place: str) -> bytes:
    if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
        raise LaunchError(f"{place} is {value}, which does not fit into the parameter's {8 * size} bits")
    return (int(value) % (1 << 8 * size)).to_bytes(size, "little")


def _real(value: float, size: int, place: str) -> bytes:
    try:
        return struct.pack(_FORMATS[size], float(value))
    except OverflowError:
        shown = f"{value:g}" if isinstance(value, float) else "an int"
        raise LaunchError(f"{place} is {shown}, which does not fit into a float of {8 * size} bits") from None


def _described(parameter: Parameter) -> str:
    """Return what a parameter is, in words."""
    kinds = {"f": "a float", "u": "an integer", "s": "an integer"}
    if _is_structure(parameter):
        return f"a structure of {parameter.nbytes} bytes"
    kind = kinds.get(parameter.type[0], "a number")
    pointer = "a pointer or " if parameter.nbytes == _POINTER_BYTES and not parameter.type.startswith("f") else ""
    return f"{pointer}{kind} of {8 * parameter.nbytes} bits"


def set_variables(
    function: Function,
    addresses: Mapping[str, int],
    memory: DeviceMemory,
    arrays: HostArrays,
    values: Mapping[str, NDArray[np.generic]],
) -> None:
    """Store arrays in variables of a module; those in ``__device__`` memory are copied back after the launch.

    ``addresses`` has the used variables by symbol, ``values`` the arrays by the variables' names in the source or
    symbols.

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
