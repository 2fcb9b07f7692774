"""A plan, compiled for a device and loaded onto it, with memory for everything it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import cast

import numpy as np

from mmcore.compile.compiled_module import CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import (
    BoundArgument,
    BoundCall,
    BoundLaunch,
    Buffer,
    Call,
    Device,
    HostArray,
    HostCopies,
    LoadedModule,
    MatrixMap,
    Operand,
)
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidKernel, asking
from mmcore.kernel.arguments import (
    MATRICES,
    Argument,
    Scalar,
    Struct,
    TensorMap,
    Workspace,
    check_argument,
    scalar_of,
    scalar_value,
)
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import Plan, resource_violations, static_memory_violations, violation


class LoadedKernel:
    """A kernel that is ready to launch; a context manager that frees the device's memory.

    The buffers in ``borrowed`` take the place of matrices' own memory, by "A", "B", "C".
    A given ``module`` stays open afterwards.

    Attributes:
        plan, device: the launches, and the device that runs them.
        compiled, module: the plan's compiled module, with the registers of each function; the same on the device.
        buffers: device memory, by matrix or workspace name.
        calls: the launches with their arguments, or the library call.

    Raises:
        CompileError, CompilerMissing, InvalidKernel: the source does not compile, or not to the declared functions.
        ConstraintViolation: the compiled kernel takes more registers or shared memory than the device has.
        DeviceError: the device has no memory for it, or rejects the module.
    """

    plan: Plan
    device: Device
    compiled: CompiledModule
    module: LoadedModule
    buffers: dict[str, Buffer]
    calls: tuple[Call, ...]

    def __init__(
        self,
        plan: Plan,
        device: Device,
        compiled: CompiledModule | None = None,
        borrowed: Mapping[str, Buffer] | None = None,
        module: LoadedModule | None = None,
    ) -> None:
        self.plan = plan
        self.device = device
        self._uploaded: dict[str, HostArray] = {}
        self.compiled = compiled or compile_plan(plan, device.architecture)
        self._check_resources(device)
        with ExitStack() as cleanup:
            self.module = module or device.load(self.compiled)
            if module is None:
                cleanup.callback(self.module.close)
            self.buffers = dict(borrowed or {})
            for label, nbytes, over_read_bytes in self._memory():
                if label not in self.buffers:
                    self.buffers[label] = device.allocate(label, nbytes, over_read_bytes)
                    cleanup.callback(self.buffers[label].close)
            for workspace in plan.workspaces.values():
                if workspace.content:
                    self.buffers[workspace.name].upload(np.frombuffer(workspace.content, np.uint8))
            self.calls = (self._bound_call(),) if plan.kernel.call else tuple(map(self._bound_launch, plan.launches))
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> LoadedKernel:
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    @property
    def launches(self) -> tuple[BoundLaunch, ...]:
        """The launches, none where a library is called."""
        return tuple(call for call in self.calls if isinstance(call, BoundLaunch))

    def upload(self, matrices: Mapping[str, HostArray]) -> None:
        """Copy contiguous host arrays to the matrices' memory, by "A", "B", "C"."""
        self._uploaded = dict(matrices)
        for label, data in matrices.items():
            self.buffers[label].upload(data)

    def run(self) -> list[Violation]:
        """Make the launches and wait for them; return their violations, or else those of the guard zones."""
        zones = (violation for buffer in self.buffers.values() for violation in buffer.guard_zone_violations())
        return self.module.run(self.calls) or list(zones)

    def copies(self) -> tuple[HostCopies, HostCopies]:
        """Return the copies in and out for an end-to-end time: buffers with the last uploaded host arrays."""
        moved = "ABC" if self.plan.kernel.accumulate else "AB"
        uploads = [(self.buffers[label], self._uploaded[label]) for label in moved]
        return uploads, [(self.buffers["C"], np.empty_like(self._uploaded["C"]))]

    def _check_resources(self, device: Device) -> None:
        reasons: list[str] = []
        for launch in self.plan.launches:
            function = self.compiled.functions[self.plan.entry(launch)]
            shared_bytes = function.static_shared_bytes + function.dynamic_shared_bytes + launch.shared_bytes
            static, text = function.static_shared_bytes, self.plan.kernel.source_text()
            reasons += static_memory_violations(static, device.properties.shared_bytes, text)
            reasons += resource_violations(device.properties, launch.block_dim, function.registers, shared_bytes)
        if reasons:
            raise violation(self.plan.kernel, reasons)

    def _memory(self) -> Iterator[tuple[str, int, int]]:
        """Yield the label, bytes and over-read bytes of every buffer."""
        for matrix in MATRICES:
            itemsize = self.plan.problem.dtype_of(matrix).itemsize
            yield matrix, self.plan.problem.span(matrix) * itemsize, self.plan.over_read(matrix) * itemsize
        for workspace in self.plan.workspaces.values():
            yield workspace.name, workspace.nbytes, 0

    def _bound_launch(self, launch: Launch) -> BoundLaunch:
        """Return the launch with its arguments. Raises InvalidKernel unless their sizes are the function's."""
        entry = self.plan.entry(launch)
        function = self.compiled.functions[entry]
        arguments = tuple(self._bound_argument(argument) for argument in self.plan.arguments(launch))
        arguments += (np.uint64(0),) * function.null_pointers
        declared = tuple(map(_nbytes, arguments))
        if declared != function.parameter_bytes:
            taken, passed = _sizes(function.parameter_bytes), _sizes(declared)
            name = entry or function.symbol
            raise InvalidKernel(f"{self.plan.kernel.name}: {name} takes {taken}, but is declared with {passed}")
        launch = replace(launch, shared_bytes=launch.shared_bytes + function.dynamic_shared_bytes)
        return BoundLaunch(function, launch, arguments)

    def _bound_call(self) -> BoundCall:
        """Return the library call with its operands."""
        buffers, problem, config, kernel = self.buffers, self.plan.problem, self.plan.config, self.plan.kernel
        operands = {
            each: Operand(buffers[each].address, problem.shape(each), problem.strides(each), problem.dtype_of(each))
            for each in MATRICES
        }
        assert kernel.call is not None
        with asking(f"{kernel.name}: its call", f"{problem} with {config}"):
            return BoundCall(kernel.call(problem, config, operands))

    def _bound_argument(self, argument: Argument) -> BoundArgument:
        match argument:
            case Workspace(label) | ("A" | "B" | "C" as label):
                return self.buffers[label]
            case TensorMap(matrix):
                return self._bound_map(argument, matrix)
            case bytes():
                return np.void(argument)
            case Struct(members):
                return np.void(laid_out([_content(self._bound_argument(member)) for member in members]))
            case _:
                return bound_number(argument, self.plan)

    def _bound_map(self, map: TensorMap, name: str) -> MatrixMap:
        """Return a tensor map with its buffer."""
        problem = self.plan.problem
        if map.layout is not None:
            extents, strides = map.layout(problem, self.plan.config)
            map = replace(map, extents=extents, strides=strides, layout=None)
            check_argument(map)
        if name in MATRICES:
            rows, columns = problem.stored_shape(name)
            extents, strides = (map.extents or (rows, columns)), (map.strides or (problem.leading(name), 1))
            if len(map.box) > 2 and not map.extents:  # pieces of rows
                piece, further = map.box[-1], len(map.box) - 3
                extents = (1,) * further + (columns // piece, rows, piece)
                strides = (rows * strides[0],) * further + (piece, *strides)
            return MatrixMap(map, self.buffers[name], extents, strides, map.dtype or problem.dtype_of(name).name)
        workspace = self.plan.workspaces.get(name)
        last = sum((extent - 1) * stride for extent, stride in zip(map.extents, map.strides, strict=True))
        needed = (last + 1) * dtype_named(map.dtype).itemsize
        if workspace is None or workspace.nbytes < needed:
            there = f"workspace {name!r} has {workspace.nbytes}" if workspace else f"no launch has a workspace {name!r}"
            raise InvalidKernel(f"{self.plan.kernel.name}: a tensor map is over {needed} bytes, but {there}")
        return MatrixMap(map, self.buffers[name], map.extents, map.strides, map.dtype)


def bound_number(argument: str | Scalar, plan: Plan) -> np.generic:
    """Return the number of a scalar argument in its type."""
    scalar = scalar_of(argument, plan.problem)
    number: np.generic = np.dtype(scalar.type).type(scalar_value(scalar, plan.problem, plan.config))
    return number


def laid_out(members: Sequence[bytes]) -> bytes:
    """Return a structure's bytes: each member at a multiple of its size (of 8 for bytes), padded at the end."""
    content, alignment = b"", 1
    for member in members:
        size = min(len(member), 8)
        content += bytes(-len(content) % size) + member
        alignment = max(alignment, size)
    return content + bytes(-len(content) % alignment)


def _content(member: BoundArgument) -> bytes:
    number = member if isinstance(member, np.generic) else np.uint64(cast(Buffer, member).address)
    return number.tobytes()


def _nbytes(argument: BoundArgument) -> int:
    """Return the size of a number, a tensor map or a pointer."""
    if isinstance(argument, np.generic):
        return argument.nbytes
    return 128 if isinstance(argument, MatrixMap) and not argument.map.pointer else 8


def _sizes(parameters: tuple[int, ...]) -> str:
    listed = f" ({', '.join(map(str, parameters))} bytes)" if parameters else ""
    return f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}{listed}"
