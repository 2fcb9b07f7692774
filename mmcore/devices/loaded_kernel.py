"""A plan, compiled for a device and loaded onto it, with memory for everything it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from mmcore.compile.compiled_module import CompiledFunction, CompiledModule
from mmcore.compile.compiler import compile_plan
from mmcore.devices.base import BoundArgument, BoundLaunch, Buffer, Device, HostArray, HostCopies, MatrixMap
from mmcore.devices.violations import Violation
from mmcore.errors import InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, Scalar, TensorMap, Workspace, scalar_value
from mmcore.kernel.launch import Launch
from mmcore.kernel.problem import dtype_named
from mmcore.planning.plan import Plan, resource_violations, violation


class LoadedKernel:
    """Everything ready to launch; a context manager that frees the device's memory.

    Args:
        plan: what to launch.
        device: where.
        compiled: the plan's compiled module; compiled here when None.
        borrowed: buffers that take the place of matrices' own memory, by "A", "B", "C".

    Attributes:
        plan, device, compiled: as above.
        module: the compiled module on the device.
        buffers: device memory, by matrix or workspace name.
        calls: the launches with their arguments.

    Raises:
        CompileError, CompilerMissing, InvalidKernel: the source does not compile to what is declared.
        ConstraintViolation: the compiled kernel takes more registers or shared memory than the device has.
        DeviceError: the device has no memory for it, or rejects the module.
    """

    def __init__(
        self,
        plan: Plan,
        device: Device,
        compiled: CompiledModule | None = None,
        borrowed: Mapping[str, Buffer] | None = None,
    ) -> None:
        self.plan = plan
        self.device = device
        self._uploaded: dict[str, HostArray] = {}
        self.compiled = compiled or compile_plan(plan, device.architecture)
        self._check_resources(device)
        with ExitStack() as cleanup:
            self.module = device.load(self.compiled)
            cleanup.callback(self.module.close)
            self.buffers: dict[str, Buffer] = dict(borrowed or {})
            for label, nbytes, over_read_bytes in self._memory():
                if label not in self.buffers:
                    self.buffers[label] = device.allocate(label, nbytes, over_read_bytes)
                    cleanup.callback(self.buffers[label].close)
            self.calls = tuple(self._bound_launch(launch) for launch in plan.launches)
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> LoadedKernel:
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    @property
    def functions(self) -> tuple[CompiledFunction, ...]:
        """The compiled function of each launch."""
        return tuple(call.function for call in self.calls)

    def upload(self, matrices: Mapping[str, HostArray]) -> None:
        """Copy contiguous host arrays to the matrices' memory, by "A", "B", "C"."""
        self._uploaded = dict(matrices)
        for label, data in matrices.items():
            self.buffers[label].upload(data)

    def run(self) -> list[Violation]:
        """Make the launches and wait for them; return their violations, or else those of the guard zones."""
        violations = self.module.run(self.calls)
        if not violations:
            violations = [violation for buffer in self.buffers.values() for violation in buffer.guard_zone_violations()]
        return violations

    def copies(self) -> tuple[HostCopies, HostCopies]:
        """The copies in and out of an end-to-end time: buffers with the host arrays that were uploaded last."""
        moved = "ABC" if self.plan.kernel.accumulate else "AB"
        uploads = [(self.buffers[label], self._uploaded[label]) for label in moved]
        return uploads, [(self.buffers["C"], np.empty_like(self._uploaded["C"]))]

    def _check_resources(self, device: Device) -> None:
        reasons: list[str] = []
        for launch in self.plan.launches:
            function = self.compiled.functions[self.plan.entry(launch)]
            shared_bytes = function.static_shared_bytes + function.dynamic_shared_bytes + launch.shared_bytes
            reasons += resource_violations(device.properties, launch.block_dim, function.registers, shared_bytes)
        if reasons:
            raise violation(self.plan.kernel, reasons)

    def _dtype(self, matrix: str) -> str:
        return self.plan.problem.output if matrix == "C" else self.plan.problem.dtype

    def _memory(self) -> Iterator[tuple[str, int, int]]:
        """The label, bytes and over-read bytes of every buffer."""
        for matrix in MATRICES:
            itemsize = dtype_named(self._dtype(matrix)).itemsize
            yield matrix, self.plan.problem.span(matrix) * itemsize, self.plan.over_read(matrix) * itemsize
        for workspace in self.plan.workspaces.values():
            yield workspace.name, workspace.nbytes, 0

    def _bound_launch(self, launch: Launch) -> BoundLaunch:
        """The launch with its arguments, which must be as large as the function's parameters: it reads them all."""
        entry = self.plan.entry(launch)
        function = self.compiled.functions[entry]
        arguments = tuple(self._bound_argument(argument) for argument in self.plan.arguments(launch))
        arguments += (np.uint64(0),) * function.null_pointers
        declared = tuple(map(_nbytes, arguments))
        if declared != function.parameter_bytes:
            taken, given = _sizes(function.parameter_bytes), _sizes(declared)
            name = entry or function.symbol
            raise InvalidKernel(f"{self.plan.kernel.name}: {name} takes {taken}, but is declared with {given}")
        launch = replace(launch, shared_bytes=launch.shared_bytes + function.dynamic_shared_bytes)
        return BoundLaunch(function, launch, arguments)

    def _bound_argument(self, argument: Argument) -> BoundArgument:
        problem = self.plan.problem
        match argument:
            case Workspace(label) | ("A" | "B" | "C" as label):
                return self.buffers[label]
            case TensorMap(matrix):
                rows, columns, leading = {
                    "A": (problem.m, problem.k, problem.lda),
                    "B": (problem.k, problem.n, problem.ldb),
                    "C": (problem.m, problem.n, problem.ldc),
                }[matrix]
                return MatrixMap(argument, self.buffers[matrix], rows, columns, leading, self._dtype(matrix))
            case _:
                scalar = argument if isinstance(argument, Scalar) else Scalar(argument)
                number: np.generic = np.dtype(scalar.type).type(scalar_value(scalar, problem))
                return number


def _nbytes(argument: BoundArgument) -> int:
    """The size of a number, a tensor map or a pointer."""
    if isinstance(argument, np.generic):
        return argument.nbytes
    return 128 if isinstance(argument, MatrixMap) else 8


def _sizes(parameters: tuple[int, ...]) -> str:
    listed = f" ({', '.join(map(str, parameters))} bytes)" if parameters else ""
    return f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}{listed}"
