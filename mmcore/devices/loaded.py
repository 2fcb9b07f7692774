"""A plan, compiled for a device and loaded onto it, with memory for everything it touches."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType

import numpy as np

from mmcore.compile.compiler import compile_plan
from mmcore.compile.module import CompiledFunction, CompiledModule
from mmcore.devices.base import BoundLaunch, Buffer, Device, HostArray, LoadedModule, MatrixMap
from mmcore.devices.violations import Violation
from mmcore.errors import ConstraintViolation, InvalidKernel
from mmcore.kernel.arguments import MATRICES, Argument, Scalar, TensorMap, Workspace, scalar_value
from mmcore.kernel.dtypes import dtype_named
from mmcore.kernel.launch import Launch
from mmcore.planning.plan import Plan


class LoadedKernel:
    """Everything ready to launch; a context manager that frees the device's memory.

    Args:
        plan: what to launch.
        device: where.
        compiled: its code; compiled here when None.
        borrowed: buffers that take the place of matrices' own memory, by "A", "B", "C".

    Attributes:
        plan: what is launched.
        compiled: what it was compiled to.
        module: the code on the device.
        buffers: device memory, by matrix or workspace name.
        calls: the launches with their arguments.

    Raises:
        CompileError, CompilerMissing, InvalidKernel: the source does not become code.
        ConstraintViolation: the compiled kernel takes more registers or shared memory than the device has.
        DeviceError: the device has no memory for it, or rejects the code.
    """

    def __init__(
        self,
        plan: Plan,
        device: Device,
        compiled: CompiledModule | None = None,
        borrowed: Mapping[str, Buffer] | None = None,
    ) -> None:
        self.plan = plan
        self._uploaded: dict[str, HostArray] = {}
        self.compiled = compiled or compile_plan(plan, device.architecture)
        self._check_resources(device)
        with ExitStack() as cleanup:
            self.module: LoadedModule = device.load(self.compiled)
            cleanup.callback(self.module.close)
            self.buffers: dict[str, Buffer] = dict(borrowed or {})
            for label, nbytes, over_read_bytes in self._needs():
                if label not in self.buffers:
                    self.buffers[label] = device.allocate(label, nbytes, over_read_bytes)
                    cleanup.callback(self.buffers[label].close)
            self.calls = tuple(self._call(launch) for launch in plan.launches)
            self._check_arguments()
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> LoadedKernel:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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
        """Make the launches and wait for them; what they did wrong, writes outside their memory included."""
        violations = self.module.run(self.calls)
        if not violations:
            violations = [violation for buffer in self.buffers.values() for violation in buffer.guard_zone_violations()]
        return violations

    def copies(self) -> tuple[list[tuple[Buffer, HostArray]], list[tuple[Buffer, HostArray]]]:
        """What an end-to-end time copies in and out: buffers with the host arrays that were uploaded last."""
        moved = "ABC" if self.plan.kernel.accumulate else "AB"
        uploads = [(self.buffers[label], self._uploaded[label]) for label in moved]
        return uploads, [(self.buffers["C"], np.empty_like(self._uploaded["C"]))]

    def _nbytes(self, matrix: str) -> int:
        problem = self.plan.problem
        return problem.span(matrix) * dtype_named(problem.output if matrix == "C" else problem.dtype).itemsize

    def _check_resources(self, device: Device) -> None:
        reasons: list[str] = []
        for launch in self.plan.launches:
            function = self.compiled.functions[self.plan.entry(launch)]
            shared_bytes = function.static_shared_bytes + launch.shared_bytes
            reasons += device.properties.resource_violations(launch.block_dim, function.registers, shared_bytes)
        if reasons:
            raise ConstraintViolation(self.plan.kernel.name, list(dict.fromkeys(reasons)))

    def _check_arguments(self) -> None:
        """A launch with other arguments than the function takes reads whatever lies there."""
        for call, launch in zip(self.calls, self.plan.launches, strict=True):
            declared = tuple(map(_argument_bytes, call.arguments))
            if declared != call.function.parameter_bytes:
                entry, taken = self.plan.entry(launch), _sizes(call.function.parameter_bytes)
                raise InvalidKernel(
                    f"{self.plan.kernel.name}: {entry} takes {taken}, but is declared with {_sizes(declared)}"
                )

    def _needs(self) -> list[tuple[str, int, int]]:
        """(label, bytes, over-read bytes) of every buffer."""
        plan = self.plan
        needs = []
        for matrix in MATRICES:
            itemsize = dtype_named(plan.problem.output if matrix == "C" else plan.problem.dtype).itemsize
            needs.append((matrix, self._nbytes(matrix), plan.over_read(matrix) * itemsize))
        return needs + [(workspace.name, workspace.nbytes, 0) for workspace in plan.workspaces.values()]

    def _call(self, launch: Launch) -> BoundLaunch:
        arguments = tuple(self._bound(argument) for argument in self.plan.arguments(launch))
        return BoundLaunch(self.compiled.functions[self.plan.entry(launch)], launch, arguments)

    def _bound(self, argument: Argument) -> Buffer | MatrixMap | np.generic:
        problem = self.plan.problem
        if isinstance(argument, Workspace):
            return self.buffers[argument.name]
        if isinstance(argument, TensorMap):
            rows, columns = {"A": ("m", "k"), "B": ("k", "n"), "C": ("m", "n")}[argument.matrix]
            return MatrixMap(
                argument,
                self.buffers[argument.matrix],
                getattr(problem, rows),
                getattr(problem, columns),
                getattr(problem, f"ld{argument.matrix.lower()}"),
                problem.output if argument.matrix == "C" else problem.dtype,
            )
        if isinstance(argument, str) and argument in MATRICES:
            return self.buffers[argument]
        scalar = Scalar(argument) if isinstance(argument, str) else argument
        number = np.dtype(scalar.type).type(scalar_value(scalar, problem))
        assert isinstance(number, np.generic)
        return number


def _argument_bytes(argument: Buffer | MatrixMap | np.generic) -> int:
    """Size of an argument: a pointer, a tensor map or a number."""
    if isinstance(argument, np.generic):
        return argument.nbytes
    return 128 if isinstance(argument, MatrixMap) else 8


def _sizes(parameters: tuple[int, ...]) -> str:
    listed = f" ({', '.join(map(str, parameters))} bytes)" if parameters else ""
    return f"{len(parameters)} parameter{'' if len(parameters) == 1 else 's'}{listed}"
